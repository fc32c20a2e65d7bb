"""The catalogue against the recorded help of two builds."""

from __future__ import annotations

import re

import pytest

from paddock.engine import Engine
from paddock.launch import Conditions, command, parse
from paddock.launch.additions import ADDITIONS
from paddock.launch.catalogue import CATALOGUE, GROUP_NAMES, NEVER, Group, Kind, builds
from paddock.launch.catalogue.advice import ADVICE


@pytest.fixture(params=["engine", "older_engine"])
def recorded(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


def test_every_option_of_a_recorded_help_is_known_with_all_its_spellings(recorded: Engine) -> None:
    for theirs in recorded.options:
        found = CATALOGUE.of(theirs.names[0])
        assert found is not None, theirs.names
        ours = found.option
        assert set(theirs.names) <= set(ours.names)
        assert set(theirs.negations) <= set(ours.negations)
        assert theirs.value_count == ours.value_count, theirs.names
        assert theirs.env in (None, ours.env)


def test_every_live_spelling_is_taken_by_the_newest_recorded_build(engine: Engine) -> None:
    spellings = {name for option in CATALOGUE for name in (*option.names, *option.negations)}
    assert spellings <= set(engine.by_flag)


def test_since_and_until_agree_with_the_recorded_builds(engine: Engine, older_engine: Engine) -> None:
    for option in CATALOGUE.options:
        in_older = any(name in older_engine.by_flag for name in option.names)
        in_newer = any(name in engine.by_flag for name in option.names)
        assert in_newer is (option.until is None), option.id
        there = (option.since or 0) <= 10434 and (option.until is None or option.until >= 10434)
        assert in_older is there, option.id


def test_builds_are_dated_for_known_options_only() -> None:
    ids = {option.id for option in CATALOGUE.options}
    assert set(builds.SINCE) | set(builds.UNTIL) <= ids
    assert all(CATALOGUE[name].since == build for name, build in builds.SINCE.items())
    assert all(CATALOGUE[name].until == build for name, build in builds.UNTIL.items())
    assert all(9093 <= build <= 11434 for build in (*builds.SINCE.values(), *builds.UNTIL.values()))


def test_choices_and_defaults_are_those_of_the_help(engine: Engine) -> None:
    words = {"enabled": "on", "true": "on", "disabled": "off", "false": "off"}
    for option in CATALOGUE:
        theirs = engine.by_flag[option.names[0]]
        if theirs.choices and option.kind in (Kind.ENUM, Kind.LIST):
            assert set(theirs.choices) <= set(option.choices), option.id
        if theirs.default is None or option.default is None:
            continue
        if re.fullmatch(r"-?\d+(\.\d+)?", option.default):
            assert float(option.default) == float(theirs.default), option.id
        else:
            said = theirs.default.strip("'").removeprefix("prefill ")
            assert words.get(said, said) == option.default, option.id


def test_no_spelling_means_two_things() -> None:
    spellings = [name for option in CATALOGUE.options for name in (*option.names, *option.negations)]
    assert len(spellings) == len(set(spellings))
    assert len({option.id for option in CATALOGUE.options}) == len(CATALOGUE.options)


def test_every_option_has_a_label_a_sentence_and_a_group() -> None:
    for option in CATALOGUE.options:
        assert str(option.label)
        assert str(option.help).endswith(".")
    assert set(GROUP_NAMES) == set(Group)
    assert {option.group for option in CATALOGUE} == set(Group)


def test_defaults_lie_in_their_own_ranges() -> None:
    for option in CATALOGUE:
        if option.default is None or option.kind not in (Kind.INT, Kind.FLOAT) or option.default in option.choices:
            continue
        number = float(option.default)
        assert option.low is None or number >= option.low, option.id
        assert option.high is None or number <= option.high, option.id


def test_replacements_exist() -> None:
    moved = [m for option in CATALOGUE.options for m in (*option.moved, *option.moved_off)]
    for name, _ in (*moved, *(m for pairs in NEVER.values() for m in pairs)):
        assert not CATALOGUE[name].retired
    assert not [flag for flag in NEVER if CATALOGUE.of(flag) is not None]


def test_environment_variables_lead_to_options() -> None:
    found = CATALOGUE.of_env("LLAMA_ARG_NO_KV_OFFLOAD")
    assert found is not None
    assert (found.option.id, found.on) == ("kv-offload", False)
    found = CATALOGUE.of_env("LLAMA_API_KEY")
    assert found is not None
    assert found.option.id == "api-key"
    assert CATALOGUE.of_env("LLAMA_ARG_NOTHING") is None


def test_everything_that_we_add_is_known_to_each_recorded_build(recorded: Engine) -> None:
    made = command(parse("-m a"), recorded, additions=dict.fromkeys(ADDITIONS, True),
                   conditions=Conditions(free_port=1))
    flags = [word for addition in made.additions for word in addition.argv if word.startswith("-")]
    assert len(flags) >= 7
    assert set(flags) <= set(recorded.by_flag)


def test_every_option_says_when_one_would_change_it() -> None:
    live = {option.id: option for option in CATALOGUE if option.group is not Group.PROGRAM}
    assert set(ADVICE) == set(live)
    for name, text in ADVICE.items():
        assert str(text).endswith("."), name
        assert str(text) != str(live[name].help), name
