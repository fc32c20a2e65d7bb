"""Keys and tokens: only ever a reference on disk (`keyring:ID`, `env:NAME`, `file:PATH`)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from paddock.errors import AppError
from paddock.launch.model import Plan, Setting
from paddock.launch.secret_reference import is_key, shown_word
from paddock.text import Text

SERVICE = "paddock"
_KINDS = ("keyring:", "env:", "file:")
_OPTIONS = {"api-key", "hf-token", "--api-key", "--hf-token", "-hft"}
_FLAGS = {"--api-key", "--hf-token", "-hft"}
_VARIABLES = {"LLAMA_API_KEY", "LLAMA_ARG_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY"}

SecretSaver = Callable[[str, str], str]
"""(what it is, the literal) → a reference to it."""


def _guarded(variable: str) -> bool:
    """Whether the value of this variable is a key, llama.cpp's or another program's."""
    return variable in _VARIABLES or is_key(variable)


def is_reference(value: str) -> bool:
    return value.startswith(_KINDS) and len(value) > len(value.split(":", 1)[0]) + 1


class Secrets:
    """The system's keyring; without one, memory until the program ends, and `notice` says so. Thread-safe enough:
    the keyring serialises itself and a dict item is set at once."""

    def __init__(self) -> None:
        self._memory: dict[str, str] = {}
        self.notice: Text | None = None

    def save(self, name: str, value: str) -> str:
        """Keep a literal; returns its reference. Usable as a `SecretSaver`."""
        import keyring
        from keyring.errors import KeyringError

        try:
            keyring.set_password(SERVICE, name, value)
        except (KeyringError, RuntimeError, OSError):
            self._memory[name] = value
            self.notice = Text("No keyring is available: the key is kept in memory until Paddock quits.")
        return f"keyring:{name}"

    def forget(self, name: str) -> None:
        """Remove what `save` kept; nothing where there is nothing."""
        import keyring
        from keyring.errors import KeyringError

        self._memory.pop(name, None)
        with contextlib.suppress(KeyringError, RuntimeError, OSError):
            keyring.delete_password(SERVICE, name)

    def resolve(self, reference: str, environ: Mapping[str, str]) -> str | None:
        """As `resolve_secret`, and what is kept in memory."""
        name = reference.removeprefix("keyring:")
        if reference.startswith("keyring:") and name in self._memory:
            return self._memory[name]
        return resolve_secret(reference, environ)


def resolve_secret(reference: str, environ: Mapping[str, str]) -> str | None:
    """What a reference stands for; None where it is not there (no such entry, variable or file).

    A literal is itself.
    """
    kind, _, rest = reference.partition(":")
    if not is_reference(reference):
        return reference
    if kind == "env":
        return environ.get(rest)
    if kind == "file":
        try:
            return Path(rest).expanduser().read_text("utf-8").strip() or None
        except (OSError, UnicodeDecodeError):
            return None
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(SERVICE, rest)
    except (KeyringError, RuntimeError, OSError):
        return None


def without_literals(plan: Plan, saver: SecretSaver | None, owner: str) -> Plan:
    """The plan with every literal key replaced by a reference that `saver` gives; AppError without a saver.

    `owner` names the place in the keyring (a profile's name). Looked at: the key options, and variables that hold keys
    by what they are or are called, in environment, prefix and what was not understood of a pasted line.
    """
    def kept(what: str, value: str) -> str:
        if not value or is_reference(value):
            return value
        if saver is None:
            raise AppError(
                Text("“{option}” holds a key itself, and keys are never written to a file.", option=what),
                hint=Text("Give a reference instead: keyring:NAME, env:VARIABLE or file:PATH."))
        return saver(f"{owner}/{what}", value)

    settings = tuple(
        replace(s, values=tuple(kept(s.option, v) for v in s.values)) if s.option in _OPTIONS else s
        for s in plan.settings)
    environment = tuple((n, kept(n, v) if _guarded(n) else v) for n, v in plan.environment)
    for word in (*plan.prefix, *plan.extra):
        name = _held_in(word)
        if name is not None:
            raise AppError(Text("“{option}” holds a key itself, and keys are never written to a file.", option=name),
                           hint=Text("Set it as an option or variable of the plan, as a reference."))
    return replace(plan, settings=settings, environment=environment)


def _held_in(word: str) -> str | None:
    """The option or variable whose literal key a word holds, as `--api-key=…`, `NAME=…` and docker's `--env=NAME=…`."""
    name, equals, value = word.lstrip("-").partition("=")
    if equals and (name in _OPTIONS or _guarded(name)) and value and not is_reference(value):
        return name
    if shown_word(word) == word:
        return None
    variable, _, value = word.removeprefix("--env=").removeprefix("-e").partition("=")
    return None if is_reference(value) else variable


def variable_for(what: str, _value: str) -> str:
    """A `SecretSaver` that keeps nothing: the reference names the variable that llama.cpp itself reads, or that other
    programs do."""
    name = what.rsplit("/", 1)[-1]
    if name not in _VARIABLES and is_key(name):
        return f"env:{name}"
    return "env:HF_TOKEN" if "hf" in what.rsplit("/", 1)[-1].lower() else "env:LLAMA_API_KEY"


def drop_literals(plan: Plan) -> Plan:
    """The plan without literal keys: for drafts that are saved unasked."""
    def harmless(s: Setting) -> bool:
        return s.option not in _OPTIONS or all(is_reference(v) or not v for v in s.values)

    return replace(
        plan, settings=tuple(s for s in plan.settings if harmless(s)),
        environment=tuple((n, v) for n, v in plan.environment if not _guarded(n) or not v or is_reference(v)),
        prefix=tuple(w for w in plan.prefix if _held_in(w) is None),
        extra=tuple(w for w in plan.extra if _held_in(w) is None))


MASK = "***"


def masked_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """A command line to keep or show: what follows a key option, and literal keys in NAME=value words, are masked."""
    out: list[str] = []
    hide = False
    for word in argv:
        name, equals, value = word.partition("=")
        literal = bool(value) and not is_reference(value)
        if hide and not is_reference(word):
            out.append(MASK)
        elif equals and literal and (name.lstrip("-") in _OPTIONS or _guarded(name.lstrip("-"))):
            out.append(f"{name}={MASK}")
        elif _held_in(word) is not None:
            out.append(f"{shown_word(word)}={MASK}")
        else:
            out.append(word)
        hide = word in _FLAGS
    return tuple(out)


def masked_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment to keep or show: literal keys are masked."""
    return {n: MASK if _guarded(n) and v and not is_reference(v) else v for n, v in environment.items()}
