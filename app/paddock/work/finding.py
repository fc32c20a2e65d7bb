"""A model file that moved is found again by what it is: the hash of its header and the sizes of its parts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import AppError

if TYPE_CHECKING:
    from paddock.library import Entry
    from paddock.work.workspace import Workspace

SEARCH_S = 20.0
"""A longer search is given up: the person may name the file."""
_MOST_NEARBY = 500


def found_again(workspace: Workspace, path: str, identity: str, known: Sequence[Path] | None = None) -> Path | None:
    """Where the file is now; None where it is not found. Looks near the old place, then at `known`: all files in the
    places of models, which are looked for where that is None (seconds at worst). Reads headers only."""
    old = Path(path).expanduser()
    for candidate in (*islice(_nearby(old), _MOST_NEARBY), *_likely_first(known or (), old)):
        found = _is_it(workspace, candidate, identity)
        if found is not None:
            return found
    if known is not None:
        return None
    same = [e.path for e in _everywhere(workspace) if e.model is not None and e.model.identity == identity]
    return next(iter(_likely_first(same, old)), None)


def _likely_first(paths: Iterable[Path], old: Path) -> list[Path]:
    """Of several copies, the one that kept its name."""
    return sorted(paths, key=lambda p: (p.name != old.name, str(p)))


def namesakes(workspace: Workspace, path: str, known: Sequence[Path] | None = None) -> list[Path]:
    """Files of the same name in the places of models: for one that nothing but the name is known of."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    files = known if known is not None else [e.path for e in _everywhere(workspace)]
    return sorted(file for file in files if file.name == name)


def _everywhere(workspace: Workspace) -> list[Entry]:
    end = time.monotonic() + SEARCH_S
    return workspace.scan(lambda _done, _total, _text: None, lambda: time.monotonic() > end)


def _nearby(old: Path) -> Iterator[Path]:
    """The folder that it was in, and the folders beside and below that: it may have been renamed or moved by one."""
    for folder in (old.parent, old.parent.parent):
        if folder == folder.parent:
            continue  # Never the root of a disk.
        for pattern in ("*.gguf", "*/*.gguf"):
            try:
                yield from _likely_first(folder.glob(pattern), old)
            except OSError:
                continue


def _is_it(workspace: Workspace, path: Path, identity: str) -> Path | None:
    try:
        model = workspace.read_model(path)
    except (AppError, OSError):
        return None
    return model.path if model.identity == identity else None
