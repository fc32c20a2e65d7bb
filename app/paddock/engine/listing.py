"""The lines of --list-devices."""

from __future__ import annotations

import re
from collections.abc import Iterable

from paddock.engine.model import EngineDevice
from paddock.units import MIB

_HEADER = re.compile(r"^\s*Available devices:\s*$", re.M)
# Read from the end: a description may hold colons, commas and parentheses of its own.
_LINE = re.compile(r"^\s+(?P<name>\S+): (?P<text>.*) \((?P<total>\d+) MiB, (?P<free>\d+) MiB free\)\s*$")
_VULKAN = re.compile(r"^ggml_vulkan: (?P<index>\d+) = .*\| uma: (?P<uma>[01]) \|")


def parse_devices(text: str, chatter: str = "") -> tuple[EngineDevice, ...]:
    """The devices in the output of --list-devices, in its order; lines of any other form are passed over.

    `chatter` is the error stream: there the Vulkan backend tells which of its devices share the host's memory.
    """
    header = _HEADER.search(text)
    lines = (text[header.end():] if header else text).splitlines()
    unified = _unified(chatter.splitlines())
    return tuple(_device(match, unified) for line in lines if (match := _LINE.match(line)))


def _device(match: re.Match[str], unified: dict[str, bool]) -> EngineDevice:
    total, free = int(match["total"]) * MIB, int(match["free"]) * MIB
    return EngineDevice(
        name=match["name"],
        description=match["text"].strip(),
        total_bytes=total or None,
        free_bytes=free if total else None,
        unified=True if match["name"].startswith(("MTL", "Metal")) else unified.get(match["name"]),
    )


def _unified(lines: Iterable[str]) -> dict[str, bool]:
    return {f"Vulkan{match['index']}": match["uma"] == "1" for line in lines if (match := _VULKAN.match(line))}
