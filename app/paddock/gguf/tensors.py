"""The tensor table: sizes from types and shapes, gaps where a type is not known, and whether the bytes are there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from paddock.gguf.header import Form, Header, Row
from paddock.gguf.model import Problem, Tensor
from paddock.gguf.types import TYPES, tensor_bytes
from paddock.text import Text

_LONGEST_NAME = 63


@dataclass(frozen=True)
class Table:
    """The tensors of one file. `expected_bytes`: data start plus the last tensor's end."""

    tensors: tuple[Tensor, ...]
    expected_bytes: int
    problems: tuple[Problem, ...]


class _Facts(NamedTuple):
    """What a form means. `nbytes`: None where the type or the shape does not tell. `padded`: as llama.cpp counts on."""

    shape: tuple[int, ...]
    type_id: int
    type_name: str
    nbytes: int | None
    padded: int | None


def table(header: Header, shard: int) -> Table:
    """Sizes, names and checks for one file's rows."""
    gaps = _Gaps(header)
    tensors: list[Tensor] = []
    new = tuple.__new__  # a NamedTuple's own does the same through one more call, a quarter of a million times
    forms: dict[Form, _Facts] = {}
    end = 0
    due: int | None = 0
    stray: str | None = None
    for name, form, offset in header.rows:
        facts = forms.get(form)
        if facts is None:
            facts = forms[form] = _facts(form, header.alignment)
        shape, type_id, type_name, size, padded = facts
        # llama.cpp wants each offset to be the running sum of padded sizes, in the order of the table.
        if stray is None and (offset % header.alignment if due is None else offset != due):
            stray = name
        due = None if padded is None else offset + padded
        if size is None:
            size = gaps.after(offset)
        tensors.append(new(Tensor, (name, shape, type_id, type_name, offset, size, shard)))
        if size and offset + size > end:
            end = offset + size
        elif offset > end:
            end = offset
    problems = [*_type_problems(forms), *_layout_problems(header.rows, forms, stray)]
    return Table(tuple(tensors), header.data_start + end, tuple(problems))


def _facts(form: Form, alignment: int) -> _Facts:
    known = TYPES.get(form.type_id)
    size = tensor_bytes(form.type_id, form.shape)
    return _Facts(form.shape, form.type_id, known.name if known else f"type {form.type_id}", size,
                  None if size is None else -(-size // alignment) * alignment)


class _Gaps:
    """How far it is to the next tensor, or to the end of the file: the only sign of a size when the type has none."""

    def __init__(self, header: Header) -> None:
        self._rows = header.rows
        self._end = header.size_bytes - header.data_start
        self._offsets: list[int] | None = None

    def after(self, offset: int) -> int | None:
        if self._offsets is None:
            self._offsets = sorted({row[2] for row in self._rows})
        at = bisect_right(self._offsets, offset)
        following = self._offsets[at] if at < len(self._offsets) else self._end
        return following - offset if following > offset else None


def _type_problems(forms: Iterable[Form]) -> list[Problem]:
    ids = sorted({form.type_id for form in forms})
    unknown = [number for number in ids if number not in TYPES]
    removed = sorted({TYPES[number].name for number in ids if number in TYPES and TYPES[number].removed})
    problems = []
    if unknown:
        problems.append(Problem("unknown-types", "warning", Text(
            "Some tensors have a type that this program does not know ({types}): this llama.cpp may not load the file. "
            "Their sizes are taken from the gaps between them.", types=", ".join(map(str, unknown[:8])))))
    if removed:
        problems.append(Problem("removed-types", "error", Text(
            "Some tensors have a type that llama.cpp has removed ({types}): it refuses the file. Download a current "
            "GGUF of this model.", types=", ".join(removed))))
    return problems


def _layout_problems(rows: Sequence[Row], forms: Iterable[Form], stray: str | None) -> list[Problem]:
    names = [row[0] for row in rows]
    odd_forms = {form for form in forms if _odd_shape(form.type_id, form.shape)}
    odd = [name for name, form, _ in rows if form in odd_forms] if odd_forms else []
    long = _long(names)
    twice = len(names) - len(set(names))
    problems = []
    if odd:
        problems.append(Problem("bad-shapes", "error", Text(
            "Tensors with an impossible shape: {names}. llama.cpp refuses the file.", names=_some(odd))))
    if long:
        problems.append(Problem("long-names", "error", Text(
            "Tensor names longer than 63 bytes: {names}. llama.cpp refuses the file.", names=_some(long))))
    if twice:
        problems.append(Problem("duplicate-tensors", "error", Text(
            "{count} tensor name appears twice; llama.cpp refuses the file.",
            plural="{count} tensor names appear twice; llama.cpp refuses the file.", count=twice)))
    if stray is not None and not odd:
        problems.append(Problem("tensor-offsets", "error", Text(
            "The tensor “{name}” does not lie where the one before it ends; llama.cpp refuses the file.",
            name=stray[:80])))
    return problems


def _odd_shape(type_id: int, shape: tuple[int, ...]) -> bool:
    known = TYPES.get(type_id)
    elements = 1
    for extent in shape:
        elements *= extent
    if elements >= 1 << 63:
        return True
    return bool(known and known.elements and shape[0] % known.elements)


def _long(names: Sequence[str]) -> list[str]:
    if max(map(len, names), default=0) <= _LONGEST_NAME and "".join(names).isascii():
        return []
    return [name for name in names if len(name.encode()) > _LONGEST_NAME]


def _some(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:3])
    return shown if len(names) <= 3 else shown + ", …"
