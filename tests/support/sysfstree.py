"""A pretend /sys/class/drm: folders and links of the shape that Linux' graphics drivers make."""

from __future__ import annotations

import struct
from pathlib import Path


def install(root: Path, files: dict[str, str | bytes], bus: str = "0000:03:00.0", number: int = 0,
            driver: str | None = None, card_files: dict[str, str] | None = None) -> Path:
    """One card below `root`/drm with these files in its device's folder, and `card_files` in the card's own."""
    folder = root / "devices" / bus
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if driver is not None:
        (root / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(root / "drivers" / driver)
    entry = root / "drm" / f"card{number}"
    entry.mkdir(parents=True)
    (entry / "device").symlink_to(folder)
    (root / "drm" / f"card{number}-DP-1").mkdir()
    (root / "drm" / "version").write_text("drm 1.1.0 20060810")
    for name, text in (card_files or {}).items():
        path = entry / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def fdinfo(root: Path, pid: int, *texts: str) -> None:
    """The open files of a process, as /proc tells them."""
    for number, text in enumerate(texts):
        path = root / "proc" / str(pid) / "fdinfo" / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def metrics_of_a_card(*, throttle: int, speed: int = 160, width: int = 16, memory_pct: int = 44) -> bytes:
    """gpu_metrics of form 1.3 (120 bytes): speed in tenths of GT/s."""
    raw = bytearray(120)
    struct.pack_into("<HBB", raw, 0, 120, 1, 3)
    struct.pack_into("<H", raw, 18, memory_pct)
    struct.pack_into("<HH", raw, 74, width, speed)
    struct.pack_into("<Q", raw, 112, throttle)
    return bytes(raw)


def metrics_of_a_processor(*, throttle: int) -> bytes:
    """gpu_metrics of form 2.2 (128 bytes)."""
    raw = bytearray(128)
    struct.pack_into("<HBB", raw, 0, 128, 2, 2)
    struct.pack_into("<Q", raw, 120, throttle)
    return bytes(raw)
