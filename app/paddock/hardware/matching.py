"""Which card is the engine's CUDA0? By order, confirmed by name and memory; in doubt: not told. Pure.

CUDA numbers the cards that CUDA_VISIBLE_DEVICES leaves, in the order that CUDA_DEVICE_ORDER names; Paddock sets that to
PCI_BUS_ID for every program that it starts, unless the person set it. A name and a total that contradict the order
mean that one of them is wrong, and then no card is claimed (the log of the loaded server settles it by PCI id).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from paddock.engine import EngineDevice
from paddock.hardware.model import Gpu

_NUMBER = re.compile(r"(\d+)$")
_AMD = re.compile(r"\b(AMD|Radeon)\b", re.I)
_LEAST, _MOST = 0.85, 1.03
"""The engine's total over the driver's: CUDA leaves out what the driver keeps for itself (2 to 4 % and more)."""


def visible(gpus: Sequence[Gpu], environ: Mapping[str, str]) -> list[Gpu] | None:
    """The cards in CUDA's own order; None where the order cannot be known.

    So where the person chose another order, where the driver lost a card, where a card is cut into MIG instances of
    which CUDA takes one, or where an entry of CUDA_VISIBLE_DEVICES names more than one card.
    """
    chosen = environ.get("CUDA_VISIBLE_DEVICES")
    by_index = environ.get("CUDA_DEVICE_ORDER", "PCI_BUS_ID") == "PCI_BUS_ID"
    entries = None if chosen is None else [part.strip() for part in chosen.split(",")]
    if entries is not None and all(re.match(r"(GPU|MIG)-", entry) for entry in entries):
        return _by_uuid(gpus, entries)
    if not by_index or any(gpu.pci_id is None or _is_mig(gpu) for gpu in gpus):
        return None
    ordered = sorted(gpus, key=lambda gpu: gpu.pci_id or "")
    return ordered if entries is None else _by_entry(ordered, entries)


def _by_uuid(gpus: Sequence[Gpu], entries: Sequence[str]) -> list[Gpu] | None:
    found: list[Gpu] = []
    for entry in entries:
        fitting = [gpu for gpu in gpus if (gpu.uuid or "").startswith(entry)]
        if not fitting:
            break
        if len(fitting) > 1:
            return None
        found.append(fitting[0])
    return found


def _by_entry(ordered: Sequence[Gpu], entries: Sequence[str]) -> list[Gpu] | None:
    """Indices, whole or shortened UUIDs; CUDA takes the entries before the first that names nothing."""
    found: list[Gpu] = []
    for entry in entries:
        if entry.startswith("GPU-"):
            part = _by_uuid(ordered, [entry])
            if part is None:
                return None
            found += part
            if not part:
                break
        elif entry.isdecimal() and int(entry) < len(ordered):
            found.append(ordered[int(entry)])
        else:
            break
    return found if len(set(map(id, found))) == len(found) else None


def match(devices: Sequence[EngineDevice], gpus: Sequence[Gpu], environ: Mapping[str, str]) -> dict[str, Gpu | None]:
    """A card for each device that a driver's readings could belong to; None: can't tell which.

    Devices whose maker's driver is not here, and those of RPC servers, do not appear.
    """
    nvidia = [gpu for gpu in gpus if gpu.maker == "nvidia"]
    cuda = [device for device in devices if device.kind == "cuda"]
    vulkan = [device for device in devices if device.kind == "vulkan"]
    order = visible(nvidia, environ)
    found = _by_name(cuda, nvidia) if order is None else _in_order(cuda, order)
    found |= _by_name(vulkan, nvidia)
    amd = [one for one in devices if one.kind == "rocm" or (one in vulkan and _AMD.search(one.description))]
    return found | _by_size(amd, [gpu for gpu in gpus if gpu.maker == "amd"])


def _in_order(devices: Sequence[EngineDevice], order: Sequence[Gpu]) -> dict[str, Gpu | None]:
    pairs: dict[str, Gpu | None] = {}
    for device in devices:
        number = _NUMBER.search(device.name)
        index = int(number[1]) if number else -1
        gpu = order[index] if 0 <= index < len(order) else None
        pairs[device.name] = gpu if gpu and same(device, gpu) else None
    sound = len(devices) == len(order) and all(pairs.values())
    # One pair that does not fit says that the order is not what we think: then the others are guesses too.
    return pairs if sound else dict.fromkeys(pairs)


def _by_name(devices: Sequence[EngineDevice], gpus: Sequence[Gpu]) -> dict[str, Gpu | None]:
    """Only where one device and one card fit each other and nothing else; left out where no card fits at all."""
    found: dict[str, Gpu | None] = {}
    for device in devices:
        fitting = [gpu for gpu in gpus if same(device, gpu)]
        twins = [other for other in devices if plain_name(other.description) == plain_name(device.description)]
        if fitting or device.kind == "cuda":
            found[device.name] = fitting[0] if len(fitting) == 1 and len(twins) == 1 else None
    return found


def _by_size(devices: Sequence[EngineDevice], gpus: Sequence[Gpu]) -> dict[str, Gpu | None]:
    """AMD's driver has no names: a card is claimed where it is the only one, or the only one of its size.

    Two backends may list one card each in its own way; what is alone is judged within one backend.
    """
    found: dict[str, Gpu | None] = {}
    for device in devices if gpus else ():
        others = [one for one in devices if one.kind == device.kind]
        fitting = [gpu for gpu in gpus if _same_size(device, gpu)]
        rivals = [one for one in others if fitting and _same_size(one, fitting[0])]
        alone = len(gpus) == len(others) == 1
        found[device.name] = gpus[0] if alone else fitting[0] if len(fitting) == len(rivals) == 1 else None
    return found


def _same_size(device: EngineDevice, gpu: Gpu) -> bool:
    return bool(device.total_bytes and gpu.total_bytes and _LEAST <= device.total_bytes / gpu.total_bytes <= _MOST)


def same(device: EngineDevice, gpu: Gpu) -> bool:
    """Whether name and total memory could be of one card; an untold total contradicts nothing."""
    if plain_name(device.description) != plain_name(gpu.name):
        return False
    if device.total_bytes is None or gpu.total_bytes is None:
        return True
    return _LEAST <= device.total_bytes / gpu.total_bytes <= _MOST


def plain_name(name: str) -> str:
    """Names of one card as its drivers spell it: without the maker, marks, and what follows a comma or parenthesis."""
    text = re.sub(r"\((?:R|TM|C)\)", "", name, flags=re.IGNORECASE)
    text = re.split(r"[,(]", text)[0]
    return " ".join(text.lower().removeprefix("nvidia ").split())


def _is_mig(gpu: Gpu) -> bool:
    return (gpu.uuid or "").startswith("MIG-")
