"""Plans out of other programs' files: KoboldCpp settings, llama.cpp presets, llama-swap, systemd units, launch scripts.

Pure: text in, named plans out. What has no equal in llama.cpp is kept in `Plan.extra`, word by word, and shown.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from paddock.errors import AppError
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.model import Plan, Setting
from paddock.launch.parsing import parse, read_settings
from paddock.text import Text


@dataclass(frozen=True)
class Imported:
    """One plan of a file. `name` is the file's own name for it, where it has one; `form` says what was recognised."""

    plan: Plan
    name: str | None
    form: str


def import_plans(text: str, hint: str = "") -> list[Imported]:
    """All plans in a text. `hint`: the file's name, which decides only where the content does not.

    Recognised by content: KoboldCpp JSON (.kcpps), llama-swap YAML, a systemd unit, a llama.cpp preset (INI), else a
    command line or script. AppError where nothing of these is in it, or the file is damaged (with the line).
    """
    text = text.removeprefix("\ufeff")
    for recognise, read in _FORMS:
        if recognise(text, hint.lower()):
            found = list(read(text))
            if not found:
                raise AppError(Text("No model is configured in it."))
            return found
    return [_command_line(text)]


# -- KoboldCpp ---------------------------------------------------------------------------------------------------------

_KOBOLD_PLAIN = {
    "model_param": "model", "model": "model", "port_param": "port", "port": "port", "host": "host",
    "threads": "threads", "blasthreads": "threads-batch", "contextsize": "ctx-size", "gpulayers": "gpu-layers",
    "mmproj": "mmproj", "draftmodel": "spec-draft-model", "draftamount": "spec-draft-n-max",
    "draftgpulayers": "spec-draft-ngl", "multiuser": "parallel", "overridekv": "override-kv",
    "overridetensors": "override-tensor", "moecpu": "n-cpu-moe", "maingpu": "main-gpu", "password": "api-key",
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
))


def _is_kobold(text: str, hint: str) -> bool:
    return hint.endswith((".kcpps", ".kcppt")) or (text.lstrip().startswith("{") and '"contextsize"' in text)


def _kobold(text: str) -> Iterator[Imported]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise AppError(Text("The KoboldCpp settings are damaged in line {line}.", line=error.lineno),
                       why=error.msg) from error
    if not isinstance(found, dict):
        raise AppError(Text("These are no KoboldCpp settings: a JSON object is missing."))
    plan = Plan()
    for key, option in _KOBOLD_PLAIN.items():
        value = found.get(key)
        if _said(value) and plan.find(option) is None and not (key == "multiuser" and value == 1):
            plan = plan.with_(option, str(value[0] if isinstance(value, list) else value))
    plan = _kobold_rest(plan, found)
    extra = tuple(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in found.items()
                  if key not in _KOBOLD_PLAIN and key not in _KOBOLD_OWN and _said(value))
    yield Imported(replace(plan, extra=extra), None, "kcpps")


def _said(value: Any) -> bool:
    return bool(value) if isinstance(value, list | dict) else value not in _KOBOLD_NOTHING


def _kobold_rest(plan: Plan, found: Mapping[str, Any]) -> Plan:
    """What is spelt otherwise there: batch size, cache types, memory mapping, splits, rope, adapters, TLS."""
    if plan.find("gpu-layers") is None and found.get("gpulayers") == 0:
        plan = plan.with_("gpu-layers", 0)
    if _said(found.get("blasbatchsize")):
        plan = plan.with_("batch-size", found["blasbatchsize"]).with_("ubatch-size", found["blasbatchsize"])
    if found.get("flashattention") is True:
        plan = plan.with_("flash-attn", "on")
    kind = _KOBOLD_TYPES.get(found.get("quantkv") or 0)
    if kind:
        plan = plan.with_("cache-type-k", kind).with_("cache-type-v", kind)
    if found.get("usemlock"):
        mapped = not (found.get("nommap") or found.get("usemmap") is False)
        plan = plan.with_("load-mode", "mmap+mlock" if mapped else "mlock")
    elif found.get("nommap") or found.get("usemmap") is False:
        plan = plan.with_("load-mode", "none")
    if _said(found.get("tensor_split")):
        plan = plan.with_("tensor-split", ",".join(f"{v:g}" for v in found["tensor_split"]))
    rope = found.get("ropeconfig")
    if isinstance(rope, list) and rope and rope[0] and rope[0] != 1:
        plan = plan.with_("rope-freq-scale", rope[0])
        if len(rope) > 1 and rope[1]:
            plan = plan.with_("rope-freq-base", rope[1])
    for adapter in found.get("lora") or []:
        plan = replace(plan, settings=(*plan.settings, Setting("lora", (str(adapter),))))
    tls = found.get("ssl")
    if isinstance(tls, list) and len(tls) == 2:
        plan = plan.with_("ssl-cert-file", tls[0]).with_("ssl-key-file", tls[1])
    if found.get("mmprojcpu"):
        plan = plan.with_("mmproj-offload", on=False)
    if plan.find("spec-draft-model") is not None:
        plan = plan.with_("spec-type", "draft-simple")
    if found.get("useswa") is False and "useswa" in found:
        plan = plan.with_("swa-full")
    return plan


# -- llama.cpp presets (INI) -------------------------------------------------------------------------------------------

_PRESET_ONLY = ("load-on-startup", "stop-timeout", "dedup-cache-models", "version")


def _is_preset(text: str, hint: str) -> bool:
    sections = re.findall(r"^\s*\[([^\]\n]+)\]\s*$", text, re.MULTILINE)
    return bool(sections) and not re.search(r"^\s*\[\[?(settings|plan)", text, re.MULTILINE) and (
        hint.endswith(".ini") or re.search(r"^\s*[\w-]+\s*=\s*[^\"'\[\s]", text, re.MULTILINE) is not None)


def _preset(text: str) -> Iterator[Imported]:
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True, default_section="*",
                                       comment_prefixes=(";", "#"), inline_comment_prefixes=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string("[version-line]\n" + text)
    except configparser.Error as error:
        raise AppError(Text("The preset file cannot be read."), why=str(error).splitlines()[0]) from error
    for section in parser.sections():
        if section == "version-line":
            continue
        settings: list[Setting] = []
        extra: list[str] = []
        for key, value in parser.items(section):
            if key in _PRESET_ONLY:
                if key != "version":
                    extra.append(f"{key}={value}")
                continue
            settings += _preset_setting(key, value or "")
        yield Imported(Plan(tuple(settings), extra=tuple(extra)), section, "preset")


_ON_WORDS = {"on": True, "true": True, "1": True, "enabled": True, "": True,
             "off": False, "false": False, "0": False, "disabled": False}


def _preset_setting(key: str, value: str) -> tuple[Setting, ...]:
    """A key is an option's name without dashes (long or short) or its variable; a switch has a word for its value."""
    names = (f"--{key}", f"-{key}")
    found = CATALOGUE.of_env(key) or next((f for f in map(CATALOGUE.of, names) if f is not None), None)
    if found is None:
        return (Setting(names[0], (value,) if value else ()),)
    if found.option.is_switch:
        return (Setting(found.option.id, (), found.on == _ON_WORDS.get(value.lower(), True)),)
    return (Setting(found.option.id, (value,)),)


# -- llama-swap --------------------------------------------------------------------------------------------------------

_SWAP_KEPT = ("ttl", "aliases", "checkEndpoint", "proxy", "unlisted", "useModelName", "filters", "concurrencyLimit")


def _is_swap(text: str, hint: str) -> bool:
    return all(re.search(pattern, text, re.MULTILINE) for pattern in (r"^models:\s*$", r"^\s+cmd:"))


def _swap(text: str) -> Iterator[Imported]:
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise AppError(Text("The llama-swap file is damaged in line {line}.", line=mark.line + 1 if mark else "?"),
                       why=getattr(error, "problem", None)) from error
    models = found.get("models") if isinstance(found, dict) else None
    if not isinstance(models, dict):
        raise AppError(Text("The llama-swap file lists no models."))
    macros = {str(k): str(v) for k, v in (found.get("macros") or {}).items()}
    for name, entry in models.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("cmd"), str):
            continue
        own = {**macros, **{str(k): str(v) for k, v in (entry.get("macros") or {}).items()}, "MODEL_ID": str(name)}
        plan = parse(_swap_command(entry["cmd"], own)).without("port")
        pairs = tuple((k, v) for k, _, v in (str(e).partition("=") for e in entry.get("env") or []))
        extra = tuple(f"{key}={json.dumps(entry[key], ensure_ascii=False)}" for key in _SWAP_KEPT if key in entry)
        yield Imported(replace(plan, environment=(*plan.environment, *pairs), extra=(*plan.extra, *extra)), str(name),
                       "llama-swap")


def _swap_command(command: str, macros: Mapping[str, str]) -> str:
    """Macros replaced (they may hold others), comment lines dropped, lines joined; the port is llama-swap's own."""
    for _ in range(5):
        command = re.sub(r"\$\{([\w.-]+)\}", lambda m: macros.get(m[1], m[0]), command)
    lines = [line.rstrip().removesuffix("\\") for line in command.splitlines() if not line.lstrip().startswith("#")]
    return " ".join(lines).replace("${PORT}", "0")


# -- systemd -----------------------------------------------------------------------------------------------------------


def _is_unit(text: str, hint: str) -> bool:
    return re.search(r"^ExecStart\s*=", text, re.MULTILINE) is not None


def _unit(text: str) -> Iterator[Imported]:
    joined = re.sub(r"\\\n\s*", " ", text)
    environment: list[str] = []
    command = None
    name = None
    for line in joined.splitlines():
        key, _, value = line.strip().partition("=")
        if key.strip() == "Environment":
            environment += shlex.split(value.replace("%%", "%"))
        elif key.strip() == "ExecStart" and command is None:
            command = _unescaped(value.strip().lstrip("-@:+!")).replace("%%", "%").replace("$$", "$")
        elif key.strip() == "Description":
            name = value.strip()
    plan = parse(command or "")
    pairs = tuple((k, v) for k, _, v in (e.partition("=") for e in environment))
    yield Imported(replace(plan, environment=(*pairs, *plan.environment)), name, "systemd")


def _unescaped(value: str) -> str:
    """systemd's C escapes as characters; a doubled backslash and quotes are left to the reader of words."""
    def character(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU":
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, match[0])

    return re.sub(r"\\(\\|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", character, value)


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}


# -- scripts -----------------------------------------------------------------------------------------------------------


def _command_line(text: str) -> Imported:
    plan = parse(text)
    if not plan.settings and text.lstrip().startswith("-"):
        settings, stray = read_settings(shlex.split(text))
        plan = Plan(settings, extra=stray)
    if not plan.settings:
        raise AppError(Text("Neither a profile nor a llama-server command line was found in it."),
                       hint=Text("A command line starts with llama-server or llama serve and holds flags such as -m."))
    return Imported(plan, None, "command")


_FORMS: tuple[tuple[Callable[[str, str], bool], Callable[[str], Iterator[Imported]]], ...] = (
    (_is_kobold, _kobold), (_is_swap, _swap), (_is_unit, _unit), (_is_preset, _preset))
