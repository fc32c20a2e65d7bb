"""A kept header is the same model, and is forgotten when the file changes."""

from __future__ import annotations

import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.gguf import cache as kept_headers
from paddock.gguf import reading
from paddock.gguf.shelf import Shelf


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
    plain = gguf.read(path)
    first = gguf.read(path, cache=cache)
    assert "tensors" not in vars(first)  # a list of a thousand models holds none
    unopenable(monkeypatch)
    again = gguf.read(path, cache=cache)
    assert again == first == plain
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


def shelf_of(cache: gguf.HeaderCache) -> Shelf:
    return Shelf(cache.folder / "headers.sqlite")


def test_a_damaged_or_foreign_cache_file_is_a_miss_and_is_begun_anew(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    path = make.write(tmp_path / "m.gguf", *make.llama())
    model = gguf.read(path, cache=cache)
    cache.close()
    kept = cache.folder / "headers.sqlite"
    whole = kept.read_bytes()
    for content in (b"", b"\x90", whole[:-5], b"garbage" * 5000, whole[:4096] + b"\xff" * (len(whole) - 4096)):
        kept.write_bytes(content)
        assert gguf.read(path, cache=cache) == model
        again = gguf.HeaderCache(cache.folder)
        assert gguf.read(path, cache=again) == model
        cache.close()
        again.close()
    assert cache.get(path) == model


def test_a_kept_value_that_is_no_model_is_a_miss(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    path = make.write(tmp_path / "m.gguf", *make.llama())
    model = gguf.read(path, cache=cache)
    whole = shelf_of(cache).get(str(path))
    assert whole is not None
    for content in (b"", b"\x90", whole[:-5], b"garbage" * 50, whole.replace(b"llama", b"\xff\xff\xff\xff\xff")):
        shelf_of(cache).put(str(path), content)
        assert cache.get(path) is None
        assert gguf.read(path, cache=cache) == model


def test_two_caches_of_one_folder_see_each_others_models(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    other = gguf.HeaderCache(cache.folder)
    paths = [make.write(tmp_path / f"{number}.gguf", *make.llama()) for number in range(40)]
    found: list[object] = []

    def read(mine: gguf.HeaderCache, wanted: list[Path]) -> None:
        found.extend(gguf.read(path, cache=mine) for path in wanted)

    threads = [threading.Thread(target=read, args=(mine, paths[first::4]))
               for first, mine in enumerate((cache, other, cache, other))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    assert all(mine.get(path) is not None for mine in (cache, other) for path in paths)


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = make.write(tmp_path / "m.gguf", *make.llama())
    assert gguf.read(path, cache=gguf.HeaderCache(tmp_path / "file" / "cache")).complete


def test_all_models_lie_in_one_file(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    for number in range(5):
        gguf.read(make.write(tmp_path / f"{number}.gguf", *make.llama()), cache=cache)
    cache.close()
    assert [p.name for p in cache.folder.iterdir()] == ["headers.sqlite"]
    assert kept_files(cache) == 5


@pytest.mark.skipif(os.name != "posix", reason="names are text there")
def test_a_name_that_is_no_text_is_read_each_time(tmp_path: Path, cache: gguf.HeaderCache) -> None:
    gguf.read(make.write(tmp_path / "m.gguf", *make.llama()), cache=cache)  # so that there is something to look in
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/m\xff.gguf"))
    try:
        make.write(path, *make.llama())
    except OSError:
        pytest.skip("this file system takes no such name")
    assert gguf.read(path, cache=cache) == gguf.read(path, cache=cache)
    assert cache.prune([path]) == 0


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
    return len(shelf_of(cache).written())


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
    cache.close()
    file = cache.folder / "headers.sqlite"
    kept = file.read_bytes()
    assert b"blk.1.ffn_up" in kept
    file.write_bytes(kept.replace(b"blk.1.ffn_up", b"blk.1.ffn_u\xff"))
    assert cache.get(path) is None


def test_pruning_forgets_models_whose_file_was_deleted_and_keeps_what_a_scan_saw(
        tmp_path: Path, cache: gguf.HeaderCache) -> None:
    paths = [rich(tmp_path / name) for name in ("seen.gguf", "unseen.gguf", "deleted.gguf")]
    for path in paths:
        gguf.read(path, cache=cache)
    paths[2].unlink()
    (cache.folder / "0123.model").write_bytes(b"of an older version")
    shelf_of(cache).put("/other.gguf", b"of another version")
    assert cache.prune(paths[:1]) == 3
    assert [p for p in cache.folder.iterdir() if p.suffix == ".model"] == []
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


def test_pruning_takes_the_oldest_beyond_the_most(
        tmp_path: Path, cache: gguf.HeaderCache, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [rich(tmp_path / f"{i}.gguf") for i in range(4)]
    for age, path in enumerate(paths):
        gguf.read(path, cache=cache)
        kept = shelf_of(cache).get(str(path))
        assert kept is not None
        shelf_of(cache).put(str(path), kept, 1_000_000 - age)
    monkeypatch.setattr(kept_headers, "MOST_KEPT", 3)
    assert cache.prune(paths) == 1
    assert [cache.get(path) is not None for path in paths] == [True, True, True, False]


def test_pruning_an_absent_folder_is_nothing(cache: gguf.HeaderCache) -> None:
    assert cache.prune(()) == 0
