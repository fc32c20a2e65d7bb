"""The machine as one value: the host, the engine's devices, and the driver's card of each where that is certain."""

from __future__ import annotations

import dataclasses
import os
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import psutil

from paddock.engine import EngineDevice
from paddock.hardware import host
from paddock.hardware.amd import AmdGpus
from paddock.hardware.drivers import Card, Driver, all_cards, key_of
from paddock.hardware.matching import match, visible
from paddock.hardware.model import Device, Gpu, GpuProcess, Machine
from paddock.hardware.nvml import normal_pci, open_nvml
from paddock.text import Text

_SHARED_MEMORY_CARD = re.compile(r"\b(GB10|Tegra|Orin|Thor|Xavier|Jetson)\b", re.I)
_INTEGRATED = re.compile(
    r"llvmpipe|swiftshader|^apple |uhd graphics|iris|radeon(?:\(tm\))? graphics|radeon \d{3}m\b|\b80[4-6]0s\b|"
    r"vega \d+ graphics|adreno|mali-", re.I)
_USING = re.compile(r"using device (?P<name>\S+) \((?P<text>.*?)\)(?: \((?P<id>[^()]*)\))? - \d+ MiB free")
CANT_TELL = Text("can't tell which card")


def open_drivers() -> tuple[list[Driver], list[Text]]:
    """Every driver that answers here, and a sentence for what does not. Close them all."""
    nvml, note = open_nvml()
    drivers: list[Driver] = [nvml] if nvml else []
    if sys.platform == "linux":
        drivers.append(AmdGpus())
    return drivers, [note] if note else []


def survey(
    engine_devices: Sequence[EngineDevice],
    *,
    drivers: Sequence[Driver] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Machine:
    """What this machine is, and what is free on it now. Never fails for want of a driver: `notes` says what is missing.

    `environ` is what the engine is started with; CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER in it decide which card is
    which. Without `drivers` they are opened and closed again.
    """
    with _opened(drivers) as (opened, notes):
        return _machine(engine_devices, all_cards(opened), notes, os.environ if environ is None else environ)


def refresh(
    machine: Machine,
    engine_devices: Sequence[EngineDevice] | None = None,
    *,
    drivers: Sequence[Driver] | None = None,
) -> Machine:
    """The same machine with what is free now: memory of the host, of matched cards, of the rest where listed anew."""
    _, available, _ = host.memory()
    listed = {device.name: device for device in engine_devices or ()}
    none_needed = drivers is None and not any(device.gpu for device in machine.devices)
    with _opened([] if none_needed else drivers) as (opened, _):
        cards = {card.key: card for card in all_cards(opened)}
        devices = tuple(_refreshed(one, listed.get(one.name), cards, available) for one in machine.devices)
    return dataclasses.replace(machine, devices=devices, ram_available_bytes=available, load_1min=host.load_1min(),
                               taken_at=time.monotonic())


@contextmanager
def _opened(given: Sequence[Driver] | None) -> Iterator[tuple[Sequence[Driver], list[Text]]]:
    if given is not None:
        yield given, []
        return
    drivers, notes = open_drivers()
    try:
        yield drivers, notes
    finally:
        for driver in drivers:
            driver.close()


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
    engine_devices: Sequence[EngineDevice], cards: Sequence[Card], notes: Sequence[Text], environ: Mapping[str, str]
) -> Machine:
    total, available, limited = host.memory()
    gpus = tuple(card.gpu for card in cards)
    offloading = [device for device in engine_devices if device.is_gpu]
    matched = match(offloading, gpus, environ)
    by_key = {card.key: card for card in cards}
    devices = tuple(_device(one, matched, by_key, total, available) for one in offloading)
    told = [*notes, *(_lost(gpu) for gpu in gpus if gpu.error)]
    if unused := _unused(offloading, gpus, environ):
        told.append(unused)
    if limited:
        told.append(Text("A container limits this machine's memory."))
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
        notes=tuple(told),
        taken_at=time.monotonic(),
    )


def _unused(devices: Sequence[EngineDevice], gpus: Sequence[Gpu], environ: Mapping[str, str]) -> Text | None:
    """A card that is there but that the engine does not list, unless somebody hid it: the usual "why so slow"."""
    nvidia = [gpu for gpu in gpus if gpu.maker == "nvidia"]
    sound = [gpu.name for gpu in nvidia if gpu.error is None]
    if not sound or any(device.kind in ("cuda", "vulkan") for device in devices) or visible(nvidia, environ) == []:
        return None
    return Text("This engine does not see the NVIDIA card that is here ({names}): it was built without support for it, "
                "or its driver does not answer.", names=", ".join(sound))


def _lost(gpu: Gpu) -> Text:
    return Text("{card}: {reason}", card=gpu.name, reason=gpu.error)


def _device(
    listed: EngineDevice, matched: Mapping[str, Gpu | None], cards: Mapping[object, Card], ram_total: int,
    ram_available: int,
) -> Device:
    gpu = matched.get(listed.name)
    card = cards.get(key_of(gpu)) if gpu else None
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
        free_bytes=_free(listed.free_bytes, total, card, integrated, ram_available),
        integrated=integrated and local,
        gpu=gpu,
        match_note=CANT_TELL if listed.name in matched and gpu is None and cards else None,
        processes=_named(card.driver.processes(card, frozenset())) if card else None,
        free_assumed=_assumed(listed, card, integrated),
    )


def _assumed(listed: EngineDevice, card: Card | None, integrated: bool) -> bool:
    counted = card is not None and (integrated or card.driver.memory(card) is not None)
    return not counted and listed.free_bytes is not None and listed.free_bytes == listed.total_bytes


def shares_memory(card: Card, engine_total: int | None, ram_total: int) -> bool:
    """Whether CPU and this card use one memory (GB10, Jetson): a lost card tells no memory either, and is not that.

    The driver must say "not supported", or the name be known; an unknown card must have the host's size at the engine.
    """
    if card.gpu.error is not None or card.mig or card.gpu.maker != "nvidia":
        return False
    if _SHARED_MEMORY_CARD.search(card.gpu.name):
        return True
    return card.memory_unsupported and engine_total is not None and 0.85 < engine_total / ram_total < 1.1


def _free(
    listed: int | None, total: int | None, card: Card | None, integrated: bool, ram_available: int
) -> int | None:
    """What is free of a device: as its card's driver counts it, else as the engine did when it listed.

    A device that shares the host's memory has no more than the host has left.
    """
    if integrated and card is not None and card.gpu.maker == "nvidia":
        return ram_available
    memory = card.driver.memory(card) if card and not integrated else None
    known = [size for size in (memory.free_bytes if memory else listed, total) if size is not None]
    if memory is None and listed is None:
        return None
    return min(*known, ram_available) if integrated else min(known)


def _refreshed(
    device: Device, listed: EngineDevice | None, cards: Mapping[object, Card], ram_available: int
) -> Device:
    card = cards.get(key_of(device.gpu)) if device.gpu else None
    before = listed.free_bytes if listed else device.free_bytes
    free = _free(before, device.total_bytes, card, device.integrated, ram_available)
    processes = _named(card.driver.processes(card, frozenset())) if card else device.processes
    assumed = _assumed(listed, card, device.integrated) if listed else device.free_assumed
    return dataclasses.replace(device, free_bytes=free, processes=processes, free_assumed=assumed)


def _named(processes: tuple[GpuProcess, ...] | None) -> tuple[GpuProcess, ...] | None:
    if processes is None:
        return None
    return tuple(dataclasses.replace(one, name=_name(one.pid)) for one in processes)


def _name(pid: int) -> str | None:
    try:
        return psutil.Process(pid).name()
    except (psutil.Error, ValueError):
        return None
