"""The tensor table: sizes from types and shapes, gaps where a type is not known, and whether the bytes are there."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from paddock.gguf.header import Header
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


def table(header: Header, shard: int) -> Table:
    """Sizes, names and checks for one file's rows."""
    gaps = _Gaps(header)
    tensors: list[Tensor] = []
    end = 0
    kinds: dict[tuple[int, tuple[int, ...]], tuple[str, int | None]] = {}  # a model has few different ones
    for name, shape, type_id, offset in header.rows:
        kind = kinds.get((type_id, shape))
        if kind is None:
            known = TYPES.get(type_id)
            kind = kinds[type_id, shape] = known.name if known else f"type {type_id}", tensor_bytes(type_id, shape)
        size = kind[1] if kind[1] is not None else gaps.after(offset)
        tensors.append(Tensor(name, shape, type_id, kind[0], offset, size, shard))
        if size and offset + size > end:
            end = offset + size
        elif offset > end:
            end = offset
    problems = [*_type_problems(header), *_layout_problems(header, tensors)]
    return Table(tuple(tensors), header.data_start + end, tuple(problems))


class _Gaps:
    """How far it is to the next tensor, or to the end of the file: the only sign of a size when the type has none."""

    def __init__(self, header: Header) -> None:
        self._rows = header.rows
        self._end = header.size_bytes - header.data_start
        self._offsets: list[int] | None = None

    def after(self, offset: int) -> int | None:
        if self._offsets is None:
            self._offsets = sorted({r.offset for r in self._rows})
        at = bisect_right(self._offsets, offset)
        following = self._offsets[at] if at < len(self._offsets) else self._end
        return following - offset if following > offset else None


def _type_problems(header: Header) -> list[Problem]:
    unknown = sorted({r.type_id for r in header.rows if r.type_id not in TYPES})
    removed = sorted({TYPES[r.type_id].name for r in header.rows if r.type_id in TYPES and TYPES[r.type_id].removed})
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


def _layout_problems(header: Header, tensors: list[Tensor]) -> list[Problem]:
    odd_kinds = {kind for kind in {(r.type_id, r.shape) for r in header.rows} if _odd_shape(*kind)}
    odd = [r.name for r in header.rows if (r.type_id, r.shape) in odd_kinds] if odd_kinds else []
    long = [r.name for r in header.rows if len(r.name) > _LONGEST_NAME and len(r.name.encode()) > _LONGEST_NAME]
    twice = len(header.rows) - len({r.name for r in header.rows})
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
    stray = None if odd else _first_stray(tensors, header.alignment)
    if stray:
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


def _first_stray(tensors: list[Tensor], alignment: int) -> str | None:
    """llama.cpp wants each offset to be the running sum of padded sizes, in the order of the table."""
    expected: int | None = 0
    for tensor in tensors:
        if tensor.offset % alignment or (expected is not None and tensor.offset != expected):
            return tensor.name
        known = TYPES.get(tensor.type_id)
        sized = known is not None and not known.removed and tensor.nbytes is not None
        expected = tensor.offset + -(-(tensor.nbytes or 0) // alignment) * alignment if sized else None
    return None


def _some(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:3])
    return shown if len(names) <= 3 else shown + ", …"
