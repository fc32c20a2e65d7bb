"""What a driver can be asked: one contract for NVIDIA's library, for the files of AMD's and Intel's Linux drivers, and
for what macOS tells of Apple's own graphics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from paddock.hardware.model import Gpu, GpuProcess
from paddock.text import Text

ASLEEP = Text("The card is switched off to save power; to read it would wake it.")


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
    parent: Any = None
    """Of a MIG instance: the handle of its card, which tells what an instance has not of its own (heat, power)."""

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

    def shared(self, card: Card) -> Memory | None:
        """What the card may take of the host's memory, apart from its own, and what it holds of it."""
        ...

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

    def pcie_link(self, card: Card) -> tuple[int | None, int | None]:
        """Generation and lanes that the link uses now; idle cards save power with fewer."""
        ...

    def pcie_bytes_per_s(self, card: Card) -> tuple[float | None, float | None]:
        """Received and sent by the card. May block for some 40 ms."""
        ...

    def untold(self, card: Card) -> Mapping[str, Text]:
        """Why a reading of this card is missing, or what it means here, by field (`readings.explain`); "*": all."""
        ...


def key_of(gpu: Gpu | None) -> object:
    """What stays the same between two listings of one card."""
    return None if gpu is None else (gpu.maker, gpu.uuid or gpu.pci_id or gpu.index)


def all_cards(drivers: Sequence[Driver]) -> list[Card]:
    return [card for driver in drivers for card in driver.cards()]
