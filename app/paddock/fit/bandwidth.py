"""Published memory bandwidths of common GPUs, GB/s, matched by the description that a driver gives.

Each figure is the maker's own, from the specification named beside its family. Two figures where parts of one name
differ (memory size or generation): the lowest and the highest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from paddock.fit.model import Known

GB = 1_000_000_000

_TABLE = """
# NVIDIA, GeForce GTX 10 and 16 series, product specifications
gtx 1060=192 | gtx 1070=256 | gtx 1070 ti=256 | gtx 1080=320 | gtx 1080 ti=484 | gtx 1650=128-192 | gtx 1660=192
gtx 1660 super=336 | gtx 1660 ti=288 | titan xp=548 | titan v=653
# NVIDIA, GeForce RTX 20 series, product specifications
rtx 2060=336 | rtx 2060 super=448 | rtx 2070=448 | rtx 2070 super=448 | rtx 2080=448 | rtx 2080 super=496
rtx 2080 ti=616 | titan rtx=672
# NVIDIA, GeForce RTX 30 series, product specifications
rtx 3050=168-224 | rtx 3060=240-360 | rtx 3060 ti=448-608 | rtx 3070=448 | rtx 3070 ti=608 | rtx 3080=760-912
rtx 3080 ti=912 | rtx 3090=936 | rtx 3090 ti=1008 | rtx 3060 laptop=336 | rtx 3070 laptop=448 | rtx 3080 laptop=448
# NVIDIA, GeForce RTX 40 series, product specifications
rtx 4060=272 | rtx 4060 ti=288 | rtx 4070=480-504 | rtx 4070 super=504 | rtx 4070 ti=504 | rtx 4070 ti super=672
rtx 4080=717 | rtx 4080 super=736 | rtx 4090=1008 | rtx 4090 d=1008 | rtx 4050 laptop=192 | rtx 4060 laptop=256
rtx 4070 laptop=256 | rtx 4080 laptop=432 | rtx 4090 laptop=576
# NVIDIA, GeForce RTX 50 series, product specifications
rtx 5050=320 | rtx 5060=448 | rtx 5060 ti=448 | rtx 5070=672 | rtx 5070 ti=896 | rtx 5080=960 | rtx 5090=1792
rtx 5090 d=1792 | rtx 5080 laptop=896 | rtx 5090 laptop=896
# NVIDIA, professional GPUs, data sheets
rtx a2000=288 | rtx a4000=448 | rtx a4500=640 | rtx a5000=768 | rtx a5500=768 | rtx a6000=768 | quadro rtx 4000=416
quadro rtx 5000=448 | quadro rtx 6000=672 | quadro rtx 8000=672 | rtx 2000 ada=224 | rtx 4000 ada=360
rtx 4000 sff ada=280 | rtx 4500 ada=432 | rtx 5000 ada=576 | rtx 6000 ada=960 | rtx pro 4000 blackwell=672
rtx pro 4500 blackwell=896 | rtx pro 5000 blackwell=1344 | rtx pro 6000 blackwell=1597-1792
# NVIDIA, data center GPUs, data sheets
tesla p4=192 | tesla p40=346 | tesla p100=549-732 | tesla v100=900-1134 | tesla t4=320 | t4=320 | a2=200 | a10=600
a10g=600 | a16=200 | a30=933 | a40=696 | a100=1555-2039 | l4=300 | l40=864 | l40s=864 | h100=2000-3350 | h100 pcie=2000
h100 nvl=3900 | h100 80gb hbm3=3350 | h200=4800 | h200 nvl=4800 | gh200=4000-4900 | b200=7700-8000 | gb10=273
# AMD, Radeon RX, product specifications
rx 580=256 | rx 5700 xt=448 | rx 6600=224 | rx 6600 xt=256 | rx 6650 xt=280 | rx 6700 xt=384 | rx 6750 xt=432
rx 6800=512 | rx 6800 xt=512 | rx 6900 xt=512 | rx 6950 xt=576 | rx 7600=288 | rx 7600 xt=288 | rx 7700 xt=432
rx 7800 xt=624 | rx 7900 gre=576 | rx 7900 xt=800 | rx 7900 xtx=960 | rx 9060 xt=320 | rx 9070 gre=432 | rx 9070=640
rx 9070 xt=640 | radeon vii=1024
# AMD, Radeon PRO, Instinct and Ryzen AI Max, product specifications
pro w6800=512 | pro w7800=576-864 | pro w7900=864 | ai pro r9700=640 | mi50=1024 | mi60=1024 | mi100=1228 | mi210=1638
mi250x=3276 | mi300x=5300 | mi325x=6000 | mi355x=8000 | radeon 8050s=256 | radeon 8060s=256
# Intel, Arc, product specifications
arc a380=186 | arc a580=512 | arc a750=512 | arc a770=512-560 | arc b570=380 | arc b580=456 | arc pro b50=224
arc pro b60=456
# Apple, technical specifications of the Macs with it
apple m1=68 | apple m1 pro=200 | apple m1 max=400 | apple m1 ultra=800 | apple m2=100 | apple m2 pro=200
apple m2 max=400 | apple m2 ultra=800 | apple m3=100 | apple m3 pro=150 | apple m3 max=300-400 | apple m3 ultra=819
apple m4=120 | apple m4 pro=273 | apple m4 max=410-546 | apple m5=153
"""
_VARIANT = frozenset({"ti", "super", "xt", "xtx", "gre", "max", "ultra", "pro", "laptop", "mobile", "max-q", "d", "ada",
                      "sff", "nvl", "m"})
"""Words that make another part of it: "RTX 4070" does not speak of an "RTX 4070 Ti"."""
_NOISE = re.compile(r"\((?:r|tm|c)\)|[®™]", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9][a-z0-9-]*")


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second, lowest and highest of the parts of that name; `source`: whose figure it is."""

    low: float
    high: float
    known: Known
    source: str


def _entries() -> dict[tuple[str, ...], Bandwidth]:
    found: dict[tuple[str, ...], Bandwidth] = {}
    source = ""
    for line in _TABLE.strip().splitlines():
        if line.startswith("#"):
            source = line[1:].strip()
            continue
        for entry in line.split("|"):
            name, _, figure = entry.strip().partition("=")
            low, _, high = figure.partition("-")
            found[tuple(name.split())] = Bandwidth(float(low) * GB, float(high or low) * GB,
                                                   Known.REPORTS, source)
    return found


TABLE = _entries()


def _words(description: str) -> list[str]:
    """"NVIDIA A100-SXM4-80GB" is an A100: a form factor behind a dash is no part of the name."""
    text = _NOISE.sub(" ", description.split("(RADV")[0].lower())
    return _WORD.findall(re.sub(r"-(?=sxm|pcie|\d+gb)", " ", text))


@lru_cache(maxsize=64)
def published(description: str) -> Bandwidth | None:
    """The published figure for "NVIDIA GeForce RTX 4090" and the like; None for a part that is not in the table."""
    words = _words(description)
    best: tuple[str, ...] | None = None
    for name in TABLE:
        for at in range(len(words) - len(name) + 1):
            after = words[at + len(name)] if at + len(name) < len(words) else ""
            if tuple(words[at:at + len(name)]) == name and after not in _VARIANT and (
                    best is None or len(name) > len(best)):
                best = name
    return TABLE[best] if best is not None else None
