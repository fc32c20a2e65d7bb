"""What a part on the PCI bus is called, from the list that most systems have (pci.ids of the pciutils project)."""

from __future__ import annotations

import functools
import re
from pathlib import Path

_PLACES = (Path("/usr/share/hwdata/pci.ids"), Path("/usr/share/misc/pci.ids"))
_MOST = 4 << 20


@functools.lru_cache(maxsize=64)
def pci_name(vendor: str, device: str | None, places: tuple[Path, ...] = _PLACES) -> str | None:
    """The name of a device by PCI ids ("8086", "0x56a0"): "Arc A770"; None where no list has it.

    Where the list gives a chip and, in brackets, the products made of it, the products are the name.
    """
    if not device:
        return None
    wanted = device.removeprefix("0x").lower().zfill(4)
    for place in places:
        try:
            with place.open(encoding="utf-8", errors="replace") as file:
                listed = file.read(_MOST)
        except OSError:
            continue
        block = re.search(rf"^{vendor}  .*\n((?:[\t#].*\n|\n)*)", listed, re.M)
        found = re.search(rf"^\t{wanted}  (.+)$", block[1], re.M) if block else None
        if found:
            products = re.search(r"\[([^\]]+)\]\s*$", found[1])
            return (products[1] if products else found[1]).strip()
    return None
