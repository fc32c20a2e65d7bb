"""paddock fit FILE --place: flags that can be pasted, and the estimate with them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from fittruth import Truth

from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.launch import parse_argv

MOE = "qwen3-30b-a3b-q4km.gguf"


@pytest.fixture
def placed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    Truth(tmp_path)

    def found(*flags: str, place: bool = True) -> dict[str, Any]:
        words = ["fit", str(tmp_path / MOE), "--device", "CUDA0=12G", *(["--place"] if place else []), *flags]
        assert run(words, Globals(data_dir=str(tmp_path / "data"), json=True)) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    return found


def test_its_flags_give_the_estimate_that_is_shown(placed: Any) -> None:
    found = placed("-c", "8192")
    assert found["verdict"] == "fits"
    words = shlex.split(found["placement"]["flags"])
    assert parse_argv(words).find("gpu-layers") is not None
    again = placed("-c", "8192", *words, place=False)
    assert again["main"] == found["main"]
    assert found["placement"]["gpu_weights"] == found["main"][0]["model"]
    assert found["placement"]["why"]


def test_what_was_given_stays(placed: Any) -> None:
    found = placed("-c", "4096", "-ngl", "7")
    flags = parse_argv(shlex.split(found["placement"]["flags"]))
    assert flags.find("gpu-layers") is None
    assert flags.find("ctx-size") is None
    assert found["main"] == placed("-c", "4096", "-ngl", "7", *shlex.split(found["placement"]["flags"]),
                                   place=False)["main"]


@pytest.mark.parametrize(("name", "words"), [("paddock.db", ["sessions", "list"]),
                                             ("settings.toml", ["profiles", "list"]),
                                             ("paddock.db", ["sql", "SELECT 1"])])
def test_what_was_damaged_and_set_aside_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str,
                                                words: list[str]) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfenot what it should be" * 200)
    assert run(words, Globals(data_dir=str(tmp_path), json=True)) == 0
    said = capsys.readouterr()
    json.loads(said.out)
    assert "It is kept as" in said.err


@pytest.mark.parametrize("words", [["profiles", "list"], ["sessions", "list"]])
def test_a_data_folder_whose_name_is_too_long_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                               words: list[str]) -> None:
    assert run(words, Globals(data_dir=str(tmp_path / ("x" * 300)), json=True)) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert "inside Paddock" not in error["what"]
    assert "--data-dir" in error["hint"]
