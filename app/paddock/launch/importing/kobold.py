"""KoboldCpp's settings (.kcpps, .kcppt): the arguments of its command line as JSON (koboldcpp.py, argparse)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from paddock.errors import AppError
from paddock.launch.importing.imported import Form, Imported, arguments, damaged, shell_words, written
from paddock.launch.model import Plan, Setting
from paddock.text import Text

_KOBOLD_PLAIN = {
    "model_param": "model", "model": "model", "port_param": "port", "port": "port", "host": "host",
    "threads": "threads", "blasthreads": "threads-batch", "contextsize": "ctx-size", "gpulayers": "gpu-layers",
    "mmproj": "mmproj", "draftmodel": "spec-draft-model", "draftamount": "spec-draft-n-max",
    "draftgpulayers": "spec-draft-ngl", "multiuser": "parallel", "overridekv": "override-kv",
    "overridetensors": "override-tensor", "batchthreads": "threads-batch", "moecpu": "n-cpu-moe", "maingpu": "main-gpu",
    "password": "api-key",
}
_KOBOLD_NOTHING = (None, "", 0, -1)
"""What a key of KoboldCpp holds when it was not touched (False equals 0)."""
_KOBOLD_TYPES = {1: "q8_0", 2: "q4_0"}
_KOBOLD_OWN = frozenset((
    "launch", "config", "istemplate", "skiplauncher", "unpack", "analyze", "nomodel", "ratelimit", "exporttemplate",
    "exportconfig", "showgui", "admin", "admindir", "adminpassword", "quiet", "debugmode", "onready", "benchmark",
    "foreground", "highpriority", "singleinstance", "remotetunnel", "preloadstory", "savedatafile", "hordeconfig",
    "hordemodelname", "hordeworkername", "hordekey", "hordemaxctx", "hordegenlen", "maxrequestsize", "noavx2",
    "failsafe", "usecpu", "usecuda", "usecublas", "usevulkan", "useclblast", "blasbatchsize", "flashattention",
    "quantkv", "usemlock", "usemmap", "nommap", "tensor_split", "ropeconfig", "lora", "loramult", "ssl", "mmprojcpu",
    "draftgpusplit", "useswa", "noshift", "embeddingsmodel", "version",
    "batchsize", "lowvram", "moeexperts", "jinja", "jinja_tools", "nofastforward", "prompt", "cli", "forceversion",
    "testmemory", "defaultgenamt", "visionmaxres", "chatcompletionsadapter", "autofit", "gendefaults",
))


def _is_kobold(text: str, hint: str) -> bool:
    return hint.endswith((".kcpps", ".kcppt")) or (text.lstrip().startswith("{") and '"contextsize"' in text)


def _kobold(text: str) -> Iterator[Imported]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise damaged("KoboldCpp", error) from error
    if not isinstance(found, dict):
        raise AppError(Text("These are no KoboldCpp settings: a JSON object is missing."))
    yield Imported(_plan_of(found), None, "kcpps")


def _is_line(text: str, hint: str) -> bool:
    return re.search(r"(?:^|[\s/\\])koboldcpp[\w.-]*[\"']?\s+(?:\S+\s+)?--\w", text) is not None


def _line(text: str) -> Iterator[Imported]:
    """`koboldcpp --model … --contextsize …`: the same names as in the file."""
    command = next(line for line in re.sub(r"[\\^`]\r?\n", " ", text).splitlines() if "koboldcpp" in line)
    words = shell_words(command.replace("\\", "/"))
    found = {key: _number(value) for key, value in arguments(words).items()}
    if "tensorsplit" in found:
        found["tensor_split"] = found.pop("tensorsplit")
    for name in ("tensor_split", "lora", "ropeconfig", "ssl"):
        if isinstance(found.get(name), str | int | float):
            found[name] = [_number(part) for part in str(found[name]).split(",")]
    yield Imported(_plan_of(found), None, "koboldcpp")


def _number(text: Any) -> Any:
    try:
        return int(text) if isinstance(text, str) else text
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _plan_of(found: Mapping[str, Any]) -> Plan:
    plan = Plan()
    for key, option in _KOBOLD_PLAIN.items():
        value = found.get(key)
        if _said(value) and plan.find(option) is None and not (key == "multiuser" and value == 1):
            plan = plan.with_(option, str(value[0] if isinstance(value, list) else value))
    plan = _kobold_rest(plan, found)
    extra = tuple(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in found.items()
                  if key not in _KOBOLD_PLAIN and key not in _KOBOLD_OWN and _said(value))
    return replace(plan, extra=(*plan.extra, *extra))


def _said(value: Any) -> bool:
    return bool(value) if isinstance(value, list | dict) else value not in _KOBOLD_NOTHING


def _kobold_rest(plan: Plan, found: Mapping[str, Any]) -> Plan:
    """What is spelt otherwise there: batch size, cache types, memory mapping, splits, rope, adapters, TLS."""
    if plan.find("gpu-layers") is None and found.get("gpulayers") == 0:
        plan = plan.with_("gpu-layers", 0)
    batch = found.get("batchsize") or found.get("blasbatchsize")
    if _said(batch):
        plan = plan.with_("batch-size", str(batch)).with_("ubatch-size", str(batch))
    if found.get("lowvram") is True:
        plan = plan.with_("kv-offload", on=False)
    if found.get("usecpu") is True:
        plan = plan.with_("device", "none")
    if found.get("moeexperts") is not None and _said(found["moeexperts"]):
        plan = replace(plan, extra=(*plan.extra, f"moeexperts={found['moeexperts']}"))
    if found.get("flashattention") is True:
        plan = plan.with_("flash-attn", "on")
    level = found.get("quantkv")
    kind = _KOBOLD_TYPES.get(level) if isinstance(level, int) else None
    if kind:
        plan = plan.with_("cache-type-k", kind).with_("cache-type-v", kind)
    if found.get("usemlock"):
        mapped = not (found.get("nommap") or found.get("usemmap") is False)
        plan = plan.with_("load-mode", "mmap+mlock" if mapped else "mlock")
    elif found.get("nommap") or found.get("usemmap") is False:
        plan = plan.with_("load-mode", "none")
    shares = found.get("tensor_split")
    if isinstance(shares, list) and shares:
        plan = plan.with_("tensor-split", ",".join(written(share) for share in shares))
    rope = found.get("ropeconfig")
    if isinstance(rope, list) and rope and rope[0] and rope[0] != 1:
        plan = plan.with_("rope-freq-scale", str(rope[0]))
        if len(rope) > 1 and rope[1]:
            plan = plan.with_("rope-freq-base", str(rope[1]))
    adapters = found.get("lora")
    for adapter in adapters if isinstance(adapters, list) else ():
        plan = replace(plan, settings=(*plan.settings, Setting("lora", (str(adapter),))))
    tls = found.get("ssl")
    if isinstance(tls, list) and len(tls) == 2:
        plan = plan.with_("ssl-cert-file", str(tls[0])).with_("ssl-key-file", str(tls[1]))
    if found.get("mmprojcpu"):
        plan = plan.with_("mmproj-offload", on=False)
    if plan.find("spec-draft-model") is not None:
        plan = plan.with_("spec-type", "draft-simple")
    if found.get("useswa") is False and "useswa" in found:
        plan = plan.with_("swa-full")
    return plan


KOBOLD, KOBOLD_LINE = Form(_is_kobold, _kobold), Form(_is_line, _line)
