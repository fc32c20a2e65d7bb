"""Split sets are one model, whichever part was picked."""

from __future__ import annotations

import shutil
from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.errors import AppError


def three(folder: Path, first_empty: bool = False) -> list[Path]:
    metadata, tensors = make.llama(layers=3)
    groups = [[], tensors[:10], tensors[10:]] if first_empty else [tensors[:5], tensors[5:20], tensors[20:]]
    return make.split(folder, "Tiny-Q8_0", metadata, groups)


def ids(model: gguf.ModelFile) -> list[str]:
    return [p.id for p in model.problems]


@pytest.mark.parametrize("picked", [0, 1, 2])
def test_any_part_gives_the_whole_model(tmp_path: Path, picked: int) -> None:
    paths = three(tmp_path)
    model = gguf.read(paths[picked])
    metadata, tensors = make.llama(layers=3)
    assert model.problems == ()
    assert model.complete
    assert model.path == paths[0]
    assert [s.path for s in model.shards] == paths
    assert [t.name for t in model.tensors] == [t.name for t in tensors]
    assert {t.shard for t in model.tensors} == {1, 2, 3}
    assert model.size_bytes == sum(p.stat().st_size for p in paths)
    whole = gguf.read(make.write(tmp_path / "whole" / "Tiny.gguf", metadata, tensors))
    assert model.facts == whole.facts
    assert len({gguf.read(p).identity for p in paths}) == 1


def test_a_first_part_without_tensors_is_fine(tmp_path: Path) -> None:
    model = gguf.read(three(tmp_path, first_empty=True)[1])
    assert (model.problems, model.complete, model.architecture) == ((), True, "llama")
    assert model.shards[0].tensor_count == 0


def test_missing_parts_are_named_and_totals_marked(tmp_path: Path) -> None:
    paths = make.split(tmp_path, "m", *_many(13))
    for path in paths[1:12]:
        path.unlink()
    model = gguf.read(paths[0])
    assert ids(model) == ["missing-shards"]
    assert "11 of 13 files are missing: numbers 2–12" in str(model.problems[0].text)
    assert not model.complete
    assert [s.size_bytes is None for s in model.shards] == [False, *[True] * 11, False]


def _many(count: int) -> tuple[dict[str, object], list[list[make.Tensor]]]:
    metadata, tensors = make.llama(layers=3)
    return metadata, [tensors[i::count] for i in range(count)]


def test_a_missing_first_part_still_gives_its_path_for_the_command(tmp_path: Path) -> None:
    paths = three(tmp_path)
    paths[0].unlink()
    model = gguf.read(paths[2])
    assert model.path == paths[0]
    assert ids(model) == ["missing-shards"]
    assert not model.complete


def test_a_cut_part_is_a_truncated_model(tmp_path: Path) -> None:
    paths = three(tmp_path)
    paths[1].write_bytes(paths[1].read_bytes()[:-200])
    model = gguf.read(paths[0])
    assert ids(model) == ["truncated"]
    assert paths[1].name in str(model.problems[0].text)
    assert not model.complete


def test_an_unreadable_part_does_not_hide_the_others(tmp_path: Path) -> None:
    paths = three(tmp_path)
    paths[1].write_bytes(b"<html>")
    model = gguf.read(paths[0])
    assert ids(model) == ["unreadable-shard"]
    assert "web page" in str(model.problems[0].text)
    assert model.shards[1].size_bytes == 6
    assert not model.complete


def test_order_comes_from_the_metadata(tmp_path: Path) -> None:
    paths = three(tmp_path)
    paths[0].rename(tmp_path / "swap")
    paths[1].rename(paths[0])
    (tmp_path / "swap").rename(paths[1])
    model = gguf.read(paths[2])
    assert ids(model) == ["shard-order"]
    assert model.path == paths[1]
    assert model.architecture == "llama"


def test_joined_by_cat_is_said_so(tmp_path: Path) -> None:
    paths = three(tmp_path)
    joined = tmp_path / "joined.gguf"
    joined.write_bytes(b"".join(p.read_bytes() for p in paths))
    model = gguf.read(joined)
    assert "joined-shards" in ids(model)
    assert "renamed-shard" not in ids(model)
    assert not model.complete
    assert "llama-gguf-split --merge" in str(model.problems[0].text)


def test_a_part_with_a_plain_name_is_said_to_be_one(tmp_path: Path) -> None:
    paths = three(tmp_path)
    plain = tmp_path / "other" / "model.gguf"
    plain.parent.mkdir()
    shutil.copy(paths[1], plain)
    model = gguf.read(plain)
    assert "renamed-shard" in ids(model)
    assert "…-00002-of-00003.gguf" in str(next(p.text for p in model.problems if p.id == "renamed-shard"))
    assert not model.complete


def test_parts_of_another_set_are_noticed(tmp_path: Path) -> None:
    paths = three(tmp_path)
    metadata, tensors = make.llama(layers=2)
    other = make.split(tmp_path / "other", "Tiny-Q8_0", metadata, [tensors[:1], tensors[1:2], tensors[2:]])
    shutil.copy(other[2], paths[2])
    assert "tensor-count" in ids(gguf.read(paths[0]))


@pytest.mark.parametrize(("name", "problems"), [
    ("best-of-breed.gguf", []), ("m-1-of-4.gguf", []), ("m-00001-of-00001.gguf", []),
    ("m-00000-of-00004.gguf", ["odd-shard-name"]), ("m-00005-of-00004.gguf", ["odd-shard-name"]),
    ("m-00001-of-99999.gguf", ["odd-shard-name"]), ("m-00002-of-00004.gguf", ["no-split-keys"]),
])
def test_names_that_only_look_like_parts(tmp_path: Path, name: str, problems: list[str]) -> None:
    model = gguf.read(make.write(tmp_path / name, *make.llama()))
    assert ids(model) == problems
    assert model.complete
    assert len(model.shards) == 1


def test_parts_by_name_alone_are_one_model_with_a_warning(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    first = make.write(tmp_path / "x-00001-of-00002.gguf", metadata, tensors[:4])
    make.write(tmp_path / "x-00002-of-00002.gguf", {}, tensors[4:])
    model = gguf.read(first)
    assert ids(model) == ["no-split-keys"]
    assert len(model.tensors) == len(tensors)


def test_the_cache_notices_a_part_that_arrives(tmp_path: Path) -> None:
    cache = gguf.HeaderCache(tmp_path / "cache")
    paths = three(tmp_path)
    last = paths[2].read_bytes()
    paths[2].unlink()
    assert not gguf.read(paths[0], cache=cache).complete
    paths[2].write_bytes(last)
    assert gguf.read(paths[0], cache=cache).complete


def test_a_part_that_is_missing_itself_is_answered_from_the_others(tmp_path: Path) -> None:
    paths = three(tmp_path)
    paths[0].unlink()
    paths[1].unlink()
    model = gguf.read(paths[0])
    assert (model.path, ids(model), model.complete) == (paths[0], ["missing-shards"], False)
    paths[2].unlink()
    with pytest.raises(AppError, match="There is no file"):
        gguf.read(paths[0])


@pytest.mark.parametrize(("middle", "ending"), [("-OF-", ".GGUF"), ("-of-", ".GGUF"), ("-Of-", ".gguf")])
def test_parts_named_in_capitals_are_found_and_said_to_be_refused(tmp_path: Path, middle: str, ending: str) -> None:
    paths = [path.rename(path.with_name(path.name.replace("-of-", middle).replace(".gguf", ending)))
             for path in three(tmp_path)]
    model = gguf.read(paths[1])
    assert [s.path for s in model.shards] == paths
    assert (ids(model), model.complete) == (["renamed-shard"], True)
    assert "-of-00003.gguf" in str(model.problems[0].text)
