"""What is found, once each, under the name that people know."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.errors import AppError
from paddock.gguf import Kind
from paddock.library import Entry, Place, default_places, scan
from paddock.library import places as known_places


def names(entries: list[Entry]) -> list[str]:
    return [e.path.name for e in entries]


def found(*places: Place | Path) -> list[Entry]:
    return scan(places, read=gguf.read)


def tiny(path: Path, **more: object) -> Path:
    metadata, tensors = make.llama(**more)  # type: ignore[arg-type]
    return make.write(path, metadata, tensors)


def test_folders_are_searched_deeply_and_other_files_left_alone(tmp_path: Path) -> None:
    tiny(tmp_path / "a.gguf")
    tiny(tmp_path / "deep" / "er" / "B.GGUF", layers=3)
    (tmp_path / "notes.txt").write_text("GGUF")
    tiny(tmp_path / ".git" / "c.gguf")
    entries = found(Place(tmp_path, "Mine"))
    assert names(entries) == ["a.gguf", "B.GGUF"]
    assert {e.place for e in entries} == {"Mine"}
    assert [e.model.facts.layers for e in entries if e.model] == [2, 3]


def test_one_broken_file_does_not_stop_the_scan(tmp_path: Path) -> None:
    tiny(tmp_path / "a.gguf")
    (tmp_path / "b.gguf").write_bytes(b"<html>")
    (tmp_path / "c.gguf").symlink_to(tmp_path / "nowhere")
    tiny(tmp_path / "d.gguf", layers=3)
    entries = found(tmp_path)
    assert names(entries) == ["a.gguf", "b.gguf", "c.gguf", "d.gguf"]
    assert [e.error is None for e in entries] == [True, False, False, True]
    assert "web page" in str(entries[1].error)
    assert "target is missing" in str(entries[2].error)
    assert (entries[1].size_bytes, entries[2].size_bytes) == (6, None)


def test_a_split_set_is_one_row_wherever_its_parts_are_listed_from(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3)
    paths = make.split(tmp_path, "Big", metadata, [tensors[:5], tensors[5:9], tensors[9:]])
    entries = found(tmp_path)
    assert [e.path for e in entries] == [paths[0]]
    assert entries[0].size_bytes == sum(p.stat().st_size for p in paths)
    paths[0].unlink()
    (entry,) = found(tmp_path)
    assert entry.path == paths[0]
    assert entry.model is not None
    assert not entry.model.complete


def test_other_kinds_are_listed_with_their_kind(tmp_path: Path) -> None:
    tiny(tmp_path / "a.gguf")
    make.write(tmp_path / "mmproj.gguf", {"general.architecture": "clip"}, [make.Tensor("v.patch_embd.weight", (8,))])
    tiny(tmp_path / "z-embed.gguf", architecture="bert")
    assert [e.kind for e in found(tmp_path)] == [Kind.MODEL, Kind.PROJECTOR, Kind.EMBEDDING]


def test_unfinished_downloads_are_listed_with_the_problem(tmp_path: Path) -> None:
    tiny(tmp_path / "a.gguf.part")
    (tmp_path / "b.gguf.crdownload").write_bytes(bytes(100))
    tiny(tmp_path / "c.gguf")
    (tmp_path / "c.gguf.aria2").write_bytes(b"x")
    first, second, third = found(tmp_path)
    assert first.model is not None
    assert [p.id for p in first.model.problems] == ["unfinished-download"]
    assert "unfinished download" in str(second.error)
    assert third.model is not None
    assert not third.model.complete


def test_links_and_folders_that_lead_in_circles_are_followed_once(tmp_path: Path) -> None:
    tiny(tmp_path / "real" / "a.gguf")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "circle").symlink_to(tmp_path)
    os.link(tmp_path / "real" / "a.gguf", tmp_path / "hard.gguf")
    (tmp_path / "soft.gguf").symlink_to(tmp_path / "real" / "a.gguf")
    assert len(found(tmp_path, tmp_path / "real")) == 1


def test_copies_know_of_each_other(tmp_path: Path) -> None:
    first = tiny(tmp_path / "a.gguf")
    shutil.copy(first, tmp_path / "b.gguf")
    tiny(tmp_path / "c.gguf", layers=3)
    entries = found(tmp_path)
    assert [e.duplicates for e in entries] == [(tmp_path / "b.gguf",), (tmp_path / "a.gguf",), ()]


def hub(root: Path) -> Path:
    """A Hugging Face cache: two snapshots that link to one blob."""
    repository = root / "models--owner--Tiny-GGUF"
    blob = tiny(repository / "blobs" / "0a1b2c")
    for revision in ("aaa", "bbb"):
        (repository / "snapshots" / revision).mkdir(parents=True)
        (repository / "snapshots" / revision / "Tiny-Q8_0.gguf").symlink_to(blob)
    return repository


def test_a_hugging_face_cache_shows_the_snapshot_name_once(tmp_path: Path) -> None:
    repository = hub(tmp_path)
    make.write(repository / "blobs" / "ffff.incomplete", {"general.architecture": "llama"})
    (repository / "blobs" / "eeee.incomplete").write_bytes(b"not a model")
    unfinished, model = found(Place(tmp_path, "Hugging Face"))
    assert model.path == repository / "snapshots" / "aaa" / "Tiny-Q8_0.gguf"
    assert model.size_bytes == (repository / "blobs" / "0a1b2c").stat().st_size
    assert unfinished.name == "owner/Tiny-GGUF"
    assert unfinished.model is not None
    assert [p.id for p in unfinished.model.problems] == ["unfinished-download"]


def test_a_split_set_in_two_snapshots_is_one_row(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3)
    parts = make.split(tmp_path / "models--o--r" / "blobs" / "x", "Big", metadata, [tensors[:9], tensors[9:]])
    for revision in ("aaa", "bbb"):
        folder = tmp_path / "models--o--r" / "snapshots" / revision
        folder.mkdir(parents=True)
        for number, part in enumerate(parts):
            part.rename(part.with_name(str(number))) if revision == "aaa" else None
            (folder / part.name).symlink_to(part.with_name(str(number)))
    (entry,) = found(tmp_path)
    assert entry.path.parent.name == "aaa"
    assert entry.model is not None
    assert entry.model.complete


def test_ollama_models_have_their_manifest_names(tmp_path: Path) -> None:
    tiny(tmp_path / "blobs" / "sha256-11")
    make.write(tmp_path / "blobs" / "sha256-22", {"general.architecture": "clip"}, [make.Tensor("v.x", (8,))])
    make.write(tmp_path / "blobs" / "sha256-33-partial", *make.llama(layers=3))
    (tmp_path / "blobs" / "sha256-44").write_text("a template")
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:11"},
              {"mediaType": "application/vnd.ollama.image.projector", "digest": "sha256:22"},
              {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:44"},
              {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../etc/passwd"}, 5]
    for name in ("registry.ollama.ai/library/llava/7b", "registry.ollama.ai/library/llava/latest"):
        manifest = tmp_path / "manifests" / name
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.write_text(json.dumps({"layers": layers}))
    (tmp_path / "manifests" / "broken").write_text("{")
    entries = found(Place(tmp_path, "Ollama"))
    assert [(e.name, e.kind) for e in entries[:2]] == [("llava:7b", Kind.MODEL), ("llava:7b", Kind.PROJECTOR)]
    assert len(entries) == 3
    assert entries[2].model is not None
    assert [p.id for p in entries[2].model.problems] == ["unfinished-download"]


def test_a_scan_can_be_cancelled_and_gives_what_it_has(tmp_path: Path) -> None:
    for number in range(5):
        tiny(tmp_path / f"{number}.gguf")
    done: list[int] = []

    def progress(count: int, total: int | None, name: str) -> None:
        if total is not None:
            assert total == 5
            done.append(count)

    entries = scan([tmp_path], read=gguf.read, progress=progress, cancelled=lambda: len(done) >= 3)
    # The file that was being read at that moment may still have come through.
    assert 2 <= len(entries) <= 3
    assert done == [0, 1, 2]
    assert scan([tmp_path], read=gguf.read, cancelled=lambda: True) == []


def test_a_file_that_never_answers_costs_itself_only(tmp_path: Path) -> None:
    for name in ("a.gguf", "b.gguf", "c.gguf"):
        tiny(tmp_path / name)
    release = threading.Event()

    def read(path: Path) -> gguf.ModelFile:
        if path.name == "b.gguf":
            release.wait(60)
        return gguf.read(path)

    try:
        entries = scan([tmp_path], read=read, patience_s=0.3)
    finally:
        release.set()
    assert [e.error is None for e in entries] == [True, False, True]
    assert "did not answer" in str(entries[1].error)


def test_a_folder_that_never_answers_is_listed_and_the_other_places_are_read(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(tmp_path / "gone" / "a.gguf")
    tiny(tmp_path / "here" / "b.gguf", layers=3)
    gate, real = threading.Event(), os.scandir

    def slow(folder):
        if Path(folder).name == "gone":
            gate.wait(20)
        return real(folder)

    monkeypatch.setattr(os, "scandir", slow)
    try:
        entries = scan([Place(tmp_path / "gone", "Net"), Place(tmp_path / "here", "Disk")], read=gguf.read,
                       patience_s=0.3)
    finally:
        gate.set()
    assert [(e.path.name, e.place, e.model is not None) for e in entries] == [
        ("b.gguf", "Disk", True), ("gone", "Net", False)]
    assert "did not answer" in str(entries[1].error)


def test_a_cancelled_scan_does_not_wait_for_a_folder_that_hangs(tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    gate, stop, real = threading.Event(), threading.Event(), os.scandir

    def slow(folder):
        stop.set()
        gate.wait(20)
        return real(folder)

    monkeypatch.setattr(os, "scandir", slow)
    try:
        assert scan([tmp_path], read=gguf.read, cancelled=stop.is_set) == []
        assert not gate.is_set()
    finally:
        gate.set()


def test_several_files_that_hang_do_not_stop_the_others(tmp_path: Path) -> None:
    for name in "abcdefgh":
        tiny(tmp_path / f"{name}.gguf")
    gate = threading.Event()

    def read(path: Path):
        if path.stem in "abcd":
            gate.wait(20)
        return gguf.read(path)

    try:
        entries = scan([tmp_path], read=read, patience_s=0.3)
    finally:
        gate.set()
    assert names(entries) == [f"{name}.gguf" for name in "abcdefgh"]
    assert [e.error is None for e in entries] == [False] * 4 + [True] * 4


def test_a_cancelled_scan_does_not_wait_for_a_drive_that_hangs(tmp_path: Path) -> None:
    tiny(tmp_path / "a.gguf")
    asked, release = threading.Event(), threading.Event()

    def read(path: Path) -> gguf.ModelFile:
        asked.set()
        release.wait(60)
        return gguf.read(path)

    try:
        assert scan([tmp_path], read=read, cancelled=asked.is_set) == []
    finally:
        release.set()


def test_a_missing_folder_is_nothing_and_a_file_is_itself(tmp_path: Path) -> None:
    path = tiny(tmp_path / "a.gguf")
    assert found(tmp_path / "nowhere") == []
    assert [e.path for e in found(path)] == [path]


def test_default_places_follow_the_environment_and_exist(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folders = [home / ".cache" / "huggingface" / "hub", home / ".lmstudio" / "models", home / ".ollama" / "models"]
    for folder in folders:
        folder.mkdir(parents=True)
    plain = default_places({}, home)
    assert {(p.path, p.label) for p in plain} >= set(zip(folders, ("Hugging Face", "LM Studio", "Ollama"), strict=True))
    moved = tmp_path / "moved"
    (moved / "hub").mkdir(parents=True)
    (moved / "llama").mkdir()
    places = {p.path: p.label for p in default_places(
        {"HF_HOME": str(moved), "LLAMA_CACHE": str(moved / "llama")}, home)}
    assert places[moved / "hub"] == "Hugging Face"
    assert places[moved / "llama"] == "llama.cpp"
    assert folders[0] not in places


def test_a_cache_on_a_drive_that_hangs_is_a_place_that_the_scan_finds_silent(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, real = threading.Event(), Path.resolve

    def slow(self, strict=False):
        if self.name == "dead":
            gate.wait(20)
        return real(self, strict)

    monkeypatch.setattr(Path, "resolve", slow)
    monkeypatch.setattr(known_places, "PATIENCE_S", 0.1)
    try:
        found = default_places({"HF_HUB_CACHE": str(tmp_path / "dead")}, tmp_path)
    finally:
        gate.set()
    assert [(p.path.name, p.label) for p in found] == [("dead", "Hugging Face")]


@pytest.mark.parametrize("content", ['{"downloadsFolder": "%s"}', "{broken", "[]"])
def test_lm_studio_may_have_another_folder(tmp_path: Path, content: str) -> None:
    chosen = tmp_path / "chosen"
    chosen.mkdir()
    settings = tmp_path / ".lmstudio" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(content.replace("%s", str(chosen)))
    paths = [p.path for p in default_places({}, tmp_path) if p.label == "LM Studio"]
    assert paths == ([chosen] if "chosen" in settings.read_text() else [])


def test_an_error_entry_has_a_name(tmp_path: Path) -> None:
    entry = Entry(tmp_path / "x.gguf", "Mine", error=AppError("no"))
    assert (entry.name, entry.kind) == ("x.gguf", None)
