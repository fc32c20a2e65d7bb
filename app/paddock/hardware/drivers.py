"""What a driver can be asked: one contract for NVIDIA's library and for the files of AMD's Linux driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from paddock.hardware.model import Gpu, GpuProcess


@dataclass(frozen=True)
class Memory:
    """Bytes, as the driver counts them now."""

    total_bytes: int
    used_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Card:
    """One card or MIG instance that a driver lists. handle None: the driver lost it."""

    gpu: Gpu
    handle: Any
    driver: Driver
    mig: bool = False
    memory_unsupported: bool = False
    """The driver says that it cannot tell this card's memory: so where CPU and GPU share one."""

    @property
    def key(self) -> object:
        """What stays the same between two listings."""
        return key_of(self.gpu)


class Driver(Protocol):
    """An open driver. Every answer is optional: None where it is not told, never a zero in its place."""

    lost: bool
    """A card or the driver went away: close this, and open it anew after a while."""

    def close(self) -> None: ...

    def cards(self) -> list[Card]: ...

    def memory(self, card: Card) -> Memory | None: ...

    def processes(self, card: Card, pids: frozenset[int]) -> tuple[GpuProcess, ...] | None:
        """Who uses a card; `pids` are asked for by name where a driver cannot list all of them."""
        ...

    def utilisation(self, card: Card) -> tuple[float | None, float | None]:
        """Percent of time that work ran, and that memory was read or written."""
        ...

    def clocks_mhz(self, card: Card) -> tuple[float | None, float | None]:
        """Of the processors and of the memory."""
        ...

    def power_w(self, card: Card) -> float | None: ...

    def temperature_c(self, card: Card) -> float | None: ...

    def throttle(self, card: Card) -> tuple[str, ...] | None:
        """The reasons for which clocks are held down now; empty for none."""
        ...

    def pcie_bytes_per_s(self, card: Card) -> tuple[float | None, float | None]:
        """Received and sent by the card. May block for some 40 ms."""
        ...


def key_of(gpu: Gpu | None) -> object:
    """What stays the same between two listings of one card."""
    return None if gpu is None else (gpu.maker, gpu.uuid or gpu.pci_id or gpu.index)


def all_cards(drivers: Sequence[Driver]) -> list[Card]:
    return [card for driver in drivers for card in driver.cards()]
