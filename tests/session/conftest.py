"""Recorded logs, a fake server's answers and a clock that can be set."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from proxywire import Wire

from paddock.server import LogLine

DATA = Path(__file__).parents[1] / "data" / "session"


@pytest.fixture
def recorded() -> Callable[[str], list[LogLine]]:
    """Lines of a recorded log, read with a growing lag of 1 ms to 3 ms after they were written."""

    def lines(name: str) -> list[LogLine]:
        out = []
        last = 0.0
        for i, text in enumerate((DATA / name).read_text("utf-8", "replace").splitlines()):
            parts = text.split(" ")[0].split(".")
            if len(parts) == 4 and all(p.isdigit() for p in parts):
                last = int(parts[0]) * 60 + int(parts[1]) + int(parts[2]) / 1e3 + int(parts[3]) / 1e6
            level = text.split(" ")[1] if len(text.split(" ")) > 1 and len(text.split(" ")[1]) == 1 else None
            out.append(LogLine(1000.0 + last + 0.001 + i % 3 * 0.001, text, level, i + 1))
        return out

    return lines


@pytest.fixture
def timings() -> Callable[[str], list[dict[str, float]]]:
    """The server's own figures of the same requests, from its answers."""
    return lambda name: list(json.loads((DATA / name).read_text()))


@dataclass
class Reply:
    code: int | None
    data: Any = None


@dataclass
class FakeServer:
    """Answers as set; counts what it was asked."""

    slots_data: list[dict[str, Any]] = field(default_factory=list)
    metrics_data: dict[str, float] = field(default_factory=dict)
    props_data: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, int | None] = field(default_factory=dict)
    asked: list[tuple[float, str]] = field(default_factory=list)
    closed: bool = False
    clock: Callable[[], float] = float

    def _reply(self, what: str, data: Any) -> Reply:
        self.asked.append((self.clock(), what))
        code = self.codes.get(what, 200)
        return Reply(code, data if code == 200 else None)

    def props(self) -> Reply:
        return self._reply("props", self.props_data)

    def slots(self) -> Reply:
        return self._reply("slots", [dict(s) for s in self.slots_data])

    def metrics(self) -> Reply:
        return self._reply("metrics", dict(self.metrics_data))

    def close(self) -> None:
        self.closed = True

    def times(self, what: str) -> list[float]:
        return [t for t, one in self.asked if one == what]


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def fake_server(clock: Clock) -> Iterator[FakeServer]:
    return FakeServer(clock=clock)


def raw_slot(number: int = 0, *, task: int | None = None, busy: bool = False, decoded: int = 0, processed: int = 0,
             cached: int = 0, tokens: int = 0) -> dict[str, Any]:
    """One element of /slots as build 11434 gives it."""
    out: dict[str, Any] = {"id": number, "n_ctx": 4096, "speculative": False, "is_processing": busy}
    if task is not None:
        out |= {"id_task": task, "n_prompt_tokens": tokens, "n_prompt_tokens_processed": processed,
                "n_prompt_tokens_cache": cached, "next_token": [{"n_decoded": decoded, "has_next_token": busy}]}
    return out


@pytest.fixture
def slot() -> Callable[..., dict[str, Any]]:
    return raw_slot


@pytest.fixture
def wire() -> Iterator[Callable[..., Wire]]:
    made: list[Wire] = []

    def make(*flags: str) -> Wire:
        made.append(Wire(*flags))
        return made[-1]

    yield make
    for one in made:
        one.close()
