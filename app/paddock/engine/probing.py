"""Makes an `Engine` of a path: facts (asked or from the cache), tools beside it, devices listed afresh."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from paddock.engine import facts, packages, places, tools
from paddock.engine.asking import NotAnEngineError, ask
from paddock.engine.devices import list_devices
from paddock.engine.facts import Facts
from paddock.engine.model import Engine
from paddock.errors import AppError
from paddock.text import Text


def probe(
    path: str | Path,
    *,
    source: str,
    cache: Path | None = None,
    timeout_s: float = 10,
    environ: Mapping[str, str] | None = None,
) -> Engine:
    """The engine at a path, or an `Engine` whose `error` says why it is none; never an exception.

    `path` is a program or a folder that holds one. Where it is no server, the servers beside it are tried: a person
    points at llama-cli, and another program may be called `llama`. With a `cache` folder the options and version of
    an unchanged file are not asked again. Each question may take `timeout_s` seconds.
    """
    program, environ = Path(path), os.environ if environ is None else environ
    if program.is_dir():
        program = next(places.inside(program), program)
    if not places.is_file(program):
        return _refused(program, source, _absent(program))
    packages.make_links(program)
    reason: Text | None = None
    for one in dict.fromkeys((program, *_beside(program))):
        try:
            known = _facts(one, cache, timeout_s, environ)
        except NotAnEngineError as error:
            reason = reason or error.reason
            continue
        return _with_devices(_engine(one, source, known), timeout_s, environ)
    return _refused(program, source, reason or _absent(program))


def _facts(program: Path, cache: Path | None, timeout_s: float, environ: Mapping[str, str]) -> Facts:
    if cache and (kept := facts.load(cache, program)):
        return kept
    known = ask(program, timeout_s=timeout_s, environ=environ)
    if cache:
        facts.save(cache, program, known)
    return known


def _beside(program: Path) -> Iterator[Path]:
    for name in places.SERVER_NAMES:
        path = program.parent / f"{name}{places.EXE}"
        if places.is_file(path):
            yield path


def _engine(program: Path, source: str, known: Facts) -> Engine:
    package_build = packages.build_of(program)
    number = known.build or package_build
    label = str(number) if number else (known.version or "").split(" ")[0]
    return Engine(
        name=f"llama.cpp {label} ({source})" if label else f"{program.name} ({source})",
        path=program,
        serve=(str(program), *known.serve),
        source=source,
        version=known.version,
        build=known.build,
        commit=known.commit,
        package_build=package_build,
        compiler=known.compiler,
        subcommands=known.subcommands,
        options=known.options,
        flags_verified=known.flags_verified,
        help_text=known.help_text,
        tools=tools.locate(program, known.subcommands),
        environment=dict(known.environment),
    )


def _with_devices(engine: Engine, timeout_s: float, environ: Mapping[str, str]) -> Engine:
    try:
        return dataclasses.replace(
            engine, devices=list_devices(engine, timeout_s=timeout_s, environ=environ))
    except AppError as error:
        return dataclasses.replace(engine, devices_error=Text("{what} {why}", what=error.what, why=error.why or ""))


def _refused(program: Path, source: str, reason: Text) -> Engine:
    return Engine(name=f"{program.name} ({source})", path=program, serve=(str(program),), source=source, error=reason)


def _absent(program: Path) -> Text:
    if program.is_dir():
        return Text("There is no llama.cpp server in the folder {path}.", path=program)
    return Text("There is no file {path}.", path=program)
