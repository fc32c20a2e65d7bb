"""The reader of shell text."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.errors import AppError
from paddock.launch import parse
from paddock.launch.words import read_words

ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
SHELLISH = st.text(st.sampled_from("ab-=/\\'\"` \t\n\r;|&<>()$#^%C:"), max_size=30)


@given(st.lists(ANY, max_size=6))
def test_quoted_words_come_back(words: list[str]) -> None:
    assert [w.text for w in read_words(shlex.join(words))] == words


@given(st.one_of(ANY, SHELLISH))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        plan = parse(text)
    except AppError:
        assert set("'\"") & set(text)
        return
    assert all(isinstance(word, str) for s in plan for word in (s.option, *s.values))


@pytest.mark.parametrize(("text", "words"), [
    ("a\\ b c", ["a b", "c"]), ('"a\\"b"', ['a"b']), ("a'b'\"c\"", ["abc"]), ("''", [""]),
    ("a # b\nc", ["a", "\n", "c"]), ("a#b", ["a#b"]), ("a && b || c", ["a", "&&", "b", "||", "c"]),
    ("a >f 2>&1 <i", ["a", ">", "f", "2>&1", "<", "i"]), ("x=(a|b)", ["x=(a|b)"]), ("a\\\nb", ["a", "b"]),
    ('"$HOME/x"', ["$HOME/x"]), ("a 2>/dev/null", ["a", "2>", "/dev/null"]),
])
def test_shell_syntax(text: str, words: list[str]) -> None:
    assert [w.text for w in read_words(text)] == words


def test_a_long_text_is_read() -> None:
    assert len(read_words("-ot 'blk.1=CPU' \\\n" * 20_000)) == 40_000
