"""The help of the commands, and what is said about wrong usage, in the language of the environment."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from paddock import text
from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.cli.output import in_words
from paddock.cli.spoken import paragraphs, spoken, use_environment

LANGUAGE_NAMES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


@pytest.fixture(autouse=True)
def no_language(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in LANGUAGE_NAMES:
        monkeypatch.delenv(name, raising=False)
    yield
    text.use_language("en")


@pytest.fixture
def italian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "it_IT.UTF-8")


def test_the_help_is_in_the_language_of_the_environment(italian: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fit", "--help"], Globals()) == 0
    told = capsys.readouterr().out
    for words in ("Uso: paddock fit", "Opzioni:", "Risponde a una richiesta per riga", "Mostra questo messaggio"):
        assert words in told
    assert "Answer one request" not in told


def test_the_list_of_commands_is_too(italian: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"], Globals()) == 0
    told = capsys.readouterr().out
    assert "Comandi:" in told
    assert "Interroga il database, in sola lettura." in told
    assert "Mostra la versione ed esce." in told


@pytest.mark.parametrize("args", [["sql", "--nope"], ["bench", "diagnose", "--requests", "many"], ["sessions", "show"],
                                  ["nothing"]])
def test_wrong_usage_is_told_in_one_language(italian: None, capsys: pytest.CaptureFixture[str],
                                             args: list[str]) -> None:
    assert run(args, Globals()) == 2
    told = capsys.readouterr().err
    assert "Errore: " in told
    assert "Provare 'paddock" in told
    assert "Error:" not in told
    assert "Try" not in told


def test_english_comes_back_with_the_environment(italian: None, monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    run(["sql", "--help"], Globals())
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    run(["sql", "--help"], Globals())
    italian_help, english_help = capsys.readouterr().out.split("Usage: ")
    assert "in sola lettura" in italian_help
    assert "Ask the database, read-only." in english_help
    assert "Show this message and exit." in english_help


def test_the_first_variable_that_is_set_names_the_language() -> None:
    assert use_environment({"LANGUAGE": "it:en", "LANG": "en_US.UTF-8"}) == "it"
    assert use_environment({"LANGUAGE": "", "LC_ALL": "en_US.UTF-8", "LANG": "it_IT"}) == "en"
    assert use_environment({"LANG": "de_DE.UTF-8"}) == "en"


def test_a_copy_is_spoken_and_the_command_stays_as_it_was() -> None:
    @click.group()
    def whole() -> None:
        """Ask the database, read-only."""

    @whole.command()
    @click.option("--csv", help="Comma-separated values with a header.")
    def part(csv: str) -> None:
        """All of them.

        Words that
        no catalogue holds: {braces} too.
        """

    text.use_language("it")
    made = spoken(whole)
    below = made.commands["part"]
    assert made.help == "Interroga il database, in sola lettura."
    assert below.help == "Tutti.\n\nWords that no catalogue holds: {braces} too."
    option = below.params[0]
    assert isinstance(option, click.Option)
    assert option.help == "Valori separati da virgole con un’intestazione."
    assert whole.help == "Ask the database, read-only."
    assert part.params[0].to_info_dict()["help"] == "Comma-separated values with a header."


def test_paragraphs_are_lines_without_the_indent() -> None:
    assert paragraphs("One\n    of two lines.\n\n    Two.\n    ") == ["One of two lines.", "Two."]
    assert paragraphs("") == []


@pytest.mark.parametrize(("stored", "english", "told"), [
    ("warning", "warning", "avviso"), ("stopped", "stopped", "fermato"), ("of tomorrow", "of tomorrow", "of tomorrow")])
def test_severities_and_states_are_words(stored: str, english: str, told: str) -> None:
    assert in_words(stored) == english
    text.use_language("it")
    assert in_words(stored) == told
