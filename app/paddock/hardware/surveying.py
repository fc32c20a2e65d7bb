"""The machine as one value: the host, the engine's devices, and the driver's card of each where that is certain."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
import time
from collections.abc import Iterable, Mapping, Sequence

import psutil

from paddock.engine import EngineDevice
from paddock.hardware import host
from paddock.hardware.matching import match, visible
from paddock.hardware.model import Device, Gpu, GpuProcess, Machine
from paddock.hardware.nvml import Card, Nvml, normal_pci, open_nvml
from paddock.text import Text

_SHARED_MEMORY_CARD = re.compile(r"\b(GB10|Tegra|Orin|Thor|Xavier|Jetson)\b", re.I)
_INTEGRATED = re.compile(
    r"llvmpipe|swiftshader|^apple |uhd graphics|iris|radeon(?:\(tm\))? graphics|radeon \d{3}m\b|\b80[4-6]0s\b|"
    r"vega \d+ graphics|adreno|mali-", re.I)
_USING = re.compile(r"using device (?P<name>\S+) \((?P<text>.*?)\)(?: \((?P<id>[^()]*)\))? - \d+ MiB free")
CANT_TELL = Text("can't tell which card")


def survey(
    engine_devices: Sequence[EngineDevice], *, nvml: Nvml | None = None, environ: Mapping[str, str] | None = None
) -> Machine:
    """What this machine is, and what is free on it now. Never fails for want of a driver: `notes` says what is missing.

    `environ` is what the engine is started with; CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER in it decide which card is
    which. Without `nvml` the driver is opened and closed again.
    """
    opened, note = (nvml, None) if nvml else open_nvml()
    try:
        cards = opened.cards() if opened else []
        return _machine(engine_devices, opened, cards, note, os.environ if environ is None else environ)
    finally:
        if opened and nvml is None:
            opened.close()


def refresh(
    machine: Machine, engine_devices: Sequence[EngineDevice] | None = None, *, nvml: Nvml | None = None
) -> Machine:
    """The same machine with what is free now: memory of the host, of matched cards, of the rest where listed anew."""
    opened = nvml or (open_nvml()[0] if any(device.gpu for device in machine.devices) else None)
    try:
        _, available, _ = host.memory()
        cards = {_key(card.gpu): card for card in (opened.cards() if opened else ())}
        listed = {device.name: device for device in engine_devices or ()}
        devices = tuple(
            _refreshed(device, listed.get(device.name), opened, cards, available) for device in machine.devices)
    finally:
        if opened and nvml is None:
            opened.close()
    return dataclasses.replace(machine, devices=devices, ram_available_bytes=available, load_1min=host.load_1min(),
                               taken_at=time.monotonic())


def confirm_from_log(machine: Machine, lines: Iterable[str]) -> Machine:
    """Settle which card is which by the PCI ids that a server logs while it loads (at -lv 4).

    `using device CUDA0 (NAME) (0000:01:00.0) - N MiB free`; older builds print no id, and then nothing changes. What
    is in the log is a fact and wins over what was matched before.
    """
    seen = {found["name"]: found["id"] for line in lines if (found := _USING.search(line)) and found["id"]}
    devices = tuple(_confirmed(device, seen.get(device.name), machine.gpus) for device in machine.devices)
    return machine if devices == machine.devices else dataclasses.replace(machine, devices=devices)


def _confirmed(device: Device, pci: str | None, gpus: Sequence[Gpu]) -> Device:
    bus = normal_pci(re.sub(r"-v\d+$", "", pci)) if pci else None
    fitting = [gpu for gpu in gpus if bus is not None and gpu.pci_id == bus]
    if len(fitting) != 1 or (device.gpu == fitting[0] and device.match_note is None):
        return device
    return dataclasses.replace(device, gpu=fitting[0], match_note=None)


def _machine(
    engine_devices: Sequence[EngineDevice], nvml: Nvml | None, cards: Sequence[Card], note: Text | None,
    environ: Mapping[str, str],
) -> Machine:
    total, available, limited = host.memory()
    gpus = tuple(card.gpu for card in cards)
    offloading = [device for device in engine_devices if device.is_gpu]
    matched = match(offloading, gpus, environ)
    by_key = {_key(card.gpu): card for card in cards}
    devices = tuple(_device(one, matched, nvml, by_key, total, available) for one in offloading)
    notes = [*([note] if note else ()), *(_lost(gpu) for gpu in gpus if gpu.error)]
    if unused := _unused(offloading, gpus, environ):
        notes.append(unused)
    if limited:
        notes.append(Text("A container limits this machine's memory."))
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        cpu_name=host.cpu_name(),
        physical_cores=psutil.cpu_count(logical=False),
        logical_cores=psutil.cpu_count() or 1,
        ram_total_bytes=total,
        ram_available_bytes=available,
        numa_nodes=host.numa_nodes(),
        load_1min=host.load_1min(),
        devices=devices,
        gpus=gpus,
        notes=tuple(notes),
        taken_at=time.monotonic(),
    )


def _unused(devices: Sequence[EngineDevice], gpus: Sequence[Gpu], environ: Mapping[str, str]) -> Text | None:
    """A card that is there but that the engine does not list, unless somebody hid it: the usual "why so slow"."""
    sound = [gpu.name for gpu in gpus if gpu.error is None]
    if not sound or any(device.kind in ("cuda", "vulkan") for device in devices) or visible(gpus, environ) == []:
        return None
    return Text("This engine does not see the NVIDIA card that is here ({names}): it was built without support for it, "
                "or its driver does not answer.", names=", ".join(sound))


def _lost(gpu: Gpu) -> Text:
    return Text("{card}: {reason}", card=gpu.name, reason=gpu.error)


def _device(
    listed: EngineDevice, matched: Mapping[str, Gpu | None], nvml: Nvml | None, cards: Mapping[object, Card],
    ram_total: int, ram_available: int,
) -> Device:
    gpu = matched.get(listed.name)
    card = cards.get(_key(gpu)) if gpu else None
    unified = card is not None and shares_memory(card, listed.total_bytes, ram_total)
    integrated = unified or bool(listed.unified) or (listed.unified is None and bool(
        _INTEGRATED.search(listed.description)))
    local = listed.kind != "rpc"
    total = ram_total if unified else listed.total_bytes
    if integrated and local and total is not None:
        total = min(total, ram_total)
    return Device(
        name=listed.name,
        kind=listed.kind,
        description=listed.description,
        total_bytes=total,
        free_bytes=_free(listed.free_bytes, total, card, nvml, unified, ram_available),
        integrated=integrated and local,
        gpu=gpu,
        match_note=CANT_TELL if listed.name in matched and gpu is None and cards else None,
        processes=_named(nvml.processes(card)) if nvml and card else None,
    )


def shares_memory(card: Card, engine_total: int | None, ram_total: int) -> bool:
    """Whether CPU and this card use one memory (GB10, Jetson): a lost card tells no memory either, and is not that.

    The driver must say "not supported", or the name be known; an unknown card must have the host's size at the engine.
    """
    if card.gpu.error is not None or card.mig:
        return False
    if _SHARED_MEMORY_CARD.search(card.gpu.name):
        return True
    return card.memory_unsupported and engine_total is not None and 0.85 < engine_total / ram_total < 1.1


def _free(
    listed: int | None, total: int | None, card: Card | None, nvml: Nvml | None, unified: bool, ram_available: int
) -> int | None:
    if unified:
        return ram_available
    memory = nvml.memory(card) if nvml and card else None
    if memory is None:
        return listed
    return memory.free_bytes if total is None else min(memory.free_bytes, total)


def _refreshed(
    device: Device, listed: EngineDevice | None, nvml: Nvml | None, cards: Mapping[object, Card], ram_available: int
) -> Device:
    card = cards.get(_key(device.gpu)) if device.gpu else None
    unified = device.integrated and device.gpu is not None
    before = listed.free_bytes if listed else device.free_bytes
    free = _free(before, device.total_bytes, card, nvml, unified, ram_available)
    processes = _named(nvml.processes(card)) if nvml and card else device.processes
    return dataclasses.replace(device, free_bytes=free, processes=processes)


def _named(processes: tuple[GpuProcess, ...] | None) -> tuple[GpuProcess, ...] | None:
    if processes is None:
        return None
    return tuple(dataclasses.replace(one, name=_name(one.pid)) for one in processes)


def _name(pid: int) -> str | None:
    try:
        return psutil.Process(pid).name()
    except (psutil.Error, ValueError):
        return None


def _key(gpu: Gpu | None) -> object:
    """What stays the same between two listings of the driver."""
    return None if gpu is None else gpu.uuid or gpu.pci_id or gpu.index
