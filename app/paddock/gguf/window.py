"""A file read forwards through a small window: bounded memory, few reads, and a digest of what was passed."""

from __future__ import annotations

import hashlib
import struct
from typing import Any, Protocol

_CHUNK = 1 << 20
_FIRST_CHUNK = 128 << 10
"""Most headers end soon, and what is read behind them was read in vain; each further chunk is twice as large."""
HEADER_LIMIT = 128 << 20
"""No header is larger: the largest vocabularies with their merges take about 30 MB."""


class Source(Protocol):
    """What a window needs of a binary file."""

    def seek(self, offset: int, /) -> int: ...
    def read(self, size: int, /) -> bytes | None: ...


class OutOfBytesError(Exception):
    """`needed` bytes are wanted at `offset`, more than the file (or any sane header) has."""

    def __init__(self, offset: int, needed: int) -> None:
        super().__init__(offset, needed)
        self.offset = offset
        self.needed = needed


class Window:
    """`data` holds the bytes from `base` on; `pos` is the cursor, counted from the start of the file."""

    __slots__ = ("_chunk", "_file", "_hash", "_hashed", "base", "data", "limit", "pos", "size")

    def __init__(self, file: Source, size: int, start: bytes = b"", *, pos: int = 0,
                 limit: int = HEADER_LIMIT) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._hashed = pos
        self._chunk = _FIRST_CHUNK
        self.size = size
        self.limit = min(size, limit)
        self.data = start
        self.base = self.pos = pos

    @property
    def left(self) -> int:
        """Bytes between the cursor and the end of what may be read."""
        return self.limit - self.pos

    def take(self, count: int) -> int:
        """Move past `count` bytes; their index in `data`. OutOfBytesError if they are not there."""
        start = self.pos - self.base
        if start + count > len(self.data):
            self._refill(count)
            start = 0
        self.pos += count
        return start

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """Read a fixed structure and move past it."""
        at = self.take(layout.size)
        return layout.unpack_from(self.data, at)

    def skip(self, count: int) -> None:
        """Move past `count` bytes without holding them."""
        if count > self.left:
            raise OutOfBytesError(self.pos, count)
        self.pos += count

    def more(self) -> None:
        """Put the window's start at the cursor and read on, so that at least 8 bytes follow."""
        self._refill(8)

    def digest(self) -> str:
        """SHA-256 (hex) of everything from the start to the cursor."""
        self._absorb()
        return self._hash.hexdigest()

    def _refill(self, count: int) -> None:
        if count > self.left:
            raise OutOfBytesError(self.pos, count)
        self._absorb()
        self.data = self._read(self.pos, max(count, self._chunk))
        self._chunk = min(2 * self._chunk, _CHUNK)
        self.base = self.pos
        if len(self.data) < count:
            raise OutOfBytesError(self.pos, count)

    def _absorb(self) -> None:
        held = min(self.pos, self.base + len(self.data))
        if held > self._hashed:
            self._hash.update(memoryview(self.data)[self._hashed - self.base:held - self.base])
            self._hashed = held
        while self._hashed < self.pos:
            piece = self._read(self._hashed, min(_CHUNK, self.pos - self._hashed))
            if not piece:
                raise OutOfBytesError(self._hashed, self.pos - self._hashed)
            self._hash.update(piece)
            self._hashed += len(piece)

    def _read(self, offset: int, count: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(count) or b""
        while len(data) < count:
            more = self._file.read(count - len(data))
            if not more:
                break
            data += more
        return data
