"""Docker compose files (YAML): each service of llama.cpp, read as the `docker run` that it stands for.

Source: docs.docker.com, Compose file reference (services, interpolation).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from paddock.errors import AppError
from paddock.launch.importing.imported import Form, Imported, kept, shell_words, with_extra, written
from paddock.launch.parsing import parse
from paddock.text import Text

_OURS = re.compile(r"llama[.-]?(?:cpp|server)", re.IGNORECASE)
_READ = ("command", "entrypoint", "volumes", "ports", "environment", "network_mode", "container_name")
_SILENT = ("restart", "depends_on", "healthcheck", "networks", "labels", "profiles", "stop_grace_period", "tty",
           "stdin_open", "init", "pull_policy")
"""What says nothing about the server."""
_RUN = ("docker", "run", "--rm")
_VARIABLE = re.compile(r"\$\$|\$\{(\w+)(?::?([-?+])([^}]*))?\}")


def _is_compose(text: str, hint: str) -> bool:
    return re.search(r"^services:\s*$", text, re.MULTILINE) is not None and _OURS.search(text) is not None


def _compose(text: str) -> Iterator[Imported]:
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise AppError(Text("The compose file is damaged in line {line}.", line=mark.line + 1 if mark else "?"),
                       why=getattr(error, "problem", None)) from error
    services = found.get("services") if isinstance(found, dict) else None
    if not isinstance(services, dict):
        raise AppError(Text("The compose file lists no services."))
    for name, service in services.items():
        if isinstance(service, dict) and _OURS.search(_said(service)):
            plan = parse(shlex.join(_docker(service)))
            if plan.settings or plan.environment:
                plan = replace(plan, extra=tuple(word for word in plan.extra if word not in (*_RUN, _image(service))))
                yield Imported(with_extra(plan, kept(service, (*_READ, *_SILENT))), str(name), "compose")


def _image(service: Mapping[str, Any]) -> str:
    return str(service.get("image") or "llama.cpp")


def _said(service: Mapping[str, Any]) -> str:
    return " ".join(word for key in ("image", "entrypoint", "command") for word in _words(service.get(key)))


def _docker(service: Mapping[str, Any]) -> list[str]:
    """The words of the docker run that does the same."""
    words = list(_RUN)
    if service.get("network_mode") == "host":
        words += ["--network", "host"]
    for volume in _several(service.get("volumes")):
        words += _mount(volume)
    for port in _several(service.get("ports")):
        words += _port(port)
    for variable in _variables(service.get("environment")):
        words += ["-e", variable]
    entry = _words(service.get("entrypoint"))
    # The image's own program is what its flags go to; of another entry the words before the flags say nothing to us.
    named = next((n for n, word in enumerate(entry) if word.startswith("-")), len(entry))
    return [*words, _image(service), *entry[named:], *_words(service.get("command"))]


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _words(value: Any) -> list[str]:
    """A text as a shell cuts it, or a list as it is; what compose fills in is filled in."""
    if isinstance(value, list):
        return [_filled(written(one)) for one in value]
    return shell_words(_filled(value)) if isinstance(value, str) else []


def _filled(text: str) -> str:
    """`${NAME:-default}` is its default, as for somebody who sets nothing; one without a default stays a variable."""
    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return str(match[3]) if match[2] == "-" else f"${{{match[1]}}}"

    return _VARIABLE.sub(value, text)


def _mount(volume: Any) -> Sequence[str]:
    if isinstance(volume, dict):
        if volume.get("type", "bind") != "bind" or not volume.get("source") or not volume.get("target"):
            return ()
        return ("-v", f"{_filled(str(volume['source']))}:{_filled(str(volume['target']))}")
    return ("-v", _filled(str(volume)))


def _port(port: Any) -> Sequence[str]:
    if isinstance(port, dict):
        if not port.get("published") or not port.get("target"):
            return ()
        at = f"{port['host_ip']}:" if port.get("host_ip") else ""
        return ("-p", f"{at}{port['published']}:{port['target']}")
    text = _filled(str(port))
    return ("-p", text) if ":" in text else ()


def _variables(value: Any) -> list[str]:
    """NAME=value; a NAME alone is handed on from outside."""
    if isinstance(value, dict):
        return [str(name) if one is None else f"{name}={_filled(written(one))}" for name, one in value.items()]
    return [_filled(str(one)) for one in _several(value)]


COMPOSE = Form(_is_compose, _compose)
