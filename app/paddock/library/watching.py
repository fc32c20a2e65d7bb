"""Has anything changed where models lie? A digest of names, sizes and times: no file is opened.

Asked every few seconds while somebody looks. The system's own notices of changes are not used: they do not come from
network drives, nor from behind links, and there is a limit to how many folders may wait for them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from paddock.gguf.foreign import unfinished_name
from paddock.library.model import Place
from paddock.library.scanning import listed
from paddock.library.walk import Seen

PATIENCE_S = 10.0


def stamp(places: Iterable[Place], cancelled: Callable[[], bool], patience_s: float = PATIENCE_S) -> str | None:
    """The same text as before means that a scan would find the same; None when cancelled or where a place is silent.

    An unfinished download counts by its name alone: it grows all the time, and is worth a look when it is whole.
    """
    digest = hashlib.sha256()
    seen = Seen()
    for place in places:
        found, error = listed(place, seen, lambda done, total, name: None, cancelled, patience_s)
        if error is not None or cancelled():
            return None
        for candidate in found:
            digest.update(f"{candidate.path}\0{candidate.alias}\0{_state(candidate.path)}\n".encode("utf-8", "replace"))
    return digest.hexdigest()


def _state(path: Path) -> str:
    if unfinished_name(path):
        return ""
    try:
        status = os.stat(path)
    except OSError:
        return "gone"
    return f"{status.st_size} {status.st_mtime_ns}"
