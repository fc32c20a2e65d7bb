"""Checks that need more of a plan, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launch_support import GIB, model_file

from paddock.engine import Engine
from paddock.hardware.model import Machine
from paddock.launch import Conditions, Issue, Plan, Severity, check, command, parse
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.model import Setting
from paddock.launch.secret_reference import references

MACHINE = Machine(system="Linux", cpu_name=None, physical_cores=None, logical_cores=2, ram_total_bytes=GIB,
                  ram_available_bytes=GIB, numa_nodes=1, load_1min=None, devices=())
ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
OPTIONS = st.sampled_from([o.id for o in CATALOGUE.options] + ["--weird", "--ctx-size=1", "--ngl", "-x"])
PLANS = st.builds(
    Plan,
    settings=st.lists(st.builds(
        Setting, OPTIONS, st.lists(st.one_of(ANY, st.integers(-9, 10**12).map(str), st.sampled_from(
            ["on", "off", "auto", "q8_0", "a=CPU", "(=CPU", "RPC0", "none", "0.0.0.0"])), max_size=3).map(tuple),
        st.booleans()), max_size=6).map(tuple),
    environment=st.lists(st.tuples(st.sampled_from(["LLAMA_ARG_CTX_SIZE", "LLAMA_API_KEY", "A"]), ANY),
                         max_size=2).map(tuple),
    extra=st.lists(ANY, max_size=1).map(tuple))


def ids(plan: Plan, engine: Engine | None = None, **more: object) -> set[str]:
    return {issue.id for issue in check(plan, None, engine, None, Conditions(**more))}  # type: ignore[arg-type]


@settings(deadline=None)
@given(PLANS)
def test_no_plan_breaks_the_checks(make_engine: Callable[..., Engine], plan: Plan) -> None:
    engine = make_engine(devices=("CUDA0", "Vulkan0"))
    model = model_file(metadata={"llama.attention.key_length_swa": [1]}, tensors=("blk.0.x",), trained_context=100,
                       key_length=7, value_length=9)
    for issue in check(plan, model, engine, MACHINE, Conditions(port_free=False, load_1min=9.0)):
        assert isinstance(issue, Issue)
        assert str(issue.text)
        assert issue.fix is None or str(issue.fix)
        assert isinstance(issue.apply(plan), Plan)
    command(plan, engine)


def test_a_thousand_with_a_letter_is_put_right() -> None:
    plan = parse("-m a -c 32k")
    found = next(i for i in check(plan, None, None, None) if i.id == "not-a-number")
    assert found.apply(plan).get("ctx-size") == "32768"
    assert "32" in str(found.text)


@pytest.mark.parametrize(("text", "severity"), [
    ("-ncmoe -1", Severity.ERROR), ("--port 70000", Severity.ERROR), ("--repeat-last-n -1", Severity.ERROR),
    ("--poll 200", Severity.WARNING), ("--top-p 3", Severity.WARNING), ("-c 99999999999", Severity.ERROR),
])
def test_odd_numbers_stop_a_launch_only_where_they_break_it(text: str, severity: Severity) -> None:
    found = {i.id: i for i in check(parse(text), None, None, None)}
    assert found["out-of-range"].severity is severity


def test_sleeping_for_no_time() -> None:
    assert "no-sleep-time" in ids(parse("--sleep-idle-seconds 0"))
    assert "no-sleep-time" not in ids(parse("--sleep-idle-seconds 1"))


@pytest.mark.parametrize(("family", "layers", "refused"), [
    ("qwen35", 1, False), ("glm4", 1, True), ("qwen35", 2, True), ("step35", 3, False), ("qwen35", 0, True)])
def test_families_that_cannot_draft_by_themselves(family: str, layers: int, refused: bool) -> None:
    model = model_file(architecture=family, nextn_layers=layers)
    found = {i.id for i in check(parse("-m a --spec-type draft-mtp"), model, None, None)}
    assert ("no-mtp-layers" in found) is refused


def test_fused_heads_with_both_caches_quantised() -> None:
    model = model_file(architecture="phi3", tensors=("blk.0.attn_qkv.weight",))
    def has(text: str) -> bool:
        return "graph-too-large" in {i.id for i in check(parse(text), model, None, None)}
    assert has("-ctk q8_0 -ctv q8_0 -np 2")
    assert not has("-ctk q8_0 -ctv q8_0 -np 2 -kvu")
    assert not has("-ctk q8_0 -np 2")
    assert not has("-ctk q8_0 -ctv q8_0")


def test_a_placement_outside_the_chosen_devices(make_engine: Callable[..., Engine]) -> None:
    engine = make_engine(devices=("CUDA0", "CUDA1"))
    assert "buffer-not-in-use" in ids(parse("-dev CUDA0 -ot exps=CUDA1"), engine)
    assert "buffer-not-in-use" not in ids(parse("-dev CUDA0,CUDA1 -ot exps=CUDA1,x=CPU"), engine)
    assert "unknown-buffer" not in ids(parse("-ot exps=CUDA1_Split"), engine)


def test_inherited_options_that_stay(make_engine: Callable[..., Engine]) -> None:
    world = {"environment": {"LLAMA_ARG_HOST": "0.0.0.0"}, "keeps_environment": True}
    assert {"inherited-options", "open-without-key"} <= ids(parse("-m a"), **world)
    assert "inherited-options" not in ids(parse("LLAMA_ARG_HOST=127.0.0.1 llama-server -m a"), **world)


@pytest.mark.parametrize(("wanted", "said"), [
    ("test", False), ("/opt/llama/llama-server", False), ("./llama-server", False), ("/opt/llama", False),
    ("other", True), ("/gone/bin/my-llama", True)])
def test_another_engine_than_the_one_named(engine: Engine, wanted: str, said: bool) -> None:
    assert ("other-engine" in ids(Plan(engine=wanted), engine)) is said


def test_references_of_a_plan() -> None:
    plan = parse("LLAMA_API_KEY=env:A llama-server --api-key keyring:x --api-key literal -hft file:/t")
    assert references(plan) == ("keyring:x", "file:/t", "env:A")


def test_a_key_that_is_not_found_closes_the_server() -> None:
    made = command(parse("-m a --api-key keyring:x"), None)
    assert made.unresolved == ("keyring:x",)
    assert made.argv[-2:] == ("--api-key-file", "keyring:x")
    assert "keyring:x" not in made.own_argv
    assert command(parse("LLAMA_API_KEY=env:NO llama-server"), None).unresolved == ("env:NO",)
    assert command(parse("-hft env:NO"), None).unresolved == ()
    assert command(parse("LLAMA_API_KEY= llama-server --api-key ''"), None).unresolved == ()


@pytest.mark.parametrize(("text", "name"), [
    ("-Cr 0_7", "bad-form"), ("-C 0xzz", "bad-form"), ("--lora-scaled C:\\a.gguf:1", "bad-form"),
    ("--lora-scaled a.gguf", "bad-form"), ("-dt 0.1", "without-effect"), ("-ts 1,1,1", "split-beyond-devices"),
])
def test_odd_forms(make_engine: Callable[..., Engine], text: str, name: str) -> None:
    assert name in ids(parse(text), make_engine(devices=("CUDA0", "CUDA1")))


def test_good_forms() -> None:
    assert "bad-form" not in ids(parse("-Cr 0-7 -C ff -Cb 0xFF -tb 2 --lora-scaled a.gguf:0.5,b.gguf:-1"))


def test_one_bank_of_memory() -> None:
    assert "one-numa-node" in {i.id for i in check(parse("-m a --numa distribute"), None, None, MACHINE)}
