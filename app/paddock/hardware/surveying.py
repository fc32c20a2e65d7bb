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
from paddock.hardware import host, sharing
from paddock.hardware.amd import open_amd
from paddock.hardware.apple import AppleGpus
from paddock.hardware.drivers import Card, Driver, all_cards, key_of
from paddock.hardware.intel import IntelGpus
from paddock.hardware.matching import looks_integrated, match, twins, visible
from paddock.hardware.model import Device, Gpu, GpuProcess, Machine
from paddock.hardware.nvml import NO_DRIVER, normal_pci, open_nvml
from paddock.text import Text

_USING = re.compile(r"using device (?P<name>\S+) \((?P<text>.*?)\)(?: \((?P<id>[^()]*)\))? - \d+ MiB free")
_BACKENDS = {"nvidia": ("NVIDIA", ("cuda", "vulkan")), "amd": ("AMD", ("rocm", "vulkan")),
             "intel": ("Intel", ("sycl", "vulkan", "openvino", "opencl")), "apple": ("Apple", ("metal", "vulkan"))}
"""Of each maker: how people write it, and the backends that can use its cards."""
CANT_TELL = Text("can't tell which card")


def open_drivers() -> tuple[list[Driver], list[Text]]:
    """Every driver that answers here, and a sentence for what does not. Close them all."""
    nvml, note = open_nvml()
    drivers: list[Driver] = [nvml] if nvml else []
    if sys.platform == "linux":
        drivers += [open_amd(), IntelGpus()]
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return [AppleGpus()], []
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
    return confirm(machine, {
        found["name"]: found["id"] for line in lines if (found := _USING.search(line)) and found["id"]})


def confirm(machine: Machine, buses: Mapping[str, str]) -> Machine:
    """The same from what was read of such lines: the PCI id of each device by its name."""
    devices = tuple(_confirmed(device, buses.get(device.name), machine.gpus) for device in machine.devices)
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
    again = twins(offloading, matched)
    devices = tuple(_device(one, matched, by_key, total, available, again) for one in offloading)
    # that there is no NVIDIA driver is no news on a machine of other makers' cards
    told = [*(note for note in notes if not cards or note != NO_DRIVER), *(_lost(gpu) for gpu in gpus if gpu.error)]
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
    """A card that is there but that the engine does not list, unless somebody hid it: the usual "why so slow".

    A processor's own graphics are nearly everywhere, and an engine without them is no mistake: they are not named.
    """
    missed: dict[str, list[str]] = {}
    for gpu in gpus:
        maker, backends = _BACKENDS[gpu.maker]
        seen = any(device.kind in backends for device in devices)
        if gpu.error is None and gpu.integrated is not True and not seen and not _hidden(gpu.maker, gpus, environ):
            missed.setdefault(maker, []).append(gpu.name)
    if not missed:
        return None
    return Text("This engine does not see the {makers} card that is here ({names}): it was built without support for "
                "it, or its driver does not answer.", makers=" / ".join(missed),
                names=", ".join(name for names in missed.values() for name in names))


def _hidden(maker: str, gpus: Sequence[Gpu], environ: Mapping[str, str]) -> bool:
    """Whether the person hid all cards of a maker from the engine."""
    if maker == "nvidia":
        return visible([gpu for gpu in gpus if gpu.maker == maker], environ) == []
    return maker == "amd" and any(environ.get(name) in ("", "-1") for name in (
        "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"))


def _lost(gpu: Gpu) -> Text:
    return Text("{card}: {reason}", card=gpu.name, reason=gpu.error)


def _device(
    listed: EngineDevice, matched: Mapping[str, Gpu | None], cards: Mapping[object, Card], ram_total: int,
    ram_available: int, again: Mapping[str, str],
) -> Device:
    gpu = matched.get(listed.name)
    card = cards.get(key_of(gpu)) if gpu else None
    unified = card is not None and sharing.shares_memory(card, listed.total_bytes, ram_total)
    local = listed.kind != "rpc"
    integrated = local and (unified or (card.gpu.integrated if card and card.gpu.integrated is not None
                                        else looks_integrated(listed)))
    total = sharing.total_bytes(listed, card, integrated, unified, ram_total)
    counted = card.driver.memory(card) if card else None
    shared = card.driver.shared(card) if card else None
    return Device(
        name=listed.name,
        kind=listed.kind,
        description=listed.description,
        total_bytes=total,
        free_bytes=sharing.free_bytes(listed.free_bytes, total, card, integrated, ram_available),
        integrated=integrated,
        gpu=gpu,
        match_note=CANT_TELL if listed.name in matched and gpu is None and cards else None,
        processes=_named(card.driver.processes(card, frozenset())) if card else None,
        free_assumed=sharing.assumed(listed, card, integrated),
        listed_total_bytes=listed.total_bytes,
        listed_free_bytes=listed.free_bytes,
        counted_total_bytes=counted.total_bytes if counted else None,
        counted_free_bytes=counted.free_bytes if counted else None,
        shared_total_bytes=shared.total_bytes if shared else None,
        shared_free_bytes=shared.free_bytes if shared else None,
        same_as=again.get(listed.name),
        memory_note=sharing.difference(listed, counted, unified),
    )


def _refreshed(
    device: Device, listed: EngineDevice | None, cards: Mapping[object, Card], ram_available: int
) -> Device:
    card = cards.get(key_of(device.gpu)) if device.gpu else None
    # what the engine said, not what we made of it before: that was bounded by what the host had left then
    before = listed.free_bytes if listed else device.listed_free_bytes
    before = device.free_bytes if before is None and listed is None else before
    free = sharing.free_bytes(before, device.total_bytes, card, device.integrated, ram_available)
    processes = _named(card.driver.processes(card, frozenset())) if card else device.processes
    assumed = sharing.assumed(listed, card, device.integrated) if listed else device.free_assumed
    counted = card.driver.memory(card) if card else None
    shared = card.driver.shared(card) if card else None
    return dataclasses.replace(
        device, free_bytes=free, processes=processes, free_assumed=assumed,
        listed_free_bytes=listed.free_bytes if listed else device.listed_free_bytes,
        counted_free_bytes=counted.free_bytes if counted else None,
        shared_free_bytes=shared.free_bytes if shared else None)


def _named(processes: tuple[GpuProcess, ...] | None) -> tuple[GpuProcess, ...] | None:
    if processes is None:
        return None
    return tuple(dataclasses.replace(one, name=_name(one.pid)) for one in processes)


def _name(pid: int) -> str | None:
    try:
        return psutil.Process(pid).name()
    except (psutil.Error, ValueError):
        return None
