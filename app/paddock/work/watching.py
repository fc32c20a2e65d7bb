"""Attach to a server that somebody else started: read-only, by its URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil

from paddock.errors import AppError
from paddock.hardware import Readings
from paddock.server import Client
from paddock.server.router import RouterModel
from paddock.session import Recorder, Sampler, SamplerSpec
from paddock.store import SessionStart
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace

_LOCAL = ("127.0.0.1", "localhost", "::1")


class Watched:
    """A server under our eyes: sampled, and recorded when asked; never started, stopped or asked to generate.

    There is no log to read: requests come from /slots and /metrics as far as those tell. Machine readings only for a
    server on this computer.
    """

    def __init__(self, workspace: Workspace, url: str, key: str | None, record: bool) -> None:
        self.url = normal_url(url)
        self.models: tuple[RouterModel, ...] = ()
        self._key = key
        self.props = self._first_answer()
        self.label = _label(self.props, self.url)
        self._database = workspace.database if record else None
        self.session_id = self._begin(workspace) if record else None
        database, session_id = self._database, self.session_id
        self.recorder = Recorder((lambda row: database.row(session_id, row)) if database and session_id else _nowhere)
        machine = workspace.machine(workspace.engine())
        local = urlsplit(self.url).hostname in _LOCAL
        readings = (lambda: Readings(machine, lambda: _pids(self.url))) if local else (lambda: None)
        self._sampler = Sampler(self._client, readings, self.recorder.on_row, t0=self.recorder.t0,
                                spec=SamplerSpec(sleeps=None), active_hint=lambda: self.recorder.busy, name="watch")
        self._sampler.start()

    def _client(self) -> Client:
        return Client(self.url, self._key, trust_any=urlsplit(self.url).hostname in _LOCAL)

    def _first_answer(self) -> dict[str, Any]:
        """What it says of itself. AppError where nobody answers or the key is wrong."""
        with self._client() as client:
            answer = client.props()
        if answer.ok:
            return answer.data or {}
        if answer.status.value == "unauthorized":
            raise AppError(Text("The server at {url} wants a key.", url=self.url), hint=Text("Give it with --key."))
        if answer.status.value in ("loading", "timeout", "disabled"):
            return {}
        raise AppError(Text("No llama.cpp server answers at {url}.", url=self.url), why=answer.message or None,
                       hint=Text("Check the address, the port and the scheme (http or https)."))

    def _begin(self, workspace: Workspace) -> int:
        start = SessionStart(command=("watch", self.url), model=self.label, label=self.url, state="watching",
                             engine=self.props.get("build_info"),
                             model_facts={"path": self.props.get("model_path"), "quant": self.props.get("model_ftype")})
        return workspace.database.start_session(start)

    def close(self, reason: Text | None = None) -> None:
        """End the watching; the server goes on."""
        self._sampler.stop()
        self._sampler.join(5)
        if self._database is not None and self.session_id is not None:
            self._database.finish_session(self.session_id, state="stopped",
                                          reason=str(reason or Text("The watching ended.")))


def _nowhere(_row: object) -> None:
    """Nothing is recorded."""


def normal_url(text: str) -> str:
    """"8080", "host:8080" or a whole URL as a URL without a slash at its end. AppError for anything else."""
    text = text.strip()
    if text.isdigit():
        text = f"127.0.0.1:{text}"
    if "://" not in text:
        text = f"http://{text}"
    text = text.rstrip("/")
    parts = urlsplit(text)
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise AppError(Text("“{url}” is not the address of a server.", url=text),
                       hint=Text("Write http://HOST:PORT, for example http://127.0.0.1:8080."))
    return text


def _label(props: dict[str, Any], url: str) -> str:
    alias = props.get("model_alias") or props.get("model_path") or ""
    return str(alias).replace("\\", "/").rsplit("/", 1)[-1] or url


def _pids(url: str) -> list[int]:
    """Who listens on that port of this computer, where the system tells."""
    port = urlsplit(url).port
    try:
        return [c.pid for c in psutil.net_connections("tcp")
                if c.status == psutil.CONN_LISTEN and c.pid and c.laddr and c.laddr.port == port][:1]
    except (psutil.Error, OSError):
        return []
