"""From a profile's name to a file's, and to a name that is free."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)$", re.IGNORECASE)


def file_name(name: str) -> str:
    """A file name that every system takes, readable where the name is: no separators, dots in front, device names."""
    safe = "".join(c if c.isalnum() or c in " -_.()+" else f"%{ord(c):02X}" for c in name).strip(" .") or "%"
    if len(safe.encode()) > 120:
        safe = safe.encode()[:100].decode("utf-8", "ignore") + "-" + hashlib.sha256(name.encode(
            "utf-8", "surrogatepass")).hexdigest()[:12]
    if _RESERVED.match(safe.split(".")[0].strip()):
        safe = "_" + safe
    return safe + ".toml"


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """The name itself, or with the first free number behind it; upper and lower case are one name."""
    used = {name.casefold() for name in taken}
    unique, count = wanted, 1
    while unique.casefold() in used:
        count += 1
        unique = f"{wanted} ({count})"
    return unique


def free_path(folder: Path, name: str) -> Path:
    """A file of that name which is not there yet."""
    wanted = folder / file_name(name)
    path, count = wanted, 1
    while path.exists():
        count += 1
        path = wanted.with_name(f"{wanted.stem}-{count}.toml")
    return path
