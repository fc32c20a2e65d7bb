"""What goes into the database and what comes out, as values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import psutil

from paddock.launch.model import Plan
from paddock.session.model import Event, Request
from paddock.session.proxy import Exchange

INTERRUPTED = "interrupted"
ENDED = ("stopped", "failed", "crashed", INTERRUPTED)


def now_utc() -> str:
    """ISO 8601 with milliseconds and +00:00."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def process_started(pid: int) -> float | None:
    """When a process began (s since the epoch), None when there is none that we could tell."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


@dataclass(frozen=True)
class SessionStart:
    """What is known when a server is started. `environment`: what we set, secrets masked by the caller.

    `model` is the name to show, `model_facts`, `engine_facts`, `machine`, `estimate`: plain values for JSON.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    model_identity: str | None = None
    model_facts: Mapping[str, Any] | None = None
    engine: str | None = None
    engine_facts: Mapping[str, Any] | None = None
    profile: str | None = None
    plan: Plan | None = None
    machine: Mapping[str, Any] | None = None
    estimate: Mapping[str, Any] | None = None
    label: str | None = None
    state: str = "starting"
    start_utc: str = field(default_factory=now_utc)
    owner_pid: int = field(default_factory=os.getpid)
    owner_started: float | None = field(default_factory=lambda: process_started(os.getpid()))


@dataclass(frozen=True)
class SessionRow:
    """One line of the history. `requests` counts those that were not children of others."""

    id: int
    start: str
    end: str | None
    state: str
    model: str | None
    engine: str | None
    requests: int
    generated_tokens: int
    profile: str | None = None
    model_identity: str | None = None
    label: str | None = None
    note: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    tags: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The form of `sessions list --json`."""
        keys = ("id", "start", "end", "state", "model", "engine", "requests", "generated_tokens", "profile", "note")
        return {key: getattr(self, key) for key in keys} | {"tags": list(self.tags)}


@dataclass(frozen=True)
class SessionDetail:
    """Everything but the series."""

    row: SessionRow
    command: tuple[str, ...]
    environment: dict[str, str]
    model_facts: dict[str, Any] | None
    engine_facts: dict[str, Any] | None
    plan: Plan | None
    machine: dict[str, Any] | None
    estimate: dict[str, Any] | None
    actual: dict[str, Any] | None
    requests: tuple[Request, ...]
    events: tuple[Event, ...]
    log_excerpt: str | None
    exchanges: tuple[Exchange, ...] = ()
    """What the recording proxy saw; `Request.exchange` is an id of these."""

    def as_dict(self) -> dict[str, Any]:
        """The form of `sessions show --json`: the list's keys, `requests` being the rows themselves."""
        keys = ("number", "slot", "t_start", "t_end", "prompt_tokens", "cached_tokens", "evaluated_tokens",
                "generated_tokens", "prompt_per_s", "generation_per_s", "ttft_s", "draft_tokens", "accepted_tokens",
                "context_used", "status", "source", "error", "exchange", "image_ms")
        return self.row.as_dict() | {
            "requests": [{key: getattr(r, key) for key in keys} for r in self.requests],
            "estimate": self.estimate, "actual": self.actual, "profile": self.row.profile,
            "command": list(self.command), "environment": self.environment, "exit_code": self.row.exit_code,
            "reason": self.row.reason, "events": [asdict(e) for e in self.events],
            "exchanges": [asdict(e) for e in self.exchanges], "machine": self.machine,
            "model_facts": self.model_facts, "engine_facts": self.engine_facts}
