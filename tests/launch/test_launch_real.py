"""What we write and what we call an error, asked of a real llama.cpp.

`--version` at the end makes the program leave once it has read everything before it: 0 for "taken", 1 for "refused".
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest

from paddock.engine import Engine, default_engine, find, probe
from paddock.launch import Conditions, Severity, check, command, parse
from paddock.launch.catalogue import CATALOGUE, Group, Kind

Takes = Callable[..., bool]


@pytest.fixture(scope="module")
def real_engine() -> Engine:
    found = default_engine(find(), lambda candidate: probe(candidate.path, source=candidate.source))
    if found is None:
        pytest.skip("no llama.cpp here: install the engine extra")
    return found


@pytest.fixture
def takes(real_engine: Engine) -> Takes:
    """Whether the program reads these words without complaint."""

    def ask(*words: str, env: dict[str, str] | None = None) -> bool:
        done = subprocess.run([*real_engine.serve, *words, "--version"], capture_output=True, timeout=30,
                              env={**os.environ, **real_engine.environment, **(env or {})})
        return done.returncode == 0

    return ask


def test_every_switch_and_every_choice_is_taken(real_engine: Engine, takes: Takes) -> None:
    plan = parse("")
    for option in CATALOGUE:
        if option.group is Group.PROGRAM or option.id.startswith(("embd-gemma", "fim-qwen", "gpt-oss", "vision-gemma")):
            continue
        if option.is_switch and option.id not in ("log-disable", "spec-default"):
            plan = plan.with_(option.id, on=not option.negations)
        elif option.kind is Kind.ENUM:
            plan = plan.with_(option.id, option.choices[-1])
        elif option.kind in (Kind.INT, Kind.FLOAT) and option.default is not None:
            plan = plan.with_(option.id, option.default)
    made = command(plan, real_engine, conditions=Conditions(free_port=9931))
    assert len(plan.settings) > 130
    assert takes(*made.own_argv, *(word for a in made.additions for word in a.argv))


@pytest.mark.parametrize("text", [
    "-c many", "-ctk q8_1", "-sm rows", "-fa maybe", "--draft-max 3", "--mlock", "--zzz", "-np 0", "--prio 7",
    "--spec-draft-n-max -1", "-ncmoe -1", "--repeat-penalty 0", "--repeat-last-n -1", "--reasoning-budget -2",
    "--sleep-idle-seconds 0", "-dev NoSuchDevice0", "-ot a=NoSuchBuffer", "-ot a", "--spec-type magic",
    "--spec-ngram-mod-n-match 0", "--ctx-size=4096", "--override-kv a=1", f"-ts {','.join('1' * 16)}", "-c 99999999999",
])
def test_what_the_program_refuses_is_an_error_here(real_engine: Engine, takes: Takes, text: str) -> None:
    plan = parse(text).with_("model", "/m/a.gguf")
    assert not takes(*command(plan, real_engine).own_argv)
    assert any(issue.severity is Severity.ERROR for issue in check(plan, None, real_engine, None))


@pytest.mark.parametrize("text", [
    "-ngl auto", "-ngl all", "-ngl -1", "-fa on", "-fa 1", "-n -1", "--poll 100", "--temp 0", "--seed -1", "-ot a=CPU",
    "-ot 'blk\\.(1|2)\\.=CPU,b=CPU'", "--override-kv a=int:1,b=bool:false", "-ts 1,0", "--log-colors off", "-cram -1",
    "--reasoning-format auto", "--spec-type ngram-mod,ngram-cache", "--sleep-idle-seconds -1", "--host 127.0.0.1,::1",
    "--control-vector-layer-range 1 2", "--chat-template-kwargs '{\"a\": 1}'", "-kvu -np 3", "--no-slots", "-lm mlock",
])
def test_what_the_program_takes_is_no_error_here(real_engine: Engine, takes: Takes, text: str) -> None:
    plan = parse(text).with_("model", "/m/a.gguf")
    assert takes(*command(plan, real_engine).own_argv)
    assert [i for i in check(plan, None, real_engine, None) if i.severity is Severity.ERROR] == []


def test_a_key_that_was_not_found_stops_the_program(real_engine: Engine, takes: Takes) -> None:
    made = command(parse("--api-key keyring:home"), real_engine)
    assert not takes(*made.argv[len(made.program):])
    found = command(parse("--api-key keyring:home"), real_engine, secrets={"keyring:home": "k"})
    assert takes(*found.argv[len(found.program):], env=dict(found.env))
