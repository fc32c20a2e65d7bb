"""Files of other programs with any values in them, and damaged ones: the values come back, nothing else than words
comes of damage."""

from __future__ import annotations

import contextlib
import json
import shlex

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paddock.errors import AppError
from paddock.launch import Plan, parse
from paddock.launch.importing import import_plans, read_line

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=12)
PATHS = TEXT.map(lambda text: f"/m/{text}.gguf")
LINES = st.text(st.characters(exclude_characters='\0\n\r"', exclude_categories=("Cs", "Cc")), min_size=1,
                max_size=12).filter(lambda text: text == text.strip())
NUMBERS = st.integers(1, 99999)
VALID = [
    json.dumps({"model_param": "/m/a.gguf", "contextsize": 4096, "gpulayers": 20, "lora": ["x"], "ropeconfig": [1.0]}),
    json.dumps({"load": {"fields": [{"key": "llm.load.contextLength", "value": 1}]}}),
    json.dumps({"configs": {"a": {"model_path": "/m", "ctx_size": 1, "custom_parameters": ["-c 1"]}}}),
    "models:\n  a:\n    cmd: llama-server -m a --port ${PORT}\n    env: [A=b]\n",
    "[Service]\nEnvironment=\"A=b c\"\nExecStart=/usr/bin/llama-server -m a -c 5\n",
    "version = 1\n[*]\nc = 5\n[a]\nmodel = /m/a.gguf\n", "FROM ./a.gguf\nPARAMETER num_ctx 5\nSYSTEM \"\"\"x\"\"\"\n",
    "a.gguf$:\n  loader: llama.cpp\n  n_ctx: 5\n", "$m = 'a'\n& llama-server -m $m @('-c', 5)\n",
    "@echo off\nset \"M=a b\"\nllama-server -m \"%M%\" ^\n -c 5\n",
    "A=(-m a)\ndocker run -v /a:/b -p 1:2 llama -m /b/c\nllama-server \"${A[@]}\" -c 5 > x\n",
    "python server.py --model a --loader llama.cpp --extra-flags \"-c 5\"\n",
]


def one(text: str, hint: str = "") -> Plan:
    (found,) = import_plans(text, hint)
    return found.plan


@settings(deadline=None)
@given(PATHS, NUMBERS, NUMBERS, TEXT)
def test_koboldcpp_values_come_back(model: str, context: int, layers: int, key: str) -> None:
    plan = one(json.dumps({"model_param": model, "contextsize": context, "gpulayers": layers, "password": key}))
    assert (plan.get("model"), plan.integer("ctx-size"), plan.integer("gpu-layers"), plan.get("api-key")) == (
        model, context, layers, key)


@settings(deadline=None)
@given(PATHS, NUMBERS, st.floats(0, 2, allow_nan=False), TEXT)
def test_launcher_values_come_back(model: str, context: int, temperature: float, value: str) -> None:
    plan = one(json.dumps({"configs": {"x": {
        "model_path": model, "ctx_size": context, "temperature": str(temperature),
        "custom_parameters": [f"--alias {shlex.quote(value)}"], "environmental_variables": {"FOO": value}}}}))
    assert (plan.get("model"), plan.integer("ctx-size"), plan.get("alias")) == (model, context, value)
    assert float(plan.get("temp") or "nan") == temperature
    assert plan.environment == (("FOO", value),)


@settings(deadline=None)
@given(NUMBERS, st.floats(0, 2, allow_nan=False), st.booleans())
def test_lm_studio_values_come_back(context: int, temperature: float, shared: bool) -> None:
    plan = one(json.dumps({"load": {"fields": [{"key": "llm.load.contextLength", "value": context},
                                               {"key": "llm.load.useUnifiedKvCache", "value": shared}]},
                           "operation": {"fields": [{"key": "llm.prediction.temperature", "value": temperature}]}}))
    assert plan.integer("ctx-size") == context
    assert float(plan.get("temp") or "nan") == temperature
    assert plan.is_on("kv-unified") is shared


@settings(deadline=None)
@given(LINES, NUMBERS, LINES)
def test_modelfile_values_come_back(name: str, context: int, stop: str) -> None:
    assume(not name.startswith("#"))
    plan = one(f'FROM /m/{name}.gguf\nPARAMETER num_ctx {context}\nPARAMETER stop "{stop}"\n')
    assert (plan.get("model"), plan.integer("ctx-size"), plan.get("reverse-prompt")) == (
        f"/m/{name}.gguf", context, stop)


@settings(deadline=None)
@given(LINES, NUMBERS, LINES)
def test_text_generation_webui_values_come_back(name: str, context: int, alias: str) -> None:
    assume(not name.startswith(("-", "#")) and "\\" not in name + alias)
    extra = shlex.quote(f"--alias {shlex.quote(alias)}")
    plan = one(f"--model {shlex.quote(name)} --ctx-size {context} --extra-flags {extra}", "CMD_FLAGS.txt")
    assert (plan.get("model"), plan.integer("ctx-size"), plan.get("alias")) == (name, context, alias)
    (found,) = import_plans(yaml.safe_dump({f"{name}$": {"loader": "llama.cpp", "ctx_size": context}},
                                           allow_unicode=True), "config-user.yaml")
    assert found.plan.integer("ctx-size") == context


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=200),
       st.sampled_from(["", "a.kcpps", "a.ini", "a.yaml", "modelfile", "cmd_flags.txt", "a.ps1"]))
def test_any_text_gives_a_plan_or_a_reason(text: str, hint: str) -> None:
    _ask(text, hint)


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(VALID), st.integers(0, 200), st.integers(0, 12), st.sampled_from(
    ["", "\n", "\"", "'", "{", "}", "[", "]", ":", "null", "-1", "\t", "$", "%", "^", "`", "@(", "\\", "=", "1e999",
     "{}", "[[]]", "\ufeff", "\u2028", "true"]))
def test_a_damaged_file_gives_a_plan_or_a_reason(text: str, at: int, cut: int, put: str) -> None:
    at %= len(text)
    _ask(text[:at] + put + text[at + cut:], "")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2), max_leaves=4)


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(st.sampled_from([
    "model_param", "contextsize", "quantkv", "tensor_split", "lora", "ropeconfig", "ssl", "blasbatchsize", "batchsize",
    "gpulayers", "multiuser", "moeexperts", "password", "model_path", "ctx_size", "n_gpu_layers", "custom_parameters",
    "environmental_variables", "mlock", "configs", "load", "operation", "strange"]), ANYTHING))
def test_values_of_any_kind_give_a_plan_or_a_reason(values: dict[str, object]) -> None:
    _ask(json.dumps(values), "a.kcpps")
    _ask(json.dumps({"configs": {"x": {"model_path": "m", "ctx_size": 1, **values}}}), "")
    fields = [{"key": f"llm.load.{key}", "value": value} for key, value in values.items()]
    _ask(json.dumps({"load": {"fields": fields}}), "")
    _ask(yaml.safe_dump({"models": {"a": {"cmd": "llama-server -m a", **values}}}), "")
    _ask(yaml.safe_dump({"a.gguf$": {"loader": "llama.cpp", **values}}), "")


@pytest.mark.parametrize("key", [
    "llm.load.contextLength", "llm.load.llama.acceleration.offloadRatio", "llm.load.llama.kCacheQuantizationType",
    "llm.load.llama.flashAttention", "llm.load.llama.tryMmap", "llm.load.numCpuExpertLayersRatio",
    "llm.prediction.temperature", "llm.load.offloadKVCacheToGpu"])
@settings(deadline=None, max_examples=40)
@given(ANYTHING)
def test_a_setting_of_lm_studio_of_any_kind_gives_a_plan(key: str, value: object) -> None:
    _ask(json.dumps({"load": {"fields": [{"key": key, "value": value}, {"key": key}, value]}}), "")


@pytest.mark.parametrize("text", VALID)
def test_each_of_them_is_read_as_it_is(text: str) -> None:
    assert import_plans(text)[0].plan.settings
    for end in range(0, len(text), 3):
        _ask(text[:end], "")


def _ask(text: str, hint: str) -> None:
    for read in (lambda: import_plans(text, hint), lambda: read_line(text), lambda: parse(text)):
        with contextlib.suppress(AppError):
            read()
