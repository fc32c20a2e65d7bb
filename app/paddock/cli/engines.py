"""paddock engines, devices, doctor: which llama.cpp, which devices, and a report of both for a problem."""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Any

import click

from paddock import __version__
from paddock.cli.arguments import Globals
from paddock.cli.output import document, facts, line, note, table
from paddock.text import Text
from paddock.units import bytes_text, count_text

if TYPE_CHECKING:
    from paddock.engine.model import Engine
    from paddock.hardware.model import Machine
    from paddock.work import Workspace


@click.command()
@click.pass_obj
def engines(options: Globals) -> int:
    """Every llama.cpp found here, the default first, and what each can do."""
    from paddock.work import Workspace

    found = Workspace(options.data_dir, options.engine).engines()
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


def device_dict(d: Any) -> dict[str, Any]:
    """The JSON form of a device, as the engine or as the machine has it."""
    return {"name": d.name, "kind": d.kind, "description": d.description, "total": d.total_bytes, "free": d.free_bytes}


@click.command()
@click.pass_obj
def devices(options: Globals) -> int:
    """The devices that the engine can use, with their memory, and the host."""
    from paddock.work import Workspace

    workspace = Workspace(options.data_dir, options.engine)
    engine = workspace.engine()
    machine = workspace.machine(engine)
    if options.json:
        document(machine_dict(machine))
        return 0
    rows: list[tuple[Any, ...]] = [
        (d.name, d.description, bytes_text(d.total_bytes), bytes_text(d.free_bytes), d.match_note or "")
        for d in machine.devices]
    rows.append((Text("Host, RAM"), machine.cpu_name or "", bytes_text(machine.ram_total_bytes),
                 bytes_text(machine.ram_available_bytes), ""))
    table([Text("Device"), Text("Description"), Text("Total"), Text("Free"), ""], rows, (2, 3))
    if engine is None:
        note(Text("No llama.cpp was found, so its devices are not known."))
    elif engine.devices_error:
        note(engine.devices_error)
    for text in machine.notes:
        note(text)
    return 0


def machine_dict(m: Machine) -> dict[str, Any]:
    """The JSON form of the machine."""
    return {"system": m.system, "cpu": m.cpu_name, "physical_cores": m.physical_cores, "logical_cores": m.logical_cores,
            "numa_nodes": m.numa_nodes, "load_1min": m.load_1min,
            "devices": [{**device_dict(d), "integrated": d.integrated,
                         "card": d.gpu.name if d.gpu else None, "pci": d.gpu.pci_id if d.gpu else None,
                         "note": str(d.match_note) if d.match_note else None} for d in m.devices],
            "host": {"total": m.ram_total_bytes, "free": m.ram_available_bytes},
            "cards": [{"index": g.index, "name": g.name, "total": g.total_bytes, "pci": g.pci_id, "driver": g.driver,
                       "cuda": g.cuda, "error": str(g.error) if g.error else None} for g in m.gpus],
            "notes": [str(n) for n in m.notes]}


@click.command()
@click.pass_obj
def doctor(options: Globals) -> int:
    """A problem report: engines, devices, folders, versions. No model names, prompts or keys are in it."""
    from paddock.work import Workspace

    workspace = Workspace(options.data_dir, options.engine)
    report = _report(workspace)
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
    line("")
    line(Text("Devices"))
    machine = report["machine"]
    for d in machine["devices"]:
        line(f"  {d['name']}: {d['description']}, {bytes_text(d['total'])}, {bytes_text(d['free'])} free")
    host = machine["host"]
    line(f"  {machine['cpu'] or 'CPU'}: {bytes_text(host['total'])}, {bytes_text(host['free'])} free")
    for text in [*machine["notes"], *report["notices"]]:
        line(f"  {text}")
    return 0


def _report(workspace: Workspace) -> dict[str, Any]:
    from importlib import metadata

    from paddock.work.conditions import disk_free

    libraries = {}
    for name in ("PySide6_Essentials", "pyqtgraph", "numpy", "psutil", "nvidia-ml-py", "gguf", "aiohttp"):
        try:
            libraries[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            libraries[name] = "not installed"
    found = workspace.engines()
    usable = next((e for e in found if e.error is None), None)
    return {"paddock": __version__, "python": sys.version.split()[0], "system": platform.platform(),
            "data_dir": str(workspace.paths.root), "disk_free": disk_free(workspace.paths.root),
            "libraries": libraries, "engines": [engine_dict(e) for e in found],
            "machine": machine_dict(workspace.machine(usable)), "notices": [str(n) for n in workspace.notices]}
