"""The ggml tensor types and the quantisation labels, as data.

Block sizes are those of ggml (checked against libggml-base of build 11434). A row of n elements takes
`block_bytes * n / block_elements` bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TensorType:
    """One ggml type: `elements` numbers are stored together in `bytes` bytes. Removed types have neither."""

    id: int
    name: str
    elements: int | None
    bytes: int | None

    @property
    def removed(self) -> bool:
        """llama.cpp has dropped this type and refuses files that use it."""
        return self.bytes is None

    @property
    def bits(self) -> float | None:
        """Bits per weight."""
        return None if self.bytes is None or self.elements is None else 8 * self.bytes / self.elements


_ROWS: tuple[tuple[int, str, int | None, int | None], ...] = (
    (0, "f32", 1, 4), (1, "f16", 1, 2), (2, "q4_0", 32, 18), (3, "q4_1", 32, 20),
    (4, "q4_2", None, None), (5, "q4_3", None, None),
    (6, "q5_0", 32, 22), (7, "q5_1", 32, 24), (8, "q8_0", 32, 34), (9, "q8_1", 32, 36),
    (10, "q2_K", 256, 84), (11, "q3_K", 256, 110), (12, "q4_K", 256, 144), (13, "q5_K", 256, 176),
    (14, "q6_K", 256, 210), (15, "q8_K", 256, 292),
    (16, "iq2_xxs", 256, 66), (17, "iq2_xs", 256, 74), (18, "iq3_xxs", 256, 98), (19, "iq1_s", 256, 50),
    (20, "iq4_nl", 32, 18), (21, "iq3_s", 256, 110), (22, "iq2_s", 256, 82), (23, "iq4_xs", 256, 136),
    (24, "i8", 1, 1), (25, "i16", 1, 2), (26, "i32", 1, 4), (27, "i64", 1, 8), (28, "f64", 1, 8),
    (29, "iq1_m", 256, 56), (30, "bf16", 1, 2),
    (31, "q4_0_4_4", None, None), (32, "q4_0_4_8", None, None), (33, "q4_0_8_8", None, None),
    (34, "tq1_0", 256, 54), (35, "tq2_0", 256, 66),
    (36, "iq4_nl_4_4", None, None), (37, "iq4_nl_4_8", None, None), (38, "iq4_nl_8_8", None, None),
    (39, "mxfp4", 32, 17), (40, "nvfp4", 64, 36), (41, "q1_0", 128, 18), (42, "q2_0", 64, 18),
)

TYPES: Mapping[int, TensorType] = MappingProxyType({row[0]: TensorType(*row) for row in _ROWS})
_BY_NAME: Mapping[str, TensorType] = MappingProxyType({t.name.lower(): t for t in TYPES.values()})

FILE_TYPES: Mapping[int, str] = MappingProxyType({
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 33: "Q4_0_4_4", 34: "Q4_0_4_8", 35: "Q4_0_8_8", 36: "TQ1_0",
    37: "TQ2_0", 38: "MXFP4", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0",
})
"""general.file_type to the label that people know. Adding 1024 to the number means that the converter guessed."""


def lookup(kind: int | str) -> TensorType | None:
    """The type with this ggml id or name (any case), or None."""
    return TYPES.get(kind) if isinstance(kind, int) else _BY_NAME.get(kind.lower())


def row_bytes(kind: int | str, n: int) -> int:
    """Bytes of a row of n elements, as ggml_row_size; ValueError for a type whose size is not known."""
    found = lookup(kind)
    if found is None or found.bytes is None or found.elements is None:
        raise ValueError(f"no size is known for the tensor type {kind!r}")
    return found.bytes * n // found.elements


def tensor_bytes(kind: int | str, shape: Sequence[int]) -> int | None:
    """Bytes of a tensor (ne[], innermost first); None if the type is unknown or a row is not whole blocks.

    A shape that overflows 63 bits, as llama.cpp counts, has no size either.
    """
    found = lookup(kind)
    if found is None or found.bytes is None or found.elements is None or not shape or shape[0] % found.elements:
        return None
    size = shape[0] // found.elements * found.bytes
    for extent in shape[1:]:
        size *= extent
    return size if 0 <= size < 1 << 63 else None
