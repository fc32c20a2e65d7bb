"""The hash over all bytes, for those who want to know that two models are the same to the last weight."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from paddock.errors import AppError
from paddock.text import Text

_PIECE = 4 << 20


def full_hash(paths: str | os.PathLike[str] | Sequence[Path], progress: Callable[[int, int], None] | None = None,
              cancelled: Callable[[], bool] | None = None) -> str | None:
    """SHA-256 (hex) over a file, or over several in their order; `progress(done_bytes, all_bytes)`; None if cancelled.

    For one file this is what sha256sum and Hugging Face show. AppError if a file cannot be read.
    """
    files = [Path(paths)] if isinstance(paths, (str, os.PathLike)) else [Path(p) for p in paths]
    digest = hashlib.sha256()
    done = 0
    for path in files:
        try:
            total = sum(p.stat().st_size for p in files)
            with path.open("rb", buffering=0) as file:
                while piece := file.read(_PIECE):
                    if cancelled is not None and cancelled():
                        return None
                    digest.update(piece)
                    done += len(piece)
                    if progress is not None:
                        progress(done, total)
        except OSError as error:
            raise AppError(Text("“{name}” could not be read to its end.", name=path.name),
                           why=error.strerror) from error
    return digest.hexdigest()
