"""Texts of the window."""

from __future__ import annotations

from typing import Any

from paddock.text import Text


def tr(template: str, /, *, plural: str | None = None, count: int | None = None, **values: Any) -> str:
    """The template rendered in the language in use, as `str(Text(...))`; extracted like a Text."""
    return str(Text(template, plural=plural, count=count, **values))
