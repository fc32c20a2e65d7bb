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
    strings.REMEMBERED.forget()
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


@pytest.fixture
def without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy")
    strings.REMEMBERED.forget()


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many strings the pattern was asked for, call by call."""
    asked: list[int] = []
    real = strings._matched

    def watched(data: bytes, at: int, most: int) -> tuple[int, int]:
        passed = real(data, at, most)
        asked.append(passed[0])
        return passed
    monkeypatch.setattr(strings, "_matched", watched)
    return asked


def vocabulary(count: int, seed: int) -> list[bytes]:
    source = random.Random(seed)
    return [source.randbytes(source.randrange(1, 14)).replace(b"\0", b"x") for _ in range(count)]


def test_a_vocabulary_met_before_is_passed_by_its_bytes(without_numpy: None, matched: list[int]) -> None:
    data = packed(vocabulary(5000, 1))
    assert skipped(data + b"behind", 5000) == len(data)
    assert sum(matched) >= 4900
    matched.clear()
    assert skipped(data + b"other", 5000) == len(data)
    assert sum(matched) <= 1024


@pytest.mark.parametrize("place", [10, 900, 1023, 1024, 2500])
def test_a_vocabulary_that_differs_somewhere_is_passed_rightly(without_numpy: None, place: int) -> None:
    texts = vocabulary(3000, 2)
    skipped(packed(texts), 3000)
    for other in (b"", b"longer than the one before", b"z" * 300):
        changed = packed([*texts[:place], other, *texts[place + 1:]])
        assert skipped(changed + b"behind", 3000) == len(changed)


def test_fewer_strings_of_a_known_vocabulary_end_where_they_end(without_numpy: None) -> None:
    texts = vocabulary(3000, 3)
    skipped(packed(texts), 3000)
    for count in (1, 63, 1023, 1024, 1025, 2999):
        assert skipped(packed(texts), count) == len(packed(texts[:count]))


def test_what_is_remembered_has_a_limit() -> None:
    remembered = strings._Remembered(10_000)
    for number in range(100):
        remembered.keep(number.to_bytes(64, "little") + bytes(936))
        assert remembered.length(number.to_bytes(64, "little") + bytes(936), 0) == 1000
    assert sum(map(len, remembered._stretches.values())) <= 10_000
