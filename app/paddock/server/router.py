"""A router (`llama serve` without a model): the models it offers, and asking it to load or unload one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.errors import AppError
from paddock.server.client import Client, Status
from paddock.text import Text

RUNNING = ("loaded", "sleeping")


@dataclass(frozen=True)
class RouterModel:
    """One entry of GET /models. `state` is llama.cpp's word: unloaded, loading, loaded, sleeping, downloading, …

    `port`: where its own server listens on 127.0.0.1 (without the router's key and TLS), while there is one.
    `exit_code`: of its last server, where that failed. `size_bytes` and `context` are known while it is loaded.
    """

    id: str
    state: str
    port: int | None = None
    api_prefix: str = ""
    failed: bool = False
    exit_code: int | None = None
    source: str = ""
    size_bytes: int | None = None
    context: int | None = None

    @property
    def running(self) -> bool:
        """Whether its server can be asked."""
        return self.state in RUNNING and self.port is not None


def read_models(data: Any) -> tuple[RouterModel, ...] | None:
    """The answer of a router to GET /models; None where it is none (a single server tells no status)."""
    entries = data.get("data") if isinstance(data, Mapping) else None
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return None
    found = [_model(entry) for entry in entries if isinstance(entry, Mapping) and _is_status(entry.get("status"))]
    return tuple(found) if found or not entries else None


def _is_status(status: Any) -> bool:
    return isinstance(status, Mapping) and isinstance(status.get("value"), str)


def _model(entry: Mapping[str, Any]) -> RouterModel:
    status = entry["status"]
    args = [str(word) for word in status.get("args") or ()]
    # A server that was unloaded leaves its port in the arguments.
    port = _whole(_after(args, "--port")) if status["value"] in (*RUNNING, "loading") else None
    told = entry.get("meta")
    meta: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    return RouterModel(
        id=str(entry.get("id", "")), state=status["value"], port=port or None,
        api_prefix=(_after(args, "--api-prefix") or "").rstrip("/"), failed=bool(status.get("failed")),
        exit_code=_whole(status.get("exit_code")), source=str(entry.get("source") or ""),
        size_bytes=_whole(meta.get("size")), context=_whole(meta.get("n_ctx")))


def _after(words: Sequence[str], name: str) -> str | None:
    return next((words[i + 1] for i, word in enumerate(words[:-1]) if word == name), None)


def _whole(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def load(client: Client, model_id: str) -> None:
    """Ask the router to load a model; it answers at once, and the loading shows in the list. AppError if refused."""
    _ask(client, "load", model_id)


def unload(client: Client, model_id: str) -> None:
    """Ask the router to end a model's server. AppError where it refuses."""
    _ask(client, "unload", model_id)


def _ask(client: Client, act: str, model_id: str) -> None:
    answer = client.raw("POST", f"/models/{act}", {"model": model_id}, timeout_s=15)
    if not answer.ok:
        hint = Text("Give the server's API key.") if answer.status is Status.UNAUTHORIZED else None
        raise AppError(Text("The router did not take the request for “{model}”.", model=model_id),
                       why=answer.message or None, hint=hint)
