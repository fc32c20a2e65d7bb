"""A kept header is the same model, and is forgotten when the file changes."""

from __future__ import annotations

import os
from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.gguf import reading


@pytest.fixture
def cache(tmp_path: Path) -> gguf.HeaderCache:
    return gguf.HeaderCache(tmp_path / "kept" / "headers")


def unopenable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise AssertionError(f"{path} was opened")
    monkeypatch.setattr(reading, "shard_set", refuse)


def rich(path: Path) -> Path:
    """A file with something of everything: problems with values and plurals, lazy and nested lists, odd numbers."""
    metadata, tensors = make.llama(layers=3, attention__head_count_kv=[2, 0, 2])
    metadata |= {"x.big": make.typed("u64", (1 << 64) - 1), "x.f": float("inf"), "x.nested": [[1], [2]],
                 "tokenizer.chat_template": "{{ tools }}"}
    return make.write(path, metadata, [*tensors, make.Tensor("twice", (8,)), make.Tensor("twice", (8,)),
                                       make.Tensor("new", (32,), 200, size=32)])


def test_a_hit_is_the_same_model_without_opening_the_file(
        tmp_path: Path, cache: gguf.HeaderCache, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rich(tmp_path / "m.gguf")
    first = gguf.read(path, cache=cache)
    unopenable(monkeypatch)
    again = gguf.read(path, cache=cache)
    assert again == first
    assert [str(p.text) for p in again.problems] == [str(p.text) for p in first.problems]
    assert again.metadata["tokenizer.ggml.tokens"].read(2) == ("<0>", "<1>")
    assert again.metadata["x.nested"].read() == ((1,), (2,))


def test_another_size_or_time_is_a_miss(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    path = make.write(tmp_path / "m.gguf", *make.llama(layers=2))
    gguf.read(path, cache=cache)
    before = path.stat().st_mtime_ns
    make.write(path, *make.llama(layers=3))
    os.utime(path, ns=(before, before))
    assert gguf.read(path, cache=cache).facts.layers == 3
    metadata, tensors = make.llama(layers=3, context_length=1000)
    make.write(path, metadata, tensors)
    os.utime(path, ns=(before + 1, before + 1))
    assert gguf.read(path, cache=cache).facts.trained_context == 1000


def test_a_damaged_or_foreign_cache_file_is_a_miss(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    path = make.write(tmp_path / "m.gguf", *make.llama())
    model = gguf.read(path, cache=cache)
    (kept,) = cache.folder.iterdir()
    whole = kept.read_bytes()
    for content in (b"", b"\x90", whole[:-5], b"garbage" * 50, whole.replace(b"llama", b"\xff\xff\xff\xff\xff")):
        kept.write_bytes(content)
        assert gguf.read(path, cache=cache) == model


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = make.write(tmp_path / "m.gguf", *make.llama())
    assert gguf.read(path, cache=gguf.HeaderCache(tmp_path / "file" / "cache")).complete


def test_nothing_half_written_stays_behind(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    for number in range(5):
        gguf.read(make.write(tmp_path / f"{number}.gguf", *make.llama()), cache=cache)
    assert {p.suffix for p in cache.folder.iterdir()} == {".model"}
    assert len(list(cache.folder.iterdir())) == 5


def test_numbers_that_cannot_be_kept_are_read_again(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    path = make.write(tmp_path / "m.gguf", {"general.architecture": "llama"},
                      [make.Tensor("far", (8,), offset=(1 << 64) - 32)])
    assert gguf.read(path, cache=cache) == gguf.read(path, cache=cache)
    assert [p.id for p in gguf.read(path).problems] == ["truncated", "tensor-offsets"]
