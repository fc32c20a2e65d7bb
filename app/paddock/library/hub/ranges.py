"""A remote file read by ranges: growing pieces, a bound on what is asked for, nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.text import Text
from paddock.units import bytes_text

if TYPE_CHECKING:
    from paddock.library.hub.client import Hub

MOST_HEADER_BYTES = 64 << 20
"""Headers with the largest vocabularies and their merges take about 30 MB."""
_FIRST, _LARGEST = 256 << 10, 4 << 20
_READ = 64 << 10


class RangeFile:
    """A `gguf` source over HTTP. Read forwards: what was passed is forgotten, the pieces grow.

    AppError when more than `MOST_HEADER_BYTES` would be fetched, when the server gives other bytes than asked for, or
    when cancelled.
    """

    def __init__(self, hub: Hub, what: str, url: str, size: int, cancelled: Callable[[], bool] = lambda: False) -> None:
        self._hub, self._what, self._url, self._size, self._cancelled = hub, what, url, size, cancelled
        self._at = 0
        self._start, self._held = 0, b""
        self._piece = _FIRST
        self.fetched_bytes = 0

    def seek(self, offset: int, /) -> int:
        self._at = offset
        return offset

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes from here; fewer only at the file's end."""
        end = min(self._at + size, self._size)
        if end <= self._at:
            return b""
        held_end = self._start + len(self._held)
        if self._start <= self._at and end <= held_end:
            pass
        elif self._start <= self._at <= held_end:
            kept = self._held[self._at - self._start:]
            self._held, self._start = kept + self._fetch(held_end, end), self._at
        else:
            self._held, self._start = self._fetch(self._at, end), self._at
        found = self._held[self._at - self._start:end - self._start]
        self._at += len(found)
        return found

    def _fetch(self, start: int, end: int) -> bytes:
        """At least the bytes from `start` to `end`, and some that will be asked for next."""
        end = min(max(end, start + self._piece), self._size)
        self._piece = min(2 * self._piece, _LARGEST)
        if self.fetched_bytes + end - start > MOST_HEADER_BYTES:
            raise AppError(Text("The header is larger than {limit}: it was not read to its end.",
                                limit=bytes_text(MOST_HEADER_BYTES)))
        found = bytearray()
        with self._hub.stream(self._url, start, end - 1, self._what) as answer:
            if answer.status_code != 206 and (start or end < self._size):
                raise AppError(Text("{host} does not give out parts of files.", host=self._hub.host),
                               why=Text("The fit is worked out from the first part of a file, which a proxy or mirror "
                                        "on the way may not offer."),
                               hint=Text("Download the file to see whether it fits."))
            for piece in answer.iter_bytes(_READ):
                found += piece
                if self._cancelled():
                    raise AppError(Text("Cancelled."))
                if len(found) > end - start:
                    break
        if len(found) != end - start:
            raise AppError(Text("{host} gave other bytes than asked for.", host=self._hub.host),
                           hint=Text("Try again."))
        self.fetched_bytes += len(found)
        return bytes(found)
