"""Files read in threads of their own, so that a drive that hangs costs one file and not the scan."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from paddock.errors import AppError
from paddock.gguf import ModelFile
from paddock.library.apart import AHEAD, Apart
from paddock.text import Text

READERS = 3
"""Enough that one waits for the disk while another works; more only contend for the interpreter. One is faster than
three where all models are in the cache, and beside second processes: so the others come when a scan lasts."""
_MOST_APART = 3
_LOOK_S = 0.03
_LONG_S = 0.5
"""Second processes take a tenth of a second to start: they are for scans that would last longer than this."""
_AGAIN_S = 1.5
"""After second processes: a drive that is slow, or hangs, needs the further threads all the same."""
_GLANCE_S = 0.1
_GATHER_S = 0.02
"""Answers are handed on in handfuls: to wake for each would cost as much as reading it from the cache."""


@dataclass(frozen=True)
class Unread:
    """Why a file could not be read; its size on disk where that is known."""

    error: AppError
    size_bytes: int | None = None


Answer = ModelFile | Unread
Item = tuple[int, Path]


class _Todo:
    """What is to be read, shared by the readers. Items lent to a second process come back as `ready`."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._lock = threading.Condition()
        self._todo = deque(enumerate(paths))
        self._ready: deque[Item] = deque()
        self._answers: deque[tuple[int, Answer]] = deque()
        self._lent = 0
        self._open = len(paths)
        self._ended = False

    def take(self) -> Item | None:
        """The next item, ready ones first; waits while some are lent. None: no more."""
        with self._lock:
            while not self._ended:
                if self._ready:
                    return self._ready.popleft()
                if self._todo:
                    return self._todo.popleft()
                if not self._lent:
                    return None
                self._lock.wait(_GLANCE_S)
            return None

    def lend(self) -> Item | None:
        """An unread item for a second process, or None."""
        with self._lock:
            if self._ended or not self._todo:
                return None
            self._lent += 1
            return self._todo.popleft()

    def give_back(self, items: Sequence[Item]) -> None:
        """Lent items, read by now or not: a reader takes them next."""
        with self._lock:
            self._lent -= len(items)
            self._ready.extend(items)
            self._lock.notify_all()

    def answer(self, number: int, answer: Answer) -> None:
        with self._lock:
            self._answers.append((number, answer))
            self._open -= 1
            if self._open <= 0:
                self._lock.notify_all()

    def answers(self) -> list[tuple[int, Answer]]:
        """Those that have come, after a moment or when they are all there."""
        with self._lock:
            if self._open > 0:
                self._lock.wait(_GATHER_S)
            found = list(self._answers)
            self._answers.clear()
            return found

    def end(self) -> None:
        with self._lock:
            self._ended = True
            self._lock.notify_all()


class _Reader(threading.Thread):
    """Takes items until there are none, or until one took too long and it was given up."""

    def __init__(self, read: Callable[[Path], ModelFile], todo: _Todo) -> None:
        super().__init__(name="header-reader", daemon=True)
        self._read, self._todo = read, todo
        self.current: tuple[int, Path, float] | None = None
        self.given_up = False

    def run(self) -> None:
        while not self.given_up and (item := self._todo.take()) is not None:
            number, path = item
            self.current = number, path, time.monotonic()
            try:
                answer: Answer = self._read(path)
            except AppError as error:
                answer = Unread(error, _size(path))
            if not self.given_up:
                self._todo.answer(number, answer)
                self.current = None

    def give_up(self) -> None:
        """It hangs: what it does from now on is nothing to anybody."""
        self.given_up = True


class _Lender(threading.Thread):
    """Has a second process read what is unread; when that ends, or hangs, the rest goes back."""

    def __init__(self, start: Callable[[], Apart], todo: _Todo) -> None:
        super().__init__(name="header-lender", daemon=True)
        self._start, self._todo = start, todo
        self._lent: deque[Item] = deque()
        self._apart: Apart | None = None
        self._stopped = threading.Event()
        self.current: tuple[int, Path, float] | None = None

    def run(self) -> None:
        try:
            self._apart = self._start()
            while not self._stopped.is_set() and self._ask(self._apart):
                self._first_is_due()
                done = self._apart.answered()
                if not done:
                    break
                self._todo.give_back([self._lent.popleft() for _ in range(min(done, len(self._lent)))])
        except (OSError, ValueError):  # it has ended, or was ended from outside while asked
            pass
        finally:
            self.current = None
            if self._apart is not None:
                self._apart.end()
            self._todo.give_back(list(self._lent))
            self._lent.clear()

    def _ask(self, apart: Apart) -> bool:
        while len(self._lent) < AHEAD and (item := self._todo.lend()) is not None:
            self._lent.append(item)
            apart.ask(item[1])
        return bool(self._lent)

    def _first_is_due(self) -> None:
        first = self._lent[0]
        if self.current is None or self.current[0] != first[0]:
            self.current = *first, time.monotonic()

    def give_up(self) -> None:
        """End the second process; from any thread. What it was asked for goes back when its pipe has closed."""
        self._stopped.set()
        if self._apart is not None:
            self._apart.end()


def read_all(paths: Sequence[Path], read: Callable[[Path], ModelFile], patience_s: float,
             cancelled: Callable[[], bool], apart: Callable[[], Apart] | None = None) -> Iterator[tuple[int, Answer]]:
    """(number, model or why not) as they come; ends early when cancelled.

    A file that does not answer within `patience_s` is answered for with a reason; its thread is left behind (a
    daemon that ends with its read) and another takes its place. `apart` starts a second process that reads into the
    cache which `read` looks into: where the scan turns out to be a long one, those help.
    """
    todo = _Todo(paths)
    readers: list[_Reader | _Lender] = []
    start = time.monotonic()
    _add_readers(readers, 1, read, todo)
    answered: set[int] = set()
    more: list[Callable[[], None]] = [partial(_add_readers, readers, READERS - 1, read, todo)]
    if apart is not None:
        more.insert(0, partial(_add_lenders, readers, apart, todo))
    try:
        while len(answered) < len(paths) and not cancelled():
            news = todo.answers() or _late(readers, patience_s, read, todo)
            for number, answer in news:
                if number not in answered:
                    answered.add(number)
                    yield number, answer
                    if cancelled():
                        return
            passed_s = time.monotonic() - start
            if passed_s > _LOOK_S and more and _is_long(len(answered), len(paths), passed_s):
                more.pop(0)()
                start += _AGAIN_S
    finally:
        todo.end()
        for reader in readers:
            reader.give_up()
        for reader in readers:
            if isinstance(reader, _Lender):
                reader.join(2.0)


def _is_long(done: int, count: int, passed_s: float) -> bool:
    return (count - done) * passed_s > _LONG_S * max(done, 1)


def _add_readers(readers: list[_Reader | _Lender], count: int, read: Callable[[Path], ModelFile],
                 todo: _Todo) -> None:
    for _ in range(count):
        reader = _Reader(read, todo)
        readers.append(reader)
        reader.start()


def _add_lenders(readers: list[_Reader | _Lender], start: Callable[[], Apart], todo: _Todo) -> None:
    """With second processes, as many as there are cores for."""
    for _ in range(max(1, min(_MOST_APART, (os.cpu_count() or 1) - 1))):
        lender = _Lender(start, todo)
        readers.append(lender)
        lender.start()


def _late(readers: list[_Reader | _Lender], patience_s: float, read: Callable[[Path], ModelFile], todo: _Todo,
          ) -> list[tuple[int, Answer]]:
    """Answers for files that took too long; those who read them are given up, and replaced."""
    late: list[tuple[int, Answer]] = []
    for place, reader in enumerate(readers):
        current = reader.current
        if current is None or time.monotonic() - current[2] <= patience_s:
            continue
        reader.current = None
        reader.give_up()
        if isinstance(reader, _Reader):
            readers[place] = fresh = _Reader(read, todo)
            fresh.start()
            late.append((current[0], Unread(silent(current[1].name))))
    return late


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
