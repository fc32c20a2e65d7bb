"""Arguments that llama.cpp cannot read: the estimate says so, and never answers with a default's figures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paddock.fit import Budget, Verdict, estimate
from paddock.gguf import ModelFile
from paddock.launch import Conditions, Severity, check, parse_argv

GIB = 1 << 30
MakeModel = Callable[..., ModelFile]
CARD = Budget("RPC0", "rpc", 64 * GIB, 60 * GIB)


@pytest.mark.parametrize(("words", "why"), [
    ("-c", "-c needs a value."),
    ("-ngl", "-ngl needs a value."),
    ("-ot", "-ot needs a value."),
    ("--temp", "--temp needs a value."),
    ("-c 99999999999999999999", "99999999999999999999 is too large a number for -c."),
    ("-ub 4294967296", "4294967296 is too large a number for -ub."),
    ("-c -99999999999", "-99999999999 is too large a number for -c."),
    ("--port abc", "“abc” is not a whole number."),
    ("-c abc", "“abc” is not a whole number."),
])
def test_what_ends_the_program_gives_no_figures_but_the_reason(llama: MakeModel, words: str, why: str) -> None:
    plan = parse_argv(words.split())
    found = estimate(llama(), plan, [CARD], host_free=60 * GIB)
    assert (found.devices, found.verdict, str(found.rejected)) == ((), Verdict.CANT_TELL, why)
    issues = check(plan, None, None, None, Conditions())
    assert any(i.severity is Severity.ERROR and str(i.text) == why for i in issues)


@pytest.mark.parametrize(("words", "context", "note"), [
    ("-c 4096k", 4096, "“4096k” is not a whole number: for -c llama.cpp would read 4096."),
    ("-c 8192.7", 8192, "“8192.7” is not a whole number: for -c llama.cpp would read 8192."),
    ("-c 4096 --no-such-option", 4096, "--no-such-option is not known here: what it needs is not counted."),
])
def test_what_is_read_otherwise_or_not_known_is_a_note(llama: MakeModel, words: str, context: int, note: str) -> None:
    found = estimate(llama(), parse_argv(words.split()), [CARD], host_free=60 * GIB)
    assert (found.verdict, found.context_length) == (Verdict.FITS, context)
    assert note in [str(n) for n in found.notes]


def test_a_bare_flag_that_older_programs_took_is_left_to_the_checks(llama: MakeModel) -> None:
    assert estimate(llama(), parse_argv(["-c", "4096", "-fa"]), [CARD], host_free=60 * GIB).rejected is None


def test_a_long_stray_word_is_cut(llama: MakeModel) -> None:
    found = estimate(llama(), parse_argv(["--" + "x" * 300]), [CARD], host_free=60 * GIB)
    assert max(len(str(n)) for n in found.notes) < 120
