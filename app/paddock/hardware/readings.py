"""Readings while something runs: cheap, complete, and NaN wherever nobody tells."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from paddock.hardware import host, sharing
from paddock.hardware.drivers import Card, Driver, all_cards, key_of
from paddock.hardware.model import Device, DeviceReading, Machine, Reading
from paddock.hardware.pressure import PressureReader
from paddock.hardware.processes import ProcessTree, TreeUse
from paddock.hardware.surveying import confirm, open_drivers
from paddock.text import Text

NAN = math.nan
Explained = Mapping[str, Mapping[str, Text]]
"""Why a reading is missing, or what it means: by device name, then by field."""
_REOPEN_S = 30.0
_PCIE_EVERY_S = 1.0
_PCIE_HOLDS_S = 3.0
_JUMP_S = 5.0
"""A wall clock that gains so much on the monotonic one between two readings: the machine slept."""
_ASK_S = 0.5
_BIRTH_S = 0.05
"""The system tells when a process began to within a few hundredths of a second."""


@dataclass
class _Throughput:
    t: float = -math.inf
    received: float = NAN
    sent: float = NAN


class Readings:
    """Reads a machine now and then, for one thread. `pids()` gives the root pids whose trees are asked about.

    The drivers are opened with the first reading, not before; a card that is lost is looked for again after half a
    minute, or when the machine wakes. After `close()` nothing is held and every field of a reading is NaN.
    """

    def __init__(
        self,
        machine: Machine,
        pids: Callable[[], Iterable[int]],
        *,
        open_with: Callable[[], tuple[Sequence[Driver], object]] = open_drivers,
        clock: Callable[[], float] = time.monotonic,
        files: Sequence[Path] = (),
        buses: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`files`: the model's, whose part in the page cache is looked at. `buses`: the PCI ids of devices by name, as
        far as the server's log has told them by now; they settle which card is which."""
        self._machine = machine
        self._devices = machine.devices
        self._buses = buses
        self._told: Mapping[str, str] = {}
        self._asked_at = -math.inf
        self._tree = ProcessTree(pids, clock)
        self._open_with = open_with
        self._clock = clock
        self._drivers: Sequence[Driver] = ()
        self._cards: dict[str, Card] = {}
        self._opened_at = -math.inf
        self._closed = False
        self._wanted = any(device.gpu is not None for device in machine.devices)
        self._drift = time.time() - clock()
        self._counted_at = machine.taken_at
        self._pcie: dict[str, _Throughput] = {}
        self._pcie_turn = 0
        self._cpu = host.CpuLoad()
        self._pressure = PressureReader(files)

    def read(self) -> Reading:
        """The machine at this moment. Takes about a millisecond; 40 ms once a second where PCIe traffic is told."""
        now = self._clock()
        self._settle(now)
        self._keep_open(now)
        total, available, _ = host.memory()
        process = self._tree.read()
        self._measure_pcie(now)
        return Reading(
            t=now,
            cpu_pct=self._cpu.read(),
            ram_used_bytes=float(total - available),
            ram_available_bytes=float(available),
            swap_used_bytes=_swap_used(),
            process_cpu_pct=process.cpu_pct,
            process_rss_bytes=process.rss_bytes,
            pressure=self._pressure.read(now, process.pids),
            devices=tuple(
                self._device(device, now, process, float(total), float(available)) for device in self._devices),
        )

    def _settle(self, now: float) -> None:
        """Once the log has told which card a device is, that card is read."""
        if self._closed or now - self._asked_at < _ASK_S:
            return
        self._asked_at = now
        told = self._buses()
        if told == self._told:
            return
        self._told = dict(told)
        settled = confirm(self._machine, self._told)
        if settled.devices != self._devices:
            self._machine, self._devices = settled, settled.devices
            self._wanted = any(device.gpu is not None for device in self._devices)
            self._drop()
            self._opened_at = -math.inf

    def close(self) -> None:
        """Let go of the drivers. May be called twice."""
        self._wanted, self._closed = False, True
        self._drop()

    def _drop(self) -> None:
        for driver in self._drivers:
            driver.close()
        self._drivers, self._cards = (), {}

    def _keep_open(self, now: float) -> None:
        drift = time.time() - now
        slept, self._drift = drift - self._drift > _JUMP_S, drift
        missing = {device.name for device in self._devices if device.gpu} - set(self._cards)
        broken = bool(missing) or any(driver.lost for driver in self._drivers)
        if not self._wanted or not (slept or (broken and now - self._opened_at >= _REOPEN_S)):
            return
        self._opened_at = now
        self._drop()
        self._drivers, _ = self._open_with()
        listed = {card.key: card for card in all_cards(self._drivers)}
        self._cards = {
            device.name: listed[key_of(device.gpu)] for device in self._devices
            if device.gpu and key_of(device.gpu) in listed}

    def _measure_pcie(self, now: float) -> None:
        """One card a reading, each at most once a second: the driver blocks for 40 ms."""
        names = list(self._cards)
        if not names:
            return
        self._pcie_turn = (self._pcie_turn + 1) % len(names)
        name = names[self._pcie_turn]
        card = self._cards[name]
        last = self._pcie.setdefault(name, _Throughput())
        if now - last.t < _PCIE_EVERY_S or card.handle is None:
            return
        received, sent = card.driver.pcie_bytes_per_s(card)
        self._pcie[name] = _Throughput(now, _nan(received), _nan(sent))

    def _device(self, device: Device, now: float, process: TreeUse, ram_total: float, ram_available: float) -> (
            DeviceReading):
        card = self._cards.get(device.name)
        if card is None or card.handle is None:
            return _silent(device)
        driver = card.driver
        used, free = sharing.now(card, device.integrated, ram_total, ram_available) or (NAN, NAN)
        gpu_pct, memory_pct = driver.utilisation(card)
        sm_mhz, memory_mhz = driver.clocks_mhz(card)
        generation, width = driver.pcie_link(card)
        shared = driver.shared(card)
        pcie = self._pcie.get(device.name, _Throughput())
        if now - pcie.t > _PCIE_HOLDS_S:
            pcie = _Throughput()
        held = _process_bytes(card, process.pids)
        grown = self._grown(device, used, process) if math.isnan(held) else NAN
        return DeviceReading(
            device=device.name,
            used_bytes=used,
            free_bytes=free,
            process_bytes=held if math.isnan(grown) else grown,
            utilisation_pct=_nan(gpu_pct),
            memory_utilisation_pct=_nan(memory_pct),
            sm_clock_mhz=_nan(sm_mhz),
            memory_clock_mhz=_nan(memory_mhz),
            power_w=_nan(driver.power_w(card)),
            temperature_c=_nan(driver.temperature_c(card)),
            pcie_rx_bytes_per_s=pcie.received,
            pcie_tx_bytes_per_s=pcie.sent,
            throttle=driver.throttle(card),
            shared_used_bytes=_nan(shared.used_bytes if shared else None),
            pcie_generation=_nan(generation),
            pcie_width=_nan(width),
            process_assumed=not math.isnan(grown),
            twin=device.same_as is not None,
        )

    def _grown(self, device: Device, used: float, process: TreeUse) -> float:
        """What the card's use has grown by since before the processes began: theirs, or others' that came since.

        NaN where they are older than our last count, as a server is that somebody else started.
        """
        if device.counted_total_bytes is None or device.counted_free_bytes is None or device.integrated:
            return NAN
        if not process.pids or process.age_s > time.monotonic() - self._counted_at + _BIRTH_S:
            return NAN
        return max(0.0, used - (device.counted_total_bytes - device.counted_free_bytes))


def explain(machine: Machine, *, open_with: Callable[[], tuple[Sequence[Driver], object]] = open_drivers) -> (
        Explained):
    """Why readings of a device are missing, or what they mean there: by device name, then by field.

    Fields: memory, shared, processes, load, memory_load, clocks, power, temperature, throttle, link, pcie; "*" for all.
    A device without a matched card has "*" alone.
    """
    drivers, _ = open_with()
    try:
        listed = {card.key: card for card in all_cards(drivers)}
        return {device.name: _reasons(device, listed.get(key_of(device.gpu))) for device in machine.devices}
    finally:
        for driver in drivers:
            driver.close()


def _reasons(device: Device, card: Card | None) -> Mapping[str, Text]:
    if device.kind == "rpc":
        return {"*": Text("It is on another machine, whose driver cannot be asked from here.")}
    if device.match_note is not None:
        return {"*": Text("Which of the cards it is cannot be told, so no reading is shown as its own.")}
    if card is None:
        return {"*": Text("No driver that tells readings knows this device.")}
    if card.handle is None:
        return {"*": card.gpu.error or Text("The driver cannot reach this card.")}
    return card.driver.untold(card)


def _process_bytes(card: Card, pids: frozenset[int]) -> float:
    """What these processes hold on a card: NaN where the driver tells no list, no sizes, or pids of another world.

    In a container the driver's pids may be the host's: a pid that does not exist here says so, and zero would be
    a guess then.
    """
    processes = card.driver.processes(card, pids)
    if processes is None or not pids:
        return NAN
    ours = [one.used_bytes for one in processes if one.pid in pids]
    if ours:
        return NAN if None in ours else float(sum(size for size in ours if size is not None))
    return 0.0 if all(psutil.pid_exists(one.pid) for one in processes) else NAN


def _silent(device: Device) -> DeviceReading:
    gaps = (NAN,) * 11
    return DeviceReading(device.name, *gaps, None, twin=device.same_as is not None)


def _swap_used() -> float:
    try:
        return float(psutil.swap_memory().used)
    except (OSError, RuntimeError):
        return NAN


def _nan(value: float | None) -> float:
    return NAN if value is None else float(value)
