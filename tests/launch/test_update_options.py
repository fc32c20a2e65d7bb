"""scripts/update_options.py against the recorded help texts."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from scripts_here import load_script

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "engine"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("update_options")


@pytest.mark.parametrize("name", ["llama-11434-serve-help.txt", "llama-server-10434-help.txt"])
def test_the_catalogue_lacks_nothing_of_the_recorded_builds(script: ModuleType, name: str,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main([str(DATA / name)]) == 0
    assert " 0 new" in capsys.readouterr().out


def test_what_the_older_build_has_not_is_told(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    script.main([str(DATA / "llama-server-10434-help.txt")])
    assert "gone     --log-jsonl" in capsys.readouterr().out


def test_a_new_option_fails_and_a_changed_default_is_told(script: ModuleType, tmp_path: Path,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    text = (DATA / "llama-11434-serve-help.txt").read_text(encoding="utf-8")
    entry = "--warp-factor N".ljust(40) + "how fast (default: 9)\n"
    start = text.index("-c,    --ctx-size") if "-c,    --ctx-size" in text else text.index("-c, ")
    text = text[:start] + entry + text[start:]
    text = text.replace("(default: 2048)", "(default: 4096)", 1)
    changed = tmp_path / "help.txt"
    changed.write_text(text, encoding="utf-8")
    assert script.main([str(changed)]) == 1
    out = capsys.readouterr().out
    assert "new      --warp-factor N: how fast" in out
    assert "changed  batch-size: default 4096, the catalogue says 2048" in out


def test_a_help_that_cannot_be_read_is_no_success(script: ModuleType, tmp_path: Path) -> None:
    odd = tmp_path / "odd.txt"
    odd.write_text("usage: nothing", encoding="utf-8")
    assert script.main([str(odd)]) == 1


def test_the_table_has_every_option_once(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--table"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + len(script.CATALOGUE) + len(script.VARIABLES)
    assert sum("`-ctk, --cache-type-k`" in line for line in lines) == 1


def test_the_table_says_where_an_option_lives_and_when_one_changes_it(script: ModuleType) -> None:
    line = next(line for line in script.table().splitlines() if "`-ts, --tensor-split`" in line)
    assert "| Multi-GPU | Basic, Placement |" in line
    assert str(script.ADVICE["tensor-split"]) in line
    other = next(line for line in script.table().splitlines() if "`--embedding, --embeddings`" in line)
    assert other.startswith("| Model |  | ")


def test_the_retired_options_name_what_took_their_place(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["--retired"]) == 0
    out = capsys.readouterr().out
    assert "`--mlock`" in out
    assert "Use -lm mlock." in out
    assert len(out.splitlines()) == 2 + sum(o.retired for o in script.CATALOGUE.options)
