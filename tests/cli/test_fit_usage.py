"""paddock fit without a model is wrong usage; a flag that cannot be read is said, not reckoned with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tinymodel import write

from paddock.cli.arguments import Globals
from paddock.cli.main import run


@pytest.mark.parametrize("words", [["fit"], ["fit", "-c", "4096"], ["fit", "--place"]])
@pytest.mark.parametrize("as_json", [False, True])
def test_no_model_is_wrong_usage(words: list[str], as_json: bool, tmp_path: Path,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words, Globals(data_dir=str(tmp_path), json=as_json)) == 2
    said = capsys.readouterr()
    assert "No model is named." in (said.out if as_json else said.err)


@pytest.mark.parametrize("flags", [["-c"], ["-c", "99999999999999999999"], ["-ngl"]])
def test_a_flag_that_cannot_be_read_has_no_figures(flags: list[str], tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    model = write(tmp_path / "tiny.gguf")
    words = ["fit", str(model), "--device", "CUDA0=8G", *flags]
    assert run(words, Globals(data_dir=str(tmp_path / "data"), json=True)) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["verdict"], "main" in found) == ("cant_tell", False)
    assert flags[0] in found["rejected"]
