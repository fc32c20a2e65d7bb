"""Long arrays stay on the disk until somebody asks."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from paddock.errors import AppError
from paddock.gguf import strings
from paddock.gguf.window import OutOfBytesError, Window
from paddock.text import Text

VALUE_TYPES: Mapping[int, str] = MappingProxyType(dict(enumerate(
    ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"))))
"""GGUF value type ids."""

CODES: Mapping[str, tuple[str, int]] = MappingProxyType({
    "u8": ("B", 1), "i8": ("b", 1), "u16": ("H", 2), "i16": ("h", 2), "u32": ("I", 4), "i32": ("i", 4), "f32": ("f", 4),
    "bool": ("?", 1), "u64": ("Q", 8), "i64": ("q", 8), "f64": ("d", 8)})
"""Fixed-size value types: the struct code and the bytes of one."""

MOST_NESTED = 4
"""Arrays of arrays are not used by anyone; deeper than this is a damaged file."""


@dataclass(frozen=True, slots=True)
class LazyArray:
    """An array in a file: `length` elements of type `element` ("string", "f32", …), `nbytes` bytes from `offset` on."""

    element: str
    length: int
    path: str
    offset: int
    nbytes: int
    big_endian: bool = False

    def __len__(self) -> int:
        return self.length

    def read(self, limit: int | None = None) -> tuple[Any, ...]:
        """The first `limit` elements, or all. AppError if the file cannot be read or is another one by now."""
        count = self.length if limit is None else min(limit, self.length)
        path = Path(self.path)
        try:
            with path.open("rb", buffering=0) as file:
                end = self.offset + self.nbytes
                window = Window(file, min(path.stat().st_size, end), pos=self.offset, limit=end)
                return elements(window, self.element, count, ">" if self.big_endian else "<")
        except (OSError, OutOfBytesError) as error:
            raise AppError(Text("A list in “{name}” could not be read.", name=path.name),
                           why=Text("The file has changed or is gone."), hint=Text("Open the file again.")) from error


def text(window: Window, order: str, longest: int) -> str:
    """The string at the cursor; bytes that are not UTF-8 become U+FFFD. OutOfBytesError beyond `longest` bytes."""
    (length,) = window.unpack(struct.Struct(f"{order}Q"))
    if length > longest:
        raise OutOfBytesError(window.pos, length)
    at = window.take(length)
    return window.data[at:at + length].decode("utf-8", "replace")


def elements(window: Window, element: str, count: int, order: str, depth: int = 0) -> tuple[Any, ...]:
    """`count` elements at the cursor; the cursor moves past them."""
    if element in CODES:
        code, _ = CODES[element]
        return window.unpack(struct.Struct(f"{order}{count}{code}"))
    if element == "string":
        return tuple(text(window, order, window.left) for _ in range(count))
    return tuple(_nested(window, order, depth + 1) for _ in range(count))


def skip(window: Window, element: str, count: int, order: str) -> None:
    """Move past `count` elements of a type that does not nest."""
    if element == "string":
        strings.skip(window, count, order)
    else:
        window.skip(count * CODES[element][1])


def _nested(window: Window, order: str, depth: int) -> tuple[Any, ...]:
    kind, count = window.unpack(struct.Struct(f"{order}IQ"))
    element = VALUE_TYPES.get(kind)
    # The header was read with the same rules, so this can only be a file that changed since.
    if element is None or depth > MOST_NESTED or count > window.left:
        raise OutOfBytesError(window.pos, count)
    return elements(window, element, count, order, depth)


