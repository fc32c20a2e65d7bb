"""Attach to a server that somebody else started: read-only, by its URL."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from paddock.errors import AppError
from paddock.hardware import Readings
from paddock.launch import Plan, effective
from paddock.launch.parsing import parse_argv
from paddock.paths import file_name
from paddock.server import Client, Diagnosis, Exit, Progress, State
from paddock.server.router import RouterModel
from paddock.session import Event, Recorder, Sample, Sampler, SamplerSpec
from paddock.session.children import Children, RouterPoller
from paddock.session.detectors import DetectorWatch
from paddock.store import SessionStart
from paddock.text import Text
from paddock.work.listeners import Listening, listening
from paddock.work.model import Preview
from paddock.work.observing import expectation_of
from paddock.work.starting import batching_of

if TYPE_CHECKING:
    from paddock.hardware.model import Reading
    from paddock.server.client import Answer
    from paddock.session.detectors import Finding
    from paddock.session.sampler import ServerClient
    from paddock.work.run import RunListener
    from paddock.work.workspace import Workspace

_LOCAL = ("127.0.0.1", "localhost", "::1")
_SILENT_S = 5.0
_FIRST_LOOK_S = 2.0


class Watched:
    """A server under our eyes: sampled, and recorded when asked; never started, stopped or asked to generate.

    It stands beside the runs: the same state, recorder, preview and diagnoses are read from it. There is no log to
    read: requests come from /slots and /metrics as far as those tell. Machine readings, and what the server was
    started with, only where its process can be seen on this computer. insecure: take any TLS certificate.
    """

    read_only = True
    takes_images = ranks = False
    keeps_serving = True
    log_path = None
    proxy = None
    fit_outcome = None
    ended_at = ready_after_s = after_suspend = None

    def __init__(self, workspace: Workspace, url: str, key: str | None, record: bool, *, insecure: bool = False,
                 listener: RunListener | None = None) -> None:
        self.url = normal_url(url)
        self.listener = listener
        self.models: tuple[RouterModel, ...] = ()
        self.actual: dict[str, Any] | None = None
        self.started_utc = datetime.now(UTC).isoformat(timespec="seconds")
        self.started = time.monotonic()
        self._key = key
        self._trust_any = is_trusted(self.url, insecure)
        self.props = self._first_answer()
        self.is_router = self.props.get("role") == "router"
        self._here = listening(self.url) if _is_local(self.url) else None
        self.preview = _preview(workspace, self.props, self._here)
        self.label = self._label()
        self._notice: Diagnosis | None = None
        self._heard_at = self.started
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._database = workspace.database if record else None
        self.session_id = self._begin(workspace) if record else None
        database, session_id = self._database, self.session_id
        address = effective(self.preview.plan)
        self.answers_texts = address.embedding
        children = Children() if self.is_router and self._here is not None else None
        self.recorder = Recorder((lambda row: database.row(session_id, row)) if database and session_id else _nowhere,
                                 children=children, batching=batching_of(self.preview.plan, address))
        self.detectors = DetectorWatch(self.recorder, lambda: expectation_of(self.preview, placed=False), foreign=True)
        self._looked = threading.Event()
        self._sampler = self._make_sampler(children)
        self._sampler.start()
        self._looked.wait(_FIRST_LOOK_S)  # what happens from here on is seen against this

    def _make_sampler(self, children: Children | None) -> Sampler:
        here, machine = self._here, self.preview.machine
        client = self._client if children is None else partial(self._router_client, children)
        return Sampler(client, lambda: None if here is None else Readings(machine, lambda: [here.pid]), self._on_row,
                       t0=self.recorder.t0, spec=SamplerSpec(sleeps=None), active_hint=lambda: self.recorder.busy,
                       name="watch")

    def _client(self) -> ServerClient:
        return Client(self.url, self._key, trust_any=self._trust_any)

    def _router_client(self, children: Children) -> ServerClient:
        asked = Client(self.url, self._key, trust_any=self._trust_any)
        return RouterPoller(asked, Client, children, time.monotonic, self._on_models)

    def _first_answer(self) -> dict[str, Any]:
        """What it says of itself. AppError where nobody answers or the key is wrong."""
        with Client(self.url, self._key, 5.0, trust_any=self._trust_any) as client:
            answer = client.props()
        if answer.ok and isinstance(answer.data, dict):
            return answer.data
        if answer.status.value == "unauthorized":
            raise AppError(Text("The server at {url} wants a key.", url=self.url) if self._key is None else
                           Text("The server at {url} does not take this key.", url=self.url),
                           hint=Text("Give it with --key."))
        if answer.status.value in ("loading", "timeout", "disabled"):
            return {}
        raise AppError(Text("No llama.cpp server answers at {url}.", url=self.url), why=answer.message or None,
                       hint=_hint(answer))

    def _label(self) -> str:
        if self.is_router and self._here is not None:
            folder = self.preview.plan.get("models-dir") or ""
            return file_name(folder) or self.url
        alias = "" if self.is_router else self.props.get("model_alias") or self.props.get("model_path") or ""
        return file_name(str(alias)) or self.url

    def _begin(self, workspace: Workspace) -> int:
        start = SessionStart(command=("watch", self.url), model=self.label, label=self.url, state="watching",
                             engine=self.props.get("build_info"),
                             model_facts={"path": self.props.get("model_path"), "quant": self.props.get("model_ftype")})
        return workspace.database.start_session(start)

    # -- what it is, as of a run

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why it is degraded now, as far as its figures tell."""
        return self.detectors.findings

    @property
    def state(self) -> State:
        """Ready while it is watched, loading as long as it says so; stopped once the watching has ended."""
        if self._ended.is_set():
            return State.STOPPED
        return State.LOADING if not self.props and not self._answered() else State.READY

    def _answered(self) -> bool:
        sample = self.recorder.snapshot().sample
        return sample is not None and sample.answered

    @property
    def exit(self) -> Exit | None:
        return Exit(None, Text("The watching ended.")) if self._ended.is_set() else None

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """That it does not answer, while it does not."""
        return [self._notice] if self._notice is not None else []

    @property
    def pid(self) -> int | None:
        """Its process, where it can be seen on this computer."""
        return self._here.pid if self._here is not None else None

    def progress(self) -> Progress:
        """How far somebody else's server has loaded is not told."""
        return Progress(None, time.monotonic() - self.started)

    # -- what it does

    def keep_readings(self, readings: Sequence[Reading]) -> None:
        """Store what a close look has read with the session. AppError where this server is not recorded."""
        if self._database is None or self.session_id is None:
            raise AppError(Text("This server is watched, not recorded: there is no session to keep them with."))
        self._database.device_readings(self.session_id, self.recorder.t0, readings)

    def stop(self) -> None:
        """End the watching, the server goes on; returns at once."""
        threading.Thread(target=self.close, name="watch-end", daemon=True).start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end of the watching."""
        return self._ended.wait(timeout)

    def close(self, reason: Text | None = None) -> None:
        """End the watching, with everything recorded. Idempotent."""
        self._sampler.stop()
        self._sampler.join(5)
        with self._lock:
            if self._ended.is_set():
                return
            self.recorder.on_state(State.STOPPED, time.monotonic(), None)
            if self._database is not None and self.session_id is not None:
                self._database.finish_session(self.session_id, state="stopped",
                                              reason=str(reason or Text("The watching ended.")))
            self._ended.set()
        if self.listener is not None:
            self.listener.on_state(self, State.STOPPED, self.exit)  # type: ignore[arg-type]

    def _on_models(self, models: tuple[RouterModel, ...]) -> None:
        self.models = models

    def _on_row(self, row: Sample | Event) -> None:
        """From the sampler's thread; notes when the server falls silent, and when it speaks again."""
        self.detectors.on_row(row)
        if isinstance(row, Event):
            return
        self._looked.set()
        now = time.monotonic()
        if row.answered:
            self._heard_at = now
        silent = now - self._heard_at > _SILENT_S
        if silent == (self._notice is not None):
            return
        self._notice = Diagnosis("no-answer", Text("The server has stopped answering."),
                                 Text("It may be busy with a long prompt, or it has ended. Watching goes on."),
                                 fatal=False) if silent else None
        self.recorder.event("state", str(Text("does not answer") if silent else Text("answers again")),
                            answers=not silent)
        if self.listener is not None and self._notice is not None:
            self.listener.on_diagnosis(self, self._notice)  # type: ignore[arg-type]


def _preview(workspace: Workspace, props: dict[str, Any], here: Listening | None) -> Preview:
    """Where its process can be seen: the plan that it runs, with the estimate for it. Else a plan of nothing."""
    engine = workspace.engine()
    machine = workspace.machine(engine)
    if here is not None:
        plan = parse_argv(here.argv)
        model = str(props.get("model_path") or "")
        if (model and plan.get("model") == model) or plan.get("models-dir"):
            return replace(workspace.preview(plan), issues=())
    return Preview(Plan(), None, machine, None, None, None, None, None, (), None)


def _hint(answer: Answer[Any]) -> Text:
    if "CERTIFICATE_VERIFY" in answer.message:
        return Text("Its certificate is not signed by anybody known here: use --insecure if it is yours.")
    if answer.status.value == "missing":
        return Text("Check the address; a server with --api-prefix wants the prefix in it (http://HOST:PORT/PREFIX).")
    return Text("Check the address, the port and the scheme (http or https).")


def _nowhere(_row: object) -> None:
    """Nothing is recorded."""


def _sendable(url: str) -> bool:
    """No blanks or control characters, and a host that the name system can be asked for. ValueError is a no, too."""
    parts = urlsplit(url)
    (parts.hostname or "").encode("idna")
    return not any(sign <= " " or sign == "\x7f" for sign in url) and url.replace(parts.netloc, "", 1).isascii()


def _is_local(url: str) -> bool:
    return urlsplit(url).hostname in _LOCAL


def is_trusted(url: str, insecure: bool) -> bool:
    """Whether any TLS certificate is taken: on this computer, or where the person says so."""
    return insecure or _is_local(url)


def normal_url(text: str) -> str:
    """"8080", "host:8080" or a whole URL as a URL without a slash at its end. AppError for anything else."""
    text = text.strip()
    if text.isdigit():
        text = f"127.0.0.1:{text}"
    if "://" not in text:
        text = f"http://{text}"
    text = text.rstrip("/")
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise AppError(Text("A name and a password in an address are not used."),  # nor repeated here
                       hint=Text("Give the address alone. A llama.cpp server takes a key: --key, best as env:NAME."))
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and _sendable(text)
    except ValueError:
        good = False
    if not good:
        raise AppError(Text("“{url}” is not the address of a server.", url=text),
                       hint=Text("Write http://HOST:PORT, for example http://127.0.0.1:8080."))
    return text
