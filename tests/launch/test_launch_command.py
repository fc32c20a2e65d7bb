"""One command from a plan: what is run, what is shown, what is kept out of both."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from launch_support import option

from paddock.engine.model import Engine
from paddock.launch import Conditions, Plan, Setting, command, parse
from paddock.launch.catalogue import CATALOGUE, Kind
from paddock.launch.secret_reference import MASK

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
NUMBERS = st.integers(-5, 200000).map(str)
REFERENCES = st.sampled_from(["env:MY_KEY", "keyring:paddock/home server", "file:/etc/llama keys.txt"])


def _values(name: str) -> st.SearchStrategy[tuple[str, ...]]:
    known = CATALOGUE[name]
    if known.secret:
        return st.tuples(REFERENCES)
    if known.optional_value:
        return st.tuples(st.sampled_from(["on", "off", "auto"]))
    one = st.sampled_from(known.choices) if known.choices else NUMBERS if known.kind is Kind.INT else TEXTS
    return st.tuples(*[one] * known.value_count)


@st.composite
def known_settings(draw: st.DrawFn) -> Setting:
    known = draw(st.sampled_from(CATALOGUE.options))
    if known.is_switch:
        return Setting(known.id, (), not known.negations or draw(st.booleans()))
    return Setting(known.id, draw(_values(known.id)))


WORDS = TEXTS.filter(lambda word: not word.startswith("-"))
FOREIGN = st.builds(Setting, st.from_regex(r"--zz-[a-z]{1,8}", fullmatch=True), st.lists(WORDS, max_size=3).map(tuple))
NAMES = st.from_regex(r"[A-Z][A-Z0-9_]{0,11}", fullmatch=True).filter(
    lambda name: name not in ("HF_TOKEN", "LLAMA_API_KEY", "PADDOCK_ENGINE"))
PLANS = st.builds(
    Plan,
    settings=st.lists(st.one_of(known_settings(), known_settings(), FOREIGN), max_size=8).map(tuple),
    environment=st.lists(st.tuples(NAMES, TEXTS), max_size=3).map(tuple),
    prefix=st.sampled_from([(), ("numactl", "--interleave=all"), ("nohup", "nice", "-n", "5"), ("taskset", "-c", "0-3"),
                            ("my wrapper",), ("sudo", "-u", "bob")]),
    engine=st.one_of(st.none(), st.sampled_from(["/opt/x/llama", "./llama-server", "~/a b/run it.sh", "brew",
                                                 "llama.cpp 11434 (environment)", "C:\\x y\\llama-server.exe"]),
                     TEXTS),
)


@given(PLANS)
def test_own_text_gives_the_plan_back_without_an_engine(plan: Plan) -> None:
    assert parse(command(plan, None).own) == plan


@given(PLANS)
def test_own_text_gives_the_plan_back_for_an_engine(engine: Engine, plan: Plan) -> None:
    assert parse(command(plan, engine).own) == plan


@given(PLANS)
def test_a_shell_reads_the_same_words_as_are_run(plan: Plan) -> None:
    made = command(plan, None, additions={})
    if any(CATALOGUE[s.option].secret for s in plan if s.option in CATALOGUE) or "~" in made.own:
        return
    words = shlex.split(made.own)
    assert tuple(words[len(words) - len(made.own_argv):]) == made.own_argv


def test_argv_is_prefix_program_own_flags_and_additions(engine: Engine) -> None:
    plan = parse("CUDA_VISIBLE_DEVICES=1 numactl -N 0 llama-server -m a.gguf -c 4096 -ngl 99")
    made = command(plan, engine, conditions=Conditions(free_port=9931))
    assert made.argv == (
        "numactl", "-N", "0", "/opt/llama/llama-server", "-m", "a.gguf", "-c", "4096", "-ngl", "99",
        "--host", "127.0.0.1", "--port", "9931", "-np", "4", "-kvu", "--metrics", "-lv", "4", "--log-colors", "off")
    assert made.own == "CUDA_VISIBLE_DEVICES=1 numactl -N 0 llama-server -m a.gguf -c 4096 -ngl 99"
    assert dict(made.env) == {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
                              "GGML_NO_BACKTRACE": "1"}
    assert all(str(addition.reason) for addition in made.additions)


def test_additions_leave_what_the_plan_sets_alone(engine: Engine) -> None:
    plan = parse("CUDA_DEVICE_ORDER=FASTEST_FIRST LLAMA_ARG_PORT=5000 "
                 "llama-server --host 0.0.0.0 -np 2 --metrics -v --log-colors on")
    ids = [addition.id for addition in command(plan, engine).additions]
    assert ids == ["no-backtrace", "clean-environment"]


def test_additions_can_be_switched_off_and_on(engine: Engine) -> None:
    plan = parse("-m a.gguf")
    off = command(plan, engine, additions=("metrics", "port"))
    assert {"metrics", "port"} & {a.id for a in off.additions} == set()
    on = command(plan, engine, additions={"log-jsonl": True, "slots": False})
    assert "--log-jsonl" in on.argv
    assert "-np" not in on.argv


def test_slots_are_named_only_where_the_engine_means_auto(make_engine: Callable[..., Engine]) -> None:
    old = make_engine([option("-m", "--model"), option("-np", "--parallel", default="1")])
    assert "-np" not in command(parse("-m a"), old).argv
    assert "-np" not in command(parse("-m a --no-kv-unified"), None).argv
    assert "-np" not in command(parse("--models-dir /m"), None).argv


def test_additions_that_an_engine_does_not_know_are_left_out(make_engine: Callable[..., Engine]) -> None:
    bare = make_engine([option("-m", "--model"), option("--port")])
    assert command(parse("-m a"), bare, conditions=Conditions(free_port=1234)).argv[1:] == (
        "-m", "a", "--port", "1234")


def test_spellings_are_those_of_the_engine(make_engine: Callable[..., Engine]) -> None:
    old = make_engine([option("--ctx-size"), option("-fa", "--flash-attn", count=0),
                       option("--kv-offload", negations=("--no-kv-offload",), count=0)])
    assert command(parse("-c 1 -fa on -nkvo"), old, additions={}).own_argv == (
        "--ctx-size", "1", "-fa", "--no-kv-offload")
    assert command(parse("-fa off -c 1"), old).own_argv == ("--ctx-size", "1")
    new = make_engine([option("-c", "--ctx-size"), option("-fa", "--flash-attn")])
    assert command(parse("-fa -c 1"), new).own_argv == ("-fa", "on", "-c", "1")


def test_flags_of_an_unreadable_help_are_passed_on(make_engine: Callable[..., Engine]) -> None:
    odd = make_engine([], flags_verified=False)
    assert command(parse("--weird x --ctx-size 1"), odd, additions={}).own_argv == ("--weird", "x", "-c", "1")


def test_the_multi_call_program_is_started_with_its_subcommand(make_engine: Callable[..., Engine]) -> None:
    llama = make_engine(serve=("/x/llama", "serve"))
    made = command(parse("-m a"), llama)
    assert made.program == ("/x/llama", "serve")
    assert made.own == "llama serve -m a"
    assert command(Plan(engine="/y/llama"), None).program == ("/y/llama", "serve")


def test_home_is_put_in_where_a_shell_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("USERPROFILE", "/home/me")
    made = command(parse("-m ~/models/a.gguf --grammar '~/x'"), None)
    assert made.own_argv == ("-m", "/home/me/models/a.gguf", "--grammar", "~/x")
    assert made.own == "llama-server -m ~/models/a.gguf --grammar '~/x'"


def test_inherited_options_are_removed_and_empty_ones_always() -> None:
    world = Conditions(environment={"LLAMA_ARG_CTX_SIZE": "9", "LLAMA_ARG_N_CPU_MOE": "", "CUDA_VISIBLE_DEVICES": "0",
                                    "LLAMA_API_KEY": "x", "HF_TOKEN": "y"})
    assert set(command(parse("-m a"), None, conditions=world).unset) == {
        "LLAMA_ARG_CTX_SIZE", "LLAMA_ARG_N_CPU_MOE", "LLAMA_API_KEY"}
    kept = command(parse("-m a"), None, conditions=world, additions=("clean-environment",))
    assert kept.unset == ("LLAMA_ARG_N_CPU_MOE",)
    ours = command(parse("LLAMA_ARG_CTX_SIZE=5 llama-server -m a"), None, conditions=world)
    assert "LLAMA_ARG_CTX_SIZE" not in ours.unset
    assert ours.env["LLAMA_ARG_CTX_SIZE"] == "5"


def test_an_empty_option_variable_of_the_plan_is_not_passed_on() -> None:
    made = command(parse("LLAMA_ARG_CTX_SIZE= llama-server -m a"), None)
    assert "LLAMA_ARG_CTX_SIZE" not in made.env
    assert made.unset == ("LLAMA_ARG_CTX_SIZE",)


def test_keys_travel_in_the_environment_and_are_never_shown() -> None:
    plan = parse("-m a --api-key keyring:home --hf-token env:TOKEN")
    made = command(plan, None, secrets={"keyring:home": "s3cret", "env:TOKEN": "hf_x"})
    assert (made.env["LLAMA_API_KEY"], made.env["HF_TOKEN"]) == ("s3cret", "hf_x")
    assert made.own == "llama-server -m a --api-key keyring:home -hft env:TOKEN"
    shown = repr(made) + " ".join(made.argv) + made.own
    assert "s3cret" not in shown
    assert "hf_x" not in shown
    assert ("LLAMA_API_KEY", "keyring:home") in made.shown_env


def test_a_literal_key_works_and_is_masked() -> None:
    made = command(parse("-m a --api-key abc123 -c 1"), None)
    assert made.env["LLAMA_API_KEY"] == "abc123"
    assert "abc123" not in repr(made) + made.own + " ".join(made.argv)
    assert ("LLAMA_API_KEY", MASK) in made.shown_env
    from_environment = command(parse("LLAMA_API_KEY=abc123 llama-server -m a"), None)
    assert from_environment.env["LLAMA_API_KEY"] == "abc123"
    assert "abc123" not in repr(from_environment) + from_environment.own


def test_several_keys_are_one_list() -> None:
    made = command(parse("--api-key env:A --api-key env:B"), None, secrets={"env:A": "1", "env:B": "2"})
    assert made.env["LLAMA_API_KEY"] == "1,2"


def test_a_key_in_a_file_is_passed_as_a_path(engine: Engine) -> None:
    made = command(parse("--api-key file:/etc/k"), engine, additions={})
    assert made.own_argv == ("--api-key-file", "/etc/k")
    assert "LLAMA_API_KEY" not in made.env


def test_an_inherited_key_that_is_asked_for_stays() -> None:
    world = Conditions(environment={"LLAMA_API_KEY": "x"})
    assert command(parse("--api-key env:LLAMA_API_KEY"), None, conditions=world).unset == ()


def test_the_engines_own_environment_comes_first(make_engine: Callable[..., Engine]) -> None:
    made = command(parse("A=2 llama-server"), make_engine(environment={"LD_LIBRARY_PATH": "/x", "A": "1"}))
    assert (made.env["LD_LIBRARY_PATH"], made.env["A"]) == ("/x", "2")
