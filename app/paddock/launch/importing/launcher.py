"""llama-server-launcher (thad0ctor): its exported configurations (JSON). Its .sh and .ps1 are read like any script.

Keys are those of its modules/config.py: {"configs": {name: {…}}}, or a single one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from paddock.launch.importing.imported import Form, Imported, carried, json_object, kept, shell_words, with_extra
from paddock.launch.model import Plan
from paddock.launch.parsing import read_settings

_TABLE = {
    "model_path": "model", "cache_type_k": "cache-type-k", "cache_type_v": "cache-type-v", "threads": "threads",
    "threads_batch": "threads-batch", "batch_size": "batch-size", "ubatch_size": "ubatch-size", "ctx_size": "ctx-size",
    "seed": "seed", "temperature": "temp", "min_p": "min-p", "tensor_split": "tensor-split", "main_gpu": "main-gpu",
    "prio": "prio", "n_predict": "predict", "n_cpu_moe": "n-cpu-moe", "host": "host", "port": "port",
    "parallel": "parallel", "fit_ctx": "fit-ctx", "fit_target": "fit-target",
}
_OWN = frozenset((
    "llama_cpp_dir", "ik_llama_dir", "venv_dir", "backend_selection", "template_source", "fit_ctx_synced",
    "selected_gpus", "gpu_order", "custom_template_string", "predefined_template_name", "app_settings",
))
_NOTHING: tuple[object, ...] = (None, "", False, [])
_HANDLED = frozenset((
    *_TABLE, *_OWN, "n_gpu_layers", "no_mmap", "mlock", "no_kv_offload", "flash_attn", "cpu_moe", "ignore_eos",
    "mmproj_enabled", "selected_mmproj_path", "fit_enabled", "jinja_enabled", "custom_parameters",
    "environmental_variables",
))


def _is_launcher(text: str, hint: str) -> bool:
    found = json_object(text)
    return found is not None and bool(_configurations(found))


def _configurations(found: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    inside = found.get("configs")
    candidates = inside if isinstance(inside, dict) else {"": found}
    return {name: one for name, one in candidates.items()
            if isinstance(one, dict) and "model_path" in one and ("ctx_size" in one or "n_gpu_layers" in one)}


def _launcher(text: str) -> Iterator[Imported]:
    for name, one in _configurations(json_object(text) or {}).items():
        yield Imported(_plan(one), name or None, "llama-server-launcher")


def _plan(found: Mapping[str, Any]) -> Plan:
    plan = carried(Plan(), {k: v for k, v in found.items() if not (k in ("seed", "n_predict") and str(v) == "-1")
                            and not (k == "fit_ctx" and str(v) == "0")}, _TABLE)
    layers = str(found.get("n_gpu_layers") or "")
    if layers:
        plan = plan.with_("gpu-layers", "all" if layers == "-1" else layers)
    if found.get("mlock"):
        plan = plan.with_("load-mode", "mlock" if found.get("no_mmap") else "mmap+mlock")
    elif found.get("no_mmap"):
        plan = plan.with_("load-mode", "none")
    if found.get("flash_attn"):
        plan = plan.with_("flash-attn", "on")
    for key, option, on in (("no_kv_offload", "kv-offload", False), ("cpu_moe", "cpu-moe", True),
                            ("ignore_eos", "ignore-eos", True), ("jinja_enabled", "jinja", True)):
        if found.get(key):
            plan = plan.with_(option, on=on)
    if found.get("mmproj_enabled") and found.get("selected_mmproj_path"):
        plan = plan.with_("mmproj", str(found["selected_mmproj_path"]))
    if found.get("fit_enabled") is False:
        plan = plan.with_("fit", "off")
    return _own_words(plan, found)


def _own_words(plan: Plan, found: Mapping[str, Any]) -> Plan:
    """Parameters that a person typed there, variables, and a template in words."""
    texts = found.get("custom_parameters")
    words = [word for text in (texts if isinstance(texts, list) else ()) for word in shell_words(str(text))]
    settings, stray = read_settings(words)
    if found.get("template_source") == "custom" and found.get("custom_template_string"):
        plan = plan.with_("chat-template", str(found["custom_template_string"]))
    variables = found.get("environmental_variables")
    pairs = tuple((str(k), str(v)) for k, v in variables.items()) if isinstance(variables, dict) else ()
    unknown = {key: value for key, value in found.items() if key not in _HANDLED and value not in _NOTHING}
    return with_extra(replace(plan, settings=(*plan.settings, *settings), environment=(*plan.environment, *pairs)),
                      (*stray, *kept(unknown)))


LAUNCHER = Form(_is_launcher, _launcher)
