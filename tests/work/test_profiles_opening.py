"""A saved profile on the way to a launch: defaults, moved files, engines of another age; and what is said of it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import tinymodel
from recordedengine import Choosing, recorded_engine

from paddock.engine import Engine
from paddock.errors import AppError
from paddock.launch.layers import origins
from paddock.launch.model import Plan, Setting
from paddock.launch.parsing import parse_argv
from paddock.store import Profile
from paddock.work import Workspace
from paddock.work.saving import clean_name, keep_unfinished, unfinished


@pytest.fixture(scope="module")
def engine() -> Engine:
    return recorded_engine()


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(tmp_path: Path, models: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """With one folder of models, none of this computer's, and an engine that is not asked."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    made = Workspace(tmp_path / "data")
    made.settings.model_folders = [str(models)]

    monkeypatch.setattr(made, "engine", Choosing(engine))
    return made


@pytest.fixture
def model(models: Path) -> Path:
    return tinymodel.write(models / "tiny.gguf")


def plan(model: Path) -> Plan:
    return Plan().with_("model", str(model)).with_("ctx-size", 1024)


def test_a_profile_is_saved_as_its_own_part_and_opened_with_its_defaults(workspace: Workspace, model: Path) -> None:
    workspace.defaults.save(Plan().with_("temp", "1").with_("port", "9000"))
    workspace.defaults.save(Plan().with_("temp", "0.6"), "llama")
    workspace.defaults.save(Plan().with_("temp", "0.1"), "qwen3")
    whole, _ = workspace.resolve(str(model), ["-c", "1024"])
    assert (whole.get("temp"), whole.get("port")) == ("0.6", "9000")
    workspace.save_profile("p", whole)
    assert workspace.profiles.load("p").plan == plan(model)
    workspace.defaults.save(Plan().with_("temp", "0.9"), "llama")
    opened = workspace.open_profile("p")
    assert opened.plan.get("temp") == "0.9"
    assert opened.plan == opened.saved
    assert opened.notices == ()
    assert origins(opened.layers, opened.plan)["temp"].architecture == "llama"


def test_flags_come_before_the_profile_and_the_profile_before_the_defaults(workspace: Workspace, model: Path) -> None:
    workspace.defaults.save(Plan().with_("temp", "1").with_("top-k", "1").with_("min-p", "1"))
    workspace.profiles.save(Profile("p", plan(model).with_("temp", "2").with_("top-k", "2")))
    found, _ = workspace.resolve("p", ["--temp", "3"])
    assert [found.get(option) for option in ("temp", "top-k", "min-p")] == ["3", "2", "1"]


def test_what_was_taken_out_of_a_profile_does_not_come_back_from_the_defaults(workspace: Workspace,
                                                                             model: Path) -> None:
    workspace.defaults.save(Plan().with_("temp", "1"))
    workspace.save_profile("p", plan(model))
    assert workspace.profiles.load("p").left_out == ("temp",)
    assert workspace.open_profile("p").plan.find("temp") is None


def test_a_first_plan_takes_the_defaults_and_a_context_only_where_they_have_none(workspace: Workspace,
                                                                                model: Path) -> None:
    assert workspace.plan_for(model).get("ctx-size") == "8192"
    workspace.defaults.save(Plan().with_("ctx-size", "0").with_("temp", "1"))
    first = workspace.plan_for(model)
    assert (first.get("ctx-size"), first.get("temp")) == ("0", "1")


def test_damaged_defaults_are_said_and_the_profile_opens(workspace: Workspace, model: Path) -> None:
    workspace.save_profile("p", plan(model))
    workspace.defaults.folder.mkdir(parents=True, exist_ok=True)
    (workspace.defaults.folder / "all.toml").write_bytes(b"\0")
    opened = workspace.open_profile("p")
    assert opened.plan == plan(model)
    assert "left out" in str(opened.notices[0])


@pytest.mark.parametrize("place", ["models/sub/tiny.gguf", "models/other name.gguf", "data/models/a/b/tiny.gguf"])
def test_a_model_that_moved_is_found_by_what_it_is(workspace: Workspace, model: Path, tmp_path: Path,
                                                   place: str) -> None:
    tinymodel.write(model.with_name("decoy.gguf"), context=4096)
    workspace.save_profile("p", plan(model))
    new = tmp_path / place
    new.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(model, new)
    same_name = model.parent / "0" / "tiny.gguf"
    same_name.parent.mkdir()
    tinymodel.write(same_name, context=2048)
    opened = workspace.open_profile("p")
    assert opened.plan.get("model") == str(new)
    assert opened.saved.get("model") == str(model)
    assert str(new) in str(opened.notices[0])
    assert workspace.profiles.load("p").plan.get("model") == str(model)


def test_where_all_models_are_known_nobody_looks_for_them(workspace: Workspace, model: Path, tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.save_profile("p", plan(model))
    new = tmp_path / "far" / "away" / "x.gguf"
    new.parent.mkdir(parents=True)
    shutil.move(model, new)
    monkeypatch.setattr(workspace, "scan", lambda *_: pytest.fail("looked for models"))
    assert workspace.open_profile("p", [tmp_path / "gone.gguf", new]).plan.get("model") == str(new)
    assert workspace.open_profile("p", []).plan.get("model") == str(model)


def test_the_command_is_the_profile_s_on_every_way_to_it(workspace: Workspace, model: Path, models: Path) -> None:
    """By file, by profile, with flags, one after the other in one process: nothing of what was before is left."""
    other = tinymodel.write(models / "other.gguf", context=4096)
    workspace.save_profile("A", plan(model).with_("flash-attn", "off").with_("gpu-layers", 0))
    workspace.save_profile("B", Plan().with_("model", str(other)).with_("ctx-size", 2048))
    expected = {("A", ()): ["-m", str(model), "-c", "1024", "-fa", "off", "-ngl", "0"],
                ("B", ()): ["-m", str(other), "-c", "2048"], (str(model), ()): ["-m", str(model)],
                ("A", ("-c", "5")): ["-m", str(model), "-fa", "off", "-ngl", "0", "-c", "5"]}
    for target, flags in (*expected, *reversed(list(expected))):
        resolved, _ = workspace.resolve(target, list(flags))
        argv = json.loads(workspace.export(resolved, "argv"))
        assert argv[1:] == expected[target, flags]
        assert parse_argv(argv[1:]) == resolved


def test_a_draft_and_a_projector_that_moved_are_found_too(workspace: Workspace, model: Path, models: Path) -> None:
    draft = tinymodel.write(models / "draft.gguf", context=512)
    workspace.save_profile("p", plan(model).with_("spec-draft-model", str(draft)))
    shutil.move(draft, models / "smaller.gguf")
    assert workspace.open_profile("p").plan.get("spec-draft-model") == str(models / "smaller.gguf")


def test_a_model_that_is_nowhere_is_said_and_never_guessed(workspace: Workspace, model: Path, models: Path) -> None:
    workspace.save_profile("p", plan(model))
    model.unlink()
    tinymodel.write(models / "tiny-2.gguf", context=4096)
    opened = workspace.open_profile("p")
    assert opened.plan.get("model") == str(model)
    assert "no file with the same content" in str(opened.notices[0])


@pytest.mark.parametrize(("name", "said"), [("tiny.gguf", "has the same name"), ("other.gguf", "is not there")])
def test_a_file_of_which_only_the_name_is_known_is_told_and_not_taken(workspace: Workspace, model: Path, name: str,
                                                                     said: str) -> None:
    """A recipe of somebody else's, written on another system."""
    workspace.profiles.save(Profile("p", Plan().with_("model", f"D:\\models\\{name}")))
    opened = workspace.open_profile("p")
    assert opened.plan == opened.saved
    assert said in str(opened.notices[0])
    assert (str(model) in str(opened.notices[0])) == (name == model.name)


def test_another_file_under_the_old_name_is_said(workspace: Workspace, model: Path) -> None:
    workspace.save_profile("p", plan(model))
    tinymodel.write(model, context=2048)
    assert "another file" in str(workspace.open_profile("p").notices[0])


def test_old_flags_are_carried_over_told_and_not_saved_unasked(workspace: Workspace, model: Path) -> None:
    old = Plan((Setting("model", (str(model),)), Setting("--draft-max", ("16",)), Setting("mlock"),
                Setting("--gone-for-ever", ("1",))))
    workspace.profiles.save(Profile("p", old, saved_with="llama.cpp 4000"))
    opened = workspace.open_profile("p")
    assert opened.plan.get("spec-draft-n-max") == "16"
    assert opened.plan.get("load-mode") == "mlock"
    assert opened.plan.find("--gone-for-ever") is not None
    said = [str(notice) for notice in opened.notices]
    assert said[0] == "It was saved with “llama.cpp 4000”; this engine is “llama.cpp 11434”."
    assert len(said) == 4
    assert "--gone-for-ever" in said[3]
    assert workspace.profiles.load("p").plan == old
    resolved, profile = workspace.resolve("p")
    assert resolved == opened.plan
    assert profile is not None
    assert profile.notices == opened.notices


def test_an_engine_that_is_not_here_is_said(workspace: Workspace, model: Path) -> None:
    workspace.profiles.save(Profile("p", replace(plan(model), engine="my fork")))
    assert "“my fork” is not here" in str(workspace.open_profile("p").notices[0])


def test_a_profile_keeps_its_details_when_its_plan_is_saved_anew(workspace: Workspace, model: Path) -> None:
    workspace.save_profile("p", plan(model), notes="n", tags=("a",), colour="teal", keep_serving=True)
    saved = workspace.save_profile("p", plan(model).with_("ctx-size", 2048))
    assert (saved.notes, saved.tags, saved.colour, saved.keep_serving) == ("n", ("a",), "teal", True)
    assert saved.saved_with == "llama.cpp 11434"
    assert saved.model_identity == workspace.read_model(model).identity


def test_a_profile_that_another_paddock_saved_meanwhile_is_said(workspace: Workspace, model: Path) -> None:
    first = workspace.save_profile("p", plan(model))
    Workspace(workspace.paths.root).profiles.save(replace(first, notes="theirs"))
    saved = workspace.save_profile("p", plan(model).with_("temp", 0), expected=first.revision)
    assert "Another Paddock" in str(saved.notices[0])


@pytest.mark.parametrize(("name", "clean"), [
    ("  Chat \n", "Chat"), ("a\tb\r\nc", "a b c"), ("Größe", "Größe"), ("a/b\\c: 😀", "a/b\\c: 😀"),
    ("👩\u200d💻 work", "👩\u200d💻 work"), ("x\x00y", "x y"), ("x" * 500, "x" * 500), ("CON", "CON")])
def test_a_name_is_one_line(workspace: Workspace, model: Path, name: str, clean: str) -> None:
    assert clean_name(name) == clean
    assert workspace.save_profile(name, plan(model)).name == clean
    assert workspace.profiles.names() == [clean]
    assert workspace.open_profile(clean).plan == plan(model)


@pytest.mark.parametrize("name", ["", "  ", "\n\t", "\x00"])
def test_no_name_is_a_sentence(workspace: Workspace, name: str) -> None:
    with pytest.raises(AppError, match="needs a name"):
        workspace.save_profile(name, Plan())


@pytest.mark.parametrize("name", ["mine.gguf", "Chat"])
def test_a_profile_called_like_a_file_or_folder_can_be_launched(workspace: Workspace, model: Path, tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Chat").mkdir()
    workspace.save_profile(name, plan(model))
    resolved, profile = workspace.resolve(name)
    assert profile is not None
    assert resolved == plan(model)
    shutil.copyfile(model, tmp_path / "mine.gguf")
    assert workspace.resolve("mine.gguf")[1] is None


def test_a_plan_that_was_edited_and_did_not_serve_is_kept_for_its_model(workspace: Workspace, model: Path) -> None:
    assert unfinished(workspace, plan(model)) is None
    keep_unfinished(workspace, plan(model).with_("ctx-size", 0))
    assert unfinished(workspace, plan(model)) == plan(model).with_("ctx-size", 0)
    assert unfinished(workspace, plan(model).with_("ctx-size", 0)) is None
    assert workspace.plan_for(model).get("ctx-size") == "8192"


def test_two_paddocks_that_change_different_settings_keep_both(workspace: Workspace) -> None:
    workspace.save_settings()
    other = Workspace(workspace.paths.root)
    other.settings.theme = "dark"
    other.save_settings()
    workspace.settings.restart_limit = 2
    workspace.save_settings()
    found = Workspace(workspace.paths.root).settings
    assert (found.theme, found.restart_limit) == ("dark", 2)
