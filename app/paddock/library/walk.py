"""Which files to look at: names that are, or will be, a GGUF; each file once, however many links lead to it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from paddock.gguf.foreign import UNFINISHED
from paddock.gguf.splits import shard_name
from paddock.library import ollama
from paddock.library.model import Place

_IGNORED = {".git", "node_modules", "__pycache__", "$RECYCLE.BIN", "System Volume Information", ".Trash"}
_DEEPEST = 16
_UNFINISHED = tuple(ending.lower() for ending in UNFINISHED)
_NOTES = (".aria2",)
"""Endings of files that only accompany a download; the model's own name is listed instead."""
_REPOSITORY = re.compile(r"models--(.+?)--(.+)")


@dataclass(frozen=True)
class Candidate:
    """A file worth reading. `alias`: the name its program gives it, where the file name says nothing."""

    path: Path
    place: str
    alias: str | None = None


class Seen:
    """What was met already, over all places: folders (links may lead in circles) and files."""

    def __init__(self) -> None:
        self.folders: set[tuple[int, int]] = set()
        self.files: set[object] = set()


def in_place(place: Place, seen: Seen, progress: Callable[[Path], None], cancelled: Callable[[], bool],
             ) -> Iterator[Candidate]:
    """Everything in this place that was not met before. Folders that cannot be listed are passed over."""
    for found in _everything(place, seen.folders, progress, cancelled):
        keys = _keys(found.path)
        known = not seen.files.isdisjoint(keys)
        seen.files.update(keys)
        if not known:
            yield found


def _everything(place: Place, seen: set[tuple[int, int]], progress: Callable[[Path], None],
                cancelled: Callable[[], bool]) -> Iterator[Candidate]:
    if place.path.is_file():
        yield Candidate(place.path, place.label)
    else:
        yield from _in_folder(place.path, place.label, 0, seen, progress, cancelled)


def _in_folder(folder: Path, place: str, depth: int, seen: set[tuple[int, int]], progress: Callable[[Path], None],
               cancelled: Callable[[], bool]) -> Iterator[Candidate]:
    if cancelled() or depth > _DEEPEST or not _first_time(folder, seen):
        return
    progress(folder)
    if ollama.is_store(folder):
        yield from (Candidate(blob.path, place, blob.name) for blob in ollama.blobs(folder))
        return
    try:
        with os.scandir(folder) as listing:
            items = sorted(listing, key=lambda item: item.name)
    except OSError:
        return
    repository = _REPOSITORY.fullmatch(folder.parent.name) if folder.name == "blobs" else None
    for item in items:
        path = folder / item.name
        if repository is not None:
            if item.name.endswith(".incomplete") and _begins_like_gguf(path):
                yield Candidate(path, place, f"{repository[1]}/{repository[2]}")
        elif _is_folder(item):
            if item.name not in _IGNORED:
                yield from _in_folder(path, place, depth + 1, seen, progress, cancelled)
        elif _wanted(item.name):
            yield Candidate(path, place)


def _wanted(name: str) -> bool:
    lower = name.lower()
    if lower.endswith(".gguf"):
        return True
    return ".gguf" in lower and lower.endswith(_UNFINISHED) and not lower.endswith(_NOTES)


def _begins_like_gguf(path: Path) -> bool:
    """The cache holds other models too, and an unfinished blob has no name that would tell."""
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False


def _is_folder(item: os.DirEntry[str]) -> bool:
    try:
        return item.is_dir()
    except OSError:
        return False


def _first_time(folder: Path, seen: set[tuple[int, int]]) -> bool:
    """Links may lead in circles."""
    try:
        status = folder.stat()
    except OSError:
        return False
    key = (status.st_dev, status.st_ino)
    if key in seen:
        return False
    seen.add(key)
    return True


def _keys(path: Path) -> list[object]:
    """What makes a file the same: the file itself, and for a part of a set also the set."""
    keys: list[object] = []
    part = shard_name(path)
    if part is not None and part.plausible and part.count > 1:
        keys.append((str(part.folder), part.prefix.lower(), part.count))
    try:
        status = path.stat()
        keys.append((status.st_dev, status.st_ino))
    except OSError:
        keys.append(str(path))
    return keys
