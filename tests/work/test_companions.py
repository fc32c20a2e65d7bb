"""A model is opened with what goes with it; the person's word holds."""

from __future__ import annotations

from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.launch import Plan
from paddock.library import Entry
from paddock.work import Workspace, companions


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "data")


def model(path: Path, layers: int = 2, **more: object) -> Path:
    keys, tensors = make.llama(layers)
    return make.write(path, keys | {"general.name": path.stem} | more, tensors)


def projector(path: Path, width: int = 64) -> Path:
    return make.write(path, {"general.architecture": "clip", "clip.vision.projection_dim": width},
                      [make.Tensor("v.patch_embd.weight", (8,))])


def test_the_only_projector_beside_a_model_goes_with_it(workspace: Workspace, tmp_path: Path) -> None:
    path = model(tmp_path / "m" / "gemma-Q8_0.gguf")
    mine = projector(tmp_path / "m" / "mmproj-F16.gguf")
    (tmp_path / "m" / "broken.gguf").write_bytes(b"x")
    assert workspace.plan_for(path).get("mmproj") == str(mine)


def test_none_is_attached_where_several_fit_or_none_does(workspace: Workspace, tmp_path: Path) -> None:
    path = model(tmp_path / "m" / "gemma-Q8_0.gguf")
    projector(tmp_path / "m" / "mmproj-wide.gguf", width=128)
    assert workspace.plan_for(path).find("mmproj") is None
    projector(tmp_path / "m" / "mmproj-F16.gguf")
    projector(tmp_path / "m" / "mmproj-BF16.gguf")
    assert workspace.plan_for(path).find("mmproj") is None


def test_the_persons_word_is_remembered_and_final(workspace: Workspace, tmp_path: Path) -> None:
    path = model(tmp_path / "m" / "gemma-Q8_0.gguf")
    projector(tmp_path / "m" / "mmproj-F16.gguf")
    other = projector(tmp_path / "elsewhere" / "p.gguf")
    read = workspace.read_model(path)
    companions.choose(workspace, read, "projector", "")
    assert Workspace(tmp_path / "data").plan_for(path).find("mmproj") is None
    companions.choose(workspace, read, "projector", str(other))
    assert Workspace(tmp_path / "data").plan_for(path).get("mmproj") == str(other)
    other.unlink()
    assert workspace.plan_for(path).find("mmproj") is None
    companions.choose(workspace, read, "projector", None)
    assert Path(workspace.plan_for(path).get("mmproj") or "").name == "mmproj-F16.gguf"


def test_a_chosen_draft_comes_with_its_type_and_is_never_taken_unasked(workspace: Workspace, tmp_path: Path) -> None:
    path = model(tmp_path / "m" / "big.gguf", 40)
    draft = model(tmp_path / "m" / "small.gguf", 1)
    assert workspace.plan_for(path).find("spec-draft-model") is None
    entries = [Entry(p, "", workspace.read_model(p)) for p in (path, draft)]
    found = companions.companions(workspace, entries[0], entries)
    assert (found.draft.options, found.draft.chosen) == ((entries[1],), None)
    companions.choose(workspace, workspace.read_model(path), "draft", str(draft))
    plan = workspace.plan_for(path)
    assert (plan.get("spec-draft-model"), plan.get("spec-type")) == (str(draft), "draft-simple")
    assert companions.companions(workspace, entries[0], entries).draft.chosen == entries[1]


def test_a_models_own_prediction_layers_can_draft_for_it(workspace: Workspace, tmp_path: Path) -> None:
    path = model(tmp_path / "m" / "glm.gguf", 4, **{"llama.nextn_predict_layers": 1})
    read = workspace.read_model(path)
    entry = Entry(path, "", read)
    assert companions.companions(workspace, entry, [entry]).draft.own_layers == 1
    assert workspace.plan_for(path).find("spec-type") is None
    companions.choose(workspace, read, "draft", "mtp")
    assert workspace.plan_for(path).get("spec-type") == "draft-mtp"
    assert companions.companions(workspace, entry, [entry]).draft.own_chosen
    companions.choose(workspace, read, "draft", "")
    assert workspace.plan_for(path).find("spec-type") is None


def test_a_file_with_prediction_layers_alone_is_a_draft_of_that_type(workspace: Workspace, tmp_path: Path) -> None:
    keys, tensors = make.llama(4)
    own = [t for t in tensors if not t.name.startswith("blk.") or t.name.startswith("blk.3.")]
    side = make.write(tmp_path / "m" / "side.gguf", keys | {"llama.nextn_predict_layers": 1}, own)
    path = model(tmp_path / "m" / "glm.gguf", 4)
    assert workspace.read_model(side).kind == "draft"
    companions.choose(workspace, workspace.read_model(path), "draft", str(side))
    plan = workspace.plan_for(path)
    assert (plan.get("spec-draft-model"), plan.get("spec-type")) == (str(side), "draft-mtp")


def test_the_word_changes_the_plan_that_the_model_is_opened_with(workspace: Workspace, tmp_path: Path) -> None:
    path = model(tmp_path / "m" / "gemma-Q8_0.gguf")
    mine = projector(tmp_path / "m" / "mmproj-F16.gguf")
    read = workspace.read_model(path)
    plan = workspace.plan_for(path).with_("threads", 3)
    workspace.profiles.save_working(read.identity, plan, successful=True)
    companions.choose(workspace, read, "projector", "")
    kept = workspace.plan_for(path)
    assert (kept.find("mmproj"), kept.get("threads")) == (None, "3")
    companions.choose(workspace, read, "projector", str(mine))
    assert workspace.plan_for(path).get("mmproj") == str(mine)


def test_in_a_crowded_folder_only_names_of_projectors_are_looked_into(
        workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model(tmp_path / "m" / "gemma-Q8_0.gguf")
    projector(tmp_path / "m" / "mmproj-F16.gguf")
    for number in range(3):
        model(tmp_path / "m" / f"other{number}.gguf")
    monkeypatch.setattr(companions, "_MOST_NEIGHBOURS", 2)
    assert [e.path.name for e in companions.neighbours(workspace, path)] == ["mmproj-F16.gguf"]
    assert companions.neighbours(workspace, tmp_path / "nowhere" / "m.gguf") == []


def test_a_projector_of_another_width_is_a_warning_and_no_more(workspace: Workspace, tmp_path: Path) -> None:
    path = model(tmp_path / "m" / "gemma-Q8_0.gguf")
    for width, told in ((64, set()), (256, set()), (100, {"projector-width"})):
        mine = projector(tmp_path / "p" / f"{width}.gguf", width)
        found = workspace.preview(workspace.plan_for(path).with_("mmproj", str(mine)))
        assert {i.id for i in found.issues if i.id.startswith("projector")} == told
        assert all(i.option != "mmproj" for i in found.errors)


@pytest.mark.parametrize(("before", "architecture", "after"), [
    (None, "llama", "draft-simple"), ("none", "eagle3", "draft-eagle3"), ("draft-simple", "dflash", "draft-dflash"),
    ("draft-simple,ngram-cache", "eagle3", "draft-eagle3,ngram-cache"), ("draft-dspark", "llama", "draft-dspark"),
    ("draft-mtp", None, "draft-simple")])
def test_a_draft_brings_the_type_that_it_was_made_for(tmp_path: Path, before: str | None, architecture: str | None,
                                                      after: str) -> None:
    plan = Plan().with_("model", "m.gguf")
    plan = plan.with_("spec-type", before) if before else plan
    draft = None
    if architecture is not None:
        keys, tensors = make.llama(architecture=architecture)
        draft = gguf.read(make.write(tmp_path / "d.gguf", keys, tensors))
    found = companions.drafted(plan, "d.gguf", draft)
    assert (found.get("spec-draft-model"), found.get("spec-type")) == ("d.gguf", after)
    assert companions.drafted(plan, "d.gguf", draft, types=False).get("spec-type") == before
    own = companions.own_drafted(found)
    assert own.find("spec-draft-model") is None
    assert (own.get("spec-type") or "").split(",")[0] == "draft-mtp"
    assert ("ngram-cache" in (own.get("spec-type") or "")) == ("ngram-cache" in after)
