"""Which projector belongs to a model: only where widths and names agree, and only one does."""

from __future__ import annotations

import re
from collections.abc import Iterable

from paddock.gguf import Kind, ModelFile
from paddock.gguf.layers import whole
from paddock.gguf.splits import plain_stem
from paddock.library.model import Entry

_SAYS_NOTHING = re.compile(
    r"mm|proj|mmproj|model|gguf|clip|vision|audio|encoder|projector|(?:bf|fp?)(?:16|32)|i?q\d\w*|[01]|k|s|m|l|xl|xs|xxs|"
    r"ud|it|instruct|chat")
"""Words of file names that do not tell one model from another."""
_SEPARATORS = re.compile(r"[^a-z0-9.]+|\.(?!\d)")
_WIDTHS = ("clip.vision.projection_dim", "clip.audio.projection_dim", "clip.projection_dim")


def projector_for(entry: Entry, entries: Iterable[Entry]) -> Entry | None:
    """The one projector beside this model that fits it; None if none or several do (the person then chooses)."""
    model = entry.model
    if model is None or model.kind is not Kind.MODEL:
        return None
    beside = [(e, e.model) for e in entries if e.model is not None and _together(e, entry)]
    fitting = [(e, m) for e, m in beside if m.kind is Kind.PROJECTOR and width_fits(model, m)]
    named = [e for e, m in fitting if _base(m) and _base(m) <= _words(model)]
    nameless = [e for e, m in fitting if not _base(m)]
    if named:
        return named[0] if len(named) == 1 else None
    others = any(m.kind is Kind.MODEL and m.facts.embedding == model.facts.embedding and _base(m) != _base(model)
                 for _, m in beside)
    return nameless[0] if len(nameless) == 1 and not others else None


def width_fits(model: ModelFile, projector: ModelFile) -> bool:
    """Whether the projector's output is as wide as the model's embedding."""
    widths = {whole(projector.metadata.get(key)) for key in _WIDTHS}
    return model.facts.embedding is not None and model.facts.embedding in widths


def _together(one: Entry, other: Entry) -> bool:
    """In one folder; all of Ollama's blobs lie in one, so there the name must be the same."""
    return one.path.parent == other.path.parent and one.alias == other.alias


def _words(model: ModelFile) -> frozenset[str]:
    keys = ("general.name", "general.basename", "general.size_label")
    said = (plain_stem(model.path), *(model.metadata.get(key) for key in keys))
    return frozenset(word for text in said if isinstance(text, str) for word in _split(text))


def _base(model: ModelFile) -> frozenset[str]:
    """The words that tell one model from another: of its basename, else of its file name."""
    basename = model.metadata.get("general.basename")
    said = basename if isinstance(basename, str) and basename else plain_stem(model.path)
    return frozenset(word for word in _split(said) if not _SAYS_NOTHING.fullmatch(word))


def _split(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(text.lower()) if word]
