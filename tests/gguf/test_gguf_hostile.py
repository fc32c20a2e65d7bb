"""Damaged and crafted headers: no hang, no crash, no exception but AppError, little memory."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import ggufmake as make
import psutil
import pytest

from paddock import gguf
from paddock.errors import AppError

NUMBERS = [0, 1, 2, 3, 7, 8, 9, 12, 13, 31, 32, 33, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32,
           1 << 40, (1 << 62), (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8]
GROWTH_LIMIT = 50 << 20


def seeds() -> list[bytes]:
    metadata, tensors = make.llama(layers=1, vocabulary=5, attention__head_count_kv=[2])
    extra = {"x.nested": [[1, 2], ["a"]], "general.alignment": 32, "tokenizer.chat_template": "{{ messages }}"}
    group = {"split.no": make.typed("u16", 0), "split.count": make.typed("u16", 3)}
    return [make.file(metadata | extra, tensors), make.file(metadata, tensors, order=">"),
            make.file({**group, **metadata}, tensors[:3], version=2), make.file({}, tensors[:2])]


def mutated(data: bytes, source: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(source.choice([1, 1, 1, 2, 4, 16])):
        at = source.randrange(len(out))
        way = source.randrange(6)
        if way == 0:
            out[at] ^= 1 << source.randrange(8)
        elif way == 1:
            out[at:at + 8] = struct.pack("<Q", source.choice(NUMBERS))
        elif way == 2:
            out[at:at + 4] = struct.pack("<I", source.choice(NUMBERS) & 0xFFFFFFFF)
        elif way == 3:
            del out[at:at + source.randrange(1, 40)]
        elif way == 4:
            out[at:at] = source.randbytes(source.randrange(1, 40))
        else:
            start = source.randrange(len(out))
            out[at:at] = out[start:start + source.randrange(1, 80)]
        if len(out) < 8:
            return bytes(out) + b"GGUF"
    return bytes(out)


def read(path: Path) -> gguf.ModelFile | None:
    try:
        model = gguf.read(path)
    except AppError:
        return None
    for problem in model.problems:
        assert str(problem.text)
        assert problem.severity in ("error", "warning", "hint")
    for value in model.metadata.values():
        if isinstance(value, gguf.LazyArray):
            value.read(3)
    return model


def resident() -> int:
    size: int = psutil.Process().memory_info().rss
    return size


def test_ten_thousand_mutations_end_in_a_model_or_an_app_error(tmp_path: Path) -> None:
    source = random.Random(20240607)
    path, cache = tmp_path / "m.gguf", gguf.HeaderCache(tmp_path / "cache")
    originals = seeds()
    read_well, most, before = 0, 0, resident()
    for number in range(10_000):
        data = originals[number % len(originals)]
        # Half of them hit the first 700 bytes, where the header is.
        cut = data[:700 if number % 2 else len(data)]
        path.write_bytes(mutated(cut, source) + data[len(cut):])
        model = read(path)
        read_well += model is not None
        if model is not None and number % 50 == 0:
            assert gguf.read(path, cache=cache).identity == gguf.read(path, cache=cache).identity
        if number % 500 == 0:
            most = max(most, resident() - before)
    assert most < GROWTH_LIMIT
    assert 500 < read_well < 9500


def test_random_bytes_behind_the_magic(tmp_path: Path) -> None:
    source = random.Random(7)
    path = tmp_path / "m.gguf"
    for _ in range(1000):
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, source.randrange(4), source.randrange(4))
                         + source.randbytes(source.randrange(300)))
        read(path)


def one_key(kind: int, rest: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + make.string("tokenizer.x") + struct.pack("<I", kind) + rest


def deep(levels: int) -> bytes:
    return one_key(9, struct.pack("<IQ", 9, 1) * levels + struct.pack("<IQ", 4, 0))


def one_tensor(tail: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + make.string("t") + tail


CRAFTED: dict[str, Callable[[], bytes]] = {
    "keys": lambda: b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 63),
    "tensors": lambda: b"GGUF" + struct.pack("<IQQ", 3, 1 << 63, 0),
    "many keys": lambda: b"GGUF" + struct.pack("<IQQ", 3, 0, 60_000),
    "array of strings": lambda: one_key(9, struct.pack("<IQ", 8, 1 << 63)),
    "array of bytes": lambda: one_key(9, struct.pack("<IQ", 0, (1 << 64) - 1)),
    "array overflow": lambda: one_key(9, struct.pack("<IQ", 10, 1 << 61)),
    "array of nothing": lambda: one_key(9, struct.pack("<IQ", 99, 5)),
    "string": lambda: one_key(8, struct.pack("<Q", 1 << 63)),
    "string overflow": lambda: one_key(8, struct.pack("<Q", (1 << 64) - 8)),
    "value type": lambda: one_key(13, bytes(8)),
    "deep lists": lambda: deep(3000),
    "wide lists": lambda: one_key(9, struct.pack("<IQ", 9, 300_000) + struct.pack("<IQ", 4, 0) * 300_000),
    "dimensions": lambda: one_tensor(struct.pack("<I", 0xFFFFFFFF)),
    "five dimensions": lambda: one_tensor(struct.pack("<I5QIQ", 5, 1, 1, 1, 1, 1, 0, 0)),
}


@pytest.mark.parametrize("name", CRAFTED)
@pytest.mark.parametrize("size", [None, 1 << 40], ids=["small", "sparse"])
def test_crafted_headers_are_refused(tmp_path: Path, name: str, size: int | None) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(CRAFTED[name]())
    if size is not None:
        _grow(path, size)
    before = resident()
    with pytest.raises(AppError):
        gguf.read(path)
    assert resident() - before < GROWTH_LIMIT


def _grow(path: Path, size: int) -> None:
    """Zeros behind the content, as far as the file system lets a file be long without being large."""
    with path.open("r+b") as file:
        try:
            file.truncate(size)
        except OSError:
            file.truncate(64 << 20)


@pytest.mark.parametrize("count", [1 << 20, 1 << 24, 1 << 36])
def test_millions_of_empty_strings_are_walked_quickly_or_refused(tmp_path: Path, count: int) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(one_key(9, struct.pack("<IQ", 8, count)))
    _grow(path, 1 << 40)
    before = resident()
    read(path)
    assert resident() - before < GROWTH_LIMIT


@pytest.mark.parametrize("tail", [
    struct.pack("<I4QIQ", 4, *[1 << 62] * 4, 0, 0), struct.pack("<I2QIQ", 2, (1 << 64) - 1, 2, 12, (1 << 64) - 1),
    struct.pack("<IIQ", 0, 0, 0), struct.pack("<I2QIQ", 2, 0, 0, 8, 0),
    struct.pack("<I1QIQ", 1, 5, 0xFFFFFFFF, 1 << 50),
])
def test_impossible_shapes_and_offsets_are_shown_as_problems(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(one_tensor(tail) + bytes(100))
    model = read(path)
    assert model is not None
    assert len(model.tensors) == 1


def test_a_block_count_of_four_billion_allocates_nothing(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    model = gguf.read(make.write(tmp_path / "m.gguf", metadata | {"llama.block_count": 0xFFFFFFFF}, tensors))
    assert [p.id for p in model.problems] == ["odd-block-count"]
    assert model.facts.layers == 2


def test_many_tensors_stay_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(make.file({"general.architecture": "llama"},
                               [make.Tensor(f"blk.{i}.t", (1,)) for i in range(20_000)]))
    before = resident()
    model = gguf.read(path)
    assert len(model.tensors) == 20_000
    assert resident() - before < GROWTH_LIMIT
