"""Situations that people met with model files, from the file to what may be launched."""

from __future__ import annotations

import os
from pathlib import Path

import ggufmake as make
import pytest

from paddock.engine.model import Engine, EngineOption
from paddock.fit.model import Verdict
from paddock.launch import Plan
from paddock.work import Workspace


@pytest.fixture
def engine() -> Engine:
    """Knows every flag that Paddock adds by itself."""
    flags = ("--metrics", "--log-jsonl", "-lv", "--log-colors", "--port", "-np", "--kv-unified", "-m", "-c", "--slots",
             "--no-webui", "--chat-template-file", "--models-preset")
    return Engine("made", Path("/opt/llama-server"), ("/opt/llama-server",), "PATH", build=11434, flags_verified=True,
                  options=tuple(EngineOption((f,), (), "N", 1, (), None, None, "common", "", False) for f in flags))


@pytest.fixture
def workspace(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made = Workspace(tmp_path / "Данные пользователя")
    monkeypatch.setattr(Workspace, "engine", lambda self, selector=None: engine)
    return made


def split(folder: Path, groups: int = 3) -> list[Path]:
    metadata, tensors = make.llama(layers=4)
    size = len(tensors) // groups + 1
    return make.split(folder, "Big-Q8_0", metadata, [tensors[i * size:(i + 1) * size] for i in range(groups)])


@pytest.mark.parametrize("picked", [0, 1, 2])
def test_whichever_part_is_picked_the_command_names_the_first(workspace: Workspace, tmp_path: Path,
                                                              picked: int) -> None:
    parts = split(tmp_path / "m")
    assert workspace.plan_for(parts[picked]).get("model") == str(parts[0])
    plan, _ = workspace.resolve(str(parts[picked]))
    assert plan.get("model") == str(parts[0])


@pytest.mark.parametrize("gone", [[1], [2], [0], [1, 2]])
def test_a_missing_part_is_an_error_and_no_verdict_says_fits(workspace: Workspace, tmp_path: Path,
                                                             gone: list[int]) -> None:
    parts = split(tmp_path / "m")
    for number in gone:
        parts[number].unlink()
    there = next(p for p in parts if p.exists())
    found = workspace.preview(workspace.plan_for(there))
    assert [i for i in found.errors if i.option == "model"]
    assert found.estimate is None or found.estimate.verdict in (Verdict.CANT_TELL, Verdict.WONT_FIT)


@pytest.mark.parametrize("picked", [0, 2])
def test_a_missing_first_part_is_told_as_that_and_still_estimated(workspace: Workspace, tmp_path: Path,
                                                                 picked: int) -> None:
    parts = split(tmp_path / "m")
    parts[0].unlink()
    plan, _ = workspace.resolve(str(parts[picked]))
    assert [i.id for i in workspace.preview(plan, fresh=True).errors if i.option == "model"] == [
        "file-missing-shards"]
    assert workspace.estimate(plan).verdict is Verdict.CANT_TELL


def test_what_arrives_meanwhile_is_seen_at_the_next_look(workspace: Workspace, tmp_path: Path) -> None:
    parts = split(tmp_path / "m")
    kept = parts[1].read_bytes()
    parts[1].unlink()
    plan = workspace.plan_for(parts[0])
    assert workspace.preview(plan).errors
    parts[1].write_bytes(kept)
    assert not workspace.preview(plan).errors
    note = parts[0].with_name(parts[0].name + ".aria2")
    note.write_bytes(b"x")
    assert workspace.preview(plan).errors
    note.unlink()
    assert not workspace.preview(plan).errors


def test_sizes_and_parameters_are_those_of_all_parts(workspace: Workspace, tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=4)
    whole = workspace.read_model(make.write(tmp_path / "whole.gguf", metadata, tensors))
    parts = split(tmp_path / "m")
    read = workspace.read_model(parts[2])
    assert (read.facts.parameters, read.tensor_bytes, read.facts.quant_mix) == (
        whole.facts.parameters, whole.tensor_bytes, whole.facts.quant_mix)


@pytest.mark.parametrize("ending", [".part", ".aria2", ".incomplete", ".crdownload", ".download"])
def test_a_download_under_way_beside_a_file_of_full_size_stops_the_launch(workspace: Workspace, tmp_path: Path,
                                                                          ending: str) -> None:
    path = make.write(tmp_path / "m" / "m-Q8_0.gguf", *make.llama())
    assert not workspace.preview(workspace.plan_for(path)).errors
    path.with_name(path.name + ending).write_bytes(b"x")
    assert "file-unfinished-download" in {i.id for i in workspace.preview(workspace.plan_for(path)).errors}


def test_a_file_with_letters_of_any_language_is_read_and_named_as_it_is(workspace: Workspace, tmp_path: Path) -> None:
    path = make.write(tmp_path / "Модели 模型 é" / "файл ‘x’-Q8_0.gguf", *make.llama())
    plan = workspace.plan_for(path)
    command = workspace.preview(plan).command
    assert plan.get("model") == str(path)
    assert command is not None
    assert str(path) in command.argv


def test_no_file_of_ours_is_handed_to_the_server(workspace: Workspace, tmp_path: Path) -> None:
    """A server that cannot open a path of another language would then fail for our file, whatever the model."""
    path = make.write(tmp_path / "m" / "m-Q8_0.gguf", *make.llama())
    command = workspace.preview(workspace.plan_for(path)).command
    assert command is not None
    assert command.additions
    for addition in command.additions:
        assert not any(os.sep in word or str(workspace.paths.root) in word for word in addition.argv), addition


def test_a_type_that_nobody_knows_hides_nothing_else(workspace: Workspace, tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    for number in (156, 4242):
        path = make.write(tmp_path / f"{number}.gguf", metadata, [*tensors, make.Tensor("n", (64,), number, size=64)])
        read = workspace.read_model(path)
        assert (read.facts.trained_context, read.facts.layers) == (4096, 2)
        assert read.by_name["n"].type_name == f"type {number}"
        assert read.by_name["n"].nbytes == 64
        assert "file-unknown-types" in {i.id for i in workspace.preview(workspace.plan_for(path)).issues}


@pytest.mark.parametrize(("architecture", "more", "option"), [
    ("bert", {}, "embedding"), ("nomic-bert", {}, "embedding"), ("qwen3", {"pooling_type": 3}, "embedding"),
    ("qwen3", {"pooling_type": 4}, "rerank")])
def test_models_that_do_not_chat_are_offered_their_own_way_of_serving(
        workspace: Workspace, tmp_path: Path, architecture: str, more: dict[str, int], option: str) -> None:
    path = make.write(tmp_path / "e.gguf", *make.llama(architecture=architecture, **more))
    found = workspace.preview(workspace.plan_for(path))
    assert option in {i.option for i in found.issues if i.id.endswith("-as-chat")}
    if architecture != "qwen3":
        assert found.estimate is not None
        assert not found.estimate.kv_bytes_per_token


def test_a_projector_as_the_model_is_explained_and_offered_as_one(workspace: Workspace, tmp_path: Path) -> None:
    for number, metadata in enumerate(({"general.architecture": "clip"},
                                       {"general.architecture": "clip", "general.type": "mmproj"},
                                       {"general.architecture": "other", "general.type": "clip-vision"})):
        path = make.write(tmp_path / f"plain{number}.gguf", metadata, [make.Tensor("v.x", (8,))])
        found = workspace.preview(Plan().with_("model", str(path)))
        (issue,) = [i for i in found.errors if i.id == "projector-as-model"]
        assert ("mmproj", (str(path),)) in issue.edits
