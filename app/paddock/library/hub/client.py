"""Hub: search, repositories, bytes of remote files, over huggingface_hub's own session; failures in words."""

from __future__ import annotations

import importlib
import re
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from paddock import __version__
from paddock.errors import AppError
from paddock.gguf import ModelFile
from paddock.gguf.reading import read_sources
from paddock.library.hub.grouping import grouped
from paddock.library.hub.model import Choice, Found, RemoteFile, Repository
from paddock.library.hub.ranges import RangeFile
from paddock.text import Text

DEFAULT_ENDPOINT = "https://huggingface.co"
PATIENCE_S = 10.0
_MOST_ANSWER = 64 << 20
_MOST_REDIRECTS = 4
_NAME = frozenset(string.ascii_letters + string.digits + "-_.")


@dataclass(frozen=True)
class RemoteState:
    """A file as the hub gives it out now. `etag`: its SHA-256 (hex) for model files, another hash for small ones."""

    size: int | None
    etag: str


class OfflineError(AppError):
    """The hub cannot be reached from here: a state to show, not a fault."""


class Hub:
    """One hub with one token. Nothing is sent before a method is called; methods may be called from any thread.

    `endpoint`: another address than huggingface.co (HF_ENDPOINT). `token`: what the person gave, or what gives it when
    a request is made (a keyring may take its time); without one, what `huggingface-cli login` or HF_TOKEN left on this
    machine is used, as every program of Hugging Face does.
    """

    def __init__(self, endpoint: str | None = None, token: str | Callable[[], str | None] | None = None,
                 patience_s: float = PATIENCE_S) -> None:
        self.endpoint = (endpoint or DEFAULT_ENDPOINT).rstrip("/")
        self._token = token
        self.patience_s = patience_s

    @property
    def host(self) -> str:
        """Where requests go, as a person reads it."""
        return self.endpoint.partition("://")[2] or self.endpoint

    def headers(self) -> dict[str, str]:
        """Of every request: who asks, and the token if there is one.

        Ours, because huggingface_hub's own (`build_hf_headers`, and all that use it) first fetch a list from the hub
        to say which other program this one is run by: a request that nobody asked for.
        """
        given = self._token() if callable(self._token) else self._token
        token = given or hub_tools().get_token()
        headers = {"user-agent": f"paddock/{__version__}"}
        return {**headers, "authorization": f"Bearer {token}"} if token else headers

    def search(self, words: str, limit: int = 30) -> list[Found]:
        """Repositories with GGUF files, the most downloaded first."""
        answer = self._json("/api/models", {"search": words, "filter": "gguf", "sort": "downloads",
                                            "limit": str(limit), "full": "true"})
        return [_found(item) for item in answer if isinstance(item, dict)][:limit] if isinstance(answer, list) else []

    def repository(self, repo_id: str, revision: str | None = None) -> Repository:
        """What can be taken from a repository, with sizes and hashes."""
        name = checked_id(repo_id)
        tail = f"/revision/{revision}" if revision else ""
        answer = self._json(f"/api/models/{name}{tail}", {"blobs": "true"})
        if not isinstance(answer, dict) or not isinstance(answer.get("sha"), str):
            raise _odd_answer(self.host)
        siblings = answer.get("siblings")
        files = [_file(item) for item in (siblings if isinstance(siblings, list) else [])
                 if isinstance(item, dict) and _safe(item.get("rfilename"))]
        choices, others = grouped(files)
        return Repository(str(answer.get("id") or name), answer["sha"], bool(answer.get("gated")), choices, others)

    def model(self, repository: Repository, choice: Choice, cancelled: Callable[[], bool] = lambda: False,
              ) -> ModelFile:
        """The model as its remote headers describe it: a few ranges of each part are read, never the weights.

        At most `MOST_HEADER_BYTES` of a file are asked for. AppError as `gguf.read`, or as the hub refuses.
        """
        sources = []
        for file in choice.files:
            size = file.size_bytes
            if size is None:
                size = self.metadata(repository, file).size
            if size is None:
                raise _odd_answer(self.host)
            sources.append((file.path, RangeFile(self, repository.id, self.url(repository, file), size,
                                                 cancelled), size))
        return read_sources(sources)

    def url(self, repository: Repository, file: RemoteFile) -> str:
        """Where a file of this commit is given out."""
        return f"{self.endpoint}/{repository.id}/resolve/{quote(repository.commit, safe='')}/{quote(file.path)}"

    def metadata(self, repository: Repository, file: RemoteFile) -> RemoteState:
        """Size and content's hash of a file now, by one HEAD request (a redirect to the storage is not followed)."""
        tools, url = hub_tools(), self.url(repository, file)
        headers = {**self.headers(), "accept-encoding": "identity"}
        with self.said(repository.id):
            for _ in range(_MOST_REDIRECTS):
                answer = tools.get_session().head(url, headers=headers, timeout=self.patience_s, follow_redirects=False)
                tools.hf_raise_for_status(answer)
                place = answer.headers.get("location", "")
                if not (300 <= answer.status_code < 400 and place.startswith("/")):
                    break
                url = self.endpoint + place  # the repository was renamed
            size = answer.headers.get("x-linked-size") or ("" if place else answer.headers.get("content-length", ""))
            etag = answer.headers.get("x-linked-etag") or answer.headers.get("etag", "")
        return RemoteState(int(size) if size.isdigit() else None, etag.removeprefix("W/").strip('"'))

    @contextmanager
    def stream(self, url: str, start: int, end: int | None, what: str) -> Iterator[Any]:
        """The open answer for bytes `start` to `end` (inclusive; None: to the file's end). A redirect to another host
        is followed without the token. OfflineError, AppError."""
        tools = hub_tools()
        last = "" if end is None else str(end)
        headers = {**self.headers(), "accept-encoding": "identity"}
        if start or end is not None:
            headers["range"] = f"bytes={start}-{last}"
        with self.said(what), tools.get_session().stream("GET", url, headers=headers, timeout=self.patience_s,
                                                         follow_redirects=True) as answer:
            if answer.is_error:
                answer.read()
            tools.hf_raise_for_status(answer)
            yield answer

    def _json(self, path: str, query: dict[str, str]) -> Any:
        tools = hub_tools()
        with self.said(path.removeprefix("/api/models").partition("/revision/")[0].strip("/")):
            answer = tools.get_session().get(self.endpoint + path, params=query, headers=self.headers(),
                                             timeout=self.patience_s)
            tools.hf_raise_for_status(answer)
            if len(answer.content) > _MOST_ANSWER:
                raise _odd_answer(self.host)
            try:
                return answer.json()
            except ValueError as error:
                raise _odd_answer(self.host) from error

    @contextmanager
    def said(self, what: str) -> Iterator[None]:
        """Whatever goes wrong within becomes an OfflineError or an AppError in words."""
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

        http = transport()
        try:
            yield
        except OfflineModeIsEnabled as error:
            raise OfflineError(Text("Hugging Face is switched off here."),
                               why=Text("The variable HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) is set."),
                               hint=Text("Unset it and start Paddock again to search and download.")) from error
        except HfHubHTTPError as error:
            raise refused(error, what, self.host) from error
        except http.TransportError as error:
            raise OfflineError(Text("{host} cannot be reached.", host=self.host), why=_reason(error),
                               hint=Text("Check the connection and try again. Models on this machine work without "
                                         "it.")) from error


def hub_tools() -> Any:
    """huggingface_hub's session, token and errors; loaded when first needed, since it takes a while."""
    return importlib.import_module("huggingface_hub.utils")


def transport() -> Any:
    """The HTTP library below huggingface_hub, whatever it is called in this version."""
    return importlib.import_module(type(hub_tools().get_session()).__module__.partition(".")[0])


def _reason(error: Exception) -> Text | str:
    if "Timeout" in type(error).__name__:
        return Text("It did not answer in time.")
    return re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__


def refused(error: Any, what: str, host: str) -> AppError:
    """What an answer of the hub that is no success means for a person."""
    from huggingface_hub.errors import DisabledRepoError, GatedRepoError

    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    code = str(response.headers.get("X-Error-Code", "")) if response is not None else ""
    if isinstance(error, GatedRepoError) or code == "GatedRepo" or status == 403:
        return AppError(Text("{repository} is gated: its files are given out to those who accepted its terms.",
                             repository=what),
                        hint=Text("Accept the terms on its page ({host}/{repository}) with your account, and give "
                                  "Paddock a token of that account (paddock models token).", host=host,
                                  repository=what))
    if isinstance(error, DisabledRepoError):
        return AppError(Text("{repository} was switched off by Hugging Face.", repository=what))
    if status == 429:
        return AppError(Text("{host} asks to wait: too many requests came from here.", host=host),
                        hint=Text("Try again in a few minutes; a token raises the limit."))
    if code == "EntryNotFound":
        return AppError(Text("That file is not in {repository} any more.", repository=what),
                        hint=Text("Look at the repository again: it may have been changed."))
    if status in (401, 404):
        return AppError(Text("There is no {repository} on {host} that this machine may see.", repository=what,
                             host=host),
                        hint=Text("Check the name; a private repository needs a token (paddock models token)."))
    return AppError(Text("{host} answered with an error ({status}).", host=host, status=status or "?"),
                    hint=Text("Try again later."))


def _odd_answer(host: str) -> AppError:
    return AppError(Text("{host} gave an answer that makes no sense.", host=host),
                    why=Text("A login page of the network, or a proxy, may stand between."),
                    hint=Text("Open the address in a browser and try again."))


def checked_id(repo_id: str) -> str:
    """ "owner/name" from that, or from a link to its page. AppError for what cannot be one."""
    text = repo_id.strip().strip("\"'").removeprefix("hf.co/")
    if "://" in text:
        text = text.partition("://")[2].partition("/")[2]
    parts = text.split("?")[0].strip("/").split("/")
    name = "/".join(parts[:2])
    allowed = all(part and not part.startswith((".", "-")) and all(c in _NAME for c in part)
                  for part in parts[:2])
    if len(parts) < 2 or not allowed:
        raise AppError(Text("“{name}” is not the name of a repository.", name=repo_id),
                       hint=Text("Give OWNER/NAME, or the address of its page."))
    return name


def _safe(path: Any) -> bool:
    """A path that stays within its folder on every system."""
    if not isinstance(path, str) or not path or "\\" in path or ":" in path or "\0" in path:
        return False
    return not path.startswith("/") and all(part not in ("", ".", "..") for part in path.split("/"))


def _found(item: dict[str, Any]) -> Found:
    updated = item.get("lastModified")
    return Found(str(item.get("id") or item.get("modelId") or ""), _count(item.get("downloads")),
                 _count(item.get("likes")), updated if isinstance(updated, str) else None, bool(item.get("gated")))


def _file(item: dict[str, Any]) -> RemoteFile:
    lfs = item.get("lfs")
    lfs = lfs if isinstance(lfs, dict) else {}
    size, digest = _count(lfs.get("size")), lfs.get("sha256") or lfs.get("oid")
    known = isinstance(digest, str) and len(digest) == 64
    return RemoteFile(item["rfilename"], size if size is not None else _count(item.get("size")),
                      digest.lower() if known and isinstance(digest, str) else None)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


