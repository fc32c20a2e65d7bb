"""What other launchers write, as plans: their keys are invented examples in their formats."""

from __future__ import annotations

import json

import pytest

from paddock.errors import AppError
from paddock.launch import Plan, parse
from paddock.launch.importing import import_plans, read_line


def one(text: str, hint: str = "") -> Plan:
    (found,) = import_plans(text, hint)
    return found.plan


def settings(plan: Plan) -> dict[str, str | None]:
    return {s.option: s.value if s.values else ("on" if s.on else "off") for s in plan}


def test_flags_of_text_generation_webui_become_those_that_it_hands_on() -> None:
    text = ("# my flags\n--model Qwen3.gguf --model-dir /m --gpu-layers 40 --ctx-size 16384 --cache-type q8_0\n"
            "--no-mmap --streaming-llm --api-port 5005 --listen --extra-flags \"--jinja -ot blk=CPU\" "
            "--trust-remote-code\n")
    plan = one(text, "CMD_FLAGS.txt")
    assert settings(plan) == {
        "model": "/m/Qwen3.gguf", "gpu-layers": "40", "ctx-size": "16384", "cache-type-k": "q8_0",
        "cache-type-v": "q8_0", "load-mode": "none", "cache-reuse": "1", "swa-full": "on", "port": "5005",
        "host": "0.0.0.0", "jinja": "on", "override-tensor": "blk=CPU"}
    assert plan.extra == ("trust_remote_code=true",)


def test_a_started_webui_is_told_from_a_llama_server() -> None:
    plan = one("python server.py --model a.gguf --loader llama.cpp --extra-flags \"ot=blk=CPU,no-warmup\"")
    assert settings(plan) == {"model": "a.gguf", "override-tensor": "blk=CPU", "warmup": "off"}
    assert parse("server -m a.gguf").get("model") == "a.gguf"


def test_models_of_text_generation_webui_are_plans() -> None:
    text = ("Qwen3-8B\\.gguf$:\n  loader: llama.cpp\n  n_ctx: 8192\n  gpu_layers: -1\n  spec_type: ngram-simple\n"
            "  spec_ngram_size_n: 24\n.*exl3$:\n  loader: ExLlamav3\n")
    (found,) = import_plans(text)
    assert found.name == "Qwen3-8B"
    assert settings(found.plan) == {"model": "Qwen3-8B.gguf", "ctx-size": "8192", "spec-type": "ngram-simple",
                                    "spec-ngram-simple-size-n": "24"}


def test_lm_studio_keeps_what_is_ticked() -> None:
    text = json.dumps({"name": "long", "load": {"fields": [
        {"key": "llm.load.contextLength", "value": 32768},
        {"key": "llm.load.llama.acceleration.offloadRatio", "value": "max"},
        {"key": "llm.load.llama.kCacheQuantizationType", "value": {"checked": True, "value": "q8_0"}},
        {"key": "llm.load.llama.vCacheQuantizationType", "value": {"checked": False, "value": "q4_0"}},
        {"key": "llm.load.offloadKVCacheToGpu", "value": False},
        {"key": "llm.load.llama.flashAttention", "value": True},
        {"key": "llm.load.llama.tryMmap", "value": False}, {"key": "llm.load.numParallelSessions", "value": 2.0}]},
        "operation": {"fields": [{"key": "llm.prediction.temperature", "value": 0.4},
                                 {"key": "llm.prediction.systemPrompt", "value": "Be brief."}]}})
    (found,) = import_plans(text)
    assert (found.name, found.form) == ("long", "LM Studio")
    assert settings(found.plan) == {
        "ctx-size": "32768", "parallel": "2", "cache-type-k": "q8_0", "temp": "0.4", "kv-offload": "off",
        "flash-attn": "on", "gpu-layers": "all", "load-mode": "none"}
    assert found.plan.extra == ('llm.prediction.systemPrompt="Be brief."',)


@pytest.mark.parametrize(("ratio", "layers"), [("max", "all"), (1, "all"), ("off", "0"), (0, "0"), (0.5, None)])
def test_a_share_of_layers_is_a_count_only_where_it_is_all_or_none(ratio: object, layers: str | None) -> None:
    plan = one(json.dumps({"load": {"fields": [{"key": "llm.load.llama.acceleration.offloadRatio", "value": ratio}]}}))
    assert plan.get("gpu-layers") == layers
    assert bool(plan.extra) is (layers is None)


def test_a_modelfile_is_its_file_and_its_parameters() -> None:
    text = ('# made by hand\nFROM ./gemma.gguf\nADAPTER ./style.gguf\nPARAMETER num_ctx 8192\n'
            'parameter temperature 0.5\nPARAMETER stop "<|end|>"\nPARAMETER num_gpu -1\nPARAMETER odd 1\n'
            'SYSTEM """You are\nPARAMETER top_k 99\n"""\nTEMPLATE "{{ .Prompt }}"\n')
    plan = one(text)
    assert [(s.option, s.value) for s in plan] == [
        ("model", "./gemma.gguf"), ("lora", "./style.gguf"), ("ctx-size", "8192"), ("temp", "0.5"),
        ("reverse-prompt", "<|end|>"), ("gpu-layers", "auto")]
    assert plan.extra == ("PARAMETER odd 1", "SYSTEM You are\nPARAMETER top_k 99\n", "TEMPLATE {{ .Prompt }}")


def test_a_model_that_only_ollama_knows_is_a_name() -> None:
    (found,) = import_plans("FROM llama3.2:3b\nPARAMETER num_ctx 4096")
    assert (found.name, found.plan.get("model"), found.plan.extra) == ("llama3.2:3b", None, ("FROM llama3.2:3b",))
    assert one("FROM hf.co/a/b:Q4_K_M\nPARAMETER num_ctx 1").get("hf-repo") == "a/b:Q4_K_M"


def test_configurations_of_llama_server_launcher_are_plans() -> None:
    text = json.dumps({"export_info": {"source": "x"}, "configs": {"fast": {
        "model_path": "/m/a.gguf", "ctx_size": 16384, "n_gpu_layers": "-1", "cache_type_k": "q8_0",
        "cache_type_v": "q8_0", "threads": "8", "flash_attn": True, "no_mmap": True, "mlock": False, "seed": "-1",
        "n_cpu_moe": "12", "no_kv_offload": False, "fit_enabled": False, "venv_dir": "/v", "port": "8081",
        "custom_parameters": ["--no-warmup", "-ot 'blk=CPU'"], "environmental_variables": {"GGML_CUDA_P2P": "1"},
        "mystery": 7}}})
    (found,) = import_plans(text)
    assert found.name == "fast"
    assert settings(found.plan) == {
        "model": "/m/a.gguf", "cache-type-k": "q8_0", "cache-type-v": "q8_0", "threads": "8", "ctx-size": "16384",
        "n-cpu-moe": "12", "port": "8081", "gpu-layers": "all", "load-mode": "none", "flash-attn": "on", "fit": "off",
        "warmup": "off", "override-tensor": "blk=CPU"}
    assert found.plan.environment == (("GGML_CUDA_P2P", "1"),)
    assert found.plan.extra == ("mystery=7",)


def test_a_shell_script_with_variables_and_an_array() -> None:
    plan = one("""#!/bin/bash
set -euo pipefail
# where things are
MODEL_DIR="$HOME/models"
MODEL="${MODEL_DIR}/qwen 3.gguf"
EXTRA="-c 8192 --jinja"
export CUDA_VISIBLE_DEVICES=0,1
ARGS=(
  -m "$MODEL"   # the model
  -ngl 99
)
ARGS+=(--host '127.0.0.1')
echo "Starting…"
exec /opt/llama/llama-server "${ARGS[@]}" $EXTRA
""")
    assert plan.engine == "/opt/llama/llama-server"
    assert plan.environment == (("CUDA_VISIBLE_DEVICES", "0,1"),)
    assert [(s.option, s.value) for s in plan] == [
        ("model", "$HOME/models/qwen 3.gguf"), ("gpu-layers", "99"), ("host", "127.0.0.1"), ("ctx-size", "8192"),
        ("jinja", None)]


def test_what_a_single_quote_holds_is_not_put_in() -> None:
    plan = parse("X=1\nllama-server -a '$X' --chat-template \"\\$X\" --alias \"$X\"")
    assert [s.value for s in plan] == ["$X", "$X", "1"]
    assert parse("X=1 llama-server -a $X").get("alias") == "$X"


def test_a_powershell_script_of_a_launcher() -> None:
    plan = one("""<#
 .SYNOPSIS
    Launches it
#>
$ErrorActionPreference = 'Continue'
# order of cards
$env:CUDA_DEVICE_ORDER="PCI_BUS_ID"
$model = "D:\\models\\it's here.gguf"
$common = @("--ctx-size", "8192",
            "--jinja")
Write-Host "Launching llama-server..." -ForegroundColor Green
& "C:\\llama\\llama-server.exe" --model $model `
  --chat-template-kwargs '{"a": "it''s"}' @common --api-key $env:MY_KEY
""")
    assert plan.engine == "C:\\llama\\llama-server.exe"
    assert dict(plan.environment)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert [(s.option, s.value) for s in plan] == [
        ("model", "D:\\models\\it's here.gguf"), ("chat-template-kwargs", '{"a": "it\'s"}'), ("ctx-size", "8192"),
        ("jinja", None), ("api-key", "env:MY_KEY")]


def test_a_batch_file_with_variables() -> None:
    plan = one("@echo off\r\nrem my server\r\nset MODEL=D:\\models\\a b.gguf\r\nset \"PORT=8081\"\r\n"
               "title llama\r\nstart \"llama\" /b \"C:\\llama\\llama-server.exe\" -m \"%MODEL%\" ^\r\n"
               "  --port %PORT% --alias \"100%%\" --api-key %KEY% > log.txt\r\npause\r\n")
    assert plan.engine == "C:\\llama\\llama-server.exe"
    assert plan.get("model") == "D:\\models\\a b.gguf"
    assert (plan.get("port"), plan.get("alias"), plan.get("api-key")) == ("8081", "100%", "env:KEY")


def test_docker_gives_paths_port_and_variables_as_they_are_outside() -> None:
    plan = parse("docker run -d --name llm --gpus all -v /home/me/models:/models:ro -v cache:/root/.cache "
                 "--mount type=bind,source=/srv/loras,target=/loras -p 127.0.0.1:9000:8080 "
                 "-e LLAMA_ARG_MODEL=/models/x.gguf "
                 "-e HF_TOKEN ghcr.io/ggml-org/llama.cpp:server-cuda -m /models/sub/a.gguf --lora /loras/l.gguf "
                 "--media-path /other --host 0.0.0.0 --port 8080")
    assert settings(plan) == {"model": "/home/me/models/sub/a.gguf", "lora": "/srv/loras/l.gguf",
                              "media-path": "/other", "port": "9000"}
    assert plan.environment == (("LLAMA_ARG_MODEL", "/home/me/models/x.gguf"), ("HF_TOKEN", "env:HF_TOKEN"))
    assert plan.extra == ("docker", "run", "-d", "--name", "llm", "--gpus", "all", "-v", "cache:/root/.cache",
                          "ghcr.io/ggml-org/llama.cpp:server-cuda")


def test_a_container_of_something_else_is_not_a_plan() -> None:
    assert parse("docker run --rm alpine ls -l").settings == ()
    assert parse("docker ps").settings == ()


@pytest.mark.parametrize("text", [
    "[Service]\nExecStart=/usr/bin/llama-server -m a.gguf -c 5\n", "FROM ./a.gguf\nPARAMETER num_ctx 5\n",
    "llama-server -m a.gguf -c 5",
])
def test_a_pasted_file_is_read_where_a_line_is_asked_for(text: str) -> None:
    plan = read_line(text)
    assert plan.get("model") in ("a.gguf", "./a.gguf")
    assert plan.get("ctx-size") == "5"


def test_an_empty_paste_is_an_empty_plan() -> None:
    assert read_line("") == Plan()


@pytest.mark.parametrize("text", ["$x = 'a", '& "a'])
def test_a_quote_that_powershell_never_closes_is_said(text: str) -> None:
    with pytest.raises(AppError, match="never closed"):
        parse(text)


LINE = parse("llama-server -m a.gguf -c 5").settings


@pytest.mark.parametrize(("text", "prefix"), [
    ('Start-Process -FilePath "C:\\llama\\llama-server.exe" -ArgumentList "-m","a.gguf","-c","5" -NoNewWindow', ()),
    ('Start-Process "C:\\llama\\llama-server.exe" -ArgumentList "-m a.gguf -c 5" -Wait', ()),
    ("screen -dmS llama ./llama-server -m a.gguf -c 5", ("screen", "-dmS", "llama")),
    ('tmux new-session -d -s llm "./llama-server -m a.gguf -c 5"', ()),
    ("me@host:~$ ./llama-server -m a.gguf -c 5", ()),
    ("(venv) me@host:~/x$ ./llama-server -m a.gguf -c 5", ()),
    ("```bash\nllama-server -m a.gguf \\\n  -c 5\n```", ()),
    ("sudo docker run -p 8080:8080 ghcr.io/llama.cpp:server -m a.gguf -c 5 --port 8080", ()),
    ("exec ./llama-server -m a.gguf -c 5", ()),
    ("[Service]\nExecStart=/bin/bash -c \"exec /opt/llama-server -m a.gguf -c 5\"\n", ()),
])
def test_lines_as_they_are_found(text: str, prefix: tuple[str, ...]) -> None:
    plan = read_line(text).without("port")
    assert plan.settings == LINE
    assert plan.prefix == prefix
    assert "```" not in " ".join(plan.extra)


def test_the_server_of_llama_cpp_python_is_understood_as_far_as_its_flags_go() -> None:
    plan = parse("python -m llama_cpp.server --model a.gguf --n_gpu_layers 20 --n_ctx 5")
    assert plan.prefix == ()
    assert (plan.get("model"), plan.get("gpu-layers")) == ("a.gguf", "20")


@pytest.mark.parametrize("text", [
    "koboldcpp.exe --model a.gguf --contextsize 5 --gpulayers 20 --usecuda normal mmq --quantkv 1 --tensor_split 7 3",
    "#!/bin/sh\ncd /opt\n./koboldcpp-linux-x64 --model a.gguf \\\n  --contextsize 5 --gpulayers 20 --quantkv 1 "
    "--tensor_split 7 3\n",
])
def test_a_line_for_koboldcpp_becomes_llama_cpp_options(text: str) -> None:
    assert settings(read_line(text)) == {"model": "a.gguf", "ctx-size": "5", "gpu-layers": "20", "cache-type-k": "q8_0",
                                         "cache-type-v": "q8_0", "tensor-split": "7,3"}
