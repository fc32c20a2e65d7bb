"""Skipping strings is exact, by whichever way it goes."""

from __future__ import annotations

import io
import random
import struct
import sys

import numpy
import pytest

from paddock.gguf import strings, window
from paddock.gguf.window import OutOfBytesError, Window

WAYS = ["pattern", "numpy"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both fast ways, over small windows, so that many strings lie across an edge."""
    if request.param == "pattern":
        monkeypatch.delitem(sys.modules, "numpy")
    else:
        monkeypatch.setitem(sys.modules, "numpy", numpy)
        monkeypatch.setattr(strings, "_WORTH_A_CHAIN", 1)
    monkeypatch.setattr(window, "_CHUNK", 5000)
    return str(request.param)


def packed(texts: list[bytes], order: str = "<") -> bytes:
    return b"".join(struct.pack(f"{order}Q", len(t)) + t for t in texts)


def skipped(data: bytes, count: int, order: str = "<") -> int:
    walker = Window(io.BytesIO(data), len(data))
    strings.skip(walker, count, order)
    return walker.pos


@pytest.mark.parametrize("kind", ["short", "empty", "zeros", "lookalikes", "long", "mixed"])
def test_the_end_is_where_one_by_one_reading_ends(way: str, kind: str) -> None:
    source = random.Random(kind)
    def text() -> bytes:
        chosen = source.choice(["short", "empty", "zeros", "lookalikes", "long"]) if kind == "mixed" else kind
        return {
            "short": lambda: source.randbytes(source.randrange(1, 20)).replace(b"\0", b"x"),
            "empty": lambda: b"",
            "zeros": lambda: bytes(source.randrange(40)),
            "lookalikes": lambda: packed([b"abc"] * source.randrange(3)) + b"\x05" + bytes(source.randrange(12)),
            "long": lambda: b"y" * source.randrange(40, 9000),
        }[chosen]()
    for _ in range(5):
        texts = [text() for _ in range(source.randrange(1, 1500 if kind != "long" else 100))]
        data = packed(texts)
        assert skipped(data + source.randbytes(300), len(texts)) == len(data)


def test_big_endian_lengths_are_walked_too(way: str) -> None:
    data = packed([b"abc"] * 500, ">")
    assert skipped(data, 500, ">") == len(data)


@pytest.mark.parametrize("missing", [1, 7, 8, 30])
def test_a_file_that_ends_within_the_strings_is_refused(way: str, missing: int) -> None:
    data = packed([b"abcdefgh"] * 700)
    with pytest.raises(OutOfBytesError):
        skipped(data[:-missing], 700)


def test_a_count_beyond_the_file_is_refused_at_once(way: str) -> None:
    with pytest.raises(OutOfBytesError):
        skipped(packed([b"a"] * 10), 1 << 62)
