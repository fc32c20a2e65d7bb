"""The machine and what is inherited from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import Question, error, hint, warning
from paddock.launch.command_line import is_option_variable
from paddock.launch.model import VARIABLE, Issue
from paddock.launch.spelling import takes_paths
from paddock.launch.variables import is_name
from paddock.text import Text

_VARIABLE = re.compile(r"\$(\w+|\{\w+\})|%\w+%")


def inherited(q: Question) -> Iterator[Issue]:
    """Variables that would change the server without being seen."""
    names = sorted(name for name in q.conditions.environment
                   if is_option_variable(name) and q.plan.variable(name) is None)
    if names and q.conditions.keeps_environment:
        yield warning("inherited-options", None,
                      Text("{count} variable of the environment changes the launch: {names}.",
                           plural="{count} variables of the environment change the launch: {names}.",
                           count=len(names), names=", ".join(names)),
                      Text("Let Paddock remove them, or set the same options here to overrule them."))
    elif names:
        yield hint("inherited-options", None,
                   Text("{count} variable of the environment sets an option and is removed for the launch: {names}.",
                        plural="{count} variables of the environment set options and are removed for the launch: "
                               "{names}.", count=len(names), names=", ".join(names)),
                   Text("Set what you need of them in the plan."))


def config_files(q: Question) -> Iterator[Issue]:
    """llama.cpp reads its own config.ini before anything else."""
    given = {name for setting in q.plan for name in _keys(setting.option)}
    active = sorted(key for key in q.conditions.config_ini if key.lstrip("-") not in given)
    if active:
        yield warning("config-file", None,
                      Text("llama.cpp's config.ini changes what runs: {names}.", names=", ".join(active)),
                      Text("Set the same options here to overrule it."))


def _keys(option: str) -> tuple[str, ...]:
    known = CATALOGUE.get(option)
    return tuple(name.lstrip("-") for name in known.names) if known is not None else (option.lstrip("-"),)


def empty_variables(q: Question) -> Iterator[Issue]:
    """llama.cpp reads an empty variable as a bad number."""
    for name, value in q.plan.environment:
        if not value and name.startswith("LLAMA_ARG_"):
            yield warning("empty-variable", None,
                          Text("{name} is empty: it is removed, because llama.cpp would stop at it.", name=name),
                          Text("Give it a value or take it out."))


def variable_names(q: Question) -> Iterator[Issue]:
    """A name that no system takes: it is never written into a command line, where it could be read as a command."""
    for name, _ in q.plan.environment:
        if not is_name(name):
            yield error("bad-variable", None, Text("“{name}” is no name of a variable.", name=name),
                        Text("Take it out."), ((f"{VARIABLE}{name}", None),))


def unexpanded(q: Question) -> Iterator[Issue]:
    """Nothing between the plan and the program puts values in for variables."""
    for name, value in q.plan.environment:
        if _VARIABLE.search(value):
            yield warning("not-expanded", None,
                          Text("{name} holds a variable, which is passed on as it stands: {value}", name=name,
                               value=value), Text("Write its value."))
    for setting in q.plan:
        if takes_paths(setting) and setting.value is not None and _VARIABLE.search(setting.value):
            yield warning("not-expanded", setting.option,
                          Text("The path holds a variable, which is passed on as it stands: {value}",
                               value=setting.value), Text("Write its value."))


def sudo(q: Question) -> Iterator[Issue]:
    """sudo drops the environment that the launch relies on."""
    if q.plan.prefix and q.plan.prefix[0] in ("sudo", "doas"):
        yield warning("sudo", None, Text("{name} drops variables: keys and device order may not arrive, and the "
                                         "server cannot be stopped without it.", name=q.plan.prefix[0]),
                      Text("Run without it."))
