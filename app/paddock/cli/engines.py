"""paddock engines, doctor: which llama.cpp, and a report of it, the devices and the folders for a problem."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from paddock import __version__
from paddock.cli.arguments import Globals
from paddock.cli.devices import device_dict, doctor_lines, machine_dict
from paddock.cli.output import document, facts, line, note, table
from paddock.text import Text
from paddock.units import count_text

if TYPE_CHECKING:
    from paddock.engine.model import Engine
    from paddock.hardware.model import Machine
    from paddock.work import Workspace


@click.command()
@click.pass_obj
def engines(options: Globals) -> int:
    """Every llama.cpp found here, the default first, and what each can do."""

    found = options.workspace().engines()
    if options.json:
        document([engine_dict(e) for e in found])
        return 0
    if not found:
        note(Text("No llama.cpp was found. Install one (or run scripts/start.py), or name it with --engine PATH."))
        return 0
    table([Text("Engine"), Text("Version"), Text("Options"), Text("Devices"), Text("Found in"), Text("Path")],
          ((e.name, e.version or str(e.error or "n/a"), count_text(len(e.by_flag)) if e.options else "n/a",
            ", ".join(d.name for d in e.devices) or "-", e.source, e.path) for e in found), (2,))
    return 0


def engine_dict(e: Engine) -> dict[str, Any]:
    """The JSON form of an engine."""
    return {"name": e.name, "path": str(e.path), "serve": list(e.serve), "source": e.source, "version": e.version,
            "build": e.build, "package_build": e.package_build, "commit": e.commit, "options": len(e.options),
            "flags_verified": e.flags_verified, "rpc": e.knows("--rpc"), "subcommands": list(e.subcommands),
            "tools": {k: list(v) for k, v in e.tools.items()}, "devices": [device_dict(d) for d in e.devices],
            "devices_error": str(e.devices_error) if e.devices_error else None,
            "error": str(e.error) if e.error else None}


@click.command()
@click.pass_obj
def doctor(options: Globals) -> int:
    """A problem report: engines, devices, folders, versions. No model names, prompts or keys are in it."""

    workspace = options.workspace()
    found = workspace.engines()
    machine = workspace.machine(next((e for e in found if e.error is None), None), again=True)
    report = _report(workspace, found, machine)
    if options.json:
        document(report)
        return 0
    facts([(Text("Paddock"), report["paddock"]), (Text("Python"), report["python"]), (Text("System"), report["system"]),
           (Text("Data folder"), report["data_dir"])])
    for name, version in report["libraries"].items():
        line(f"  {name} {version}")
    line("")
    line(Text("Engines"))
    for e in report["engines"]:
        line(f"  {e['name']}: {e['version'] or e['error']} ({e['path']})")
        if e["error"] is None:
            line(f"    {_rpc_words(e)}")
    line("")
    line(Text("Devices"))
    for text in doctor_lines(machine):
        line(f"  {text}")
    errors = [e["devices_error"] for e in report["engines"] if e["devices_error"]]
    for text in [*errors, *report["machine"]["notes"], *report["notices"]]:
        line(f"  {text}")
    line(f"  {Text('{count} RPC host kept', plural='{count} RPC hosts kept', count=report['rpc_hosts'])}")
    return 0


def _rpc_words(engine: dict[str, Any]) -> Text:
    """What an engine can do with other computers' devices."""
    uses, lends = engine["rpc"], "rpc-server" in engine["tools"]
    if uses and lends:
        return Text("It can use RPC hosts, and lend this computer's devices.")
    if uses:
        return Text("It can use RPC hosts; it has no ggml-rpc-server to lend devices with.")
    return Text("RPC is not in this engine.") if uses is False else Text("Whether it has RPC is not known.")


def _report(workspace: Workspace, found: Sequence[Engine], machine: Machine) -> dict[str, Any]:
    from importlib import metadata

    from paddock.work.conditions import disk_free

    libraries = {}
    for name in ("PySide6_Essentials", "pyqtgraph", "numpy", "psutil", "nvidia-ml-py", "gguf", "aiohttp"):
        try:
            libraries[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            libraries[name] = "not installed"
    return {"paddock": __version__, "python": sys.version.split()[0], "system": platform.platform(),
            "data_dir": str(workspace.paths.root), "disk_free": disk_free(workspace.paths.root),
            "libraries": libraries, "engines": [engine_dict(e) for e in found],
            "machine": machine_dict(machine), "rpc_hosts": len(workspace.rpc.kept),
            "notices": [str(n) for n in workspace.notices]}
