"""Values that a file may hold once for all layers or once per layer, and which layer a tensor belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

MOST_LAYERS = 4096
"""llama.cpp's own limit is 512; a larger block_count is a damaged file."""

_BLOCK = re.compile(r"(?:enc\.|dec\.)?blk\.(\d{1,5})\.(.*)", re.DOTALL)


def per_layer(value: Any, layers: int | None) -> tuple[Any, ...] | None:
    """One value per layer: a scalar or a list of one is repeated, a list of `layers` is kept; None for all else."""
    if value is None or layers is None or isinstance(value, str):
        return None
    if isinstance(value, (int, float)):
        return (value,) * layers
    if not isinstance(value, (tuple, list)):
        return None
    if len(value) == layers:
        return tuple(value)
    return (value[0],) * layers if len(value) == 1 else None


def whole(value: Any) -> int | None:
    """A whole number, also from a list whose elements are all the same; None for everything else."""
    if isinstance(value, (tuple, list)) and value and all(v == value[0] for v in value):
        value = value[0]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_WIDTHS = ("clip.vision.projection_dim", "clip.audio.projection_dim", "clip.projection_dim")


def projection_widths(metadata: Mapping[str, Any]) -> frozenset[int]:
    """How wide what a projector puts out is, as its file says; a model takes it if its embedding is as wide."""
    return frozenset(w for w in (whole(metadata.get(key)) for key in _WIDTHS) if w)


def block_of(name: str) -> tuple[int, str] | None:
    """"blk.7.attn_q.weight" -> (7, "attn_q.weight"); None for a tensor outside the blocks."""
    return _remembered(name) if len(name) <= _USUAL_NAME else _block_of(name)


def _block_of(name: str) -> tuple[int, str] | None:
    match = _BLOCK.match(name)
    return (int(match[1]), match[2]) if match else None


_USUAL_NAME = 63
"""llama.cpp's own limit. Longer ones are not remembered, so that damaged files cannot fill the memory."""
_remembered = lru_cache(maxsize=1 << 14)(_block_of)
"""Models of a library share their names: a scan of a thousand asks for the same few hundred again and again."""
