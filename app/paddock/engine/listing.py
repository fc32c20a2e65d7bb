"""The lines of --list-devices."""

from __future__ import annotations

import re
from collections.abc import Iterable

from paddock.engine.model import EngineDevice
from paddock.units import MIB

_HEADER = re.compile(r"^\s*Available devices:\s*$", re.M)
# Read from the end: a description may hold colons, commas and parentheses of its own.
_LINE = re.compile(r"^\s+(?P<name>\S+): (?P<text>.*) \((?P<total>\d+) MiB, (?P<free>\d+) MiB free\)\s*$")
_GARBLED = re.compile(r"^  (?P<name>[A-Za-z][A-Za-z_]*\d+): (?P<text>\S.*)$")
"""A device whose memory cannot be read: cut short, or in words. Its name is what a launch needs."""
_SENTINEL = 1 << 50
"""Above this a figure is a driver's "not available", never a memory."""
_VULKAN = re.compile(r"^ggml_vulkan: (?P<index>\d+) = .*\| uma: (?P<uma>[01]) \|")


def parse_devices(text: str, chatter: str = "") -> tuple[EngineDevice, ...]:
    """The devices in the output of --list-devices, in its order; lines of any other form are passed over.

    A device keeps its own name whatever becomes of the lines around it; one whose memory cannot be read is listed
    without. `chatter` is the error stream: there the Vulkan backend tells which of its devices share the host's memory.
    """
    header = _HEADER.search(text)
    lines = (text[header.end():] if header else text).splitlines()
    unified = _unified(chatter.splitlines())
    return tuple(found for line in lines if (found := _device(line, unified, header is not None)) is not None)


def _device(line: str, unified: dict[str, bool], listed: bool) -> EngineDevice | None:
    match = _LINE.match(line)
    total = free = 0
    if match is not None:
        total, free = int(match["total"]) * MIB, int(match["free"]) * MIB
    elif listed:
        match = _GARBLED.match(line)
    if match is None:
        return None
    known = 0 < total < _SENTINEL
    return EngineDevice(
        name=match["name"],
        description=match["text"].strip(),
        total_bytes=total if known else None,
        # more free than there is: the backend subtracted below nought
        free_bytes=free if known and free <= total else None,
        unified=True if match["name"].startswith(("MTL", "Metal")) else unified.get(match["name"]),
    )


def _unified(lines: Iterable[str]) -> dict[str, bool]:
    return {f"Vulkan{match['index']}": match["uma"] == "1" for line in lines if (match := _VULKAN.match(line))}
