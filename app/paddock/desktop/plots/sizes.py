"""Widths and heights that all plots share. They grow with the font, but are never smaller than the look says."""

from __future__ import annotations

from paddock.desktop.theme import theme


def at_least(pixels: int) -> int:
    """A length of the look, larger where the font is."""
    return max(pixels, theme().px(pixels))


def left() -> int:
    """The left scale: every plot has the same, or their edges would not line up."""
    return at_least(40)


def right() -> int:
    """The right scale."""
    return at_least(30)


def legend() -> int:
    """The column of names and values."""
    return at_least(158)


def row() -> int:
    """A legend's row."""
    return at_least(16)


def pad_top() -> int:
    """Inside a plot above its top: room for the title."""
    return at_least(16)


PAD_BOTTOM = 6
"""Inside a plot below 0: half a figure of the scale."""
