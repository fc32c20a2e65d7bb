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
_INTEL = re.compile(r"\bintel\b", re.I)
_INTEGRATED = re.compile(
    r"llvmpipe|swiftshader|^apple |uhd graphics|\bhd graphics|iris|arc(?:\(tm\))? (?:pro )?graphics|"
    r"arc(?:\(tm\))? 1[0-9]0[tv]\b|intel(?:\(r\))? graphics|radeon(?:\(tm\))? graphics|radeon(?:\(tm\))? \d{3}m\b|"
    r"\b80[4-6]0s\b|\b(?:GB10|Tegra|Orin|Thor|Xavier|Jetson)\b|vega \d+ graphics|\bcustom gpu\b|adreno|mali-", re.I)
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

    Devices whose maker's driver is not here, and those of RPC servers, do not appear. A card may be the answer for two
    devices of different backends (see `twins`).
    """
    nvidia = [gpu for gpu in gpus if gpu.maker == "nvidia"]
    cuda = [device for device in devices if device.kind == "cuda"]
    vulkan = [device for device in devices if device.kind == "vulkan"]
    order = visible(nvidia, environ)
    found = _by_name(cuda, nvidia) if order is None else _in_order(cuda, order)
    found |= _by_name(vulkan, nvidia)
    amd = [one for one in devices if one.kind == "rocm" or (one in vulkan and _AMD.search(one.description))]
    intel = [one for one in devices if one.kind == "sycl" or (
        one.kind in ("vulkan", "opencl") and _INTEL.search(one.description))]
    metal = [one for one in devices if one.kind == "metal"]
    for listed, maker in ((amd, "amd"), (intel, "intel"), (metal, "apple")):
        found |= _by_what_is_told(listed, [gpu for gpu in gpus if gpu.maker == maker])
    return found


def looks_integrated(device: EngineDevice) -> bool:
    """Whether the device is part of the processor, as its backend says, else by its name."""
    return device.unified if device.unified is not None else bool(_INTEGRATED.search(device.description))


def twins(devices: Sequence[EngineDevice], matched: Mapping[str, Gpu | None]) -> dict[str, str]:
    """Devices that are an earlier device again, through another backend: {"Vulkan0": "CUDA0"}.

    By their card where a driver knows it. Else by name, where each of the two backends lists that name once: llama.cpp
    itself then goes by the PCI id, which --list-devices does not print.
    """
    found: dict[str, str] = {}
    for place, device in enumerate(devices):
        for other in devices[:place]:
            if other.kind != device.kind and other.name not in found and _same_card(device, other, devices, matched):
                found[device.name] = other.name
                break
    return found


def _same_card(device: EngineDevice, other: EngineDevice, devices: Sequence[EngineDevice],
               matched: Mapping[str, Gpu | None]) -> bool:
    card, others = matched.get(device.name), matched.get(other.name)
    if card is not None and others is not None:
        return card == others
    if card is not None or others is not None or "rpc" in (device.kind, other.kind):
        return False
    name = plain_name(device.description)
    if not name or name != plain_name(other.description):
        return False
    return all(sum(1 for one in devices if one.kind == kind and plain_name(one.description) == name) == 1
               for kind in (device.kind, other.kind))


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


def _by_what_is_told(devices: Sequence[EngineDevice], gpus: Sequence[Gpu]) -> dict[str, Gpu | None]:
    """Drivers that know few names: a card is claimed where part of the processor or not, name, and size leave one.

    Two backends may list one card each in its own way; what is alone is judged within one backend.
    """
    found: dict[str, Gpu | None] = {}
    for device in devices if gpus else ():
        others = [one for one in devices if one.kind == device.kind]
        fitting = _fitting(device, gpus)
        if len(fitting) == 1 and sum(1 for one in others if fitting[0] in _fitting(one, gpus)) == 1:
            found[device.name] = fitting[0]
            continue
        sized = [gpu for gpu in fitting if _same_size(device, gpu)]
        rivals = [one for one in others if sized and sized[0] in _fitting(one, gpus) and _same_size(one, sized[0])]
        found[device.name] = sized[0] if len(sized) == len(rivals) == 1 else None
    return found


def _fitting(device: EngineDevice, gpus: Sequence[Gpu]) -> list[Gpu]:
    """The cards that nothing speaks against; those that the name speaks for alone, where there are any."""
    kind = [gpu for gpu in gpus if gpu.integrated is None or gpu.integrated == looks_integrated(device)]
    if not kind and device.unified is None:
        kind = list(gpus)  # a name alone is no proof: cards call themselves "Radeon Graphics" too
    words = set(re.findall(r"[a-z0-9]+", plain_name(device.description)))
    return [gpu for gpu in kind if _own_words(gpu) and _own_words(gpu) <= words] or kind


def _own_words(gpu: Gpu) -> set[str]:
    """The words by which a card's name differs from that of others; none of a name that we made up."""
    words = set(re.findall(r"[a-z0-9]+", plain_name(gpu.name))) - {"amd", "intel", "radeon", "graphics", "arc", "rx"}
    return set() if "gpu" in words else words


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
    return (gpu.uuid or "").startswith("MIG-") or gpu.instance_of is not None
