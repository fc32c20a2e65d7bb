"""How much memory a device has, and how much of it is free, where engine, driver and the host each have a word.

The engine's list is what a launch goes by; a driver's count of a card of its own is fresher; and what lies in the
host's memory can never be more than the host has left. Pure.
"""

from __future__ import annotations

import re

from paddock.engine import EngineDevice
from paddock.hardware.drivers import Card, Memory
from paddock.text import Text
from paddock.units import bytes_text

_SHARED_MEMORY_CARD = re.compile(r"\b(GB10|Tegra|Orin|Thor|Xavier|Jetson)\b", re.I)
_LEAST, _MOST = 0.85, 1.03
"""The engine's total over the driver's where both mean the same: drivers keep a few percent for themselves."""


def shares_memory(card: Card, engine_total: int | None, ram_total: int) -> bool:
    """Whether CPU and this card use one memory (GB10, Jetson): a lost card tells no memory either, and is not that.

    The driver must say "not supported", or the name be known; an unknown card must have the host's size at the engine.
    """
    if card.gpu.error is not None or card.mig:
        return False
    if card.gpu.maker == "apple":
        return True
    if card.gpu.maker != "nvidia":
        return False
    if _SHARED_MEMORY_CARD.search(card.gpu.name):
        return True
    return card.memory_unsupported and engine_total is not None and 0.85 < engine_total / ram_total < 1.1


def mostly_own(card: Card | None) -> bool:
    """Whether a processor's graphics have more carved out for them than they may borrow: the host never sees that."""
    return card is not None and (card.gpu.vram_bytes or 0) > (card.gpu.shared_bytes or 0) > 0


def total_bytes(listed: EngineDevice, card: Card | None, integrated: bool, unified: bool, ram_total: int) -> int | None:
    """As the engine says; of a device in the host's memory no more than there is in the machine."""
    if unified and card is not None and card.gpu.maker == "nvidia":
        return ram_total
    if listed.total_bytes is None or not integrated or listed.kind == "rpc":
        return listed.total_bytes
    most = ram_total
    if card is not None and card.gpu.vram_bytes and card.gpu.shared_bytes:
        # what the BIOS carved out is no part of the host's total, what is borrowed is
        most = max(most, card.gpu.vram_bytes + min(card.gpu.shared_bytes, ram_total))
    return min(listed.total_bytes, most)


def free_bytes(listed: int | None, total: int | None, card: Card | None, integrated: bool, ram_available: int) -> (
        int | None):
    """What is free of a device: as its card's driver counts it, else as the engine did when it listed.

    A device that shares the host's memory has no more than the host has left.
    """
    if integrated and card is not None and card.gpu.maker == "nvidia":
        return ram_available
    memory = card.driver.memory(card) if card and not integrated else None
    known = [size for size in (memory.free_bytes if memory else listed, total) if size is not None]
    if memory is None and listed is None:
        return None
    return min(*known, _room(card, ram_available)) if integrated else min(known)


def _room(card: Card | None, ram_available: int) -> int:
    if card is None or not mostly_own(card):
        return ram_available
    whole, shared = card.driver.memory(card), card.driver.shared(card)
    borrowed = min(shared.free_bytes, ram_available) if shared else 0
    return (whole.free_bytes if whole else 0) + borrowed


def now(card: Card, integrated: bool, ram_total: float, ram_available: float) -> tuple[float, float] | None:
    """Used and free bytes of a card at this moment; None where nobody tells.

    Where all of it is the host's memory its driver's figures mislead: the host's are true.
    """
    if integrated and card.gpu.maker in ("nvidia", "apple"):
        return ram_total - ram_available, ram_available
    memory = card.driver.memory(card)
    if memory is None:
        return None
    bounded = integrated and not mostly_own(card)
    return float(memory.used_bytes), min(float(memory.free_bytes), ram_available) if bounded else float(
        memory.free_bytes)


def assumed(listed: EngineDevice, card: Card | None, integrated: bool) -> bool:
    """Whether the engine called all of it free, as backends do that cannot count, and no driver knows better."""
    counted = card is not None and (
        (integrated and card.gpu.maker != "intel") or card.driver.memory(card) is not None)
    return not counted and listed.free_bytes is not None and listed.free_bytes == listed.total_bytes


def difference(listed: EngineDevice, counted: Memory | None, unified: bool) -> Text | None:
    """A sentence where the engine and the driver do not mean the same memory; the engine's figure is the one used."""
    if counted is None or unified or listed.kind == "rpc":
        return None
    if listed.total_bytes is None:
        return Text("The engine does not tell its memory; the driver says {driver}.",
                    driver=bytes_text(counted.total_bytes))
    if _LEAST <= listed.total_bytes / counted.total_bytes <= _MOST:
        return None
    return Text("The engine says {engine}, the driver {driver}: a launch goes by the engine's.",
                engine=bytes_text(listed.total_bytes), driver=bytes_text(counted.total_bytes))
