"""Global options and words of the command line."""

from __future__ import annotations

import click
import pytest

from paddock.cli.arguments import Globals, split_globals
from paddock.cli.estimate import target_and_flags


@pytest.mark.parametrize("args", [
    ["--json", "--data-dir", "/d", "fit", "m.gguf"],
    ["fit", "--json", "m.gguf", "--data-dir=/d"],
    ["fit", "m.gguf", "--data-dir", "/d", "--json"],
])
def test_global_options_are_taken_before_and_after_the_command(args: list[str]) -> None:
    assert split_globals(args) == (["fit", "m.gguf"], Globals(data_dir="/d", json=True))


def test_what_follows_two_dashes_belongs_to_the_server() -> None:
    rest, options = split_globals(["launch", "m.gguf", "--engine", "e", "--", "--json", "--engine", "x"])
    assert rest == ["launch", "m.gguf", "--", "--json", "--engine", "x"]
    assert options == Globals(engine="e")


@pytest.mark.parametrize("words", [["fit", "--data-dir"], ["fit", "--engine="]])
def test_a_missing_value_is_wrong_usage(words: list[str]) -> None:
    with pytest.raises(click.UsageError, match="needs a value"):
        split_globals(words)


def test_the_file_may_be_left_out_where_flags_name_a_model() -> None:
    assert target_and_flags("-m", ["x.gguf", "-c", "1"]) == (None, ["-m", "x.gguf", "-c", "1"])
    assert target_and_flags("x.gguf", ["-c", "1"]) == ("x.gguf", ["-c", "1"])
    assert target_and_flags(None, []) == (None, [])
