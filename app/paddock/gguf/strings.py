"""Skipping arrays of strings: the one loop that a quarter of a million vocabulary entries pay for.

A string is a u64 length and that many bytes, so each one must be looked at to find the next. Both fast ways below are
exact. A compiled pattern walks blocks of short strings at C speed: every alternative is one length, spelt out with its
seven zero bytes, so a match is proof. Where numpy is loaded anyway (importing it would cost more than it saves), all
places that look like a short length are found at once, and believed as far as each lies where the one before it ends.
What neither knows (long strings, the window's end) is walked one by one. Most files of a library share a vocabulary
with others: stretches that were passed before are known again by their very bytes.
"""

from __future__ import annotations

import re
import struct
import sys
from typing import Any

from paddock.gguf.window import OutOfBytesError, Window

_BLOCK = 64
_LONGEST = 96
_COMMON = 8.5
"""Bytes of a usual token. The alternatives are tried in order, so the likely lengths come first."""
_WORTH_A_CHAIN = 4096
_STRETCH = 16 * _BLOCK
_SIGN = 64
"""Bytes by which a stretch is looked up; then all of it is compared."""
_MOST_REMEMBERED = 16 << 20


def _record(length: int) -> bytes:
    return re.escape(bytes([length])) + rb"\0{7}" + (b".{%d}" % length if length else b"")


_SHORT_STRINGS = re.compile(
    b"(?:" + b"|".join(map(_record, sorted(range(_LONGEST), key=lambda n: abs(n - _COMMON)))) + b"){%d}+" % _BLOCK,
    re.DOTALL)


def skip(window: Window, count: int, order: str) -> None:
    """Move the window past `count` strings; OutOfBytesError if the file ends before they do. `order`: "<" or ">"."""
    if count * 8 > window.left:
        raise OutOfBytesError(window.pos, count * 8)
    numpy = sys.modules.get("numpy") if order == "<" else None
    while count:
        if numpy is not None and count >= _WORTH_A_CHAIN:
            done, broken = _chain(numpy, window, count)
            # Many odd strings would make each attempt look at the same bytes again.
            numpy = None if broken and done < _WORTH_A_CHAIN else numpy
            count -= done
        elif order == "<":
            count -= _blocks(window, count)
        count -= _walk(window, min(count, _BLOCK), order)


def _chain(numpy: Any, window: Window, count: int) -> tuple[int, bool]:
    """Strings passed in this window, and whether it stopped before the window's end."""
    at = window.pos - window.base
    if at + 16 > len(window.data):
        return 0, False
    data = numpy.frombuffer(window.data, numpy.uint8, offset=at)
    zero = data == 0
    zero = zero[:-1] & zero[1:]
    zero = zero[:-2] & zero[2:]
    zero = zero[:-3] & zero[3:]
    starts = numpy.flatnonzero(zero[1:])[:count]
    if not len(starts) or starts[0]:
        return 0, True
    ends = starts + 8 + data[starts]
    fits = ends[:-1] == starts[1:]
    done = len(starts) if fits.all() else int(fits.argmin()) + 1
    end = int(ends[done - 1])
    window.skip(end)
    return done, end + 1024 < len(data)


class _Remembered:
    """Stretches of `_STRETCH` strings that were passed, up to so many bytes. What threads do at once is harmless."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._stretches: dict[bytes, bytes] = {}

    def length(self, data: bytes, at: int) -> int:
        """Bytes of the stretch that begins here, 0 if it is none of those that are known."""
        known = self._stretches.get(data[at:at + _SIGN])
        return len(known) if known is not None and data.startswith(known, at) else 0

    def keep(self, stretch: bytes) -> None:
        if self._held + len(stretch) > self._most:
            self.forget()
        self._stretches[stretch[:_SIGN]] = stretch
        self._held += len(stretch)

    def forget(self) -> None:
        self._stretches.clear()
        self._held = 0


REMEMBERED = _Remembered(_MOST_REMEMBERED)


def _blocks(window: Window, count: int) -> int:
    """Strings passed in this window, a multiple of the block."""
    data, at, left = window.data, window.pos - window.base, count
    while left >= _STRETCH:
        known = REMEMBERED.length(data, at)
        if not known:
            passed, end = _matched(data, at, _STRETCH)
            if passed < _STRETCH:
                left, at = left - passed, end
                break
            known = end - at
            REMEMBERED.keep(data[at:end])
        at += known
        left -= _STRETCH
    passed, at = _matched(data, at, left)
    window.pos = window.base + at
    return count - left + passed


def _matched(data: bytes, at: int, most: int) -> tuple[int, int]:
    """Strings passed from here, a multiple of the block and at most `most`, and where they end."""
    match, left = _SHORT_STRINGS.match, most
    while left >= _BLOCK and (found := match(data, at)):
        at = found.end()
        left -= _BLOCK
    return most - left, at


def _walk(window: Window, count: int, order: str) -> int:
    """Strings passed one by one: `count`, or fewer at the window's end, but at least one of them."""
    unpack = struct.Struct(f"{order}Q").unpack_from
    if count and window.pos - window.base + 8 > len(window.data):
        window.more()
    data, at, end = window.data, window.pos - window.base, len(window.data) - 8
    done = 0
    while done < count and at <= end:
        at += unpack(data, at)[0] + 8
        done += 1
    window.skip(window.base + at - window.pos)
    return done
