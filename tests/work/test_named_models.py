"""What a person names as the model, and words that name nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import tinymodel

from paddock.errors import AppError
from paddock.launch import Severity
from paddock.work import Workspace


@pytest.mark.parametrize("word", ["", "  ", '""'])
def test_an_empty_name_names_no_model(tmp_path: Path, word: str) -> None:
    with pytest.raises(AppError, match="No model is named"):
        Workspace(tmp_path / "data").resolve(word)


def test_a_folder_is_called_one(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    plan, _ = workspace.resolve(str(tmp_path))
    (error,) = [e for e in workspace.preview(plan).errors if e.option == "model"]
    assert "is a folder" in str(error.text)
    assert "--models-dir" in str(error.fix)


@pytest.mark.parametrize("flags", [("stray", "words"), ("-c", "512", "stray", "words"),
                                   ("-fa", "on", "stray", "words")])
def test_words_without_a_flag_are_an_error_as_llama_cpp_takes_them(tmp_path: Path, flags: tuple[str, ...]) -> None:
    model = tinymodel.write(tmp_path / "m.gguf")
    workspace = Workspace(tmp_path / "data")
    plan, _ = workspace.resolve(str(model), flags)
    assert plan.extra == ()
    found = workspace.preview(plan)
    named = [e for e in found.issues if e.id == "unknown-flag"]
    assert [e.option for e in named] == ["stray", "words"]
    if found.engine is not None and found.engine.flags_verified:
        assert {e.severity for e in named} == {Severity.ERROR}
        assert found.command is not None
        assert found.command.own_argv[-2:] == ("stray", "words")
