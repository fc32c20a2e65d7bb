"""A listener that records, and supervisors of fake servers that are all ended with their test."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paddock.server import Exit, LogLine, ServerSpec, State, Supervisor
from paddock.server.life import Timing
from paddock.server.port import free_port

FAKE = Path(__file__).parents[1] / "support" / "fakeserver.py"
QUICK = Timing(ask_again=0.4, kill=0.3, sweep=0.2, last_lines=0.4, probe=0.03, back_off=0.05, unproven=0.2)
PATIENCE_S = 20.0


class Recorder:
    """A Listener that keeps everything and can be waited on."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.exits: list[Exit | None] = []
        self.times: list[float] = []
        self.lines: list[LogLine] = []
        self.lines_at_state: list[int] = []
        self.threads: set[str] = set()
        self.act: Callable[[State], None] = lambda state: None
        self._changed = threading.Condition()

    def on_state(self, state: State, t: float, exit_: Exit | None) -> None:
        with self._changed:
            self.states.append(state)
            self.exits.append(exit_)
            self.times.append(t)
            self.lines_at_state.append(len(self.lines))
            self.threads.add(threading.current_thread().name)
            self._changed.notify_all()
        self.act(state)

    def on_line(self, line: LogLine) -> None:
        self.lines.append(line)
        if self._waits_for_lines:
            with self._changed:
                self._changed.notify_all()

    _waits_for_lines = False

    def wait_for(self, *states: State, count: int = 1, timeout: float = PATIENCE_S) -> State:
        """Until one of the states was reported `count` times."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(self.states.count(s) for s in states) >= count, timeout), f"saw only {self.states}"
        return self.states[-1]

    def wait_for_line(self, part: str, timeout: float = PATIENCE_S) -> LogLine:
        self._waits_for_lines = True
        with self._changed:
            assert self._changed.wait_for(
                lambda: any(part in line.text for line in self.lines), timeout), [x.text for x in self.lines[-5:]]
        return next(line for line in self.lines if part in line.text)

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.lines]


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **more}


def fake_argv(*flags: str, port: int = 0) -> tuple[str, ...]:
    return (sys.executable, "-S", str(FAKE), "--port", str(port), *flags)


class Kit:
    """Makes supervisors of fake servers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[Supervisor] = []

    def spec(self, *flags: str, port: int | None = None, **fields: Any) -> ServerSpec:
        number = free_port() if port is None else port
        fields.setdefault("env", environment())
        return ServerSpec(argv=fake_argv(*flags, port=number), port=number, **fields)

    def make(self, *flags: str, timing: Timing = QUICK, **fields: Any) -> tuple[Supervisor, Recorder]:
        return self.of(self.spec(*flags, **fields), timing)

    def of(self, spec: ServerSpec, timing: Timing = QUICK) -> tuple[Supervisor, Recorder]:
        recorder = Recorder()
        supervisor = Supervisor(spec, listener=recorder, timing=timing)
        self.made.append(supervisor)
        return supervisor, recorder

    def ready(self, *flags: str, **fields: Any) -> tuple[Supervisor, Recorder]:
        supervisor, recorder = self.make(*flags, **fields)
        supervisor.start()
        assert recorder.wait_for(State.READY, State.FAILED) is State.READY, (recorder.exits[-1], recorder.texts[-5:])
        return supervisor, recorder


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    """Supervisors made with it are stopped and joined at the end, and no thread of theirs may remain."""
    kit = Kit(tmp_path)
    yield kit
    for supervisor in kit.made:
        supervisor.stop()
    for supervisor in kit.made:
        assert supervisor.join(10), f"{supervisor.state} did not end"
    left = [t.name for t in threading.enumerate() if t.name.startswith("paddock-")]
    assert not left, left
