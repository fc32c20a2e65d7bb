"""What is not a GGUF, or not a whole one, is said in words."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.errors import AppError

FOREIGN = {
    "empty": (b"", "is empty"),
    "html": (b"\n<!DOCTYPE html><html>Sign in</html>", "web page"),
    "json error": (json.dumps({"error": "Access to model X is restricted."}).encode(), "Access to model X"),
    "other json": (b'{"weight_map": {}}', "JSON"),
    "lfs pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "git lfs pull"),
    "safetensors": (struct.pack("<Q", 40) + b'{"a": {}}' + b" " * 60, "safetensors"),
    "ggml": (b"lmgg" + bytes(40), "old GGML format"),
    "ggjt": (b"tjgg" + struct.pack("<I", 3) + bytes(40), "old GGJT format"),
    "zip": (b"PK\x03\x04" + bytes(40), "ZIP"),
    "zeros": (bytes(4096), "begins with zeros"),
    "noise": (b"\x93\x01garbage", "instead of GGUF"),
    "four bytes": (b"GGUF", "ends after 4 bytes"),
    "version 1": (b"GGUF" + struct.pack("<III", 1, 0, 0) + bytes(20), "version 1"),
    "version 9": (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "version 9"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_files_are_recognised(tmp_path: Path, name: str) -> None:
    content, words = FOREIGN[name]
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(AppError) as caught:
        gguf.read(path)
    assert words in str(caught.value)
    assert "model.gguf" in str(caught.value.what)
    assert caught.value.hint


def test_missing_files_folders_and_dangling_links_have_their_own_words(tmp_path: Path) -> None:
    with pytest.raises(AppError, match="There is no file"):
        gguf.read(tmp_path / "none.gguf")
    with pytest.raises(AppError, match="There is no file"):
        gguf.read("a\0b.gguf")
    with pytest.raises(AppError, match="is a folder"):
        gguf.read(tmp_path)
    (tmp_path / "link.gguf").symlink_to(tmp_path / "blob")
    with pytest.raises(AppError, match="target is missing"):
        gguf.read(tmp_path / "link.gguf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(AppError, match="not an ordinary file"):
        gguf.read(tmp_path / "pipe.gguf")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    path = make.write(tmp_path / "x.gguf", *make.llama())
    path.chmod(0)
    with pytest.raises(AppError, match="may not be read"):
        gguf.read(path)


def test_the_43_byte_file_ends_in_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    whole = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + make.string("a") + struct.pack("<IIQ", 9, 0, 1 << 63)
    for size in (43, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(AppError, match="cut off or damaged"):
            gguf.read(path)


def test_a_file_cut_within_its_weights_tells_how_much_is_missing(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=4, embedding=256)
    data = make.file(metadata, tensors)
    path = tmp_path / "cut.gguf"
    path.write_bytes(data)
    expected = gguf.read(path).shards[0].expected_bytes
    assert expected is not None
    for size in (expected - 1, expected // 2, gguf.read(path).shards[0].data_start):
        path.write_bytes(data[:size])
        model = gguf.read(path)
        assert [(p.id, p.severity) for p in model.problems] == [("truncated", "error")]
        assert f"{(expected - size) / expected:.1%}".replace("%", " %") in str(model.problems[0].text)
        assert not model.complete
        assert model.facts.layers == 4


def test_a_file_cut_within_its_header_is_an_error_at_every_byte(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=1, vocabulary=4)
    head = make.header(metadata, tensors)
    path = tmp_path / "cut.gguf"
    for size in range(0, len(head), 7):
        path.write_bytes(head[:size])
        with pytest.raises(AppError):
            gguf.read(path)
    path.write_bytes(head)
    assert [p.id for p in gguf.read(path).problems] == ["truncated"]


@pytest.mark.parametrize("ending", [".part", ".aria2", ".incomplete", ".crdownload", ".download"])
def test_a_file_of_a_download_program_beside_the_model_marks_it_unfinished(tmp_path: Path, ending: str) -> None:
    cache = gguf.HeaderCache(tmp_path / "cache")
    path = make.write(tmp_path / "m.gguf", *make.llama())
    assert gguf.read(path, cache=cache).complete
    beside = tmp_path / f"m.gguf{ending}"
    beside.write_bytes(b"x")
    model = gguf.read(path, cache=cache)
    assert [p.id for p in model.problems] == ["unfinished-download"]
    assert beside.name in str(model.problems[0].text)
    assert not model.complete
    beside.unlink()
    assert gguf.read(path, cache=cache).complete


@pytest.mark.parametrize("name", ["m.gguf.part", "m.gguf.crdownload", "sha256-12ab-partial"])
def test_an_unfinished_name_is_said_whether_or_not_the_header_is_there(tmp_path: Path, name: str) -> None:
    path = make.write(tmp_path / name, *make.llama())
    assert [p.id for p in gguf.read(path).problems] == ["unfinished-download"]
    path.write_bytes(bytes(500))
    with pytest.raises(AppError, match="unfinished download"):
        gguf.read(path)


def test_a_tail_of_zeros_is_a_hint(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=4, embedding=512)
    data = make.file(metadata, tensors)
    path = tmp_path / "z.gguf"
    path.write_bytes(data[:len(data) // 2] + bytes(len(data) - len(data) // 2))
    assert [(p.id, p.severity) for p in gguf.read(path).problems] == [("zero-tail", "hint")]
    path.write_bytes(data)
    assert gguf.read(path).problems == ()


def test_a_header_without_tensors_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "vocab.gguf"
    path.write_bytes(make.header({"general.architecture": "llama", "tokenizer.ggml.tokens": ["a"]}))
    model = gguf.read(path)
    assert (model.kind, model.complete, model.problems) == (gguf.Kind.VOCAB, True, ())
