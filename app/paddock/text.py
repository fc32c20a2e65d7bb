"""Texts for people: templates with named values, rendered in English or Italian by the faces.

A text that is born anywhere is a `Text("template with {names}", name=value)`, never an f-string, so that
`scripts/check.py` can extract it. `str(text)` renders it in the language that the face chose with `use_language`.
Catalogues are gettext files under resources/translations (compiled ones are committed).
"""

from __future__ import annotations

import gettext
from typing import Any

from paddock import paths

LANGUAGES = ("en", "it")
_catalogue: gettext.NullTranslations = gettext.NullTranslations()
_language = "en"


class Text:
    """A translatable sentence. `plural` and `count` choose the form by number; `{count}` is then also a value."""

    __slots__ = ("count", "plural", "template", "values")

    def __init__(self, template: str, /, *, plural: str | None = None, count: int | None = None, **values: Any) -> None:
        self.template = template
        self.plural = plural
        self.count = count
        self.values = values if count is None else {"count": count, **values}

    def __str__(self) -> str:
        if self.plural is not None and self.count is not None:
            template = _catalogue.ngettext(self.template, self.plural, self.count)
        else:
            template = _catalogue.gettext(self.template) if self.template else ""
        return template.format(**self.values) if self.values else template

    def __repr__(self) -> str:
        return f"Text({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Text):
            return NotImplemented
        return (self.template, self.plural, self.count, self.values) == (
            other.template, other.plural, other.count, other.values)

    def __hash__(self) -> int:
        return hash((self.template, self.plural, self.count))


def use_language(code: str) -> str:
    """Render all texts in this language from now on ("en", "it", or a locale such as "it_IT.UTF-8"); returns it."""
    global _catalogue, _language
    short = code[:2].lower()
    _language = short if short in LANGUAGES else "en"
    _catalogue = gettext.translation("paddock", str(paths.resource("translations")), [_language], fallback=True)
    return _language


def language() -> str:
    """The language in use, "en" or "it"."""
    return _language
