"""The log reader thread: drains the server's output for its whole life and stamps it where it is read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from paddock.server.logbook import LogBook

_FOLLOW_S = 0.1
_REPLAY_BYTES = 256 << 10


class Source(Protocol):
    """Where bytes come from. `read` blocks; b"" means the end. `cancel` is called from another thread."""

    ends_itself: bool
    """Whether `read` finds the end when the server is gone, without being told."""

    def read(self) -> bytes: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class FollowedFile:
    """The log file of a server that writes it itself (`keep_serving`), read as it grows.

    from_end: begin at most 256 KiB before its end, at the start of a line. A file that shrank is read from its start.
    When it has outgrown `cap_bytes` it is emptied: the server appends, so it goes on at the start; the lines written
    between the last read and that moment are lost, and the file before it is not kept.
    """

    ends_itself = False

    def __init__(self, path: Path, cap_bytes: int, *, from_end: bool = False) -> None:
        self._path, self._cap = path, cap_bytes
        self._file = path.open("rb")
        self._stop = threading.Event()
        size = path.stat().st_size
        if from_end and size > _REPLAY_BYTES:
            self._file.seek(size - _REPLAY_BYTES)
            self._file.readline()

    def read(self) -> bytes:
        """The next bytes; after `cancel` what is still there, then b""."""
        while True:
            stopping = self._stop.is_set()
            data = self._file.read(1 << 16)
            if data:
                return data
            if stopping:
                return b""
            self._keep_small()
            self._stop.wait(_FOLLOW_S)

    def _keep_small(self) -> None:
        try:
            size, position = self._path.stat().st_size, self._file.tell()
            if size > self._cap:
                with self._path.open("r+b") as writer:
                    writer.truncate(0)
            if size > self._cap or size < position:
                self._file.seek(0)
        except OSError:
            pass  # removed by someone: what is open can still be read

    def cancel(self) -> None:
        """No more will come: end after what is there."""
        self._stop.set()

    def close(self) -> None:
        self._file.close()


class LogReader(threading.Thread):
    """Reads a source to its end into a log book; then calls `ended`."""

    def __init__(self, source: Source, book: LogBook, clock: Callable[[], float], ended: Callable[[], None]) -> None:
        super().__init__(name="paddock-log-reader", daemon=True)
        self._source, self._book, self._clock, self._ended = source, book, clock, ended

    def run(self) -> None:
        try:
            while data := self._source.read():
                self._book.feed(data, self._clock())
            self._book.feed(b"", self._clock(), final=True)
        finally:
            while self._source.read():
                pass  # a listener has raised: the server must not freeze on a full pipe, or die of a closed one
            self._source.close()
            self._ended()

    def finish(self, timeout_s: float) -> None:
        """The server has ended: read what is left, but wait no longer than this for whoever holds the pipe open."""
        if self._source.ends_itself:
            self.join(timeout_s)
        if self.is_alive():
            self._source.cancel()
            self.join(timeout_s)
