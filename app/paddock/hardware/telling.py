"""Devices in words, the same for every face: what each is, whose figures they are, and why one is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddock.hardware.model import Device, DeviceReading, Gpu, Machine
from paddock.text import Text
from paddock.units import NA, bytes_text, number_text

_THROTTLE: Mapping[str, Text] = {
    "sw_power_cap": Text("power limit"), "power_limit": Text("power limit"), "hw_power_brake": Text("power brake"),
    "board_limit": Text("limit of the board"), "current_limit": Text("limit of the current"),
    "hw_slowdown": Text("heat or power (hardware)"), "sw_thermal_slowdown": Text("heat"),
    "hw_thermal_slowdown": Text("heat (hardware)"), "thermal_limit": Text("heat"),
    "prochot": Text("heat of the processor"), "sync_boost": Text("clocks tied to another card"),
    "display_clocks": Text("display clocks"), "reliability": Text("reliability voltage"),
}
_NONE = Text("nothing")


@dataclass(frozen=True)
class Row:
    """One line about a device. `value` is "n/a" where nobody tells; `note` says why, or what the figure means."""

    name: Text
    value: str
    note: Text | None = None


def throttle_text(reasons: Sequence[str] | None) -> str:
    """Why clocks are held down, in words: "power limit, heat"; "nothing"; "n/a" where the driver does not tell."""
    if reasons is None:
        return NA
    words = dict.fromkeys(str(_THROTTLE.get(reason, reason.replace("_", " "))) for reason in reasons)
    return ", ".join(words) or str(_NONE)


def unlisted(machine: Machine) -> list[Gpu]:
    """The cards that a driver knows and that no device of the engine is."""
    claimed = [device.gpu for device in machine.devices]
    return [gpu for gpu in machine.gpus if gpu not in claimed]


def card_text(gpu: Gpu) -> str:
    """"NVIDIA GeForce RTX 3090, 0000:21:00.0, driver 570.00, CUDA 12.8"."""
    parts: list[object] = [gpu.name, gpu.pci_id]
    parts.append(Text("driver {version}", version=gpu.driver) if gpu.driver else None)
    parts.append(f"CUDA {gpu.cuda}" if gpu.cuda else None)
    parts.append(Text("instance of {card}", card=gpu.instance_of) if gpu.instance_of else None)
    return ", ".join(str(part) for part in parts if part)


def kind_text(device: Device) -> str:
    """Whose memory it is: its own, the host's, another machine's, or that of a device named before."""
    if device.same_as is not None:
        return str(Text("the same card as {name}", name=device.same_as))
    if device.kind == "rpc":
        return str(Text("another machine"))
    if device.shares_host:
        return str(Text("unified: shares the host's memory"))
    if device.integrated:
        return str(Text("part of the processor, with memory carved out for it"))
    return str(Text("memory of its own"))


def facts(device: Device) -> list[Row]:
    """What does not change while we look: the card, whose memory it is, and engine and driver side by side."""
    rows = [Row(Text("Memory"), kind_text(device), device.memory_note)]
    if device.gpu is not None:
        rows.append(Row(Text("Card"), card_text(device.gpu), device.gpu.error))
    elif device.match_note is not None:
        rows.append(Row(Text("Card"), NA, device.match_note))
    note = Text("It calls all of it free: it cannot count.") if device.free_assumed else None
    rows.append(Row(Text("Engine says"), _of(device.listed_total_bytes, device.listed_free_bytes), note))
    if device.counted_total_bytes is not None:
        rows.append(Row(Text("Driver says"), _of(device.counted_total_bytes, device.counted_free_bytes)))
    if device.gpu is not None and device.gpu.shared_bytes and device.gpu.vram_bytes:
        own, shared = bytes_text(device.gpu.vram_bytes), bytes_text(device.gpu.shared_bytes)
        words = Text("{own} of its own, up to {shared} of the host's", own=own, shared=shared)
        rows.append(Row(Text("Own and shared"), str(words)))
    if device.gpu is not None and device.gpu.pcie_generation and device.gpu.pcie_width:
        rows.append(Row(Text("PCIe at most"), _link(device.gpu.pcie_generation, device.gpu.pcie_width)))
    return rows


def live(reading: DeviceReading, why: Mapping[str, Text]) -> list[Row]:
    """What the driver says at this moment. `why`: `readings.explain` of this device."""
    everything = why.get("*")

    def row(name: Text, value: str, field: str) -> Row:
        note = why.get(field)
        if NA in value:
            note = note or everything or Text("The driver does not tell it for this card.")
        return Row(name, value, note)

    rows = [
        row(Text("In use"), _of_use(reading), "memory"),
        row(Text("Load"), _unit(reading.utilisation_pct, "%"), "load"),
        row(Text("Memory controller"), _unit(reading.memory_utilisation_pct, "%"), "memory_load"),
        row(Text("Clocks"), _pair(reading.sm_clock_mhz, reading.memory_clock_mhz), "clocks"),
        row(Text("Power"), _unit(reading.power_w, "W", 1), "power"),
        row(Text("Temperature"), _unit(reading.temperature_c, "°C"), "temperature"),
        row(Text("Clocks held down by"), throttle_text(reading.throttle), "throttle"),
        row(Text("PCIe now"), _link(reading.pcie_generation, reading.pcie_width), "link"),
        row(Text("PCIe traffic"), _traffic(reading), "pcie"),
    ]
    if not math.isnan(reading.shared_used_bytes):
        rows.insert(1, Row(Text("Of the host's memory"), bytes_text(reading.shared_used_bytes)))
    return rows


def gathered(rows: Sequence[Row]) -> list[Row]:
    """The same, with what is missing for one reason in one line at the end: "Not told: load, power"."""
    told = [row for row in rows if row.value != NA]
    missing: dict[str, list[Row]] = {}
    for row in rows:
        if row.value == NA:
            missing.setdefault(str(row.note or ""), []).append(row)
    for group in missing.values():
        first, *others = (str(row.name) for row in group)
        names = ", ".join([first, *(name if name.isupper() or name.startswith("PCIe") else name[:1].lower() + name[1:]
                                    for name in others)])
        told.append(Row(Text("Not told"), names, group[0].note))
    return told


def _of(total: int | None, free: int | None) -> str:
    if total is None:
        return NA
    return str(Text("{total}, {free} free", total=bytes_text(total), free=bytes_text(free)))


def _of_use(reading: DeviceReading) -> str:
    if math.isnan(reading.used_bytes):
        return NA
    return str(Text("{used}, {free} free", used=bytes_text(reading.used_bytes), free=bytes_text(reading.free_bytes)))


def _unit(value: float, unit: str, digits: int = 0) -> str:
    return NA if math.isnan(value) else f"{number_text(value, digits)} {unit}"


def _pair(core: float, memory: float) -> str:
    if math.isnan(core) and math.isnan(memory):
        return NA
    return str(Text("{core}, memory {memory}", core=_unit(core, "MHz"), memory=_unit(memory, "MHz")))


def _link(generation: float, width: float) -> str:
    return NA if math.isnan(generation) or math.isnan(width) else f"{generation:.0f}.0 ×{width:.0f}"


def _traffic(reading: DeviceReading) -> str:
    received, sent = reading.pcie_rx_bytes_per_s, reading.pcie_tx_bytes_per_s
    if math.isnan(received) or math.isnan(sent):
        return NA
    return str(Text("{received}/s in, {sent}/s out", received=bytes_text(received), sent=bytes_text(sent)))
