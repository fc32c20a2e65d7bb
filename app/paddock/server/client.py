"""Talking to one llama-server: polling calls that give values, and streams."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from paddock.errors import AppError
from paddock.server.model import ServerSpec
from paddock.server.wire import Wire, read_all
from paddock.text import Text

T = TypeVar("T")
_BODY_LIMIT = 32 << 20
_METRIC = re.compile(r"^(?:llamacpp:)?([A-Za-z_:][\w:]*(?:\{[^}]*\})?)\s+(\S+)")


class Status(StrEnum):
    """How a call went. Only `ok` has data."""

    OK = "ok"
    LOADING = "loading"
    """503: the model is not loaded yet (or, for what needs one, no slot is free)."""
    UNAUTHORIZED = "unauthorized"
    """401 or 403: a key is needed, or this one is wrong."""
    DISABLED = "disabled"
    """501: the server was started without it (--metrics, --slots, --props)."""
    MISSING = "missing"
    """404: this server has no such path."""
    REFUSED = "refused"
    """Nobody listens there, or the connection broke before an answer."""
    TIMEOUT = "timeout"
    """No whole answer within the time."""
    ERROR = "error"
    """Any other answer, or one that cannot be read."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A call's outcome; `data` is None unless status is ok. `message`: the server's or the system's own words."""

    status: Status
    data: T | None = None
    code: int | None = None
    message: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.status is Status.OK


_BY_CODE = {401: Status.UNAUTHORIZED, 403: Status.UNAUTHORIZED, 404: Status.MISSING, 501: Status.DISABLED,
            503: Status.LOADING}


def parse_metrics(text: str) -> dict[str, float]:
    """Prometheus text to values by name; the prefix "llamacpp:" is dropped, labels stay in the name.

    {"tokens_predicted_total": 12.0, 'spec_decode_num_accepted_tokens_per_pos_total{position="0"}': 3.0, …}
    """
    values: dict[str, float] = {}
    for line in text.splitlines():
        match = _METRIC.match(line)
        if match:
            try:
                values[match[1]] = float(match[2])
            except ValueError:
                continue
    return values


class Client:
    """One connection, kept alive, for one thread. Nothing here raises for what a server or a network does, but streams.

    base_url: http://H:P, https://H:P, unix:///path.sock; a path in it is the server's --api-prefix. Each call ends
    within its timeout, connecting, sending and reading together. trust_any: accept any certificate.
    """

    def __init__(self, base_url: str, key: str | None = None, timeout_s: float = 1.0, *,
                 trust_any: bool = False) -> None:
        self.base_url, self.timeout_s = base_url, timeout_s
        self._key, self._trust_any = key, trust_any
        self._wire = Wire(base_url, trust_any=trust_any)

    @classmethod
    def of(cls, spec: ServerSpec, timeout_s: float = 1.0, *, port: int | None = None) -> Client:
        """For our own child: its address, key and self-signed certificate."""
        return cls(spec.url(port), spec.key, timeout_s, trust_any=True)

    def close(self) -> None:
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # polling

    def health(self) -> Answer[dict[str, Any]]:
        """ok: the model is loaded and it serves."""
        return self.raw("GET", "/health")

    def props(self) -> Answer[dict[str, Any]]:
        """/props: model_path, total_slots, endpoint_* (what may be polled), is_sleeping, …"""
        return self.raw("GET", "/props")

    def slots(self) -> Answer[list[dict[str, Any]]]:
        """/slots: one entry a slot. Wakes a sleeping server and keeps it awake."""
        return self.raw("GET", "/slots")

    def models(self) -> Answer[dict[str, Any]]:
        """/v1/models."""
        return self.raw("GET", "/v1/models")

    def metrics(self) -> Answer[dict[str, float]]:
        """/metrics as `parse_metrics` gives it."""
        answer = self.raw("GET", "/metrics", text=True)
        data = parse_metrics(answer.data) if answer.data is not None else None
        return Answer(answer.status, data, answer.code, answer.message, answer.seconds)

    def raw(self, method: str, path: str, body: Any = None, *, timeout_s: float | None = None,
            text: bool = False) -> Answer[Any]:
        """Any call; body as JSON. Data: the decoded JSON, or the text where `text` is set."""
        limit = self.timeout_s if timeout_s is None else timeout_s
        start = time.monotonic()
        data = None if body is None else json.dumps(body).encode()
        try:
            response = self._wire.send_request(method, path, data, self._headers(data), limit)
            content = read_all(response, _BODY_LIMIT)
        except TimeoutError as error:
            return self._failed(Status.TIMEOUT, error, start)
        except (ConnectionError, FileNotFoundError, http.client.RemoteDisconnected) as error:
            return self._failed(Status.REFUSED, error, start)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return self._failed(Status.ERROR, error, start)
        return _answer(response.status, content, text, time.monotonic() - start)

    def _failed(self, status: Status, error: Exception, start: float) -> Answer[Any]:
        self._wire.close()
        return Answer(status, None, None, str(error) or type(error).__name__, time.monotonic() - start)

    def _headers(self, body: bytes | None) -> dict[str, str]:
        headers = {"Accept": "*/*"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers

    # requests

    def chat(self, messages: Sequence[Mapping[str, Any]], *, timeout_s: float = 600.0, **params: Any) -> Answer[Any]:
        """POST /v1/chat/completions, whole. An "error" in an answer of any status is `Status.ERROR`."""
        return self.raw("POST", "/v1/chat/completions", {"messages": list(messages), **params}, timeout_s=timeout_s)

    def completion(self, prompt: str, *, timeout_s: float = 600.0, **params: Any) -> Answer[Any]:
        """POST /completion, whole; the answer carries `timings`."""
        return self.raw("POST", "/completion", {"prompt": prompt, **params}, timeout_s=timeout_s)

    def stream_chat(self, messages: Sequence[Mapping[str, Any]], *, idle_s: float | None = 120.0,
                    **params: Any) -> Stream:
        """POST /v1/chat/completions as a stream, on a connection of its own."""
        return self._stream("/v1/chat/completions", {"messages": list(messages), "stream": True, **params}, idle_s)

    def stream_completion(self, prompt: str | Sequence[int], *, idle_s: float | None = 120.0, **params: Any) -> Stream:
        """POST /completion as a stream, on a connection of its own. `prompt`: a text, or its tokens."""
        return self._stream("/completion", {"prompt": prompt, "stream": True, **params}, idle_s)

    def _stream(self, path: str, body: dict[str, Any], idle_s: float | None) -> Stream:
        data = json.dumps(body).encode()
        wire = Wire(self.base_url, trust_any=self._trust_any)
        return Stream(wire, path, data, self._headers(data), idle_s)


class Stream:
    """Server-sent chunks as dicts, in order: iterate it once, in one thread.

    AppError where the server refuses, answers with an error (also inside a stream that began well), is silent for
    idle_s, or breaks off before its end. `cancel`, from any thread, ends the iteration at once without an error; the
    server stops generating when it sees the connection gone.
    """

    def __init__(self, wire: Wire, path: str, body: bytes, headers: Mapping[str, str], idle_s: float | None) -> None:
        self._wire, self._path, self._body, self._headers = wire, path, body, headers
        self._idle_s = idle_s
        self._cancelled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.cancel()

    def cancel(self) -> None:
        """End it; no effect after its end."""
        self._cancelled = True
        self._wire.sever()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            yield from self._chunks()
        except (OSError, http.client.HTTPException, ssl.SSLError, ValueError) as error:
            if not self._cancelled:
                raise _broken(error) from error
        finally:
            self._wire.close()

    def _chunks(self) -> Iterator[dict[str, Any]]:
        if self._cancelled:
            return
        response = self._wire.send_request("POST", self._path, self._body, self._headers, self._idle_s)
        if response.status != 200:
            raise _refused(_answer(response.status, read_all(response, _BODY_LIMIT), False, 0.0))
        finished = False
        while line := response.readline():
            self._wire.extend(self._idle_s)
            if self._cancelled:
                return
            field, _, value = line.strip().partition(b":")
            if field == b"error":
                raise _refused(_answer(500, value.strip(), False, 0.0))
            if field != b"data":
                continue
            if value.strip() == b"[DONE]":
                return
            chunk = json.loads(value)
            if isinstance(chunk, dict):
                if "error" in chunk:
                    raise _refused(Answer(Status.ERROR, None, None, _error_message(chunk)))
                finished = finished or bool(chunk.get("stop")) or _has_finish_reason(chunk)
                yield chunk
        if not finished and not self._cancelled:
            raise http.client.IncompleteRead(b"")


def _has_finish_reason(chunk: Mapping[str, Any]) -> bool:
    choices = chunk.get("choices")
    return isinstance(choices, list) and any(isinstance(c, dict) and c.get("finish_reason") for c in choices)


def _error_message(data: Any) -> str:
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, dict):
        return str(error.get("message", error))
    return str(error) if error else ""


def _own_words(text: str, code: int) -> str:
    """An answer that is no JSON, as a reason: a web page says nothing but its code."""
    return f"HTTP {code}" if text.lstrip().startswith("<") else " ".join(text[:500].split())


def _answer(code: int, content: bytes, text: bool, seconds: float) -> Answer[Any]:
    decoded = content.decode("utf-8", "replace")
    if code == 200 and text:
        return Answer(Status.OK, decoded, code, "", seconds)
    try:
        data = json.loads(decoded)
    except ValueError:
        if code == 200:
            return Answer(Status.ERROR, None, code, "the answer is not JSON", seconds)
        return Answer(_BY_CODE.get(code, Status.ERROR), None, code, _own_words(decoded, code), seconds)
    if code == 200 and not (isinstance(data, dict) and data.get("error")):
        return Answer(Status.OK, data, code, "", seconds)
    return Answer(_BY_CODE.get(code, Status.ERROR), None, code, _error_message(data) or decoded[:500], seconds)


def _refused(answer: Answer[Any]) -> AppError:
    hints = {
        Status.UNAUTHORIZED: Text("Give the server's API key."),
        Status.LOADING: Text("Wait until the model is loaded."),
        Status.MISSING: Text("Check the address and the API prefix."),
    }
    return AppError(Text("The server refused the request."), why=answer.message or None, hint=hints.get(answer.status))


def _broken(error: Exception) -> AppError:
    if isinstance(error, TimeoutError):
        return AppError(Text("The server did not answer in time."), hint=Text("It may be busy with other requests."))
    if isinstance(error, ConnectionRefusedError | FileNotFoundError):
        return AppError(Text("Nobody listens at this address."), hint=Text("Start the server first."))
    if isinstance(error, http.client.IncompleteRead):
        return AppError(Text("The answer broke off: the server ended, or dropped the connection."),
                        hint=Text("Look at the server's log."))
    return AppError(Text("The connection to the server broke off."), why=str(error) or type(error).__name__,
                    hint=Text("Look at the server's log."))
