"""Files read in threads of their own, so that a drive that hangs costs one file and not the scan."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paddock.errors import AppError
from paddock.gguf import ModelFile
from paddock.text import Text

READERS = 3
"""Enough that one waits for the disk while another works; more only contend for the interpreter."""
_GLANCE_S = 0.1



@dataclass(frozen=True)
class Unread:
    """Why a file could not be read; its size on disk where that is known."""

    error: AppError
    size_bytes: int | None = None


Answer = ModelFile | Unread


class _Reader(threading.Thread):
    """Takes paths from the common queue until it is empty, or until it took too long and was given up."""

    def __init__(self, read: Callable[[Path], ModelFile], todo: queue.SimpleQueue[tuple[int, Path]],
                 answers: queue.SimpleQueue[tuple[int, Answer]]) -> None:
        super().__init__(name="header-reader", daemon=True)
        self._read, self._todo, self._answers = read, todo, answers
        self.current: tuple[int, Path, float] | None = None
        self.given_up = False

    def run(self) -> None:
        while not self.given_up:
            try:
                number, path = self._todo.get_nowait()
            except queue.Empty:
                return
            self.current = number, path, time.monotonic()
            try:
                answer: Answer = self._read(path)
            except AppError as error:
                answer = Unread(error, _size(path))
            if not self.given_up:
                self._answers.put((number, answer))
                self.current = None


def read_all(paths: Sequence[Path], read: Callable[[Path], ModelFile], patience_s: float,
             cancelled: Callable[[], bool]) -> Iterator[tuple[int, Answer]]:
    """(number, model or why not) as they come; ends early when cancelled.

    A file that does not answer within `patience_s` is answered for with a reason; its thread is left behind (a
    daemon that ends with its read) and another takes its place.
    """
    todo: queue.SimpleQueue[tuple[int, Path]] = queue.SimpleQueue()
    answers: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
    for item in enumerate(paths):
        todo.put(item)
    readers = [_Reader(read, todo, answers) for _ in range(min(READERS, len(paths)))]
    for reader in readers:
        reader.start()
    left = len(paths)
    try:
        while left and not cancelled():
            try:
                yield answers.get(timeout=_GLANCE_S)
                left -= 1
            except queue.Empty:
                for place, reader in enumerate(readers):
                    if (late := _late(reader, patience_s)) is not None:
                        readers[place] = _Reader(read, todo, answers)
                        readers[place].start()
                        left -= 1
                        yield late
    finally:
        for reader in readers:
            reader.given_up = True


def _late(reader: _Reader, patience_s: float) -> tuple[int, Answer] | None:
    """The answer for a file that took too long, once; its reader is given up."""
    current = reader.current
    if current is None or time.monotonic() - current[2] <= patience_s:
        return None
    reader.given_up = True
    return current[0], Unread(silent(current[1].name))


def silent(name: str) -> AppError:
    """A file or folder that does not answer."""
    return AppError(Text("“{name}” did not answer in time.", name=name),
                    why=Text("The drive, perhaps a network drive, does not respond."),
                    hint=Text("Check the connection and scan again."))


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
