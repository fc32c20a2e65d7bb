"""A command in the forms that other programs take. Keys appear as names of variables only."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath

from paddock.engine.model import Engine
from paddock.errors import AppError
from paddock.launch import quoting
from paddock.launch.catalogue import CATALOGUE, Group, Kind
from paddock.launch.catalogue import Option as CatalogueOption
from paddock.launch.command_line import command
from paddock.launch.model import Command, Plan, Setting
from paddock.launch.parsing import read_settings
from paddock.launch.secret_reference import shown_word
from paddock.launch.variables import is_name
from paddock.text import Text

_ADDRESS = frozenset(("host", "port", "reuse-port", "api-key", "api-key-file", "ssl-key-file", "ssl-cert-file",
                      "api-prefix", "models-dir", "models-preset", "models-max", "models-autoload"))
"""What belongs to a router itself, not to one of its models."""
_IMAGES = {"cuda": "server-cuda", "rocm": "server-rocm", "vulkan": "server-vulkan", "sycl": "server-intel",
           "musa": "server-musa"}
_CARDS = {"cuda": ("--gpus", "all"), "rocm": ("--device", "/dev/kfd", "--device", "/dev/dri"),
          "vulkan": ("--device", "/dev/dri"), "sycl": ("--device", "/dev/dri")}


@dataclass(frozen=True)
class _Parts:
    """What every format is made of."""

    prefix: tuple[str, ...]
    program: tuple[str, ...]
    flags: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    keys: tuple[tuple[str, str], ...]
    """(variable that llama.cpp reads, variable that holds the key)."""
    name: str
    device: str | None
    """Kind of the engine's first device."""

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.prefix, *self.program, *self.flags)

    @property
    def settings(self) -> tuple[Setting, ...]:
        return read_settings(self.flags)[0]


def export(
    what: Command | Plan, format: str, *, engine: Engine | None = None, additions: bool = False, name: str | None = None
) -> str:
    """The command as text in one of `FORMATS`.

    `additions`: with what Paddock adds for itself. `name`: of the model in a preset or a llama-swap file, of the unit
    for systemd; taken from alias or file unless given. AppError for an unknown format, or for a value that the format
    cannot hold.
    """
    make = _WRITERS.get(format)
    if make is None:
        raise AppError(Text("There is no export format “{name}”.", name=format),
                       hint=Text("Choose one of {formats}.", formats=", ".join(FORMATS)))
    made = what if isinstance(what, Command) else command(what, engine)
    odd = next((name for name, _ in (*made.own_env, *made.secrets) if not is_name(name)), None)
    if odd is not None:
        raise AppError(Text("“{name}” is no name of a variable.", name=odd), hint=Text("Take it out of the plan."))
    added = made.additions if additions else ()
    flags = (*made.own_argv, *(word for a in added for word in a.argv))
    return make(_Parts(
        prefix=tuple(map(shown_word, made.prefix)), program=made.program, flags=flags,
        variables=(*made.own_env, *(pair for a in added for pair in a.environment)),
        keys=_keys(made.secrets),
        name=name or _name(read_settings(flags)[0]),
        device=engine.devices[0].kind if engine is not None and engine.devices else None))


def _keys(secrets: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Each variable once; a key in another variable is read from there, every other from its own name."""
    out: dict[str, str] = {}
    for variable, reference in secrets:
        out.setdefault(variable, reference.removeprefix("env:") if reference.startswith("env:") else variable)
    return tuple(out.items())


def _name(settings: Sequence[Setting]) -> str:
    plan = Plan(tuple(settings))
    named = plan.get("alias") or plan.get("hf-repo")
    if named:
        return named.split(",")[0]
    path = plan.get("model")
    return re.split(r"[/\\]", path)[-1].removesuffix(".gguf") if path else "model"


def _argv(parts: _Parts) -> str:
    return json.dumps(list(parts.words), ensure_ascii=False)


def _posix(parts: _Parts) -> str:
    variables = [f"{name}={shlex.quote(value)}" for name, value in parts.variables]
    keys = [f'{name}="${{{source}}}"' for name, source in parts.keys]
    return " ".join((*variables, *keys, *(shlex.quote(word) for word in parts.words)))


def _powershell(parts: _Parts) -> str:
    lines = [f"$env:{name} = {_powershell_text(value)}" for name, value in parts.variables]
    lines += [f"$env:{name} = $env:{source}" for name, source in parts.keys]
    lines.append("& " + " ".join(quoting.powershell(word) for word in parts.words))
    return "\n".join(lines) + "\n"


def _powershell_text(value: str) -> str:
    quoted = quoting.powershell(value)
    return quoted if quoted.startswith("'") else f"'{quoted}'"


def _cmd(parts: _Parts) -> str:
    lines = ["@echo off", "setlocal"]
    for name, value in parts.variables:
        if re.search(r'["\r\n]', value):
            raise AppError(Text("The value of {name} cannot be written into a batch file.", name=name))
        lines.append(f'set "{name}={value.replace("%", "%%")}"')
    lines += [f'set "{name}=%{source}%"' for name, source in parts.keys]
    lines.append(" ".join(quoting.batch(word) for word in parts.words))
    return "\r\n".join(lines) + "\r\n"


def _systemd(parts: _Parts) -> str:
    lines = ["[Unit]", f"Description=llama.cpp server, {_one_line(parts.name).replace('%', '%%')}",
             "After=network.target", "", "[Service]"]
    lines += [f"Environment={quoting.unit(f'{name}={value}', variables=False)}" for name, value in parts.variables]
    lines += [f"# {name} is read from this file, which only its owner may read: {name}=…\n"
              f"EnvironmentFile=%E/llama-server/keys.env" for name, _ in parts.keys[:1]]
    lines.append("ExecStart=" + " ".join(quoting.unit(word) for word in parts.words))
    lines += ["Restart=on-failure", "TimeoutStopSec=15", "", "[Install]", "WantedBy=default.target"]
    return "\n".join(lines) + "\n"


def _preset(parts: _Parts) -> str:
    """llama.cpp's INI for --models-preset: one key for each option, the last value or a list for those that add up."""
    values: dict[str, str] = {}
    left_out = [f"{name}={value}" for name, value in parts.variables]
    for setting in parts.settings:
        option = CATALOGUE.get(setting.option)
        if option is None or option.id in _ADDRESS or option.kind is Kind.RANGE or option.group is Group.PROGRAM:
            left_out.append(" ".join((setting.option, *setting.values)))
            continue
        key = option.long_name.lstrip("-")
        value = setting.value if setting.value is not None else ("true" if setting.on else "false")
        if re.search(r"[\r\n]", value):
            raise AppError(Text("A value of {key} has a line break, which a preset cannot hold.", key=key))
        if re.search("[;#]", value) or value != value.strip(" \t"):
            # preset.cpp has no quotes: it ends a value at the first of these signs and cuts spaces off.
            raise AppError(Text("A value of {key} has “;”, “#” or spaces at an end, which a preset cannot hold.",
                                key=key),
                           hint=Text("Export it in another form, or set it in a request."))
        values[key] = f"{values[key]},{value}" if option.appends and key in values else value
    lines = ["version = 1", ""]
    lines += [f"; left out: {_one_line(item)}" for item in left_out]
    name = re.sub(r"[\[\];#]", "_", _one_line(parts.name))
    lines += [f"[{name}]", *(f"{key} = {value}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def _llama_swap(parts: _Parts) -> str:
    """One model of a llama-swap configuration; llama-swap chooses the port."""
    flags = list(_without(parts.flags, "port", "host"))
    if any(re.search(r"[\r\n]", word) for word in (*flags, *(value for _, value in parts.variables))):
        raise AppError(Text("A value has a line break, which llama-swap would take for a space."),
                       hint=Text("Keep the text in a file."))
    words = [shlex.quote(word) for word in (*parts.prefix, *parts.program, *flags)]
    entry: dict[str, object] = {"cmd": " ".join((*words, "--host 127.0.0.1 --port ${PORT}"))}
    variables = [f"{name}={value}" for name, value in parts.variables]
    variables += [f"{name}=${{env.{source}}}" for name, source in parts.keys]
    if variables:
        entry["env"] = variables
    import yaml

    # YAML has line ends besides \r and \n, and would read them as spaces: escaping what is not ASCII keeps them.
    plain = not any(re.search("[\x85\u2028\u2029]", text) for text in (parts.name, *words, *variables))
    return yaml.safe_dump({"models": {parts.name: entry}}, allow_unicode=plain, sort_keys=False, width=10_000)


def _docker(parts: _Parts) -> str:
    """`docker run` with the folders of all files mounted read-only where they are."""
    port = Plan(parts.settings).get("port") or "8080"
    words = ["docker", "run", "--rm", "-p", f"127.0.0.1:{port}:{port}", *_CARDS.get(parts.device or "", ())]
    for folder in _folders(parts.settings):
        words += ["-v", f"{folder}:{_inside(folder)}:ro"]
    for name, value in parts.variables:
        words += ["-e", f"{name}={value}"]
    quoted = [shlex.quote(word) for word in words]
    for name, source in parts.keys:
        quoted += ["-e", name if name == source else f'{name}="${{{source}}}"']
    image = f"ghcr.io/ggml-org/llama.cpp:{_IMAGES.get(parts.device or '', 'server')}"
    rest = (image, *_as_inside(_without(parts.flags, "host", "port")), "--host", "0.0.0.0", "--port", port)
    return " ".join((*quoted, *(shlex.quote(word) for word in rest)))


def _folders(settings: Sequence[Setting]) -> list[str]:
    out: list[str] = []
    for setting in settings:
        option = CATALOGUE.get(setting.option)
        if option is None or option.kind not in (Kind.PATH, Kind.FOLDER) or not setting.value:
            continue
        path = PureWindowsPath(setting.value) if "\\" in setting.value else PurePosixPath(setting.value)
        folder = str(path if option.kind is Kind.FOLDER else path.parent)
        if path.is_absolute() and folder not in out:
            out.append(folder)
    return out


def _inside(path: str) -> str:
    """Where a path of this machine lies in a container: in the same place, or under /mnt where that is a drive."""
    if "\\" not in path:
        return path
    windows = PureWindowsPath(path)
    return str(PurePosixPath("/mnt", windows.drive.rstrip(":").lower() or "c", *windows.parts[1:]))


def _as_inside(flags: Sequence[str]) -> tuple[str, ...]:
    """The words with each Windows path as the container sees it."""
    out: list[str] = []
    after: CatalogueOption | None = None
    for word in flags:
        path = after is not None and after.kind in (Kind.PATH, Kind.FOLDER)
        out.append(_inside(word) if path and PureWindowsPath(word).is_absolute() else word)
        found = CATALOGUE.of(word) if after is None else None
        after = found.option if found is not None and not found.option.is_switch else None
    return tuple(out)


def _without(flags: Sequence[str], *options: str) -> tuple[str, ...]:
    """The words without these options (each of one value)."""
    out: list[str] = []
    at = 0
    while at < len(flags):
        found = CATALOGUE.of(flags[at])
        width = 1 + (found.option.value_count if found is not None else 0)
        if found is None or found.option.id not in options:
            out.extend(flags[at:at + width])
        at += width
    return tuple(out)


def _one_line(text: str) -> str:
    return " ".join(text.split())


_WRITERS: dict[str, Callable[[_Parts], str]] = {
    "argv": _argv, "posix": _posix, "powershell": _powershell, "cmd": _cmd, "systemd": _systemd, "preset": _preset,
    "llama-swap": _llama_swap, "docker": _docker,
}
FORMATS = tuple(_WRITERS)
"""Names of the formats, as on the command line."""
