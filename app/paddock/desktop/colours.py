"""The colours of the window as roles, light and dark; the figures come from the project's look."""

from __future__ import annotations

from typing import NamedTuple

ROLES: dict[str, tuple[str, str]] = {
    "window": ("#F3F4F6", "#16181C"),
    "base": ("#FFFFFF", "#1C1F24"),
    "alt": ("#F8F9FB", "#20242A"),
    "hover": ("#ECEEF2", "#262B32"),
    "line": ("#E0E3E8", "#2E333A"),
    "grid": ("#E7E9ED", "#272B32"),
    "soft": ("#C6CBD3", "#414851"),
    "edge": ("#868D98", "#6F7783"),
    "text": ("#1A1D21", "#E6E8EB"),
    "text2": ("#515862", "#ABB2BC"),
    "text3": ("#626974", "#949BA6"),
    "accent": ("#4453C4", "#A3AEFF"),
    "on_accent": ("#FFFFFF", "#12162B"),
    "sel": ("#E6E9FA", "#2B3050"),
    "ok": ("#17724A", "#62CF94"),
    "ok_tint": ("#E3F3EA", "#1A3326"),
    "warn": ("#8A5500", "#E8B54F"),
    "warn_tint": ("#FBF0DA", "#352A14"),
    "bad": ("#B3261E", "#FF8F85"),
    "bad_tint": ("#FCE8E6", "#43211F"),
    "unk": ("#515862", "#ABB2BC"),
    "unk_tint": ("#ECEEF1", "#2A2F36"),
    "mark": ("#FFF3C4", "#4A3F16"),
    "attention": ("#16305F", "#C3D8FB"),
    "embedding": ("#648CCC", "#4B70B4"),
}
"""Role to (light, dark)."""


class DataColour(NamedTuple):
    """One of six colours that mean a thing in a bar or plot; `text` is legible on it. Pairs are (light, dark)."""

    fill: tuple[str, str]
    text: tuple[str, str]
    pattern: str
    dash: tuple[float, ...]
    marker: str


DATA: tuple[DataColour, ...] = (
    DataColour(("#3B67B0", "#6A9CF0"), ("#FFFFFF", "#0D1628"), "plain", (), "o"),
    DataColour(("#B45C0C", "#E6953A"), ("#FFFFFF", "#201200"), "diagonal", (5, 3), "t1"),
    DataColour(("#6A2F94", "#8163B8"), ("#FFFFFF", "#FFFFFF"), "dots", (1, 3), "s"),
    DataColour(("#3A938C", "#6FE0D0"), ("#0B1F1D", "#04211D"), "uprights", (7, 2, 1.5, 2), "d"),
    DataColour(("#9C3F7A", "#C2466B"), ("#FFFFFF", "#FFFFFF"), "levels", (10, 4), "o"),
    DataColour(("#3F444C", "#A9AFB7"), ("#FFFFFF", "#14171B"), "crosses", (3, 2), "s"),
)
"""Colour n is DATA[n - 1]. `marker` is pyqtgraph's symbol; 5 and 6 are drawn hollow."""

TERMS: dict[str, int] = {"weights": 1, "kv": 2, "compute": 3, "draft": 4, "projector": 5, "overhead": 6}
"""A memory term's data colour."""
