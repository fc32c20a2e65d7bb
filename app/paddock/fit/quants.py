"""Sizes of llama.cpp's tensor types (ggml type id: name, elements per block, bytes per block; b11434)."""

from __future__ import annotations

BLOCKS: dict[str, tuple[int, int]] = {
    "f32": (1, 4),
    "f16": (1, 2),
    "bf16": (1, 2),
    "q4_0": (32, 18),
    "q4_1": (32, 20),
    "q5_0": (32, 22),
    "q5_1": (32, 24),
    "q8_0": (32, 34),
    "iq4_nl": (32, 18),
}
"""The types that a KV cache may have."""
QUANTISED = frozenset(BLOCKS) - {"f32", "f16", "bf16"}
UNQUANTISED_IDS = frozenset({0, 1, 24, 25, 26, 27, 28, 30})
REPACKED_IDS = frozenset({2, 12, 20, 39})
"""Types that the CPU rearranges for speed on every x86 with AVX2 (q4_0, q4_K, iq4_nl, mxfp4)."""
BLOCK_BY_ID: dict[int, tuple[int, int]] = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 36),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
    40: (64, 36),
    41: (128, 18),
    42: (64, 18),
}


def row_bytes(kind: str, elements: int) -> int:
    """Bytes of one cache row of so many elements."""
    block, size = BLOCKS[kind]
    return elements // block * size


def padded(value: int, step: int) -> int:
    """`value` rounded up to a multiple of `step`."""
    return -(-value // step) * step
