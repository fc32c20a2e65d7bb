"""One life of a server process, from the check of its port to its last line; runs on the supervisor's thread."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from paddock.server import exits, port, record
from paddock.server.child import Adopted, Child, Spawned, system
from paddock.server.client import Client, Status
from paddock.server.loading import LoadMeter
from paddock.server.logbook import LogBook
from paddock.server.model import Diagnosis, Exit, Progress, ServerSpec, State
from paddock.server.reader import FollowedFile, LogReader, Source
from paddock.text import Text

_LISTENING = re.compile(r"listening on \w+://(?:.*:(\d+)\b)?")


@dataclass(frozen=True)
class Timing:
    """Seconds. The recipe of stopping: asked, again after `ask_again`, killed after `kill` more."""

    ask_again: float = 2.5
    kill: float = 1.0
    sweep: float = 0.5
    """What the server started has this long to end by itself once the server has."""
    last_lines: float = 1.0
    """For the log's last lines, where something else holds the pipe open."""
    probe: float = 0.1
    health: float = 0.4
    """One /health call while loading: also how long a stop may have to wait for the thread."""
    watch: float = 0.25
    """Between two looks at a server that is ready."""
    unproven: float = 2.0
    """How long a healthy answer is left unproven where the system does not tell who listens."""
    back_off: float = 1.0
    """Before the first restart; doubled for each further one."""
    calm: float = 600.0
    """Ready for so long: earlier crashes are forgotten."""


class Wanted(Enum):
    """What the supervisor was last asked for."""

    RUN = "run"
    STOP = "stop"
    RESTART = "restart"
    DETACH = "detach"


class Board:
    """What others may read at any time. Written by the supervisor's thread alone."""

    def __init__(self) -> None:
        self.state = State.STOPPED
        self.exit: Exit | None = None
        self.pid: int | None = None
        self.port: int | None = None
        self.progress = Progress(None, 0.0)
        self.ready_at: float | None = None
        self.notices: tuple[Diagnosis, ...] = ()


class Life:
    """See the module. `wanted` and `wake` come from the supervisor; every change of state goes through `change`."""

    def __init__(self, spec: ServerSpec, book: LogBook, board: Board, *, wanted: Callable[[], Wanted],
                 wake: threading.Event, change: Callable[[State, Exit | None], None], clock: Callable[[], float],
                 timing: Timing, adopted: record.Record | None = None, first: bool = True) -> None:
        self._spec, self._book, self._board = spec, book, board
        self._wanted, self._wake, self._change = wanted, wake, change
        self._clock, self._timing, self._adopted, self._first = clock, timing, adopted, first
        self._child: Child | None = None
        self._reader: LogReader | None = None
        self._record: record.Record | None = None
        self._client: Client | None = None
        self._meter: LoadMeter | None = None
        self._start = clock()
        self._next_probe = self._start
        self._healthy_since: float | None = None
        self._announced = threading.Event()
        self._announced_port: int | None = None
        self._forced = False
        self._steps: list[tuple[float, Callable[[int], None], bool]] = []
        self._timed_out = False

    # the course of a life

    def run(self) -> None:
        """To the end: STOPPED, FAILED or CRASHED is published by then, or the server was let go."""
        self._change(State.STARTING, None)
        problem = self._begin()
        if problem is not None or self._child is None:
            self._close()
            self._end_without_process(problem)
            return
        self._board.pid = self._child.pid
        while not self._child.ended():
            if self._wanted() is Wanted.DETACH and self._spec.keep_serving and not self._steps:
                self._let_go()
                return
            self._wake.wait(self._tick())
            self._wake.clear()
        self._finish()

    def _begin(self) -> Diagnosis | None:
        try:
            return self._adopt(self._adopted) if self._adopted is not None else self._spawn()
        except OSError as error:
            return Diagnosis("cannot-start", Text("The program could not be started: {why}.",
                                                  why=error.strerror or str(error)),
                             Text("Check the engine's path, and that it was built for this machine."))

    def _spawn(self) -> Diagnosis | None:
        problem = port.check(self._spec, self._interrupted)
        if problem is not None or self._wanted() is not Wanted.RUN:
            return problem
        log = self._open_log()
        try:
            process = system.spawn(self._spec.argv, self._spec.env, log)
        finally:
            if log is not None:
                log.close()
        child = Spawned(process)
        self._child = child
        self._read(FollowedFile(self._log_path, self._spec.log_cap_bytes) if log is not None else child.output())
        self._watch_over(child.pid)
        if self._spec.record_path is not None:
            self._record = record.new(self._spec, child.pid)
            self._save_record()
        return None

    def _adopt(self, found: record.Record) -> Diagnosis | None:
        if not found.lives():
            found.remove()
            return Diagnosis("gone", Text("The server no longer runs."), Text("Launch it again."))
        self._child = Adopted(found.pid, found.birth)
        if found.log_path is not None and found.keep_serving and Path(found.log_path).exists():
            self._read(FollowedFile(Path(found.log_path), found.log_cap_bytes, from_end=True))
        self._watch_over(found.pid)
        self._record = found.taken_over() if found.path is not None else None
        self._save_record()
        return None

    @property
    def _log_path(self) -> Path:
        assert self._spec.log_path is not None
        return self._spec.log_path

    def _open_log(self) -> BinaryIO | None:
        """For keep_serving: the server appends to it itself, so that it needs none of us."""
        if not self._spec.keep_serving:
            return None
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        if self._first:
            self._log_path.unlink(missing_ok=True)
        return self._log_path.open("ab")

    def _read(self, source: Source) -> None:
        self._reader = LogReader(source, self._book, self._clock, self._wake.set)
        self._reader.start()

    def _watch_over(self, pid: int) -> None:
        known = self._spec.port or self._spec.unix_socket
        self._client = Client.of(self._spec, self._timing.health) if known else None
        self._meter = LoadMeter(pid, self._spec.model_bytes, self._clock, self._start)

    def announced(self, line: str) -> None:
        """From the reader's thread: a line "listening on …", a hint to look at once; tells the port that 0 became."""
        found = _LISTENING.search(line)
        if found is not None and not line.startswith("["):  # else a router's child, told on by the router
            self._announced_port = int(found[1]) if found[1] else None
            self._announced.set()
            self._wake.set()

    # one turn

    def _tick(self) -> float:
        """Do what is due; seconds until something else can be."""
        now = self._clock()
        self._board.notices = self._notices()
        if self._wanted() in (Wanted.STOP, Wanted.RESTART) and not self._steps:
            self._begin_stop(now)
        if self._steps:
            return self._take_steps(now)
        if self._board.state is State.READY:
            return self._timing.watch
        limit = self._spec.load_timeout_s
        if limit is not None and now - self._start > limit:
            self._timed_out = True
            self._begin_stop(now)
            return self._take_steps(now)
        if now >= self._next_probe or self._announced.is_set():
            self._probe()
            self._next_probe = self._clock() + self._timing.probe
        return self._timing.probe

    def _probe(self) -> None:
        assert self._child is not None
        assert self._meter is not None
        if self._client is None:
            if self._announced_port is None:
                return
            self._board.port = self._announced_port
            self._client = Client.of(self._spec, self._timing.health, port=self._board.port)
        answer = self._client.health()
        if answer.status is Status.OK:
            if self._is_ours() and not self._child.ended() and self._wanted() is Wanted.RUN:
                self._become_ready()
            return
        if answer.status is Status.LOADING and self._board.state is State.STARTING:
            self._change(State.LOADING, None)
        if self._board.state is State.LOADING:
            self._board.progress = self._meter.measure()
        else:
            self._board.progress = Progress(None, self._clock() - self._start)

    def _is_ours(self) -> bool:
        """Whether it is our child that answers: it listens on the port, or said so, or names our model.

        A port that was free before the start, and a child that lives although llama-server ends where it cannot listen,
        leave little doubt; where the system does not tell who listens, that counts after a moment.
        """
        assert self._child is not None
        assert self._client is not None
        number = self._board.port or self._spec.port
        now = self._clock()
        self._healthy_since = self._healthy_since if self._healthy_since is not None else now
        if self._spec.unix_socket is not None or self._announced.is_set():
            return True
        owned = port.owns(self._child.pid, number)
        if owned is None:
            return now - self._healthy_since >= self._timing.unproven
        return owned or self._names_our_model()

    def _names_our_model(self) -> bool:
        assert self._client is not None
        props = self._client.props()
        path = props.data.get("model_path") if isinstance(props.data, dict) else None
        return bool(path) and path in self._spec.argv

    def _become_ready(self) -> None:
        assert self._child is not None
        assert self._client is not None
        self._client.close()
        self._board.ready_at = self._clock()
        self._board.port = self._board.port or self._spec.port or None
        self._board.progress = Progress(1.0, self._board.ready_at - self._start, self._board.progress.read_bytes)
        if self._record is not None:
            self._record = replace(self._record, port=self._board.port or self._spec.port)
            self._save_record(seen=True)
        self._change(State.READY, None)

    def _notices(self) -> tuple[Diagnosis, ...]:
        file = self._book.file
        if file is None or file.error is None:
            return self._book.diagnoser.notices
        return (*self._book.diagnoser.notices, Diagnosis(
            "log-not-written", Text("The log could not be written to {path}: {why}.", path=str(file.path),
                                    why=file.error.strerror or str(file.error)),
            Text("Make room on the disk, or choose another folder; the server goes on."), fatal=False))

    def _save_record(self, seen: bool = False) -> None:
        if self._record is None:
            return
        try:
            if seen:
                self._record = self._record.seen()
            self._record.save()
        except OSError:
            self._record = None  # a disk that is full must not stop a server; nothing will be found after a crash

    # the end

    def _begin_stop(self, now: float) -> None:
        self._change(State.STOPPING, None)
        again = now + self._timing.ask_again
        self._steps = [(now, system.ask_to_end, False), (again, system.ask_to_end, True),
                       (again + self._timing.kill, system.kill_all, True)]

    def _take_steps(self, now: float) -> float:
        assert self._child is not None
        while self._steps and now >= self._steps[0][0]:
            _, act, forced = self._steps[0]
            if len(self._steps) == 1:  # the last one is repeated: a process can hang in the kernel for a while
                self._steps[0] = (now + self._timing.kill, act, forced)
            else:
                self._steps.pop(0)
            act(self._child.pid)
            self._forced = self._forced or forced
            if len(self._steps) == 1:
                break
        return min(max(self._steps[0][0] - now, 0.0), 0.05)

    def _interrupted(self, seconds: float) -> bool:
        """Wait; True when no run is wanted any more."""
        self._wake.wait(seconds)
        self._wake.clear()
        return self._wanted() is not Wanted.RUN

    def _finish(self) -> None:
        assert self._child is not None
        stopping = self._board.state is State.STOPPING
        self._sweep(self._child)
        if self._reader is not None:
            self._reader.finish(self._timing.last_lines)
        self._close()
        self._board.pid = None
        self._board.notices = self._notices()
        code = self._child.code
        if stopping and not self._timed_out:
            self._change(State.STOPPED, Exit(code, self._stopped_reason(), self._forced))
            return
        if self._timed_out:
            found: Diagnosis | None = Diagnosis(
                "load-timeout", Text("The model was not loaded within {seconds} s.", seconds=self._spec.load_timeout_s),
                Text("Look at the log; give it more time, or a smaller model."))
        else:
            found = port.refine(self._book.diagnoser.conclude(code), self._spec)
        if self._board.ready_at is None:
            self._change(State.FAILED, Exit(code, exits.reason(code), self._forced, found))
        elif code == 0:
            self._change(State.STOPPED, Exit(code, Text("The server ended by itself, in order: something told it to.")))
        else:
            self._change(State.CRASHED, Exit(code, exits.reason(code), False, found))

    def abandon(self, seconds: float = 3.0) -> None:
        """After an error of ours: the server ends with its supervision, at once and by force, and is reaped."""
        if self._child is None or (self._spec.keep_serving and isinstance(self._child, Adopted)):
            return
        end = self._clock() + seconds
        while not self._child.ended() and self._clock() < end:
            system.kill_all(self._child.pid)
            time.sleep(0.02)
        self._child.let_go()
        if self._reader is not None:
            self._reader.finish(self._timing.last_lines)
        self._close()

    def _stopped_reason(self) -> Text:
        if self._forced:
            return Text("Stopped by force: it did not end when asked, most often because requests were still open.")
        return Text("Stopped.")

    def _sweep(self, child: Child) -> None:
        """What the server started gets a moment, then ends too: it may hold the device's memory."""
        child.let_go()
        end = self._clock() + self._timing.sweep
        while system.others_live(child.pid) and self._clock() < end:
            time.sleep(0.02)
        if system.others_live(child.pid):
            system.kill_all(child.pid)

    def _end_without_process(self, problem: Diagnosis | None) -> None:
        if problem is None:
            self._change(State.STOPPED, Exit(None, Text("Stopped before it was started.")))
        else:
            self._change(State.FAILED, Exit(None, problem.cause, False, problem))

    def _let_go(self) -> None:
        assert self._child is not None
        self._child.let_go()
        if self._reader is not None:
            self._reader.finish(self._timing.last_lines)
        self._record = None
        if self._client is not None:
            self._client.close()
        self._change(State.STOPPED, Exit(None, Text("Paddock has let go of it; the server serves on.")))

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._record is not None:
            self._record.remove()
        if self._spec.unix_socket is not None and self._child is not None:
            port.unlink_socket(self._spec.unix_socket)
