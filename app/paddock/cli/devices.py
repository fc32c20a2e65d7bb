"""paddock devices: what the engine can use, what its drivers say of it now, and why they say no more."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.output import document, line, note, table
from paddock.text import Text
from paddock.units import NA, bytes_text, number_text

if TYPE_CHECKING:
    from paddock.hardware.model import Device, DeviceReading, Gpu, Machine
    from paddock.hardware.telling import Row
    from paddock.work.looking import Look


@click.command()
@click.pass_obj
def devices(options: Globals) -> int:
    """The devices that the engine can use, with their memory, what their drivers say now, and the host."""
    from paddock.work.looking import look

    workspace = options.workspace()
    engine = workspace.engine()
    seen = look(workspace.machine(engine, again=True))
    if options.json:
        document({**look_dict(seen), "engine": engine.name if engine else None,
                  "devices_error": str(engine.devices_error) if engine and engine.devices_error else None})
        return 0
    overview(seen.machine)
    details(seen)
    if engine is None:
        note(Text("No llama.cpp was found, so its devices are not known."))
    elif engine.devices_error:
        note(engine.devices_error)
    for text in seen.machine.notes:
        note(text)
    return 0


def overview(machine: Machine) -> None:
    """A line a device, the host last."""
    from paddock.hardware.telling import kind_text

    rows: list[tuple[Any, ...]] = [
        (d.name, d.description, bytes_text(d.total_bytes), _free(d), kind_text(d), d.match_note or "")
        for d in machine.devices]
    rows.append((Text("Host, RAM"), machine.cpu_name or "", bytes_text(machine.ram_total_bytes),
                 bytes_text(machine.ram_available_bytes), "", ""))
    table([Text("Device"), Text("Description"), Text("Total"), Text("Free"), Text("Memory"), ""], rows, (2, 3))


def _free(device: Device) -> str:
    if device.free_bytes is not None and device.free_assumed:
        return f"≤ {bytes_text(device.free_bytes)}"
    return bytes_text(device.free_bytes)


def details(seen: Look) -> None:
    """A block a device, and the cards that the engine does not list."""
    from paddock.hardware.telling import card_text, facts, gathered, live, unlisted

    for device, reading in zip(seen.machine.devices, seen.reading.devices, strict=True):
        line("")
        line(f"{device.name}: {device.description}")
        why = seen.why.get(device.name, {})
        if device.same_as is not None:
            _rows(facts(device))
            continue
        if "*" in why and device.gpu is None:
            _rows([*facts(device), _whole(why["*"])])
            continue
        _rows([*facts(device), *gathered(live(reading, why))])
        if device.processes:
            _rows([_users(device)])
    others = unlisted(seen.machine)
    if others:
        line("")
        line(Text("Cards that this engine does not list"))
    for gpu in others:
        line(f"  {card_text(gpu)}, {bytes_text(gpu.total_bytes)}" + (f": {gpu.error}" if gpu.error else ""))


def _whole(reason: Text) -> Row:
    from paddock.hardware.telling import Row

    return Row(Text("Readings"), NA, reason)


def _users(device: Device) -> Row:
    from paddock.hardware.telling import Row

    held = sorted(device.processes or (), key=lambda p: -(p.used_bytes or 0))
    words = ", ".join(f"{p.name or p.pid} {bytes_text(p.used_bytes)}" for p in held[:6])
    return Row(Text("In use by"), words)


def _rows(rows: list[Row]) -> None:
    width = 20
    for row in rows:
        words = f"{row.value} ({row.note})" if row.note is not None else row.value
        line(f"  {row.name!s:<{width}}  {words}")


# -- JSON


def device_dict(d: Any) -> dict[str, Any]:
    """The JSON form of a device, as the engine or as the machine has it."""
    return {"name": d.name, "kind": d.kind, "description": d.description, "total": d.total_bytes, "free": d.free_bytes}


def machine_dict(m: Machine) -> dict[str, Any]:
    """The JSON form of the machine. `engine` and `driver` of a device: what each of the two says of its memory."""
    return {"system": m.system, "cpu": m.cpu_name, "physical_cores": m.physical_cores, "logical_cores": m.logical_cores,
            "numa_nodes": m.numa_nodes, "load_1min": m.load_1min,
            "devices": [_device(d) for d in m.devices],
            "host": {"total": m.ram_total_bytes, "free": m.ram_available_bytes},
            "cards": [_card(g) for g in m.gpus],
            "notes": [str(n) for n in m.notes]}


def _device(d: Device) -> dict[str, Any]:
    return {**device_dict(d), "integrated": d.integrated, "free_assumed": d.free_assumed, "same_as": d.same_as,
            "card": d.gpu.name if d.gpu else None, "pci": d.gpu.pci_id if d.gpu else None,
            "note": str(d.match_note) if d.match_note else None,
            "engine": {"total": d.listed_total_bytes, "free": d.listed_free_bytes},
            "driver": {"total": d.counted_total_bytes, "free": d.counted_free_bytes},
            "shared": {"total": d.shared_total_bytes, "free": d.shared_free_bytes},
            "memory_note": str(d.memory_note) if d.memory_note else None,
            "processes": None if d.processes is None else [
                {"pid": p.pid, "name": p.name, "used": p.used_bytes} for p in d.processes]}


def _card(g: Gpu) -> dict[str, Any]:
    return {"index": g.index, "name": g.name, "maker": g.maker, "total": g.total_bytes, "own": g.vram_bytes,
            "shared": g.shared_bytes, "integrated": g.integrated, "pci": g.pci_id, "uuid": g.uuid, "driver": g.driver,
            "cuda": g.cuda, "instance_of": g.instance_of, "pcie_generation": g.pcie_generation,
            "pcie_width": g.pcie_width, "error": str(g.error) if g.error else None}


def look_dict(seen: Look) -> dict[str, Any]:
    """The machine with each device's readings; null where nobody tells, and the reason in `why`."""
    found = machine_dict(seen.machine)
    for device, reading in zip(found["devices"], seen.reading.devices, strict=True):
        device["reading"] = reading_dict(reading)
        device["why"] = {field: str(text) for field, text in seen.why.get(device["name"], {}).items()}
    return found


def reading_dict(reading: DeviceReading) -> dict[str, Any]:
    """Bytes, percent, MHz, W, °C; null for what was not told."""
    values: Mapping[str, Any] = dataclasses.asdict(reading)
    return {name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in values.items() if name not in ("device", "twin", "process_bytes", "process_assumed")}


def doctor_lines(machine: Machine) -> list[str]:
    """The devices of a problem report: a line each, with whose card it is and where two sources disagree."""
    from paddock.hardware.telling import card_text, unlisted

    lines: list[str] = []
    for d in machine.devices:
        words = [d.description, bytes_text(d.total_bytes), str(Text("{free} free", free=_free(d)))]
        words += [card_text(d.gpu)] if d.gpu else []
        words += [str(Text("the same card as {name}", name=d.same_as))] if d.same_as else []
        words += [str(text) for text in (d.match_note, d.memory_note) if text]
        lines.append(f"{d.name}: " + ", ".join(words))
    host = ", ".join((bytes_text(machine.ram_total_bytes),
                      str(Text("{free} free", free=bytes_text(machine.ram_available_bytes)))))
    load = number_text(machine.load_1min, 2)
    lines.append(f"{machine.cpu_name or 'CPU'}: {host}, " + str(
        Text("{cores} cores, load {load}", cores=machine.physical_cores or NA, load=load)))
    lines += [f"{card_text(g)}: {g.error or Text('not listed by the engine')}" for g in unlisted(machine)]
    return lines
