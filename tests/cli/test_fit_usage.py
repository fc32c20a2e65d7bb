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


def test_one_odd_line_takes_no_answer_of_the_others_with_it(tmp_path: Path,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    good = json.dumps({"id": "good", "model": str(write(tmp_path / "tiny.gguf")), "args": ["-c", "4096"]}).encode()
    odd = [b'{"id": "\xff\xfe"}', b"[" * 100_000, b'{"id": ' + b"9" * 5000 + b"}", b'{"id": NaN}', b'{"id": Infinity}',
           b'{"id": 1, "model": "\\ud800.gguf"}', b'{"id": 1, "model": "a\\u0000.gguf"}',
           good[:-1] + b', "devices": [{"name": "CUDA0"}, {"name": "CUDA0"}]}']
    requests = tmp_path / "requests.jsonl"
    requests.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([good, *odd, good]))
    assert run(["fit", "--batch", str(requests)], Globals(data_dir=str(tmp_path / "data"))) == 1
    answers = [json.loads(text, parse_constant=lambda name: pytest.fail(name))
               for text in capsys.readouterr().out.splitlines()]
    assert ["error" in a for a in answers] == [False, *[True] * len(odd), False]


@pytest.mark.parametrize("words", [["m.gguf"], ["--ask"], ["--device", "CUDA0=8G"], ["--", "-c", "4096"]])
def test_a_batch_takes_nothing_beside_its_lines(words: list[str], tmp_path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.jsonl").write_text("", encoding="utf-8")
    assert run(["fit", "--batch", str(tmp_path / "r.jsonl"), *words], Globals(data_dir=str(tmp_path / "data"))) == 2
    assert "--batch takes everything from its lines" in capsys.readouterr().err
