"""For tests of supervision: a listener that records, and supervisors of fake servers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from waiting import waited

from paddock.server import Exit, LogLine, ServerSpec, State, Supervisor
from paddock.server.life import Timing
from paddock.server.port import free_port
from paddock.server.posix import birth

FAKE = Path(__file__).with_name("fakeserver.py")
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

    def wait_for(self, *states: State, count: int = 1, timeout: float = PATIENCE_S) -> State:
        """Until one of the states was reported `count` times."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(self.states.count(s) for s in states) >= count, timeout), f"saw only {self.states}"
        return self.states[-1]

    def wait_for_line(self, part: str, timeout: float = PATIENCE_S) -> LogLine:
        looked = 0
        found: list[LogLine] = []

        def seen() -> bool:
            nonlocal looked
            start, looked = looked, len(self.lines)
            found.extend(line for line in self.lines[start:looked] if part in line.text)
            return bool(found)

        end = time.monotonic() + timeout
        while not seen():
            assert time.monotonic() < end, [x.text for x in self.lines[-5:]]
            time.sleep(0.02)
        return found[0]

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


def gone_within(pid: int, seconds: float) -> bool:
    return waited(lambda: birth(pid) is None, seconds)


def session_of(leader: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (OSError, psutil.Error):
            continue
    return found


OWNER = """
import sys, time
sys.path[:0] = sys.argv[1].split(":")
from serverkit import Kit
from paddock.server import State
import pathlib, tempfile
kit = Kit(pathlib.Path(tempfile.gettempdir()))
supervisor, recorder = kit.ready(*sys.argv[2:])
print(supervisor.pid, flush=True)
time.sleep(60)
"""


def owner(*flags: str, env: dict[str, str] | None = None) -> tuple[subprocess.Popen[str], int]:
    """A second Paddock that keeps a server."""
    places = f"{FAKE.parent}:{Path(sys.modules['paddock'].__file__ or '').parents[1]}"
    process = subprocess.Popen([sys.executable, "-c", OWNER, places, *flags], stdout=subprocess.PIPE, text=True,
                               env=env or dict(os.environ))
    assert process.stdout is not None
    return process, int(process.stdout.readline())
