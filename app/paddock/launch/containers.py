"""`docker run` and `podman run`: what stands before the image, turned into what it means outside of the container."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.model import Plan, Setting
from paddock.launch.secret_reference import SECRET_VARIABLES
from paddock.launch.spelling import takes_paths

PROGRAMS = ("docker", "podman", "nerdctl")
_FLAGS = frozenset((
    "-d", "--detach", "-i", "--interactive", "-t", "--tty", "-it", "-ti", "-dit", "--rm", "--init", "--privileged",
    "--read-only", "-P", "--publish-all", "--no-healthcheck", "-q", "--quiet", "--sig-proxy", "--oom-kill-disable",
))
"""Options of docker that take no value; of all others the next word is the value (docs.docker.com, container run)."""


@dataclass(frozen=True)
class Container:
    """Folders as (outside, inside), ports likewise, variables; and where the words after the image begin."""

    folders: tuple[tuple[str, str], ...]
    ports: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    after: int


def read(words: Sequence[str]) -> Container | None:
    """What `docker run …` says; None where no image is found. `words[0]` is docker."""
    folders: list[tuple[str, str]] = []
    ports: list[tuple[str, str]] = []
    environment: list[tuple[str, str]] = []
    at = next((n + 1 for n, word in enumerate(words[:4]) if word == "run"), 0)
    if not at:
        return None
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        if not equals and name not in _FLAGS:
            at += 1
            value = words[at] if at < len(words) else ""
        at += 1
        if name in ("-v", "--volume"):
            folders += _volume(value)
        elif name == "--mount":
            folders += _mount(value)
        elif name in ("-p", "--publish"):
            ports += _port(value)
        elif name in ("-e", "--env") and ("=" in value or value in SECRET_VARIABLES):
            # Without a value docker hands on what is set outside: nothing to keep, but for a key.
            variable, _, content = value.partition("=")
            environment.append((variable, content if "=" in value else f"${variable}"))
    return Container(tuple(folders), tuple(ports), tuple(environment), at + 1) if at < len(words) else None


def _volume(text: str) -> list[tuple[str, str]]:
    """OUTSIDE:INSIDE[:ro]; a drive letter has a colon of its own."""
    match = re.fullmatch(r"((?:[A-Za-z]:[\\/])?[^:]*):([^:]+)(?::[\w,]+)?", text)
    return [(match[1], match[2])] if match and re.search(r"[\\/~$.]", match[1]) else []


def _mount(text: str) -> list[tuple[str, str]]:
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    outside = parts.get("source") or parts.get("src")
    inside = parts.get("target") or parts.get("dst") or parts.get("destination")
    return [(outside, inside)] if outside and inside and parts.get("type", "bind") == "bind" else []


def _port(text: str) -> list[tuple[str, str]]:
    parts = text.partition("/")[0].split(":")
    return [(parts[-2], parts[-1])] if len(parts) > 1 and parts[-2] else []


def outside(plan: Plan, container: Container) -> Plan:
    """The same plan with paths and port as they are outside of the container, and with its variables."""
    settings = tuple(_moved(setting, container) for setting in plan)
    port = plan.get("port") or plan.variable("LLAMA_ARG_PORT") or "8080"
    published = next((out for out, inner in container.ports if inner == port), None)
    variables = tuple((name, _path(value, container) if _names_path(name) else value)
                      for name, value in container.environment)
    moved = Plan(settings, (*variables, *plan.environment), plan.prefix, plan.engine, plan.extra)
    if published is not None and published != port:
        moved = moved.with_("port", published)
    # Inside, the server listens on all addresses so that docker can reach it; outside nothing asks for that.
    return moved.without("host") if moved.get("host") == "0.0.0.0" and container.ports else moved


def _names_path(variable: str) -> bool:
    found = CATALOGUE.of_env(variable)
    return found is not None and takes_paths(Setting(found.option.id))


def _moved(setting: Setting, container: Container) -> Setting:
    if not takes_paths(setting):
        return setting
    return Setting(setting.option, tuple(_path(value, container) for value in setting.values), setting.on)


def _path(value: str, container: Container) -> str:
    for out, inner in sorted(container.folders, key=lambda pair: -len(pair[1])):
        try:
            rest = PurePosixPath(value).relative_to(inner)
        except ValueError:
            continue
        return out if str(rest) == "." else f"{out.rstrip('/')}/{rest}"
    return value
