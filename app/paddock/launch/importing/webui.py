"""text-generation-webui: CMD_FLAGS.txt, a `python server.py …` line, and the settings of its models (config-user.yaml).

Names and meanings are those of its modules/shared.py and llama_cpp_server.py, which hand them on to llama-server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from paddock.errors import AppError
from paddock.launch.importing.imported import (
    Form,
    Imported,
    arguments,
    carried,
    kept,
    shell_words,
    with_extra,
    written,
)
from paddock.launch.model import Plan
from paddock.launch.parsing import read_settings
from paddock.text import Text

_TABLE = {
    "gpu_layers": "gpu-layers", "threads": "threads", "threads_batch": "threads-batch", "batch_size": "batch-size",
    "ubatch_size": "ubatch-size", "tensor_split": "tensor-split", "split_mode": "split-mode", "mmproj": "mmproj",
    "model_draft": "spec-draft-model", "draft_max": "spec-draft-n-max", "gpu_layers_draft": "spec-draft-ngl",
    "device_draft": "spec-draft-device", "fit_target": "fit-target", "parallel": "parallel", "cpu_moe": "cpu-moe",
    "n_cpu_moe": "n-cpu-moe", "rope_freq_base": "rope-freq-base",
}
_HANDLED = (
    *_TABLE, "model", "model_dir", "loader", "ctx_size", "n_ctx", "max_seq_len", "cache_type", "no_mmap", "mlock",
    "no_kv_offload", "numa", "streaming_llm", "extra_flags", "spec_type", "spec_ngram_size_n", "spec_ngram_size_m",
    "spec_ngram_min_hits", "api_port", "listen", "api_key", "n_gpu_layers", "idle_timeout", "ctx_size_draft",
)
_OFF = (None, "", 0, False, "None")
_OWN = re.compile(r"--(?:model-dir|loader|api-port|listen-port|extra-flags|streaming-llm|n_ctx|max_seq_len|gradio\S*|"
                  r"trust-remote-code|api|listen|auto-launch|chat-buttons|multi-user|nowebui|verbose)\b")


def _is_flags(text: str, hint: str) -> bool:
    if hint.endswith("cmd_flags.txt"):
        return True
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    server = re.search(r"(^|[\s/\\])(server\.py|start_(linux|windows|macos)\.(sh|bat))\b", text) is not None
    return server and bool(lines) and _OWN.search(text) is not None


def _flags(text: str) -> Iterator[Imported]:
    lines = [line.strip() for line in text.splitlines()]
    words = shell_words(" ".join(line for line in lines if line and not line.startswith("#")).replace("\\ ", " "))
    yield Imported(_plan(arguments(words, ("extra_flags",))), None, "text-generation-webui")


def _is_models(text: str, hint: str) -> bool:
    return re.search(r"^\S.*\$['\"]?:\s*$", text, re.MULTILINE) is not None and re.search(
        r"^\s+(loader|ctx_size|n_ctx|gpu_layers|n_gpu_layers|cache_type)\s*:", text, re.MULTILINE) is not None


def _models(text: str) -> Iterator[Imported]:
    """Each key is a regular expression that stands for one model: `Name.gguf$`."""
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise AppError(Text("The settings of text-generation-webui cannot be read."),
                       why=str(getattr(error, "problem", None) or error)) from error
    for pattern, settings in found.items() if isinstance(found, dict) else ():
        if isinstance(settings, dict) and settings.get("loader", "llama.cpp") == "llama.cpp":
            name = re.sub(r"\\(.)", r"\1", str(pattern).removesuffix("$"))
            yield Imported(_plan({"model": name, **settings}), name.removesuffix(".gguf"), "text-generation-webui")


def _plan(found: Mapping[str, Any]) -> Plan:
    plan = Plan()
    if found.get("model"):
        folder = str(found.get("model_dir") or "").rstrip("/")
        plan = plan.with_("model", f"{folder}/{found['model']}" if folder else str(found["model"]))
    context = found.get("ctx_size") or found.get("n_ctx") or found.get("max_seq_len")
    if context not in _OFF:
        plan = plan.with_("ctx-size", written(context))
    plan = carried(plan, {k: v for k, v in {"gpu_layers": found.get("n_gpu_layers"), **found}.items()
                          if v not in _OFF and not (k == "gpu_layers" and str(v) == "-1")
                          and not (k == "parallel" and str(v) == "1")}, _TABLE)
    plan = _rest(plan, found)
    unknown = {key: value for key, value in found.items() if key not in _HANDLED and value not in _OFF}
    return with_extra(plan, kept(unknown))


def _rest(plan: Plan, found: Mapping[str, Any]) -> Plan:
    """What is spelt otherwise there."""
    kind = {"fp16": "f16"}.get(str(found.get("cache_type")), found.get("cache_type"))
    if kind not in _OFF and kind != "f16":
        plan = plan.with_("cache-type-k", str(kind)).with_("cache-type-v", str(kind))
    if found.get("mlock") is True:
        plan = plan.with_("load-mode", "mlock" if found.get("no_mmap") is True else "mmap+mlock")
    elif found.get("no_mmap") is True:
        plan = plan.with_("load-mode", "none")
    if found.get("no_kv_offload") is True:
        plan = plan.with_("kv-offload", on=False)
    if found.get("numa") is True:
        plan = plan.with_("numa", "distribute")
    if found.get("streaming_llm") is True:
        plan = plan.with_("cache-reuse", 1).with_("swa-full")
    if found.get("api_port") not in (*_OFF, True):
        plan = plan.with_("port", str(found["api_port"]))
    if found.get("listen") is True:
        plan = plan.with_("host", "0.0.0.0")
    if found.get("api_key") not in (*_OFF, True):
        plan = plan.with_("api-key", str(found["api_key"]))
    if plan.find("spec-draft-model") is not None:
        plan = plan.with_("spec-type", "draft-simple")
    elif found.get("spec_type") not in (*_OFF, "none"):
        plan = plan.with_("spec-type", str(found["spec_type"]))
        plan = _ngrams(plan, found)
    return _extra_flags(plan, found.get("extra_flags"))


def _ngrams(plan: Plan, found: Mapping[str, Any]) -> Plan:
    """The three sizes are one for all kinds there; llama.cpp has them for each kind."""
    kind = str(found["spec_type"])
    for part in ("size-n", "size-m", "min-hits"):
        value = found.get(f"spec_ngram_{part.replace('-', '_')}")
        if value not in _OFF and kind in ("ngram-simple", "ngram-map-k", "ngram-map-k4v"):
            plan = plan.with_(f"spec-{kind}-{part}", written(value))
    return plan


def _extra_flags(plan: Plan, text: Any) -> Plan:
    """Flags for llama-server itself: as they are, or in the older form "name=value,flag"."""
    if not isinstance(text, str) or not text.strip():
        return plan
    if text.lstrip().startswith("-"):
        words = shell_words(text)
    else:
        words = [word for item in text.split(",") for word in _old_form(item.strip())]
    settings, stray = read_settings(words)
    return with_extra(replace(plan, settings=(*plan.settings, *settings)), stray)


def _old_form(item: str) -> tuple[str, ...]:
    name, equals, value = item.partition("=")
    flag = f"-{name}" if len(name) <= 3 else f"--{name}"
    return (flag, value) if equals else (flag,)


WEBUI_FLAGS, WEBUI_MODELS = Form(_is_flags, _flags), Form(_is_models, _models)
