"""Plans out of other programs' files."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.errors import AppError
from paddock.launch import Plan, Setting
from paddock.launch.export import export
from paddock.launch.importing import import_plans, read_line

KOBOLD = {
    "model": "", "model_param": "/m/a b.gguf", "port": 5001, "port_param": 5002, "host": "", "threads": 7,
    "usecuda": ["normal", "0", "mmq"], "contextsize": 16384, "gpulayers": 33, "tensor_split": [3, 1],
    "ropeconfig": [0.25, 10000.0], "blasbatchsize": 256, "lora": ["l.gguf"], "flashattention": True, "quantkv": 2,
    "usemlock": True, "usemmap": False, "moecpu": 4, "multiuser": 1, "draftmodel": "d.gguf", "draftamount": 6,
    "ssl": ["c.pem", "k.pem"], "smartcontext": True, "sdmodel": "x.safetensors", "quiet": True,
}


def one(text: str, hint: str = "") -> Plan:
    (found,) = import_plans(text, hint)
    return found.plan


def test_koboldcpp_settings_become_llama_cpp_options() -> None:
    plan = one(json.dumps(KOBOLD), "my.kcpps")
    wanted = {
        "model": "/m/a b.gguf", "port": "5002", "threads": "7", "ctx-size": "16384", "gpu-layers": "33",
        "tensor-split": "3,1", "rope-freq-scale": "0.25", "rope-freq-base": "10000.0", "batch-size": "256",
        "ubatch-size": "256", "lora": "l.gguf", "flash-attn": "on", "cache-type-k": "q4_0", "cache-type-v": "q4_0",
        "load-mode": "mlock", "n-cpu-moe": "4", "spec-draft-model": "d.gguf", "spec-draft-n-max": "6",
        "spec-type": "draft-simple", "ssl-cert-file": "c.pem", "ssl-key-file": "k.pem"}
    assert {s.option: s.value for s in plan} == wanted


def test_what_llama_cpp_has_not_is_kept_and_shown() -> None:
    assert one(json.dumps(KOBOLD)).extra == ("smartcontext=true", 'sdmodel="x.safetensors"')


@pytest.mark.parametrize(("layers", "set_to"), [(-1, None), (0, "0"), (99, "99")])
def test_koboldcpp_layers_keep_auto_and_none_apart(layers: int, set_to: str | None) -> None:
    assert one(json.dumps({"model_param": "m.gguf", "contextsize": 1, "gpulayers": layers})).get("gpu-layers") == set_to


def test_a_damaged_file_is_told_with_its_line() -> None:
    with pytest.raises(AppError, match="line 2"):
        import_plans('{"contextsize": 1,\n oops}', "x.kcpps")
    with pytest.raises(AppError, match="damaged"):
        import_plans("models:\n  a:\n    cmd: 'x\n", "x.yaml")


def test_every_section_of_a_preset_is_a_plan_with_the_common_part() -> None:
    text = """version = 1
[*]
c = 4096
jinja = off
[gemma: small]
model = /m/x y.gguf
n-gpu-layers = 99
no-mmproj-auto = true
LLAMA_ARG_THREADS = 3
stop-timeout = 20
frob = 1
[other]
hf-repo = a/b:Q4
c = 8192
"""
    first, second = import_plans(text, "p.ini")
    assert first.name == "gemma: small"
    assert first.plan.settings == (
        Setting("ctx-size", ("4096",)), Setting("jinja", (), False), Setting("model", ("/m/x y.gguf",)),
        Setting("gpu-layers", ("99",)), Setting("mmproj-auto", (), False), Setting("threads", ("3",)),
        Setting("--frob", ("1",)))
    assert first.plan.extra == ("stop-timeout=20",)
    assert (second.plan.get("hf-repo"), second.plan.get("ctx-size")) == ("a/b:Q4", "8192")


def test_llama_swap_models_are_read_with_macros_and_comments() -> None:
    text = """
macros:
  base: llama-server --port ${PORT} ${more}
  more: -ngl 99
models:
  "q":
    cmd: |
      ${base}
      # a comment
      -m /m/q.gguf \\
      -c 100 -ot "blk\\\\.1.*=CPU"
    env: ["CUDA_VISIBLE_DEVICES=0"]
    ttl: 300
  empty: {}
"""
    (found,) = import_plans(text, "config.yaml")
    assert found.name == "q"
    assert found.plan.environment == (("CUDA_VISIBLE_DEVICES", "0"),)
    assert {s.option: s.value for s in found.plan} == {
        "gpu-layers": "99", "model": "/m/q.gguf", "ctx-size": "100", "override-tensor": r"blk\.1.*=CPU"}
    assert found.plan.extra == ("ttl=300",)


def test_a_systemd_unit_is_read_with_its_environment() -> None:
    text = ("[Unit]\nDescription=Gemma\n[Service]\nEnvironment=\"A=b c\" D=e\n"
            "ExecStart=/usr/bin/llama-server -m x.gguf \\\n   -c 5\n")
    (found,) = import_plans(text)
    assert (found.name, found.plan.engine) == ("Gemma", "/usr/bin/llama-server")
    assert found.plan.environment == (("A", "b c"), ("D", "e"))
    assert [(s.option, s.value) for s in found.plan] == [("model", "x.gguf"), ("ctx-size", "5")]


@pytest.mark.parametrize("text", ["hello world", "{}", "<html></html>", "ls -la"])
def test_a_text_without_a_plan_is_refused_in_words(text: str) -> None:
    with pytest.raises(AppError):
        import_plans(text)


LINE_ENDS = "\x00\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
VALUES = st.text(st.characters(codec="utf-8", exclude_characters=LINE_ENDS), min_size=1, max_size=12).filter(
    lambda v: v == v.strip() and not v.startswith(("-", "~")))


@pytest.mark.parametrize("form", ["systemd", "llama-swap", "preset"])
@given(model=VALUES, context=st.integers(0, 1 << 20), alias=VALUES)
def test_what_is_exported_comes_back(form: str, model: str, context: int, alias: str) -> None:
    if form == "preset" and any(c in model + alias for c in ";#\"'=[]\\$%{}"):
        return  # an INI value has no quoting for these; the export says so itself where it matters
    if form == "llama-swap" and "${" in model + alias:
        return  # a macro of llama-swap
    plan = Plan().with_("model", f"/m/{model}.gguf").with_("ctx-size", context).with_("alias", alias)
    (found,) = import_plans(export(plan, form, name="n"))
    assert found.plan.without("host", "port").settings == plan.settings


def test_a_variable_with_a_name_that_no_shell_takes_is_kept_as_a_word() -> None:
    text = "[Service]\nEnvironment=\"$(reboot)=1\" A=b\nExecStart=/usr/bin/llama-server -m x.gguf\n"
    plan = one(text)
    assert plan.environment == (("A", "b"),)
    assert plan.extra == ("$(reboot)=1",)


def test_a_unit_without_a_command_is_no_preset() -> None:
    with pytest.raises(AppError):
        import_plans("[Unit]\nDescription=x\n[Service]\nType=simple\n")


COMPOSE = """
services:
  web:
    image: ghcr.io/open-webui/open-webui
    command: --port 3000
  llm:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    ports: ["127.0.0.1:8081:8080"]
    volumes:
      - ./models:/models
      - {type: bind, source: /data, target: /data}
      - cache:/cache
    environment:
      LLAMA_ARG_CTX_SIZE: 8192
      LLAMA_API_KEY: ${KEY}
    command: -m /models/${MODEL:-a.gguf} --port 8080 --host 0.0.0.0 -ngl 99 --chat-template '$$x'
    deploy: {resources: {limits: {memory: 8g}}}
    restart: unless-stopped
  two:
    build: .
    network_mode: host
    entrypoint: ["/app/llama-server", "-fa", "on"]
    command: ["-m", "/data/x.gguf", "-np", 2]
    environment: [CUDA_VISIBLE_DEVICES=1, HF_TOKEN]
"""


def test_services_of_a_compose_file_are_read_as_the_docker_run_that_they_are() -> None:
    first, second = import_plans(COMPOSE, "docker-compose.yaml")
    assert (first.name, first.form, second.name) == ("llm", "compose", "two")
    plan = first.plan
    assert [plan.get(o) for o in ("model", "port", "host", "gpu-layers", "chat-template")] == [
        "./models/a.gguf", "8081", None, "99", "$x"]
    assert plan.environment == (("LLAMA_ARG_CTX_SIZE", "8192"), ("LLAMA_API_KEY", "env:KEY"))
    assert plan.extra == ("-v", "cache:/cache", 'image="ghcr.io/ggml-org/llama.cpp:server-cuda"',
                          'deploy={"resources": {"limits": {"memory": "8g"}}}')
    plan = second.plan
    assert [plan.get(o) for o in ("model", "flash-attn", "parallel")] == ["/data/x.gguf", "on", "2"]
    assert plan.environment == (("CUDA_VISIBLE_DEVICES", "1"), ("HF_TOKEN", "env:HF_TOKEN"))
    assert read_line(COMPOSE) == first.plan


def test_a_compose_file_without_llama_cpp_or_damaged_says_so() -> None:
    with pytest.raises(AppError, match="No model"):
        import_plans("services:\n  llama.cpp:\n    image: nginx\n")
    with pytest.raises(AppError, match="line 4"):
        import_plans("services:\n  a: llama.cpp\n  b: [\n")
    with pytest.raises(AppError, match="no services"):
        import_plans("# llama-server\nservices:\n  - a\n")


def test_macros_of_llama_swap_stand_in_every_value() -> None:
    (found,) = import_plans("""
macros:
  ctx: 4096
  fa: true
  card: "1"
models:
  m:
    macros: {card: "2"}
    cmd: llama-server -m ${env.MODELS}/a.gguf -c ${ctx} -fa ${fa} --port ${PORT}
    env: ["CUDA_VISIBLE_DEVICES=${card}", "HF_TOKEN=${env.TOKEN}"]
    aliases: ["${MODEL_ID}-${ctx}"]
""")
    plan = found.plan
    assert [plan.get(o) for o in ("model", "ctx-size", "flash-attn")] == ["${MODELS}/a.gguf", "4096", "true"]
    assert dict(plan.environment) == {"CUDA_VISIBLE_DEVICES": "2", "HF_TOKEN": "env:TOKEN"}
    assert plan.extra == ('aliases=["m-4096"]',)
