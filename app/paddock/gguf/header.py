"""One file's header and tensor table, as they are written there; nothing is interpreted yet.

Every count and length is checked against the bytes that are there, so the work is bounded by the file.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paddock.errors import AppError
from paddock.gguf import arrays
from paddock.gguf.arrays import CODES, MOST_NESTED, VALUE_TYPES, LazyArray
from paddock.gguf.model import Problem
from paddock.gguf.window import OutOfBytesError, Window
from paddock.text import Text

LONGEST_ARRAY = 4096
"""Longer arrays stay on the disk, as do those of the tokenizer."""
_LONGEST_NAME = 65535
_LONGEST_VALUE = 4 << 20
_MOST_TEXT = 24 << 20
"""All names and values together; a chat template has some tens of kilobytes."""
_MOST_KEYS = 1 << 16
_MOST_TENSORS = 1 << 16
_MOST_INNER_ARRAYS = 1 << 16
_MOST_DIMENSIONS = 4
_ROW_ROOM = 8 + _LONGEST_NAME + 4 + 8 * _MOST_DIMENSIONS + 12
"""Bytes of the largest row of the tensor table."""
DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """Shape (ne[], innermost first) and type, as written. A model has few different ones: each is made once a file."""

    shape: tuple[int, ...]
    type_id: int


Row = tuple[str, Form, int]
"""A tensor as its table says: name, form, offset. A bare tuple: a scan of a library makes a quarter of a million."""


@dataclass(frozen=True)
class Header:
    """One file, read up to its tensor data. `digest` is the SHA-256 (hex) of exactly these bytes."""

    path: Path
    size_bytes: int
    mtime_ns: int
    version: int
    big_endian: bool
    metadata: dict[str, Any]
    rows: tuple[Row, ...]
    alignment: int
    data_start: int
    digest: str
    problems: tuple[Problem, ...] = field(default=())


class _DamagedError(Exception):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def read_header(window: Window, path: Path, mtime_ns: int, version: int, big_endian: bool) -> Header:
    """The header behind magic and version (the cursor stands at byte 8). AppError if it is damaged or cut off."""
    parser = _Parser(window, path, ">" if big_endian else "<")
    try:
        tensors, keys = parser.counts()
        metadata = parser.metadata(keys)
        rows = parser.rows(tensors)
        alignment = parser.alignment(metadata)
        # llama.cpp wants the data to start at the next multiple of the alignment, even in a file without tensors.
        data_start = -(-window.pos // alignment) * alignment
        return Header(path, window.size, mtime_ns, version, big_endian, metadata, rows, alignment, data_start,
                      window.digest(), tuple(parser.problems))
    except OutOfBytesError as error:
        raise _cut_off(path, window, error) from error
    except _DamagedError as error:
        raise AppError(Text("The header of “{name}” is damaged.", name=path.name), why=error.why,
                       hint=Text("Download or convert the file again.")) from error


def _cut_off(path: Path, window: Window, error: OutOfBytesError) -> AppError:
    what = Text("The header of “{name}” cannot be read.", name=path.name)
    if error.offset + error.needed <= window.size:
        why = Text("A length in it is larger than any model has, so it is damaged.")
    else:
        why = Text("At byte {offset} it asks for {needed} more bytes, but the file ends after {left}: it is cut off or "
                   "damaged.", offset=error.offset, needed=error.needed, left=max(0, window.size - error.offset))
    return AppError(what, why=why, hint=Text("Download the file again; if a download is still running, let it finish."))


class _Parser:
    """Walks one header; what a person should know collects in `problems`."""

    def __init__(self, window: Window, path: Path, order: str) -> None:
        self._window = window
        self._path = path
        self._order = order
        self._u32 = struct.Struct(f"{order}I")
        self._u64 = struct.Struct(f"{order}Q")
        self._inner_arrays = 0
        self._room = _MOST_TEXT
        self._nested = False
        self._bad_text = False
        self.problems: list[Problem] = []

    def counts(self) -> tuple[int, int]:
        """Number of tensors and of keys."""
        tensors = self._number(self._u64)
        keys = self._number(self._u64)
        if keys > _MOST_KEYS or tensors > _MOST_TENSORS:
            raise _DamagedError(Text("It claims {keys} metadata keys and {tensors} tensors.",
                                     keys=keys, tensors=tensors))
        if keys * 13 + tensors * 24 > self._window.left:
            raise OutOfBytesError(self._window.pos, keys * 13 + tensors * 24)
        return tensors, keys

    def metadata(self, keys: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        twice: list[str] = []
        for _ in range(keys):
            key = self._text(_LONGEST_NAME)
            if not key:
                raise _DamagedError(Text("A metadata key is empty."))
            value = self._value(key, self._number(self._u32))
            if key in found:
                twice.append(key)
            else:
                found[key] = value
        if twice:
            self._problem("duplicate-keys", "error", Text(
                "Metadata keys appear twice ({keys}); llama.cpp refuses such a file. The first value is shown.",
                keys=_some(twice)))
        if self._nested:
            self._problem("nested-arrays", "error", Text(
                "A metadata value is a list of lists, which llama.cpp refuses."))
        return found

    def rows(self, tensors: int) -> tuple[Row, ...]:
        """The tensor table. Most of the time of a small model goes here, so what the window holds is read in place."""
        window, length_at, dimensions_at = self._window, self._u64.unpack_from, self._u32.unpack_from
        forms: dict[bytes, Form] = {}
        rows: list[Row] = []
        data, at, room = window.data, window.pos - window.base, self._room
        for _ in range(tensors):
            if len(data) - at < _ROW_ROOM:
                window.skip(window.base + at - window.pos)
                window.more()
                data, at = window.data, 0
            try:
                length = length_at(data, at)[0]
                at += 8
                room -= length
                if length > _LONGEST_NAME or room < 0 or length > len(data) - at:
                    raise OutOfBytesError(window.base + at, length)
                try:
                    name = data[at:at + length].decode()
                except UnicodeDecodeError:
                    name = self._decoded(data[at:at + length])
                at += length
                dimensions = dimensions_at(data, at)[0]
                if dimensions > _MOST_DIMENSIONS:
                    raise _DamagedError(Text("The tensor “{tensor}” claims {count} dimensions; there are at most 4.",
                                             tensor=_short(name), count=dimensions))
                end = at + 8 + 8 * dimensions
                written = data[at:end]
                form = forms.get(written)
                if form is None:
                    form = forms[written] = self._form(written)
                offset = length_at(data, end)[0]
                at = end + 8
            except struct.error as error:
                raise OutOfBytesError(window.base + at, max(8, len(data) - at + 1)) from error
            rows.append((name, form, offset))
        window.skip(window.base + at - window.pos)
        self._room = room
        if self._bad_text:
            self._problem("bad-text", "warning", Text("Some texts in the header are not valid UTF-8."))
        return tuple(rows)

    def _form(self, written: bytes) -> Form:
        """struct.error where the bytes end too soon."""
        dimensions = self._u32.unpack_from(written)[0]
        *shape, type_id = struct.unpack(f"{self._order}{dimensions}QI", written[4:])
        return Form(tuple(shape) or (1,), type_id)

    def alignment(self, metadata: dict[str, Any]) -> int:
        value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
        if isinstance(value, int) and 0 < value <= 1 << 20 and value & (value - 1) == 0:
            return value
        self._problem("bad-alignment", "error", Text(
            "general.alignment is {value}, not a power of two; llama.cpp refuses it. Read as 32.",
            value=_short(str(value))))
        return DEFAULT_ALIGNMENT

    def _value(self, key: str, kind: int) -> Any:
        name = VALUE_TYPES.get(kind)
        if name is None:
            raise _DamagedError(Text("The value of “{key}” has the unknown type {kind}.", key=_short(key), kind=kind))
        if name == "string":
            return self._text(_LONGEST_VALUE)
        if name == "array":
            return self._array(key)
        code, _ = CODES[name]
        return self._window.unpack(struct.Struct(self._order + code))[0]

    def _array(self, key: str) -> Any:
        element, count = self._array_head(key)
        window = self._window
        start = window.pos
        if element == "array":
            self._nested = True
            self._skip_nested(key, count, 1)
        elif key.startswith("tokenizer.") or count > LONGEST_ARRAY:
            arrays.skip(window, element, count, self._order)
        elif element == "string":
            return tuple(self._text(_LONGEST_VALUE) for _ in range(count))
        else:
            return arrays.elements(window, element, count, self._order)
        return LazyArray(element, count, str(self._path), start, window.pos - start, self._order == ">")

    def _array_head(self, key: str) -> tuple[str, int]:
        kind = self._number(self._u32)
        count = self._number(self._u64)
        element = VALUE_TYPES.get(kind)
        if element is None:
            raise _DamagedError(Text("The list “{key}” has elements of the unknown type {kind}.",
                                     key=_short(key), kind=kind))
        least = 12 if element == "array" else 8 if element == "string" else CODES[element][1]
        if count * least > self._window.left:
            raise OutOfBytesError(self._window.pos, count * least)
        return element, count

    def _skip_nested(self, key: str, count: int, depth: int) -> None:
        self._inner_arrays += count
        if depth > MOST_NESTED or self._inner_arrays > _MOST_INNER_ARRAYS:
            raise _DamagedError(Text("The list “{key}” holds too many lists inside lists.", key=_short(key)))
        for _ in range(count):
            element, length = self._array_head(key)
            if element == "array":
                self._skip_nested(key, length, depth + 1)
            else:
                arrays.skip(self._window, element, length, self._order)

    def _text(self, longest: int) -> str:
        window = self._window
        (length,) = window.unpack(self._u64)
        self._room -= length
        if length > longest or self._room < 0:
            raise OutOfBytesError(window.pos, length)
        at = window.take(length)
        return self._decoded(window.data[at:at + length])

    def _decoded(self, text: bytes) -> str:
        try:
            return text.decode()
        except UnicodeDecodeError:
            self._bad_text = True
            return text.decode("utf-8", "replace")

    def _number(self, layout: struct.Struct) -> int:
        value: int = self._window.unpack(layout)[0]
        return value

    def _problem(self, name: str, severity: str, text: Text) -> None:
        self.problems.append(Problem(name, severity, text))


def _short(name: str) -> str:
    return name if len(name) <= 80 else name[:79] + "…"


def _some(names: list[str]) -> str:
    shown = ", ".join(map(_short, names[:3]))
    return shown if len(names) <= 3 else shown + ", …"
