"""`docker run` and `podman run`: what stands before the image, turned into what it means outside of the container."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.model import Plan, Setting
from paddock.launch.secret_reference import is_key
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
    addresses: tuple[str, ...] = ()
    """For each port the address outside; docker takes all addresses where none is named."""
    host_network: bool = False
    """It shares the network of the machine: nothing is published, everything is reached as it is."""
    kept: tuple[str, ...] = ()
    """The words up to the image, less those that folders, ports and variables were read from."""


def read(words: Sequence[str]) -> Container | None:
    """What `docker run …` says; None where no image is found. `words[0]` is docker."""
    at = next((n + 1 for n, word in enumerate(words[:4]) if word == "run"), 0)
    if not at:
        return None
    found = _Found(kept=list(words[:at]))
    while at < len(words) and words[at].startswith("-"):
        name, equals, value = words[at].partition("=")
        width = 1 if equals or name in _FLAGS else 2
        if width == 2:
            value = words[at + 1] if at + 1 < len(words) else ""
        if not found.take(name, value):
            found.kept += words[at:at + width]
        at += width
    if at >= len(words):
        return None
    return Container(tuple(found.folders), tuple((out, inner) for _, out, inner in found.ports),
                     tuple(found.environment), at + 1, tuple(address for address, _, _ in found.ports), found.shared,
                     (*found.kept, words[at]))


@dataclass
class _Found:
    """What was understood so far, and the words of what was not."""

    kept: list[str]
    folders: list[tuple[str, str]] = field(default_factory=list)
    ports: list[tuple[str, str, str]] = field(default_factory=list)
    environment: list[tuple[str, str]] = field(default_factory=list)
    shared: bool = False

    def take(self, name: str, value: str) -> bool:
        """One option with its value; False for one that says nothing of folders, ports or variables."""
        before = len(self.folders) + len(self.ports) + len(self.environment)
        if name in ("-v", "--volume"):
            self.folders += _volume(value)
        elif name == "--mount":
            self.folders += _mount(value)
        elif name in ("-p", "--publish"):
            self.ports += _port(value)
        elif name in ("--network", "--net"):
            self.shared = value == "host"
        elif name in ("-e", "--env") and ("=" in value or is_key(value)):
            # Without a value docker hands on what is set outside: nothing to keep, but for a key.
            variable, _, content = value.partition("=")
            self.environment.append((variable, content if "=" in value else f"${variable}"))
        return len(self.folders) + len(self.ports) + len(self.environment) > before


def around(prefix: Sequence[str]) -> Container | None:
    """The container that a prefix starts, if it is one: its last word is the image, which brings the engine along."""
    if not prefix or re.split(r"[/\\]", prefix[0])[-1] not in PROGRAMS:
        return None
    found = read(prefix)
    return found if found is not None and found.after == len(prefix) else None


def reached(container: Container, port: int | None) -> tuple[str, int] | None:
    """Address and port outside for this port inside; None where it is not published."""
    for address, (out, inner) in zip(container.addresses, container.ports, strict=True):
        if inner == str(port) and out.isdecimal():
            return address, int(out)
    return None


def _volume(text: str) -> list[tuple[str, str]]:
    """OUTSIDE:INSIDE[:ro]; a drive letter has a colon of its own."""
    match = re.fullmatch(r"((?:[A-Za-z]:[\\/])?[^:]*):([^:]+)(?::[\w,]+)?", text)
    return [(match[1], match[2])] if match and re.search(r"[\\/~$.]", match[1]) else []


def _mount(text: str) -> list[tuple[str, str]]:
    parts = dict(part.partition("=")[::2] for part in text.split(","))
    outside = parts.get("source") or parts.get("src")
    inside = parts.get("target") or parts.get("dst") or parts.get("destination")
    return [(outside, inside)] if outside and inside and parts.get("type", "bind") == "bind" else []


def _port(text: str) -> list[tuple[str, str, str]]:
    """[ADDRESS:]OUTSIDE:INSIDE; an address of IPv6 stands in brackets."""
    match = re.fullmatch(r"(?:(\[[^\]]*\]|[^:]*):)?(\d+):(\d+)(?:/tcp)?", text)
    return [((match[1] or "0.0.0.0").strip("[]"), match[2], match[3])] if match else []


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


def seen_from_here(plan: Plan, path: str) -> str:
    """Where a path of the plan lies on this machine: inside a container it is another one."""
    container = around(plan.prefix)
    return path if container is None else _path(path, container)


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
        if str(rest) == ".":
            return out
        windows = "\\" in out
        return str(PureWindowsPath(out, *rest.parts)) if windows else f"{out.rstrip('/')}/{rest}"
    return value
