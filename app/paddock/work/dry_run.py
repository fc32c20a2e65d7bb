"""One dry run of an engine's program: started, read line by line, ended by its pid; nothing is left behind."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from paddock.errors import AppError
from paddock.server.child import system
from paddock.server.lines import LineSplitter
from paddock.text import Text

_TICK_S = 0.1
_LINES = 4096


class DryRun:
    """A running program. `lines()` gives what it prints; leaving the block of `dry_run` ends it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.seen: list[str] = []
        """Its last lines, for the diagnosis."""
        self._queue: queue.Queue[str | None] = queue.Queue(_LINES)
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._read, name="dry run", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        splitter, pipe = LineSplitter(), self.process.stdout
        assert pipe is not None
        data = b"x"
        while data:
            try:
                data = os.read(pipe.fileno(), 1 << 16)
            except OSError:
                data = b""
            for line in splitter.feed(data, final=not data):
                self._put(line)
        self._put(None)

    def _put(self, line: str | None) -> None:
        while not self._over.is_set():
            try:
                self._queue.put(line, timeout=_TICK_S)
                return
            except queue.Full:
                continue

    def lines(self, seconds: float, cancelled: Callable[[], bool]) -> Iterator[str]:
        """Until its output ends. AppError when the time is over, or when it was cancelled."""
        end = time.monotonic() + seconds
        while True:
            if cancelled():
                raise AppError(Text("Cancelled."))
            if time.monotonic() > end:
                raise AppError(Text("llama.cpp did not answer within {seconds} s.", seconds=round(seconds)),
                               hint=Text("A large model on a slow disk takes long to open: try again."))
            try:
                line = self._queue.get(timeout=_TICK_S)
            except queue.Empty:
                continue
            if line is None:
                return
            self.seen.append(line)
            del self.seen[:-400]
            yield line

    def code(self) -> int | None:
        """Its exit code, once its output has ended."""
        try:
            return self.process.wait(5)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """Kill what still runs of it, and let go of everything."""
        self._over.set()
        if self.process.poll() is None or system.others_live(self.process.pid):
            system.kill_all(self.process.pid)
        self.process.wait()
        self._reader.join(5)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def dry_run(argv: Sequence[str], env: Mapping[str, str]) -> Iterator[DryRun]:
    """Start it; it dies with us. AppError where it cannot be started."""
    try:
        process = system.spawn(tuple(argv), dict(env), None)
    except OSError as error:
        raise AppError(Text("{program} could not be started.", program=argv[0]), why=error.strerror or str(error),
                       hint=Text("paddock engines lists what was found.")) from error
    run = DryRun(process)
    try:
        yield run
    finally:
        run.close()
