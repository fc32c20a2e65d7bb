"""From a plan to the one command that is shown, run, exported and recorded."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from paddock.engine.model import Engine
from paddock.launch import containers, secret_reference
from paddock.launch.additions import chosen_additions
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.model import Addition, Command, Conditions, Plan, Setting
from paddock.launch.parsing import CONTAINER_VARIABLE, ENGINE_VARIABLE, parse
from paddock.launch.spelling import expanded, known_to, takes_paths, write
from paddock.launch.variables import is_name

_NOT_STRIPPED = frozenset(("HF_TOKEN",))
_ROUTER_VARIABLES = frozenset(("LLAMA_SERVER_ROUTER_PORT", "LLAMA_APP_CMD"))
"""llama.cpp's own signals to the children of a router: inherited, they would turn our server into one."""


def command(
    plan: Plan,
    engine: Engine | None,
    *,
    additions: Mapping[str, bool] | Collection[str] | None = None,
    conditions: Conditions | None = None,
    secrets: Mapping[str, str] | None = None,
) -> Command:
    """The one command for this plan and engine.

    `additions`: what deviates from the usual additions: a mapping id -> on or off, or a collection of ids that are off.
    `secrets`: reference -> key, looked up by the caller for all of `secret_reference.references(plan)`.
    `conditions`: `free_port` is used where the plan names no port; `environment` says what is inherited.

    Keys never enter `argv`: `file:PATH` becomes --api-key-file, the others go through LLAMA_API_KEY or HF_TOKEN in
    `env`. In `own` a reference stands in its place (`--api-key env:NAME`) and a literal key is masked, so
    `parse(command(plan, engine).own) == plan` holds for every plan that `parse` can give whose keys are references and
    whose `extra` is empty; `-fa off` is lost on engines that know only a bare `-fa`.
    """
    world = conditions or Conditions()
    chosen = chosen_additions(plan, engine, world, additions)
    parts = _Parts(plan, engine, world, dict(secrets or {})).gather()
    own_env = tuple(pair for pair in plan.environment if not secret_reference.is_key(pair[0]))
    added_env = tuple(pair for a in chosen for pair in a.environment)
    return Command(
        program=_program(plan, engine),
        own_argv=tuple(parts.argv),
        additions=chosen,
        prefix=plan.prefix,
        env=_environment(plan, engine, chosen, parts),
        unset=_unset(plan, world, chosen, parts),
        shown_env=(*own_env, *parts.references, *added_env),
        own=_own_text(plan, engine, parts.words),
        own_env=own_env,
        secrets=tuple(parts.references),
        unresolved=tuple(parts.unresolved),
    )


@dataclass
class _Parts:
    """Argv and text, gathered setting by setting."""

    plan: Plan
    engine: Engine | None
    world: Conditions
    known_secrets: dict[str, str]
    argv: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """Quoted words of the text."""
    secret_env: dict[str, str] = field(default_factory=dict)
    references: list[tuple[str, str]] = field(default_factory=list)
    inherited: set[str] = field(default_factory=set)
    """Variables whose inherited value is the key that was asked for."""
    unresolved: list[str] = field(default_factory=list)

    def gather(self) -> _Parts:
        for setting in self.plan:
            self.add(setting)
        for name, value in self.plan.environment:
            if secret_reference.is_key(name):
                self.resolve(name, value)
        return self

    def add(self, setting: Setting) -> None:
        option = CATALOGUE.get(setting.option)
        if option is not None and option.secret:
            self.add_secret(setting, option.env or "")
            return
        words = write(setting, self.engine)
        self.argv.extend(expanded(words, setting))
        self.words.extend(_quoted(word, takes_paths(setting)) for word in words)

    def add_secret(self, setting: Setting, variable: str) -> None:
        shown = Setting(setting.option, tuple(secret_reference.shown(value) for value in setting.values))
        self.words.extend(shlex.quote(word) for word in write(shown, self.engine))
        for value in setting.values:
            path = value.removeprefix("file:")
            if path != value and setting.option == "api-key" and self.takes_key_file():
                self.argv.extend(expanded(write(Setting("api-key-file", (path,)), self.engine),
                                          Setting("api-key-file", (path,))))
            else:
                self.resolve(variable, value)

    def takes_key_file(self) -> bool:
        return self.engine is None or known_to(CATALOGUE["api-key-file"], self.engine)

    def resolve(self, variable: str, value: str) -> None:
        """Puts the key behind a reference, or a literal one, into the child's environment."""
        key = self.known_secrets.get(value) if secret_reference.is_reference(value) else value
        self.references.append((variable, secret_reference.shown(value)))
        if key:
            earlier = self.secret_env.get(variable)
            self.secret_env[variable] = f"{earlier},{key}" if earlier else key
        elif value == f"env:{variable}" and variable in self.world.environment:
            self.inherited.add(variable)
        elif variable == "LLAMA_API_KEY" and secret_reference.is_reference(value):
            self.unresolved.append(value)


def _program(plan: Plan, engine: Engine | None) -> tuple[str, ...]:
    if containers.around(plan.prefix) is not None:
        # The image brings its own server: what lies on this machine is not seen in there.
        return (plan.engine,) if plan.engine and re.search(r"[/\\]", plan.engine) else ()
    if engine is not None and engine.serve:
        return engine.serve
    path = plan.engine if plan.engine and re.search(r"[/\\]", plan.engine) else "llama-server"
    return (path, "serve") if _is_multicall(path) else (path,)


def _is_multicall(path: str) -> bool:
    return re.split(r"[/\\]", path)[-1].lower() in ("llama", "llama.exe")


def _environment(
    plan: Plan, engine: Engine | None, chosen: tuple[Addition, ...], parts: _Parts
) -> dict[str, str]:
    """What is set for the child, later entries over earlier ones, keys last."""
    out = dict(engine.environment) if engine is not None else {}
    for addition in chosen:
        out.update(addition.environment)
    out.update(pair for pair in plan.environment if not secret_reference.is_key(pair[0]))
    out.update(parts.secret_env)
    # An empty LLAMA_ARG_* is not "unset" for llama.cpp but a bad number.
    return {name: value for name, value in out.items() if value or not name.startswith("LLAMA_ARG_")}


def _unset(plan: Plan, world: Conditions, chosen: tuple[Addition, ...], parts: _Parts) -> tuple[str, ...]:
    clean = any(addition.id == "clean-environment" for addition in chosen)
    ours = {name for name, value in plan.environment if value} | set(parts.secret_env) | parts.inherited
    out = []
    for name, value in world.environment.items():
        sets_option = is_option_variable(name)
        if name not in ours and ((sets_option and (clean or not value)) or name in _ROUTER_VARIABLES):
            out.append(name)
    out.extend(name for name, value in plan.environment
               if not value and name.startswith("LLAMA_ARG_") and name not in out)
    return tuple(out)


def is_option_variable(name: str) -> bool:
    """Whether llama.cpp reads an option from this variable."""
    return name not in _NOT_STRIPPED and (name.startswith("LLAMA_ARG_") or CATALOGUE.of_env(name) is not None)


def _shown_variable(name: str, value: str) -> str:
    return secret_reference.shown(value) if secret_reference.is_key(name) else value


def _quoted(word: str, path: bool) -> str:
    """Quoted for a POSIX shell; a path's leading `~/` stays outside the quotes, so that the shell puts home in."""
    if path and word.startswith("~/"):
        return "~/" + (shlex.quote(word[2:]) if word[2:] else "")
    return shlex.quote(word)


def _own_text(plan: Plan, engine: Engine | None, words: list[str]) -> str:
    assignments = [f"{name}={shlex.quote(_shown_variable(name, value))}" for name, value in plan.environment
                   if is_name(name)]
    prefix = [shlex.quote(secret_reference.shown_word(word)) for word in plan.prefix]
    if containers.around(plan.prefix) is not None:
        return " ".join((*assignments, f"{CONTAINER_VARIABLE}=1", *prefix, *map(shlex.quote, _program(plan, None)),
                         *words))
    name = engine.serve if engine is not None and engine.serve else ("llama-server",)
    plain = ("llama", "serve") if _is_multicall(name[0]) else ("llama-server",)
    if plan.engine is None:
        return " ".join((*assignments, *prefix, *plain, *words))
    if re.search(r"[/\\]", plan.engine):
        path = shlex.quote(plan.engine)
        start = (*assignments, *prefix, path, *(("serve",) if _is_multicall(plan.engine) else ()))
        read = parse(" ".join(start))
        if read.engine == plan.engine and read.prefix == plan.prefix:
            return " ".join((*start, *words))
    return " ".join((*assignments, f"{ENGINE_VARIABLE}={shlex.quote(plan.engine)}", *prefix, *plain, *words))
