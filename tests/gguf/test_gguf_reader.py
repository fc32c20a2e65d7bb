"""Header, metadata and tensor table as they lie in the file."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import ggufmake as make
import numpy as np
import pytest

import gguf as reference
from paddock import gguf
from paddock.errors import AppError
from paddock.gguf.layers import per_layer
from paddock.gguf.types import row_bytes


def ids(model: gguf.ModelFile) -> list[str]:
    return [p.id for p in model.problems]


@pytest.mark.parametrize("version", [2, 3])
def test_a_small_model_reads_whole_and_without_problems(tmp_path: Path, version: int) -> None:
    metadata, tensors = make.llama()
    path = make.write(tmp_path / "tiny.gguf", metadata, tensors, version=version)
    model = gguf.read(path)
    assert (model.version, model.architecture, model.kind, model.problems) == (version, "llama", gguf.Kind.MODEL, ())
    assert model.complete
    assert model.path == path
    assert [t.name for t in model.tensors] == [t.name for t in tensors]
    assert [t.nbytes for t in model.tensors] == [t.nbytes for t in tensors]
    assert model.size_bytes == path.stat().st_size
    assert model.shards[0].expected_bytes == model.shards[0].data_start + model.tensors[-1].offset + tensors[-1].nbytes


def test_it_agrees_with_the_reference_reader_on_a_file_of_the_reference_writer(tmp_path: Path) -> None:
    path = tmp_path / "reference.gguf"
    writer = reference.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(512)
    writer.add_float32("llama.rope.freq_base", 10000.0)
    writer.add_bool("tokenizer.ggml.add_bos_token", True)
    writer.add_array("llama.attention.head_count_kv", [2, 0])
    writer.add_token_list(["a", "", "è", "longer than the others " * 20])
    writer.add_tensor("token_embd.weight", np.ones((4, 8), dtype=np.float32))
    writer.add_tensor("blk.0.attn_q.weight", np.ones((3, 5, 7), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    theirs, ours = reference.GGUFReader(path), gguf.read(path)
    for name, field in theirs.fields.items():
        if name.startswith("GGUF."):
            continue
        mine = ours.metadata[name]
        mine = list(mine.read()) if isinstance(mine, gguf.LazyArray) else mine
        assert (list(mine) if isinstance(mine, tuple) else mine) == field.contents(), name
    assert [(t.name, list(t.shape), t.type_id, t.nbytes) for t in ours.tensors] == [
        (t.name, t.shape.tolist(), int(t.tensor_type), t.n_bytes) for t in theirs.tensors]
    assert [ours.shards[0].data_start + t.offset for t in ours.tensors] == [t.data_offset for t in theirs.tensors]


def test_every_value_type_keeps_its_value(tmp_path: Path) -> None:
    values = {"u8": 250, "i8": -3, "u16": 65000, "i16": -300, "u32": 4_000_000_000, "i32": -5, "u64": 1 << 63,
              "i64": -(1 << 62), "f64": 0.1, "bool": True, "string": "è\n"}
    metadata = {f"x.{kind}": make.typed(kind, value) for kind, value in values.items()}
    metadata |= {f"y.{kind}": make.typed(kind, [value, value]) for kind, value in values.items()}
    model = gguf.read(make.write(tmp_path / "x.gguf", metadata))
    assert {k: model.metadata[f"x.{k}"] for k in values} == values
    assert {k: model.metadata[f"y.{k}"] for k in values} == {k: (v, v) for k, v in values.items()}


def test_tokenizer_arrays_stay_on_disk_until_they_are_read(tmp_path: Path) -> None:
    tokens = ["", "a", "b" * 47, "c" * 48, "d" * 300, "\0" * 9, "è" * 20, *(f"tok{i}" for i in range(5000))]
    metadata, tensors = make.llama()
    metadata |= {"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": [0.5] * 9, "after": "here"}
    model = gguf.read(make.write(tmp_path / "v.gguf", metadata, tensors))
    lazy = model.metadata["tokenizer.ggml.tokens"]
    assert isinstance(lazy, gguf.LazyArray)
    assert (lazy.element, len(lazy)) == ("string", len(tokens))
    assert lazy.read() == tuple(tokens)
    assert lazy.read(3) == tuple(tokens[:3])
    assert model.metadata["tokenizer.ggml.scores"].read() == (0.5,) * 9
    assert model.metadata["after"] == "here"
    assert model.facts.vocabulary == len(tokens)


def test_the_architecture_may_come_after_a_hundred_thousand_strings(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    pairs = [("tokenizer.ggml.merges", ["x" * 90] * 100_000), *metadata.items()]
    model = gguf.read(make.write(tmp_path / "late.gguf", pairs, tensors))
    assert (model.architecture, model.facts.trained_context, model.facts.layers) == ("llama", 4096, 2)
    assert model.problems == ()


def test_long_per_layer_arrays_are_read_fully_and_longer_ones_lazily(tmp_path: Path) -> None:
    model = gguf.read(make.write(tmp_path / "x.gguf", {
        "x.per_layer": list(range(2000)), "x.table": list(range(5000))}))
    assert model.metadata["x.per_layer"] == tuple(range(2000))
    assert model.metadata["x.table"].read() == tuple(range(5000))


def test_a_big_endian_file_is_read_and_said_to_be_one(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    model = gguf.read(make.write(tmp_path / "be.gguf", metadata, tensors, order=">"))
    assert ids(model) == ["byte-order"]
    assert model.problems[0].severity == "error"
    assert (model.version, model.facts.layers, len(model.tensors)) == (3, 2, len(tensors))
    assert model.metadata["tokenizer.ggml.tokens"].read(2) == ("<0>", "<1>")


def test_unknown_tensor_types_take_their_size_from_the_gap(tmp_path: Path) -> None:
    tensors = [make.Tensor("a", (256, 2), 156, size=320), make.Tensor("b", (8,)),
               make.Tensor("c", (256,), 153, size=96)]
    model = gguf.read(make.write(tmp_path / "u.gguf", {"general.architecture": "llama"}, tensors))
    assert [(t.type_name, t.nbytes) for t in model.tensors] == [("type 156", 320), ("f32", 32), ("type 153", 96)]
    assert ids(model) == ["unknown-types"]
    assert "153, 156" in str(model.problems[0].text)


def test_removed_types_are_named(tmp_path: Path) -> None:
    model = gguf.read(make.write(tmp_path / "r.gguf", {"general.architecture": "llama"},
                                 [make.Tensor("a", (32,), 31, size=32)]))
    assert model.tensors[0].type_name == "q4_0_4_4"
    assert ids(model) == ["removed-types"]


@pytest.mark.parametrize("alignment", [0, 48, make.typed("string", "32")])
def test_an_impossible_alignment_is_a_problem_not_a_crash(tmp_path: Path, alignment: object) -> None:
    metadata, tensors = make.llama()
    model = gguf.read(make.write(tmp_path / "a.gguf", metadata | {"general.alignment": alignment}, tensors))
    assert ids(model) == ["bad-alignment"]


def test_another_alignment_moves_the_data(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    model = gguf.read(make.write(tmp_path / "a.gguf", metadata | {"general.alignment": 256}, tensors, alignment=256))
    assert model.problems == ()
    assert model.shards[0].data_start % 256 == 0
    assert all(t.offset % 256 == 0 for t in model.tensors)


@pytest.mark.parametrize("tensors", [
    [make.Tensor("a", (64,)), make.Tensor("b", (64,), offset=0)],
    [make.Tensor("a", (64,)), make.Tensor("b", (64,), offset=257)],
    [make.Tensor("a", (64,), offset=256), make.Tensor("b", (64,), offset=0)],
])
def test_tensors_out_of_place_are_a_problem(tmp_path: Path, tensors: list[make.Tensor]) -> None:
    model = gguf.read(make.write(tmp_path / "o.gguf", {"general.architecture": "llama"}, tensors))
    assert "tensor-offsets" in ids(model)


def test_odd_rows_long_names_and_twice_used_names_are_problems(tmp_path: Path) -> None:
    model = gguf.read(make.write(tmp_path / "o.gguf", {"general.architecture": "llama"}, [
        make.Tensor("n" * 64, (32,)), make.Tensor("same", (8,)), make.Tensor("same", (8,)),
        make.Tensor("odd", (33,), "q8_0", size=34), make.Tensor("huge", (1 << 40, 1 << 40), "f32", size=0)]))
    assert {"bad-shapes", "long-names", "duplicate-tensors"} <= set(ids(model))
    assert model.facts.parameters == 32 + 8 + 8 + 33


@pytest.mark.parametrize(("name", "long"), [("n" * 63, False), ("n" * 64, True), ("é" * 31, False), ("é" * 32, True)])
def test_names_are_as_long_as_their_bytes(tmp_path: Path, name: str, long: bool) -> None:
    path = make.write(tmp_path / "o.gguf", {"general.architecture": "llama"}, [make.Tensor(name, (32,))])
    model = gguf.read(path)
    assert ("long-names" in ids(model)) is long


def test_twice_used_keys_keep_the_first_value_and_are_named(tmp_path: Path) -> None:
    pairs = [("general.architecture", "llama"), ("x.y", 1), ("x.y", 2)]
    model = gguf.read(make.write(tmp_path / "d.gguf", pairs, [make.Tensor("a", (8,))]))
    assert model.metadata["x.y"] == 1
    assert ids(model) == ["duplicate-keys"]


def test_bad_utf8_is_shown_with_replacement_marks(tmp_path: Path) -> None:
    model = gguf.read(make.write(tmp_path / "b.gguf", {"general.architecture": "llama", "general.name": b"a\xffb"},
                                 [make.Tensor("a", (8,))]))
    assert model.facts.name == "a�b"
    assert ids(model) == ["bad-text"]


def test_lists_of_lists_are_skipped_and_can_be_read(tmp_path: Path) -> None:
    metadata = {"general.architecture": "llama", "x.nested": [[1, 2], [3], ["a", "b"]], "x.after": 7}
    model = gguf.read(make.write(tmp_path / "n.gguf", metadata, [make.Tensor("a", (8,))]))
    assert model.metadata["x.after"] == 7
    assert model.metadata["x.nested"].read() == ((1, 2), (3,), ("a", "b"))
    assert ids(model) == ["nested-arrays"]


def test_a_lazy_array_whose_file_is_gone_says_so(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    path = make.write(tmp_path / "gone.gguf", metadata, tensors)
    lazy = gguf.read(path).metadata["tokenizer.ggml.tokens"]
    path.unlink()
    with pytest.raises(AppError, match="changed or is gone"):
        lazy.read()


def test_identity_follows_the_header_and_not_the_weights(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    data = make.file(metadata, tensors)
    paths = [tmp_path / name for name in ("a.gguf", "b.gguf", "c.gguf", "d.gguf")]
    paths[0].write_bytes(data)
    paths[1].write_bytes(data[:-32] + b"\1" * 32)
    paths[2].write_bytes(data + b"\0" * 8)
    paths[3].write_bytes(make.file(metadata | {"general.name": "Tinz"}, tensors))
    same, weights, longer, renamed = (gguf.read(p).identity for p in paths)
    assert same == weights
    assert len({same, longer, renamed}) == 3


def test_full_hash_is_the_plain_sha256_reports_progress_and_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"abc" * 3_000_000)
    seen: list[tuple[int, int]] = []
    assert gguf.full_hash(path, lambda done, total: seen.append((done, total))) == hashlib.sha256(
        path.read_bytes()).hexdigest()
    assert seen[-1] == (9_000_000, 9_000_000)
    assert len(seen) > 1
    assert gguf.full_hash([path], cancelled=lambda: True) is None


@pytest.mark.parametrize(("value", "layers", "expected"), [
    (8, 3, (8, 8, 8)), ((8,), 3, (8, 8, 8)), ((8, 0, 8), 3, (8, 0, 8)), ((8, 0), 3, None), ((), 3, None),
    (True, 2, (True, True)), (None, 2, None), ("8", 2, None), (8, None, None), ([1, 2], 2, (1, 2)),
])
def test_per_layer_values_have_one_shape(value: object, layers: int | None, expected: object) -> None:
    assert per_layer(value, layers) == expected


def test_row_bytes_follows_ggml() -> None:
    assert row_bytes("q4_K", 4096) == 2304
    assert row_bytes("Q8_0", 64) == 68
    assert row_bytes(39, 32) == 17
    with pytest.raises(ValueError, match="no size is known"):
        row_bytes(31, 32)


@pytest.mark.parametrize("name", ["модель 模型 è.gguf", b"bad-\xff.gguf"])
def test_any_file_name_works_with_and_without_a_cache(tmp_path: Path, name: str | bytes) -> None:
    try:
        path = make.write(tmp_path / os.fsdecode(name), *make.llama())
    except OSError:
        pytest.skip("this file system takes no such name")
    cache = gguf.HeaderCache(tmp_path / "cache")
    first, again = gguf.read(path, cache=cache), gguf.read(str(path), cache=cache)
    assert first == again
    assert first.path == path
    assert first.metadata["tokenizer.ggml.tokens"].read(1) == ("<0>",)


def test_a_relative_path_becomes_absolute_and_links_keep_their_name(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = make.write(tmp_path / "blobs" / "0a1b", *make.llama())
    (tmp_path / "Tiny.gguf").symlink_to(blob)
    monkeypatch.chdir(tmp_path)
    model = gguf.read("Tiny.gguf")
    assert model.path == tmp_path / "Tiny.gguf"
    assert model.size_bytes == blob.stat().st_size
