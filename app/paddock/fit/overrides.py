"""Which tensors are placed by name: the patterns of --override-tensor and of the flags that stand for some."""

from __future__ import annotations

import re
from dataclasses import dataclass

from paddock.launch.expressions import endless

EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
DENSE = r"\.ffn_(up|down|gate)\."
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "w": r"\w",
    "d": r"\d",
    "s": r"\s",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}


@dataclass(frozen=True, slots=True)
class Override:
    """Tensors whose names match `pattern` go to the buffer type `target` ("CPU" or a device's)."""

    pattern: str
    target: str


def compiled(pattern: str) -> re.Pattern[str] | None:
    """A C++ (ECMAScript) expression as Python's; None if it is not valid or may never be done."""
    if endless(pattern):
        return None
    text = re.sub(r"\[:(\w+):\]", lambda m: _CLASSES.get(m[1], ""), pattern)
    try:
        return re.compile(text)
    except re.error:
        return None


def strip_endpoint(name: str) -> str:
    """ "RPC0[127.0.0.1:50052]" -> "RPC0"."""
    return name.split("[", 1)[0].strip()
