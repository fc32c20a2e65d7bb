"""Keys are named, never held: `keyring:…`, `env:NAME`, `file:PATH`."""

from __future__ import annotations

import re

from paddock.launch.model import Plan
from paddock.launch.variables import is_secret

MASK = "••••••"
"""What stands for a key in every text that is shown."""
SECRET_VARIABLES = ("LLAMA_API_KEY", "HF_TOKEN")
_SHELL_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_KINDS = ("keyring:", "env:", "file:")
_PASSED = re.compile(r"((?:-e|--env=)?)([A-Za-z_]\w*)=(.+)", re.DOTALL)


def is_reference(value: str) -> bool:
    return value.startswith(_KINDS)


def references(plan: Plan) -> tuple[str, ...]:
    """All that a plan refers to, each once: what the caller of `command` has to look up."""
    found = [value for s in plan if s.option in ("api-key", "hf-token") for value in s.values]
    found += [value for name, value in plan.environment if is_key(name)]
    return tuple(dict.fromkeys(value for value in found if is_reference(value)))


def is_key(variable: str) -> bool:
    """Whether the value of this variable is a key: llama.cpp's own, and all whose name says so."""
    return variable in SECRET_VARIABLES or is_secret(variable)


def shown_word(word: str) -> str:
    """A word before the engine, such as `-e NAME=value` for a container: a key in it is left out, so that only the name
    stays. Docker then hands on what the variable holds outside."""
    match = _PASSED.fullmatch(word)
    return f"{match[1]}{match[2]}" if match and is_key(match[2]) else word


def from_shell(value: str) -> str:
    """`$NAME` and `${NAME}` as the reference `env:NAME`; anything else as it is."""
    match = _SHELL_VARIABLE.fullmatch(value)
    return f"env:{match[1] or match[2]}" if match else value


def shown(value: str) -> str:
    """A reference as it is, anything else masked."""
    return value if is_reference(value) or not value else MASK
