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
from paddock.library.apart import Apart
from paddock.library.model import Entry, Place
from paddock.library.reading import Answer, Unread, read_all, silent
from paddock.library.walk import Candidate, Seen, in_place

Progress = Callable[[int, int | None, str], None]
_PATIENCE_S = 30.0
_GLANCE_S = 0.1


def scan(places: Iterable[Place | Path], *, read: Callable[[Path], ModelFile], progress: Progress | None = None,
         cancelled: Callable[[], bool] | None = None, patience_s: float = _PATIENCE_S,
         apart: Callable[[], Apart] | None = None) -> list[Entry]:
    """What was found, in the order of the places; when cancelled, what was found until then.

    `read` is `gguf.read` with a cache; it is called in several threads. `progress(done, all or None while still
    looking, name)`. A file or a folder that does not answer within `patience_s` (a network drive that is gone) is
    listed as an error. `apart` starts a second process that fills the cache of `read` (`library.apart.apart_for`); a
    scan that would last asks for some.
    """
    stop = cancelled or (lambda: False)
    tell = progress or (lambda done, total, name: None)
    folders = [place if isinstance(place, Place) else Place(Path(place), str(place)) for place in places]
    seen = Seen()
    found: list[Candidate] = []
    silent_places: list[Entry] = []
    for place in folders:
        more, error = listed(place, seen, tell, stop, patience_s)
        found += more
        if error is not None:
            silent_places.append(Entry(place.path, place.label, error=error))
    answers: dict[int, Answer] = {}
    for number, answer in read_all([c.path for c in found], read, patience_s, stop, apart):
        tell(len(answers), len(found), found[number].alias or found[number].path.name)
        answers[number] = answer
    if not stop():
        tell(len(found), len(found), "")
    return _with_duplicates([_entry(found[n], answers[n]) for n in sorted(answers)]) + silent_places


def listed(place: Place, seen: Seen, tell: Progress, stop: Callable[[], bool], patience_s: float,
           ) -> tuple[list[Candidate], AppError | None]:
    """What lies in a place, listed in a thread of its own: a folder on a drive that hangs ends the list there."""
    news: queue.SimpleQueue[Candidate | Path | None] = queue.SimpleQueue()
    given_up = threading.Event()

    def work() -> None:
        for candidate in in_place(place, seen, news.put, given_up.is_set):
            news.put(candidate)
        news.put(None)

    found: list[Candidate] = []
    last, folder = time.monotonic(), place.path
    threading.Thread(target=work, name="folder-lister", daemon=True).start()
    try:
        while not stop():
            try:
                item = news.get(timeout=_GLANCE_S)
            except queue.Empty:
                if time.monotonic() - last > patience_s:
                    return found, silent(str(folder))
                continue
            last = time.monotonic()
            if item is None:
                break
            if isinstance(item, Path):
                folder = item
                tell(0, None, str(folder))
            else:
                found.append(item)
    finally:
        given_up.set()
    return found, None


def _entry(candidate: Candidate, answer: Answer) -> Entry:
    if isinstance(answer, Unread):
        return Entry(candidate.path, candidate.place, error=answer.error, alias=candidate.alias,
                     size_bytes=answer.size_bytes)
    return Entry(answer.path, candidate.place, answer, alias=candidate.alias, size_bytes=answer.size_bytes)


def _with_duplicates(entries: list[Entry]) -> list[Entry]:
    alike: defaultdict[tuple[str, int], list[Path]] = defaultdict(list)
    for entry in entries:
        if entry.model is not None:
            alike[entry.model.identity, entry.model.size_bytes].append(entry.path)
    return [entry if entry.model is None or len(alike[entry.model.identity, entry.model.size_bytes]) < 2
            else replace(entry, duplicates=tuple(
                path for path in alike[entry.model.identity, entry.model.size_bytes] if path != entry.path))
            for entry in entries]
