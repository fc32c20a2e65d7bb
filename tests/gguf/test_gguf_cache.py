"""A kept header is the same model, and is forgotten when the file changes."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.gguf import cache as kept_headers
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


def test_the_near_cache_gives_the_same_object_until_a_file_changes(
        tmp_path: Path, cache: gguf.HeaderCache, monkeypatch: pytest.MonkeyPatch) -> None:
    near = kept_headers.NearCache(cache, most=2)
    metadata, tensors = make.llama(layers=2)
    first, second = make.split(tmp_path, "Big", metadata, [tensors[:9], tensors[9:]])
    read = gguf.read(first, cache=near)
    assert gguf.read(first, cache=near) is read
    second.unlink()
    assert not gguf.read(first, cache=near).complete
    for number in range(3):
        gguf.read(rich(tmp_path / f"{number}.gguf"), cache=near)
    assert len(near._near) == 2
    unopenable(monkeypatch)
    assert not gguf.read(first, cache=near).complete  # from the kept ones


def kept_files(cache: gguf.HeaderCache) -> int:
    return len(list(cache.folder.glob("*.model")))


def test_tensors_of_a_kept_model_are_unpacked_when_asked_for(
        tmp_path: Path, cache: gguf.HeaderCache, monkeypatch: pytest.MonkeyPatch) -> None:
    first = gguf.read(rich(tmp_path / "m.gguf"), cache=cache)
    unopenable(monkeypatch)
    again = gguf.read(tmp_path / "m.gguf", cache=cache)
    assert "tensors" not in vars(again)
    assert again.by_name["twice"] == first.by_name["twice"]
    assert again.tensor_bytes == first.tensor_bytes
    assert replace(again, complete=False).tensors == first.tensors
    with pytest.raises(AttributeError, match="no attribute 'weights'"):
        again.weights  # type: ignore[attr-defined]  # noqa: B018


def test_a_flipped_bit_in_the_kept_tensors_is_a_miss(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    path = rich(tmp_path / "m.gguf")
    gguf.read(path, cache=cache)
    (file,) = cache.folder.iterdir()
    file.write_bytes(file.read_bytes().replace(b"blk.1.ffn_up", b"blk.1.ffn_u\xff"))
    assert cache.get(path) is None


def test_pruning_forgets_models_whose_file_was_deleted_and_keeps_what_a_scan_saw(
        tmp_path: Path, cache: gguf.HeaderCache) -> None:
    paths = [rich(tmp_path / name) for name in ("seen.gguf", "unseen.gguf", "deleted.gguf")]
    for path in paths:
        gguf.read(path, cache=cache)
    paths[2].unlink()
    (cache.folder / "0123.model").write_bytes(b"of another version")
    assert cache.prune(paths[:1]) == 2
    assert [cache.get(path) is not None for path in paths[:2]] == [True, True]
    assert kept_files(cache) == 2


def test_models_of_a_drive_that_is_not_plugged_in_are_kept_for_three_months(
        tmp_path: Path, cache: gguf.HeaderCache) -> None:
    path = rich(tmp_path / "drive" / "m.gguf")
    gguf.read(path, cache=cache)
    shutil.rmtree(path.parent)
    day = 86_400
    assert cache.prune((), now_s=time.time() + 80 * day) == 0
    assert cache.prune((), now_s=time.time() + 91 * day) == 1


def test_pruning_takes_the_oldest_beyond_the_most_and_old_halves(
        tmp_path: Path, cache: gguf.HeaderCache, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [rich(tmp_path / f"{i}.gguf") for i in range(4)]
    for age, path in enumerate(paths):
        gguf.read(path, cache=cache)
        os.utime(cache._file(path), (1_000_000 - age, 1_000_000 - age))
    half = cache.folder / "abc.new"
    half.write_bytes(b"x")
    os.utime(half, (1_000_000, 1_000_000))
    monkeypatch.setattr(kept_headers, "MOST_KEPT", 3)
    assert cache.prune(paths) == 2
    assert [cache.get(path) is not None for path in paths] == [True, True, True, False]
    assert not half.exists()


def test_pruning_an_absent_folder_is_nothing(cache: gguf.HeaderCache) -> None:
    assert cache.prune(()) == 0
