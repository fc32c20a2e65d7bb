"""The machine as values."""

from __future__ import annotations

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
    """A card as its driver tells it (NVIDIA's NVML, AMD's part of Linux' sysfs). `index` is that driver's own."""

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
