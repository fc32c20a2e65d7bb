"""The one place that turns numbers into words and back: bytes, counts, rates, durations."""

from __future__ import annotations

import math
import re

from paddock.errors import AppError
from paddock.text import Text

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
NA = "n/a"
MINUS = "−"
_FACTORS = {"": 1, "k": KIB, "m": MIB, "g": GIB, "t": TIB}
_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*$", re.IGNORECASE)


def missing(value: float | None) -> bool:
    """None and NaN both mean "not known"."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def bytes_text(value: float | None, digits: int = 2) -> str:
    """1503238553 -> "1.40 GiB"; below a GiB whole MiB, below a MiB whole KiB; None -> "n/a"."""
    if value is None or missing(value):
        return NA
    sign, size = (MINUS if value < 0 else ""), abs(value)
    if size >= TIB:
        return f"{sign}{size / TIB:.{digits}f} TiB"
    if size >= GIB:
        return f"{sign}{size / GIB:.{digits}f} GiB"
    if size >= MIB:
        return f"{sign}{size / MIB:.0f} MiB"
    return f"{sign}{size / KIB:.0f} KiB" if size >= KIB else f"{sign}{size:.0f} B"


def gib_text(value: float | None, digits: int = 2) -> str:
    """The figure alone, in GiB, for columns whose header carries the unit."""
    if value is None or missing(value):
        return NA
    return f"{MINUS if value < 0 else ''}{abs(value) / GIB:.{digits}f}"


def count_text(value: float | None) -> str:
    """131072 -> "131,072"."""
    if value is None or missing(value):
        return NA
    return f"{value:,.0f}".replace("-", MINUS)


def number_text(value: float | None, digits: int = 1) -> str:
    """A plain figure with so many decimals: 46.2."""
    if value is None or missing(value):
        return NA
    return f"{value:,.{digits}f}".replace("-", MINUS)


def rate_text(value: float | None) -> str:
    """Tokens per second: three significant figures, "46.2 t/s"."""
    if value is None or missing(value):
        return NA
    return f"{value:,.0f} t/s" if abs(value) >= 100 else f"{value:.1f} t/s"


def percent_text(fraction: float | None, digits: int = 0, signed: bool = False) -> str:
    """0.014 -> "1 %", signed "+1 %"; what rounds to nought has no sign."""
    if fraction is None or missing(fraction):
        return NA
    figure = f"{abs(fraction) * 100:.{digits}f}"
    sign = "" if not float(figure) else MINUS if fraction < 0 else "+" if signed else ""
    return f"{sign}{figure} %"


def seconds_text(value: float | None) -> str:
    """0.42 -> "0.42 s", 75 -> "1 min 15 s", 4000 -> "1 h 6 min"."""
    if value is None or missing(value):
        return NA
    if value < 10:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, seconds = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def short_count_text(value: float | None) -> str:
    """30532122624 -> "30.53 B", 268098176 -> "268.1 M"."""
    if value is None or missing(value):
        return NA
    for limit, name, digits in ((1e12, "T", 2), (1e9, "B", 2), (1e6, "M", 1), (1e3, "K", 1)):
        if value >= limit:
            return f"{value / limit:.{digits}f} {name}"
    return f"{value:.0f}"


def parse_bytes(text: str) -> int:
    """Bytes of "24G", "24GiB", "24000MiB" or a plain number (binary units); AppError on anything else."""
    match = _SIZE.match(text)
    if not match:
        raise AppError(Text("“{text}” is not a size.", text=text), hint=Text("Write bytes, or 24G, 24GiB, 24000MiB."))
    size = float(match[1]) * _FACTORS[match[2].lower()]
    if size >= 1 << 63:
        raise AppError(Text("“{text}” is more than any memory holds.", text=text))
    return int(size)
