"""A session recorded in one data folder is opened in another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paddock.__main__ import main
from paddock.session.model import Request
from paddock.store import SessionStart
from paddock.work import Workspace


def test_export_and_import_bring_a_session_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    far, near = str(tmp_path / "far"), str(tmp_path / "near")
    workspace = Workspace(far)
    number = workspace.database.start_session(SessionStart(command=("llama", "serve"), model="M"))
    workspace.database.request(number, Request(1, 0, 0, 0.5, t_end=2.0, generated_tokens=20, status="done"))
    workspace.database.finish_session(number, "stopped")
    workspace.close()
    file = tmp_path / "run.paddock"
    assert main(["--data-dir", far, "sessions", "export", str(number), "-o", str(file)]) == 0
    capsys.readouterr()
    assert main(["--data-dir", near, "--json", "sessions", "import", str(file)]) == 0
    (made,) = json.loads(capsys.readouterr().out)
    assert main(["--data-dir", near, "--json", "sessions", "show", str(made["session"])]) == 0
    assert json.loads(capsys.readouterr().out)["requests"][0]["generated_tokens"] == 20


def test_a_file_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.paddock"
    file.write_text("{}")
    assert main(["--data-dir", str(tmp_path / "d"), "--json", "sessions", "import", str(file)]) == 1
    assert "holds no session" in json.loads(capsys.readouterr().out)["error"]["what"]


@pytest.mark.parametrize("name", ["run.paddock", "run.json", "run.csv"])
def test_a_written_export_is_told_as_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                  name: str) -> None:
    workspace = Workspace(str(tmp_path / "data"))
    number = workspace.database.start_session(SessionStart(command=("llama", "serve"), model="M"))
    workspace.database.finish_session(number, "stopped")
    workspace.close()
    words = ["--data-dir", str(tmp_path / "data"), "--json", "sessions", "export", str(number), "-o",
             str(tmp_path / name)]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"path": str(tmp_path / name), "sessions": [number], "bytes": (tmp_path / name).stat().st_size}
    assert (name == "run.json") is (tmp_path / name).read_bytes().startswith(b"{")


@pytest.mark.parametrize("name", ["-", ""])
def test_a_report_needs_the_name_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["--data-dir", str(tmp_path), "report", "1", "-o", name]) == 2
    assert "name of a file" in capsys.readouterr().err


def test_a_session_that_is_here_already_is_not_taken_over_again(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    far, near = str(tmp_path / "far"), str(tmp_path / "near")
    workspace = Workspace(far)
    numbers = []
    for tokens in (20, 30):
        number = workspace.database.start_session(SessionStart(command=("llama", "serve", str(tokens)), model="M"))
        workspace.database.request(number, Request(1, 0, 0, 0.5, t_end=2.0, generated_tokens=tokens, status="done"))
        workspace.database.finish_session(number, "stopped")
        numbers.append(number)
    workspace.close()
    files = [tmp_path / f"{number}.paddock" for number in numbers]
    for number, file in zip(numbers, files, strict=True):
        assert main(["--data-dir", far, "sessions", "export", str(number), "-o", str(file)]) == 0
    capsys.readouterr()
    made = []
    for file in (*files, *files):
        assert main(["--data-dir", near, "--json", "sessions", "import", str(file)]) == 0
        made.append(json.loads(capsys.readouterr().out)[0]["session"])
    assert made[:2] == made[2:]
    assert made[0] != made[1]
    assert main(["--data-dir", near, "--json", "sessions", "list"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
