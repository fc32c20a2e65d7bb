"""AMD's own library (the Python package of ROCm's AMD SMI) where a person has it: names, and who uses a card.

It is no dependency of ours: it comes with ROCm and must fit the driver. Everything else is read from sysfs.
Source of the calls: AMD SMI Python API reference (amdsmi_init, amdsmi_get_processor_handles,
amdsmi_get_gpu_device_bdf, amdsmi_get_gpu_asic_info "market_name", amdsmi_get_gpu_process_list "pid", "mem").
Not checked on such a card by us.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from typing import Any

from paddock.hardware.model import GpuProcess

_SENTINEL = 1 << 60


@functools.cache
def _library() -> Any:
    """The module, or None: not installed, or its shared library is missing or too old for it."""
    try:
        return importlib.import_module("amdsmi")
    except (ImportError, OSError, KeyError, AttributeError):
        return None


def open_amd_smi() -> AmdSmi | None:
    """An open connection, or None where there is no such library or it does not start. `close()` what this gives."""
    library = _library()
    if library is None:
        return None
    made = AmdSmi(library)
    return made if made.start() else None


class AmdSmi:
    """Answers by PCI address; None for whatever the library does not tell."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._handles: dict[str, Any] = {}

    def start(self) -> bool:
        """Whether it answers at all."""
        try:
            self._library.amdsmi_init()
        except (self._library.AmdSmiException, OSError):
            return False
        for handle in self._ask(self._library.amdsmi_get_processor_handles) or ():
            if bus := self._ask(self._library.amdsmi_get_gpu_device_bdf, handle):
                self._handles[str(bus).lower()] = handle
        return True

    def close(self) -> None:
        self._handles = {}
        self._ask(self._library.amdsmi_shut_down)

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (self._library.AmdSmiException, OSError, KeyError, ValueError):
            return None

    def name(self, bus: str) -> str | None:
        """What AMD calls the card in its shops."""
        handle = self._handles.get(bus)
        facts = None if handle is None else self._ask(self._library.amdsmi_get_gpu_asic_info, handle)
        name = facts.get("market_name") if isinstance(facts, dict) else None
        return name if isinstance(name, str) and name.strip() and not name.upper().startswith("N/A") else None

    def processes(self, bus: str) -> tuple[GpuProcess, ...] | None:
        """Everybody who uses the card."""
        handle = self._handles.get(bus)
        listed = None if handle is None else self._ask(self._library.amdsmi_get_gpu_process_list, handle)
        if not isinstance(listed, Iterable):
            return None
        return tuple(one for entry in listed if isinstance(entry, dict) and (one := _process(entry)) is not None)


def _process(entry: dict[str, Any]) -> GpuProcess | None:
    pid, size = entry.get("pid"), entry.get("mem")
    if not isinstance(pid, int) or pid <= 0:
        return None
    return GpuProcess(pid, None, size if isinstance(size, int) and 0 <= size < _SENTINEL else None)
