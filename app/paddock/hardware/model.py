"""The machine as values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from paddock.hardware.pressure import HostPressure
from paddock.text import Text


@dataclass(frozen=True)
class GpuProcess:
    """Who holds memory on a card. bytes None where the driver does not tell."""

    pid: int
    name: str | None
    used_bytes: int | None


@dataclass(frozen=True)
class Gpu:
    """A card as its driver tells it (NVIDIA's NVML, AMD's and Intel's part of Linux' sysfs, macOS of Apple's own).

    `index` is that driver's own. total_bytes: all that it can use, for a processor's graphics with the host's share.
    """

    index: int
    uuid: str | None
    pci_id: str | None
    name: str
    total_bytes: int | None
    driver: str | None = None
    cuda: str | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    error: Text | None = None
    maker: str = "nvidia"
    """nvidia, amd, intel or apple."""
    vram_bytes: int | None = None
    """Memory of its own: a card's, or what was carved out for a processor's graphics; None where not told apart."""
    shared_bytes: int | None = None
    """What it may take of the host's memory besides (AMD's GTT, Apple's limit)."""
    integrated: bool | None = None
    """Whether it is part of the processor; None where the driver does not tell."""
    instance_of: str | None = None
    """Of a MIG instance: the name of the card that it is cut from."""


@dataclass(frozen=True)
class Device:
    """One device as the engine names it, with the driver's card where they could be matched.

    `match_note` says why not ("can't tell which card").
    """

    name: str
    kind: str
    description: str
    total_bytes: int | None
    free_bytes: int | None
    """Free right now: the driver's reading where matched, else the engine's at probe time."""
    integrated: bool = False
    gpu: Gpu | None = None
    match_note: Text | None = None
    processes: tuple[GpuProcess, ...] | None = None
    """None: not told by this driver."""
    free_assumed: bool = False
    """The engine listed the total as free, as backends do that cannot count (SYCL without sysman, Vulkan without
    memory budget, an RPC server on a processor): what is really free is not known."""
    listed_total_bytes: int | None = None
    listed_free_bytes: int | None = None
    """What the engine says, word for word, when it listed."""
    counted_total_bytes: int | None = None
    counted_free_bytes: int | None = None
    """What the card's driver says; None without a matched card, or where the driver does not tell."""
    shared_total_bytes: int | None = None
    shared_free_bytes: int | None = None
    """What the card may take of the host's memory beside its own, and what is left of that."""
    same_as: str | None = None
    """An earlier device that is this very card, through another backend: its memory is there once."""
    memory_note: Text | None = None
    """A sentence where engine and driver do not say the same of its memory."""

    @property
    def shares_host(self) -> bool:
        """Whether its memory is the host's. Not so of a processor's graphics that have more carved out for them than
        they may borrow: the system never sees the carve-out."""
        own, shared = (self.gpu.vram_bytes or 0, self.gpu.shared_bytes or 0) if self.gpu is not None else (0, 0)
        return self.integrated and not own > shared > 0


@dataclass(frozen=True)
class Machine:
    """Facts that hold while we run, and free memory at `taken_at` (monotonic seconds)."""

    system: str
    cpu_name: str | None
    physical_cores: int | None
    logical_cores: int
    ram_total_bytes: int
    ram_available_bytes: int
    numa_nodes: int
    load_1min: float | None
    devices: tuple[Device, ...]
    """GPU-like devices in the engine's order; the host is not among them."""
    gpus: tuple[Gpu, ...] = ()
    notes: tuple[Text, ...] = ()
    """Calm lines: no NVIDIA driver, driver mismatch, lost GPU."""
    taken_at: float = 0.0


@dataclass(frozen=True)
class DeviceReading:
    """One card at one moment; NaN where the driver does not say. Percent 0…100, W, °C, MHz, bytes, bytes/s."""

    device: str
    used_bytes: float
    free_bytes: float
    process_bytes: float
    """Held by the pids that were asked about."""
    utilisation_pct: float
    memory_utilisation_pct: float
    sm_clock_mhz: float
    memory_clock_mhz: float
    power_w: float
    temperature_c: float
    pcie_rx_bytes_per_s: float
    pcie_tx_bytes_per_s: float
    throttle: tuple[str, ...] | None
    """Names of active reasons ("sw_power_cap", …); None: not told."""
    shared_used_bytes: float = math.nan
    """What the card holds of the host's memory, apart from its own."""
    pcie_generation: float = math.nan
    pcie_width: float = math.nan
    """Of the link as it is used now."""
    process_assumed: bool = False
    """process_bytes is what the card's use has grown by since the first reading, as its driver names no processes."""
    twin: bool = False
    """An earlier device of this reading is the same card: not to be added to it."""


@dataclass(frozen=True)
class Reading:
    """The machine at one moment (`t` monotonic seconds)."""

    t: float
    cpu_pct: float
    ram_used_bytes: float
    ram_available_bytes: float
    swap_used_bytes: float
    process_cpu_pct: float
    """Of the asked process tree, in percent of one core."""
    process_rss_bytes: float
    devices: tuple[DeviceReading, ...]
    pressure: HostPressure | None = None
    """Processor time and memory that the host is short of."""

    @property
    def process_device_bytes(self) -> float:
        """What the asked processes hold on all cards together: the sum of the devices' own figures.

        NaN where there is none, or where one of them is not told: a part is no total. A card that two backends see
        counts once.
        """
        told = [device.process_bytes for device in self.devices if not device.twin]
        return sum(told) if told else math.nan
