"""Learns from a program itself what it is: its version, its commands, its options."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from paddock.engine.facts import Facts
from paddock.engine.helptext import parse_help
from paddock.engine.running import Output, ending, probe_environment, run
from paddock.engine.versions import parse_version
from paddock.text import Text

_COMMANDS_HEADER = "Available commands:"
_COMMAND = re.compile(r"^  (?P<name>[a-z][a-z0-9-]*)\s{2,}\S", re.M)
_MISSING_LIBRARY = re.compile(r"error while loading shared libraries|Library not loaded|cannot open shared object file")
_LIBRARY_VARIABLE = {"darwin": "DYLD_LIBRARY_PATH", "win32": "PATH"}.get(sys.platform, "LD_LIBRARY_PATH")
_SERVER_FLAGS = frozenset({"--model", "--ctx-size", "--port"})


class NotAnEngineError(Exception):
    """The program is no llama.cpp server, or does not run here; `reason` is a sentence for people."""

    def __init__(self, reason: Text) -> None:
        super().__init__(str(reason))
        self.reason = reason


def ask(program: Path, *, timeout_s: float, environ: Mapping[str, str]) -> Facts:
    """The facts about a program; NotAnEngineError with the reason where it is none.

    Where its shared libraries are not found although they lie beside it, it is asked again with their folder in the
    library path, which then belongs to the facts.
    """
    facts = _ask(program, timeout_s, environ, {})
    if facts is None and (extra := _library_path(program, environ)):
        facts = _ask(program, timeout_s, environ, extra)
    if facts is None:
        with probe_environment(environ, {}) as kept:
            line = _run(program, ("--version",), timeout_s, kept).last_error_line
        raise NotAnEngineError(Text("It does not start, a library that it needs is missing: {line}", line=line))
    return facts


def _ask(program: Path, timeout_s: float, environ: Mapping[str, str], extra: dict[str, str]) -> Facts | None:
    """None: it lacks a shared library."""
    with probe_environment(environ, extra) as kept:
        about = _run(program, ("--version",), timeout_s, kept)
        if about.code != 0 and _MISSING_LIBRARY.search(about.both):
            return None
        helped = _run(program, ("--help",), timeout_s, kept)
        serve: tuple[str, ...] = ()
        subcommands: tuple[str, ...] = ()
        if _COMMANDS_HEADER in helped.both:
            subcommands = _commands(_run(program, ("help", "all"), timeout_s, kept).both) or _commands(helped.both)
            if "serve" not in subcommands:
                raise NotAnEngineError(Text("This llama.cpp program has no “serve” command."))
            serve = ("serve",)
            helped = _run(program, ("serve", "--help"), timeout_s, kept)
    facts = _facts(about, helped, timeout_s)
    return msgspec.structs.replace(facts, serve=serve, subcommands=subcommands, environment=extra)


def _facts(about: Output, helped: Output, timeout_s: float) -> Facts:
    version = parse_version(about.both)
    help_text = helped.stdout if "--" in helped.stdout else helped.both
    options, verified = parse_help(help_text)
    names = {name for option in options for name in option.names}
    if "--port" not in help_text or (version is None and not names >= _SERVER_FLAGS):
        raise NotAnEngineError(_why_not(about, helped, version is not None, timeout_s))
    return Facts(
        serve=(),
        version=version.text if version else None,
        build=version.build if version else None,
        commit=version.commit if version else None,
        compiler=version.compiler if version else None,
        subcommands=(),
        options=options,
        flags_verified=verified,
        help_text=help_text,
        environment={},
    )


def _why_not(about: Output, helped: Output, is_llama: bool, timeout_s: float) -> Text:
    failed = next((output for output in (about, helped) if output.code != 0), None)
    crashed = failed is not None and (failed.code is None or failed.code < 0 or failed.code > 127)
    if failed is not None and (is_llama or crashed):
        how = ending(failed.code, timeout_s)
        if "SIGILL" in str(how) or "illegal instruction" in str(how):
            return Text("It does not run on this processor: {how}.", how=how)
        line = failed.last_error_line
        return Text("It does not run: {how}: {line}", how=how, line=line) if line else Text(
            "It does not run: {how}.", how=how)
    if is_llama:
        return Text("It is a program of llama.cpp, but not its server.")
    return Text("It is not a llama.cpp server.")


def _commands(text: str) -> tuple[str, ...]:
    _, _, after = text.partition(_COMMANDS_HEADER)
    return tuple(match["name"] for match in _COMMAND.finditer(after))


def _run(program: Path, arguments: tuple[str, ...], timeout_s: float, environ: Mapping[str, str]) -> Output:
    try:
        return run((str(program), *arguments), timeout_s=timeout_s, environ=environ)
    except OSError as error:
        raise NotAnEngineError(Text("It cannot be started: {reason}.", reason=error.strerror or str(error))) from error


def _library_path(program: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The folders in which a release archive or a build puts the libraries, before those that are set already."""
    folder = program.resolve().parent
    places = [str(path) for path in (folder, folder.parent / "lib", folder.parent / "lib64") if path.is_dir()]
    if before := environ.get(_LIBRARY_VARIABLE):
        places.append(before)
    return {_LIBRARY_VARIABLE: os.pathsep.join(places)}
