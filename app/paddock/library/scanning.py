"""scan: every model of the given places, read once, errors listed and never raised."""

from __future__ import annotations

import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from paddock.errors import AppError
from paddock.gguf import ModelFile
from paddock.library.model import Entry, Place
from paddock.library.walk import Candidate, candidates
from paddock.text import Text

Progress = Callable[[int, int | None, str], None]
_PATIENCE_S = 30.0
_GLANCE_S = 0.1


def scan(places: Iterable[Place | Path], *, read: Callable[[Path], ModelFile], progress: Progress | None = None,
         cancelled: Callable[[], bool] | None = None, patience_s: float = _PATIENCE_S) -> list[Entry]:
    """What was found, in the order of the places; when cancelled, what was found until then.

    `read` is `gguf.read` with a cache; `progress(done, all or None while still looking, name)`. A file that does not
    answer within `patience_s` (a network drive that is gone) is listed as an error.
    """
    stop = cancelled or (lambda: False)
    tell = progress or (lambda done, total, name: None)
    folders = [place if isinstance(place, Place) else Place(Path(place), str(place)) for place in places]
    found = list(candidates(folders, lambda folder: tell(0, None, str(folder)), stop))
    entries: list[Entry] = []
    reader = _Reader(read, patience_s, stop)
    try:
        for number, candidate in enumerate(found):
            if stop():
                break
            tell(number, len(found), candidate.alias or candidate.path.name)
            entry = _entry(candidate, reader)
            if entry is not None:
                entries.append(entry)
        else:
            tell(len(found), len(found), "")
    finally:
        reader.close()
    return _with_duplicates(entries)


def _entry(candidate: Candidate, reader: _Reader) -> Entry | None:
    try:
        model = reader.read(candidate.path)
    except AppError as error:
        return Entry(candidate.path, candidate.place, error=error, alias=candidate.alias,
                     size_bytes=_size(candidate.path))
    if model is None:
        return None
    return Entry(model.path, candidate.place, model, alias=candidate.alias, size_bytes=model.size_bytes)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _with_duplicates(entries: list[Entry]) -> list[Entry]:
    alike: defaultdict[tuple[str, int], list[Path]] = defaultdict(list)
    for entry in entries:
        if entry.model is not None:
            alike[entry.model.identity, entry.model.size_bytes].append(entry.path)
    return [entry if entry.model is None else replace(entry, duplicates=tuple(
        path for path in alike[entry.model.identity, entry.model.size_bytes] if path != entry.path))
        for entry in entries]


class _Reader:
    """Reads in a thread of its own, so that a drive that hangs costs one file and not the scan.

    A thread that hangs is left behind (it is a daemon and ends with its read); the next file gets a new one.
    """

    def __init__(self, read: Callable[[Path], ModelFile], patience_s: float, cancelled: Callable[[], bool]) -> None:
        self._read = read
        self._patience_s = patience_s
        self._cancelled = cancelled
        self._asked: queue.SimpleQueue[Path | None] | None = None
        self._answers: queue.SimpleQueue[ModelFile | AppError] = queue.SimpleQueue()

    def read(self, path: Path) -> ModelFile | None:
        """The model; None if the scan was cancelled meanwhile; AppError as `read` raises it, or if time is up."""
        asked = self._asked or self._start()
        asked.put(path)
        until = time.monotonic() + self._patience_s
        while True:
            try:
                answer = self._answers.get(timeout=_GLANCE_S)
                break
            except queue.Empty:
                if self._cancelled():
                    self.close()
                    return None
                if time.monotonic() > until:
                    self.close()
                    raise AppError(
                        Text("“{name}” did not answer in time.", name=path.name),
                        why=Text("The drive, perhaps a network drive, does not respond."),
                        hint=Text("Check the connection and scan again.")) from None
        if isinstance(answer, AppError):
            raise answer
        return answer

    def close(self) -> None:
        """Lets the thread end: at once if it is idle, else when its read returns."""
        if self._asked is not None:
            self._asked.put(None)
            self._asked = None

    def _start(self) -> queue.SimpleQueue[Path | None]:
        asked: queue.SimpleQueue[Path | None] = queue.SimpleQueue()
        self._asked, self._answers = asked, queue.SimpleQueue()
        threading.Thread(target=self._work, args=(asked, self._answers), name="header-reader", daemon=True).start()
        return asked

    def _work(self, asked: queue.SimpleQueue[Path | None], answers: queue.SimpleQueue[ModelFile | AppError]) -> None:
        while (path := asked.get()) is not None:
            try:
                answers.put(self._read(path))
            except AppError as error:
                answers.put(error)
