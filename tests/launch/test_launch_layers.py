"""Defaults below a plan."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paddock.launch.layers import Layer, defaults, keys, layered, origins, own_part
from paddock.launch.model import Plan, Setting

ALL = Layer(Plan((Setting("flash-attn", ("on",)), Setting("temp", ("1",)), Setting("jinja", (), False)),
                 (("CUDA_X", "1"),), ("nice",), "everywhere"))
QWEN = Layer(Plan((Setting("temp", ("0.6",)), Setting("override-tensor", ("a=CPU",)),
                   Setting("override-tensor", ("b=CPU",)))), "qwen3moe")
OWN = Plan((Setting("model", ("/m.gguf",)), Setting("ctx-size", ("0",))))


def test_the_nearest_layer_decides_and_the_plan_before_all() -> None:
    plan = layered((ALL, QWEN), OWN)
    assert (plan.get("ctx-size"), plan.get("temp"), plan.get("flash-attn"), plan.engine, plan.prefix) == (
        "0", "0.6", "on", "everywhere", ("nice",))
    assert not plan.is_on("jinja", True)
    assert plan.variable("CUDA_X") == "1"
    assert layered((ALL, QWEN), OWN.with_("temp", "0")).get("temp") == "0"


def test_a_repeated_option_is_one_thing() -> None:
    own = OWN.with_("override-tensor", "c=CPU")
    assert [s.value for s in layered((QWEN,), own).all("override-tensor")] == ["c=CPU"]
    assert [s.value for s in layered((QWEN,), OWN).all("override-tensor")] == ["a=CPU", "b=CPU"]


def test_what_is_left_out_does_not_come_from_the_layers() -> None:
    plan = layered((ALL, QWEN), OWN, ("temp", "CUDA_X", "engine", "prefix"))
    assert plan.find("temp") is None
    assert (plan.environment, plan.engine, plan.prefix) == ((), None, ())
    assert plan.get("flash-attn") == "on"


def test_every_value_says_where_it_comes_from() -> None:
    plan = layered((ALL, QWEN), OWN)
    found = origins((ALL, QWEN), plan)
    assert {key: layer.architecture for key, layer in found.items()} == {
        "flash-attn": None, "temp": "qwen3moe", "jinja": None, "override-tensor": "qwen3moe", "CUDA_X": None,
        "prefix": None, "engine": None}
    assert str(found["temp"].title) == "defaults for qwen3moe"
    assert "temp" not in origins((ALL, QWEN), plan.with_("temp", "0.7"))


def test_a_model_is_never_a_default() -> None:
    assert layered((Layer(Plan().with_("model", "/x").with_("hf-repo", "a/b")),), Plan()) == Plan()


def test_what_was_its_own_stays_its_own_though_a_layer_says_the_same() -> None:
    own = OWN.with_("temp", "0.6")
    plan = layered((ALL, QWEN), own)
    assert own_part((ALL, QWEN), plan, own)[0].get("temp") == "0.6"
    assert own_part((ALL, QWEN), plan)[0].find("temp") is None


def test_what_is_taken_out_of_a_finished_plan_is_left_out() -> None:
    plan = layered((ALL,), OWN).without("temp")
    own, left_out = own_part((ALL,), plan, OWN)
    assert own == OWN
    assert left_out == ("temp",)
    assert layered((ALL,), own, left_out) == plan


OPTIONS = st.sampled_from(["temp", "ctx-size", "mlock", "override-tensor", "--foreign"])
SETTINGS = st.builds(Setting, OPTIONS, st.sampled_from([(), ("0",), ("",), ("1",)]), st.booleans())
PLANS = st.builds(Plan, st.lists(SETTINGS, max_size=5).map(tuple),
                  st.dictionaries(st.sampled_from(["A", "B"]), st.sampled_from(["", "1"])).map(
                      lambda d: tuple(d.items())),
                  st.sampled_from([(), ("nice",)]), st.sampled_from([None, "a", "b"]))


@given(PLANS, PLANS, PLANS)
def test_a_finished_plan_taken_apart_and_put_together_is_the_same(everywhere: Plan, arch: Plan, plan: Plan) -> None:
    layers = (Layer(everywhere), Layer(arch, "llama"))
    own, left_out = own_part(layers, plan)
    again = layered(layers, own, left_out)
    assert {key: again.all(key) for key in keys(plan)} == {key: plan.all(key) for key in keys(plan)}
    assert (set(keys(again)), dict(again.environment), again.prefix, again.engine) == (
        set(keys(plan)), dict(plan.environment), plan.prefix, plan.engine)


@given(PLANS, PLANS)
def test_opening_and_saving_without_an_edit_changes_nothing(everywhere: Plan, own: Plan) -> None:
    layers = (Layer(everywhere),)
    assert own_part(layers, layered(layers, own), own) == (own, ())


def test_layers_that_set_nothing_change_nothing() -> None:
    assert defaults(()) == Plan()
    assert layered((), OWN) == OWN
