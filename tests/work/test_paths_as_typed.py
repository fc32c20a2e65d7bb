"""Paths as people paste them, and names of files from whatever system."""

from __future__ import annotations

import json
from pathlib import Path

import ggufmake as make
import pytest

from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.launch import Plan
from paddock.paths import DataPaths, as_typed, file_name
from paddock.work import Workspace

SHAPES = ("{}", '"{}"', "'{}'", "“{}”", " {} ", ' "{}"\n', "\t'{}' ", "file://{}")


@pytest.mark.parametrize("shape", SHAPES)
def test_quotes_spaces_and_addresses_are_taken_off(tmp_path: Path, shape: str) -> None:
    assert as_typed(shape.format(tmp_path / "a b" / "m.gguf")) == str(tmp_path / "a b" / "m.gguf")


@pytest.mark.parametrize(("text", "path"), [
    ('"D:\\a b\\m.gguf"', "D:\\a b\\m.gguf"), ("file:///C:/a%20b/m.gguf", "C:/a b/m.gguf"),
    ("file://nas/models/m.gguf", "//nas/models/m.gguf"), ("file:///home/ada/%C3%A9.gguf", "/home/ada/é.gguf"),
    ('"', '"'), ("", ""), ("it's.gguf", "it's.gguf"), ("\"half", "\"half"), ("'a'b'", "a'b")])
def test_what_a_paste_means(text: str, path: str) -> None:
    assert as_typed(text) == path


def test_a_file_that_is_really_called_so_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ('"quoted".gguf', "'x'", " spaces "):
        Path(name).write_bytes(b"")
        assert as_typed(name) == name


@pytest.mark.parametrize(("path", "name"), [
    ("D:\\a b\\m.gguf", "m.gguf"), ("D:/a/m.gguf", "m.gguf"), ("\\\\nas\\share\\models\\m.gguf", "m.gguf"),
    ("\\\\?\\C:\\very\\long\\m.gguf", "m.gguf"), ("models\\sub\\m.gguf", "m.gguf"), ("/home/ada/m.gguf", "m.gguf"),
    ("/home/ada/odd\\name.gguf", "odd\\name.gguf"), ("m.gguf", "m.gguf"), ("", ""), ("C:\\", ""), ("dir/", "dir")])
def test_the_name_is_the_last_part_by_the_paths_own_rules(path: str, name: str) -> None:
    assert file_name(path) == name


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make.write(tmp_path / "a b" / "модель-Q8_0.gguf", *make.llama())


@pytest.mark.parametrize("shape", SHAPES)
def test_every_command_that_takes_a_file_understands_a_pasted_one(
        tmp_path: Path, model: Path, shape: str, capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workspace, "engine", lambda self, selector=None: None)
    options = Globals(data_dir=f' "{tmp_path / "data"}" ', json=True)
    for command in ("inspect", "fit", "check"):
        code = run([command, shape.format(model)], options)
        told = json.loads(capsys.readouterr().out)
        assert code in (0, 1), command
        assert "missing-file" not in str(told), command
        assert "There is no file" not in str(told), command
    plan, _ = Workspace(options.data_dir).resolve(shape.format(model))
    assert plan.get("model") == str(model)
    assert DataPaths.at(options.data_dir).root == tmp_path / "data"


def test_a_session_of_a_windows_path_shows_the_file_and_not_the_folders(tmp_path: Path) -> None:
    from paddock.work.starting import _label

    workspace = Workspace(tmp_path / "data")
    preview = workspace.preview(Plan().with_("model", "C:\\Users\\Ada Lovelace\\models\\m-Q8_0.gguf"))
    assert _label(preview) == "m-Q8_0.gguf"
