"""Where the server's lines go: to the listener, to the tail kept in memory, to the file, to the diagnosis."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from paddock.server.diagnosis import RunningDiagnoser, worth_feeding
from paddock.server.lines import LineSplitter, level_of
from paddock.server.model import Listener, LogLine

TAIL_LINES = 5000
_TAIL_FILES = 8
"""Behind the cap, the newest lines are kept in two files of an eighth of the cap each."""


class LogFile:
    """The whole log up to a cap, then its newest part.

    Up to `cap_bytes` all lines are in the file itself: a problem is mostly told at the start. From there on lines go to
    NAME.tail; when that holds an eighth of the cap it becomes NAME.tail.old (the former one is dropped). So the first
    cap_bytes and at least the last eighth are kept, and no more than 1.25 × cap_bytes is ever used. A write that fails
    (disk full) ends the file and nothing else: `error` says why.
    """

    def __init__(self, path: Path, cap_bytes: int, *, append: bool = False) -> None:
        self.path = path
        self.error: OSError | None = None
        self._cap, self._tail_cap = cap_bytes, max(cap_bytes // _TAIL_FILES, 4096)
        self._tail_path = path.with_name(path.name + ".tail")
        self._file: BinaryIO | None = None
        self._size = 0
        self._in_tail = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab" if append else "wb")
            self._size = self._file.tell()
        except OSError as error:
            self.error = error

    def write(self, text: str) -> None:
        """Append whole lines and hand them to the system, so that they outlive us."""
        if self._file is None:
            return
        data = text.encode("utf-8", "replace")
        try:
            if self._size + len(data) > (self._tail_cap if self._in_tail else self._cap):
                self._turn()
            self._file.write(data)
            self._file.flush()
            self._size += len(data)
        except OSError as error:
            self.error = error
            self.close()

    def _turn(self) -> None:
        assert self._file is not None
        if not self._in_tail:
            note = f"[the log goes on in {self._tail_path.name}, where only the newest part is kept]\n"
            self._file.write(note.encode())
        self._file.close()
        if self._in_tail:
            self._tail_path.replace(self._tail_path.with_name(self._tail_path.name + ".old"))
        self._in_tail, self._size = True, 0
        self._file = self._tail_path.open("wb")

    def close(self) -> None:
        """Close; later writes do nothing."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                self.error = self.error or error


class LogBook:
    """One server's lines, over restarts. `feed` is called from one reader thread at a time; the rest from anywhere."""

    def __init__(self, listener: Listener, hint: Callable[[str], None]) -> None:
        self._listener, self._hint = listener, hint
        self._tail: deque[LogLine] = deque(maxlen=TAIL_LINES)
        self._lock = threading.Lock()
        self._splitter = LineSplitter()
        self._number = 0
        self.file: LogFile | None = None
        self.diagnoser = RunningDiagnoser()
        self.lines_of_run = 0

    def begin(self) -> None:
        """A new run of the server: nothing said so far explains its end."""
        self._splitter, self.diagnoser, self.lines_of_run = LineSplitter(), RunningDiagnoser(), 0

    def feed(self, data: bytes, t: float, final: bool = False) -> None:
        """Bytes that were read at t."""
        texts = self._splitter.feed(data, final)
        if not texts:
            return
        start = self._number
        lines = [LogLine(t, text, level_of(text), start + i) for i, text in enumerate(texts, 1)]
        self._number += len(lines)
        self.lines_of_run += len(lines)
        with self._lock:
            self._tail.extend(lines)
        together = "\n".join(texts)
        if self.file is not None:
            self.file.write(together + "\n")
        self.diagnoser.spoke(together)
        if worth_feeding(together):
            for line in lines:
                self.diagnoser.feed(line.text, line.level)
        if "listening on" in together:
            for line in lines:
                self._hint(line.text)
        for line in lines:
            self._listener.on_line(line)

    def tail(self, count: int) -> list[LogLine]:
        """The last lines, oldest first."""
        with self._lock:
            return list(self._tail)[-count:] if count > 0 else []

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
