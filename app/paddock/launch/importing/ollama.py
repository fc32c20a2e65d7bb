"""Ollama's Modelfile: FROM, ADAPTER and PARAMETER (docs.ollama.com, modelfile). The rest of it is for requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from paddock.launch.importing.imported import Form, Imported, with_extra
from paddock.launch.model import Plan, Setting

_TABLE = {
    "num_ctx": "ctx-size", "num_gpu": "gpu-layers", "num_thread": "threads", "num_batch": "batch-size",
    "num_predict": "predict", "num_keep": "keep", "main_gpu": "main-gpu", "temperature": "temp", "top_k": "top-k",
    "top_p": "top-p", "min_p": "min-p", "typical_p": "typical", "seed": "seed", "repeat_last_n": "repeat-last-n",
    "repeat_penalty": "repeat-penalty", "presence_penalty": "presence-penalty",
    "frequency_penalty": "frequency-penalty", "mirostat": "mirostat", "mirostat_eta": "mirostat-lr",
    "mirostat_tau": "mirostat-ent", "stop": "reverse-prompt",
}
_INSTRUCTION = re.compile(r"^\s*(FROM|PARAMETER|TEMPLATE|SYSTEM|ADAPTER|LICENSE|MESSAGE|REQUIRES|CAPABILITY)\b[ \t]*",
                          re.IGNORECASE | re.MULTILINE)
_FILE = re.compile(r"^[~./\\]|^[A-Za-z]:[\\/]|\.gguf$|sha256[-:]", re.IGNORECASE)


def _is_modelfile(text: str, hint: str) -> bool:
    return re.search(r"^\s*FROM[ \t]+\S", text, re.MULTILINE | re.IGNORECASE) is not None and (
        "modelfile" in hint or re.search(r"^\s*(PARAMETER|TEMPLATE|SYSTEM|ADAPTER)\b", text, re.MULTILINE) is not None)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction with its argument: quotes and triple quotes taken away, which may span lines."""
    text = re.sub(r"^\s*#[^\n]*\n?", "", text, flags=re.MULTILINE)
    at = 0
    while (match := _INSTRUCTION.search(text, at)) is not None:
        rest = text[match.end():]
        for quote in ('"""', '"'):
            # A name stands before the value of PARAMETER and MESSAGE.
            found = re.match(rf"((?:\w+[ \t]+)?){quote}(.*?){quote}", rest, re.DOTALL)
            if found:
                yield match[1].upper(), found[1] + found[2]
                at = match.end() + found.end()
                break
        else:
            line = rest.partition("\n")[0]
            yield match[1].upper(), line.strip()
            at = match.end() + len(line)


def _modelfile(text: str) -> Iterator[Imported]:
    plan, name = Plan(), None
    extra: list[str] = []
    for instruction, argument in _instructions(text):
        if instruction == "FROM" and plan.find("model") is None and _FILE.search(argument):
            plan = plan.with_("model", argument)
        elif instruction == "FROM" and argument.startswith(("hf.co/", "huggingface.co/")):
            plan = plan.with_("hf-repo", argument.partition("/")[2])
        elif instruction == "FROM" and plan.find("model") is None:
            name = argument
            extra.append(f"FROM {argument}")
        elif instruction == "ADAPTER":
            plan = replace(plan, settings=(*plan.settings, Setting("lora", (argument,))))
        elif instruction == "PARAMETER":
            key, _, value = argument.partition(" ")
            setting = _parameter(key.lower(), value.strip())
            if setting is None:
                extra.append(f"PARAMETER {argument}")
            else:
                plan = replace(plan, settings=(*plan.settings, setting))
        else:
            extra.append(f"{instruction} {argument}")
    yield Imported(with_extra(plan, extra), name, "Modelfile")


def _parameter(key: str, value: str) -> Setting | None:
    option = _TABLE.get(key)
    if option is None or not value:
        return None
    if key == "num_gpu" and value.lstrip("-").isdecimal() and int(value) < 0:
        return Setting(option, ("auto",))
    return Setting(option, (value,))


MODELFILE = Form(_is_modelfile, _modelfile)
