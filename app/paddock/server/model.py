"""The values of supervision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from paddock.text import Text


class State(StrEnum):
    """stopped → starting → loading → ready → stopping → stopped; failed: ended before ready; crashed: after."""

    STOPPED = "stopped"
    STARTING = "starting"
    LOADING = "loading"
    READY = "ready"
    STOPPING = "stopping"
    FAILED = "failed"
    CRASHED = "crashed"


@dataclass(frozen=True)
class ServerSpec:
    """What to run and how to reach it. `env` is the child's whole environment."""

    argv: tuple[str, ...] = field(repr=False)
    """May hold secrets (a key, a token), so it is not in the repr."""
    env: Mapping[str, str] = field(repr=False)
    host: str = "127.0.0.1"
    """Where to reach it (already derived from the effective --host: 0.0.0.0 → 127.0.0.1, :: → ::1)."""
    port: int = 8080
    tls: bool = False
    api_prefix: str = ""
    key: str | None = field(default=None, repr=False)
    log_path: Path | None = None
    log_cap_bytes: int = 64 << 20
    keep_serving: bool = False
    """Serve on when Paddock quits: output to the log file, no death signal."""
    model_bytes: int | None = None
    """For the load progress."""
    record_path: Path | None = None
    """Where pid, start time and owner are written while it runs (DataPaths.runtime/…json)."""
    restart_limit: int = 0
    """Restarts after a crash (0 = off), with back-off."""
    load_timeout_s: float | None = None
    label: str = ""

    @property
    def unix_socket(self) -> Path | None:
        """The socket file where the host names one (llama.cpp: it ends in .sock), else None."""
        return Path(self.host) if self.host.endswith(".sock") else None

    def url(self, port: int | None = None) -> str:
        """The base URL for a client, API prefix included; `port`: the one it really got, where 0 was asked for."""
        if self.unix_socket is not None:
            return f"unix://{self.host}{self.api_prefix}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{port or self.port}{self.api_prefix}"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line as read. `t` monotonic seconds at reading; `text` without colours; level I W E D or None."""

    t: float
    text: str
    level: str | None = None
    number: int = 0


@dataclass(frozen=True)
class Progress:
    """Load progress, an estimate (shown with ≈). fraction None: unknown."""

    fraction: float | None
    seconds: float
    read_bytes: int | None = None


@dataclass(frozen=True)
class Diagnosis:
    """Why it failed: a row of the contract's table. `edits` as in launch.Issue: what the button changes."""

    id: str
    cause: Text
    advice: Text
    line: str | None = None
    edits: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    fatal: bool = True


@dataclass(frozen=True)
class Exit:
    """How it ended. `code` as Popen gives it (negative: signal). `forced`: it had to be killed."""

    code: int | None
    reason: Text
    forced: bool = False
    diagnosis: Diagnosis | None = None


class Listener(Protocol):
    """Called from the supervisor's threads, in order; must return at once and not raise."""

    def on_state(self, state: State, t: float, exit_: Exit | None) -> None: ...

    def on_line(self, line: LogLine) -> None: ...
