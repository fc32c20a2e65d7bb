"""NVIDIA's own readings, through nvidia-ml-py. Every figure is optional: what a driver does not tell is None.

`open_nvml` loads the library once in a process. No library, no driver, a library that does not fit the driver, a card
that fell off the bus: each is one calm sentence, never a traceback and never tried again in a hurry.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from paddock.hardware.drivers import Card, Memory
from paddock.hardware.model import Gpu, GpuProcess
from paddock.text import Text

_SENTINEL = 1 << 60
"""Above this a byte count is a driver's "not available" (0xFFFF… in all its cut forms), never a memory."""
_VGPU = 2
"""nvml.h, NVML_GPU_VIRTUALIZATION_MODE_VGPU."""
_VGPU_NAME = re.compile(r"-\d+[ABCQV]$")
_GONE = frozenset({"NVMLError_GpuIsLost", "NVMLError_Uninitialized", "NVMLError_ResetRequired",
                   "NVMLError_GpuNotFound", "NVMLError_DriverNotLoaded"})
_GONE_FOR_MEMORY = _GONE | {"NVMLError_Unknown"}
"""After a resume the driver answers "unknown error" to everything; some cards always do so for a single figure."""
_REASONS = {
    0x004: "sw_power_cap", 0x008: "hw_slowdown", 0x010: "sync_boost", 0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown", 0x080: "hw_power_brake", 0x100: "display_clocks", 0x200: "board_limit",
    0x400: "reliability",
}
"""nvml.h, clocks event reasons; idle (1) and clocks that somebody set (2) are no throttling."""


_NO_INSTANCE = Text("It is in MIG mode and has no instances: no program can use it until one is made.")
_INSTANCE = Text("An instance of a card (MIG) has no such figure of its own.")
_WHOLE_CARD = Text("Of the whole card that this instance (MIG) is a part of.")
_SHARED = Text("Processor and graphics share one memory: the system's own figures are shown.")


NO_DRIVER = Text("No NVIDIA driver was found: there are no readings of NVIDIA cards.")


_never: list[Text] = []
"""Why the library cannot be loaded in this process, once that is known: it is not tried a second time."""


@functools.cache
def _library() -> Any:
    """The module, or None; importing it loads nothing yet."""
    try:
        return importlib.import_module("pynvml")
    except ImportError:
        return None


def open_nvml() -> tuple[Nvml | None, Text | None]:
    """The driver's readings, or why there are none. `close()` what this gives."""
    library = _library()
    if library is None:
        return None, Text("NVIDIA readings are not available: the package nvidia-ml-py is not installed.")
    if _never:
        return None, _never[0]
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        note = _why(error)
        if type(error).__name__ == "NVMLError_LibraryNotFound":
            _never.append(note)
        return None, note
    return Nvml(library), None


def _why(error: Exception) -> Text:
    match type(error).__name__:
        case "NVMLError_LibraryNotFound":
            return NO_DRIVER
        case "NVMLError_DriverNotLoaded":
            return Text("The NVIDIA driver is not loaded: there are no readings of NVIDIA cards.")
        case "NVMLError_LibRmVersionMismatch":
            return Text("The NVIDIA driver was updated and waits for a restart: there are no readings until then.")
        case "NVMLError_NoPermission":
            return Text("The NVIDIA driver does not let this account read: there are no readings of NVIDIA cards.")
        case _:
            return Text("The NVIDIA driver gives no readings: {reason}.", reason=str(error))


class Nvml:
    """An open connection to the driver. Not for use from two threads at once; close() it once."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._open = True
        self.lost = False
        """Set by any call that the driver answered with "this card is gone" or the like: reopen, not too often."""

    def close(self) -> None:
        if self._open:
            self._open = False
            self._ask(self._library.nvmlShutdown)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The answer, or None where the driver has none."""
        try:
            return function(*arguments)
        except self._library.NVMLError as error:
            self.lost = self.lost or type(error).__name__ in _GONE
            return None
        except (ValueError, getattr(self._library, "NVMLLibraryMismatchError", ValueError)):
            # A name that is no UTF-8; a driver too old for the form of the question.
            return None

    def _call(self, name: str, *arguments: Any) -> Any:
        function = getattr(self._library, name, None)
        return None if function is None else self._ask(function, *arguments)

    def driver(self) -> str | None:
        return self._call("nvmlSystemGetDriverVersion") or None

    def cuda(self) -> str | None:
        """The newest CUDA that this driver can run: "12.4"."""
        number = self._call("nvmlSystemGetCudaDriverVersion_v2")
        return f"{number // 1000}.{number % 1000 // 10}" if number else None

    def cards(self) -> list[Card]:
        """All cards in the driver's order; one in MIG mode is replaced by its instances, one that is lost says so."""
        driver, cuda = self.driver(), self.cuda()
        found: list[Card] = []
        for index in range(self._call("nvmlDeviceGetCount") or 0):
            handle = self._call("nvmlDeviceGetHandleByIndex", index)
            if handle is None:
                gpu = Gpu(index, None, None, f"GPU {index}", None, driver, cuda,
                          error=Text("The driver cannot reach this card."))
                found.append(Card(gpu, None, self))
                continue
            cut = self._instances(index, handle, driver, cuda)
            found.extend([self._card(index, handle, driver, cuda)] if cut is None else cut)
        return found

    def _card(self, index: int, handle: Any, driver: str | None, cuda: str | None, mig: bool = False) -> Card:
        memory, unsupported = self._memory(handle)
        pci = self._call("nvmlDeviceGetPciInfo", handle)
        name = self._call("nvmlDeviceGetName", handle)
        gpu = Gpu(
            index=index,
            uuid=self._call("nvmlDeviceGetUUID", handle) or None,
            pci_id=normal_pci(pci.busId) if pci is not None else None,
            name=name or f"GPU {index}",
            total_bytes=memory.total_bytes if memory else None,
            driver=driver,
            cuda=cuda,
            pcie_generation=self._link(handle, "nvmlDeviceGetMaxPcieLinkGeneration"),
            pcie_width=self._link(handle, "nvmlDeviceGetMaxPcieLinkWidth"),
            error=None if memory or unsupported else Text("The driver cannot read this card."),
            vram_bytes=memory.total_bytes if memory else None,
        )
        return Card(gpu, handle, self, mig, unsupported and not self._virtual(handle, gpu.name))

    def _virtual(self, handle: Any, name: str) -> bool:
        """Whether it is a slice of a card that a hypervisor hands out (vGPU): memory of its own, seldom told."""
        return self._call("nvmlDeviceGetVirtualizationMode", handle) == _VGPU or bool(_VGPU_NAME.search(name))

    def _link(self, handle: Any, name: str) -> int | None:
        value = self._call(name, handle)
        return value if value and 0 < value < 128 else None

    def _instances(self, index: int, parent: Any, driver: str | None, cuda: str | None) -> list[Card] | None:
        """The instances of a card in MIG mode; the card itself, unusable, where there are none; None in other modes."""
        mode = self._call("nvmlDeviceGetMigMode", parent)
        if not mode or mode[0] != 1:
            return None
        whole = self._card(index, parent, driver, cuda)
        most = self._call("nvmlDeviceGetMaxMigDeviceCount", parent) or 0
        handles = [self._call("nvmlDeviceGetMigDeviceHandleByIndex", parent, number) for number in range(most)]
        cards = [self._card(index, handle, driver, cuda, mig=True) for handle in handles if handle is not None]
        if not cards:
            return [replace(whole, gpu=replace(whole.gpu, instance_of=whole.gpu.name, error=_NO_INSTANCE))]
        # An instance has no bus address of its own: it lies on its card's.
        return [replace(card, parent=parent, gpu=replace(
            card.gpu, pci_id=card.gpu.pci_id or whole.gpu.pci_id, instance_of=whole.gpu.name)) for card in cards]

    def memory(self, card: Card) -> Memory | None:
        return self._memory(card.handle)[0]

    def shared(self, card: Card) -> Memory | None:
        """NVIDIA's cards take none of the host's memory that the driver would count."""
        return None

    def _memory(self, handle: Any) -> tuple[Memory | None, bool]:
        """What is told, and whether the driver says that this card's memory cannot be told at all."""
        if handle is None:
            return None, False
        try:
            told = self._library.nvmlDeviceGetMemoryInfo(handle)
        except self._library.NVMLError as error:
            self.lost = self.lost or type(error).__name__ in _GONE_FOR_MEMORY
            return None, type(error).__name__ == "NVMLError_NotSupported"
        if not 0 < told.total < _SENTINEL or told.used > told.total or told.free > told.total:
            return None, told.total == 0
        return Memory(told.total, told.used, told.free), False

    def processes(self, card: Card, pids: frozenset[int] = frozenset()) -> tuple[GpuProcess, ...] | None:
        """Who uses a card, one entry a process, whatever `pids`; None where this driver does not tell."""
        lists = [self._call(f"nvmlDeviceGet{kind}RunningProcesses", card.handle) for kind in ("Compute", "Graphics")]
        if all(one is None for one in lists):
            return None
        used: dict[int, int | None] = {}
        for entry in (entry for one in lists for entry in one or ()):
            told = entry.usedGpuMemory
            size = told if told is not None and told < _SENTINEL else None
            # A process may stand in both lists with the same memory: the larger of the two, not their sum.
            known = [value for value in (used.get(entry.pid), size) if value is not None]
            used[entry.pid] = max(known, default=None)
        return tuple(GpuProcess(pid, None, size) for pid, size in used.items())

    def utilisation(self, card: Card) -> tuple[float | None, float | None]:
        """Percent of time that a kernel ran, and that memory was read or written."""
        rates = None if card.mig else self._call("nvmlDeviceGetUtilizationRates", card.handle)
        return (None, None) if rates is None else (_percent(rates.gpu), _percent(rates.memory))

    def clocks_mhz(self, card: Card) -> tuple[float | None, float | None]:
        """Of the multiprocessors and of the memory."""
        kinds = (getattr(self._library, "NVML_CLOCK_SM", 1), getattr(self._library, "NVML_CLOCK_MEM", 2))
        sm, memory = (_sane(self._of_card(card, "nvmlDeviceGetClockInfo", kind), 100_000) for kind in kinds)
        return sm, memory

    def _of_card(self, card: Card, name: str, *arguments: Any) -> Any:
        """What an instance does not tell of itself its card tells."""
        own = self._call(name, card.handle, *arguments)
        return self._call(name, card.parent, *arguments) if own is None and card.parent is not None else own

    def power_w(self, card: Card) -> float | None:
        milliwatts = _sane(self._of_card(card, "nvmlDeviceGetPowerUsage"), 10_000_000)
        return None if milliwatts is None else milliwatts / 1000

    def power_limits_w(self, card: Card) -> tuple[float | None, float | None]:
        """The limit in force, and the card's own default one."""
        now, usual = (_sane(self._call(f"nvmlDeviceGet{name}", card.handle), 10_000_000)
                      for name in ("EnforcedPowerLimit", "PowerManagementDefaultLimit"))
        return None if now is None else now / 1000, None if usual is None else usual / 1000

    def persistence(self, card: Card) -> bool | None:
        """Whether the driver keeps the card initialised while nobody uses it (Linux); None where it does not tell."""
        mode = self._call("nvmlDeviceGetPersistenceMode", card.handle)
        return None if mode is None else mode == 1

    def temperature_c(self, card: Card) -> float | None:
        return _sane(self._of_card(card, "nvmlDeviceGetTemperature", 0), 250)

    def throttle(self, card: Card) -> tuple[str, ...] | None:
        """The reasons for which clocks are held down now; empty for none."""
        bits = self._of_card(card, "nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:
            bits = self._of_card(card, "nvmlDeviceGetCurrentClocksThrottleReasons")
        return None if bits is None else tuple(name for bit, name in _REASONS.items() if bits & bit)

    def pcie_link(self, card: Card) -> tuple[int | None, int | None]:
        names = ("nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkWidth")
        generation, width = (_sane(self._of_card(card, name), 128) for name in names)
        return int(generation) if generation else None, int(width) if width else None

    def pcie_bytes_per_s(self, card: Card) -> tuple[float | None, float | None]:
        """Received and sent by the card. Blocks 20 ms for each of the two: the driver counts for that long."""
        received, sent = (_kib(self._call("nvmlDeviceGetPcieThroughput", card.handle, kind)) for kind in (1, 0))
        return received, sent

    def untold(self, card: Card) -> Mapping[str, Text]:
        if card.mig:
            whole = dict.fromkeys(("clocks", "power", "temperature", "throttle", "link"), _WHOLE_CARD)
            return whole | dict.fromkeys(("load", "memory_load", "pcie"), _INSTANCE)
        if card.memory_unsupported:
            return {"memory": _SHARED}
        return {}


def normal_pci(bus_id: str | bytes) -> str | None:
    """"00000000:01:00.0" (NVML) and "0000:01:00.0" (CUDA, sysfs) in one form: domain of four digits, small letters."""
    text = (bus_id.decode("ascii", "replace") if isinstance(bus_id, bytes) else bus_id).strip().lower()
    parts = text.split(":")
    if len(parts) == 2:
        parts.insert(0, "0")
    if len(parts) != 3:
        return None
    try:
        domain = int(parts[0], 16)
    except ValueError:
        return None
    return f"{domain:04x}:{parts[1]}:{parts[2]}"


def _sane(value: Any, most: float) -> float | None:
    return float(value) if value is not None and 0 <= value < most else None


def _kib(value: Any) -> float | None:
    return None if value is None or not 0 <= value < 1 << 31 else value * 1024.0


def _percent(value: Any) -> float | None:
    return _sane(value, 101)
