"""A card's published bandwidth is found by what its driver calls it, and never by a sister's name."""

from __future__ import annotations

import pytest

from paddock.fit.bandwidth import GB, published
from paddock.fit.model import Known


@pytest.mark.parametrize(("described", "low", "high"), [
    ("NVIDIA GeForce RTX 4090", 1008, 1008),
    ("NVIDIA GeForce RTX 4070", 480, 504),
    ("NVIDIA GeForce RTX 4070 Ti", 504, 504),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", 672, 672),
    ("NVIDIA GeForce RTX 4070 Laptop GPU", 256, 256),
    ("NVIDIA RTX A6000", 768, 768),
    ("NVIDIA RTX 6000 Ada Generation", 960, 960),
    ("Quadro RTX 6000", 672, 672),
    ("NVIDIA A100-SXM4-80GB", 1555, 2039),
    ("NVIDIA H100 80GB HBM3", 3350, 3350),
    ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 960, 960),
    ("AMD Radeon RX 7900 XT (RADV NAVI31)", 800, 800),
    ("Intel(R) Arc(TM) B580 Graphics (BMG G21)", 456, 456),
    ("Apple M3 Max", 300, 400),
    ("Apple M1", 68, 68),
])
def test_a_card_is_found_by_its_description(described: str, low: float, high: float) -> None:
    found = published(described)
    assert found is not None
    assert (found.low / GB, found.high / GB) == (low, high)
    assert found.known is Known.REPORTS
    assert found.source


@pytest.mark.parametrize("described", ["", "127.0.0.1:50052", "llvmpipe (LLVM 15.0.6, 256 bits)",
                                       "Intel(R) UHD Graphics", "NVIDIA GeForce RTX 5070 Laptop GPU",
                                       "AMD Radeon RX 9999 XT", "Apple M9 Ultra"])
def test_what_is_not_in_the_table_is_not_guessed(described: str) -> None:
    assert published(described) is None
