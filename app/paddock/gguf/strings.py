"""Skipping arrays of strings: the one loop that a quarter of a million vocabulary entries pay for.

A string is a u64 length and that many bytes, so each one must be looked at to find the next. A compiled pattern walks
blocks of short strings at C speed: every alternative is one length, spelt out with its seven zero bytes, so a match is
proof and not a guess. What it does not know (longer strings, the window's end) is walked one by one.
"""

from __future__ import annotations

import re
import struct

from paddock.gguf.window import OutOfBytesError, Window

_BLOCK = 64
_LONGEST = 48


def _record(length: int) -> bytes:
    return re.escape(bytes([length])) + rb"\0{7}" + (b".{%d}" % length if length else b"")


_SHORT_STRINGS = re.compile(
    b"(?:" + b"|".join(map(_record, [*range(1, _LONGEST), 0])) + b"){%d}+" % _BLOCK, re.DOTALL)


def skip(window: Window, count: int, order: str) -> None:
    """Move the window past `count` strings; OutOfBytesError if the file ends before they do. `order`: "<" or ">"."""
    if count * 8 > window.left:
        raise OutOfBytesError(window.pos, count * 8)
    match = _SHORT_STRINGS.match if order == "<" else None
    while count:
        if match is not None:
            data, at = window.data, window.pos - window.base
            while count >= _BLOCK and (found := match(data, at)):
                at = found.end()
                count -= _BLOCK
            window.pos = window.base + at
        count -= _walk(window, min(count, _BLOCK), order)


def _walk(window: Window, count: int, order: str) -> int:
    """Move past up to `count` strings, at least one; how many it were."""
    unpack = struct.Struct(f"{order}Q").unpack_from
    if window.pos - window.base + 8 > len(window.data):
        window.more()
    data, at, end = window.data, window.pos - window.base, len(window.data) - 8
    done = 0
    while done < count and at <= end:
        at += unpack(data, at)[0] + 8
        done += 1
    window.skip(window.base + at - window.pos)
    return done
