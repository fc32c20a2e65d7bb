"""What goes with a model: its projector, where widths and names agree and only one does; models that could draft."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paddock.gguf import Kind, ModelFile
from paddock.gguf.kinds import only_prediction_layers
from paddock.gguf.layers import projection_widths
from paddock.gguf.splits import plain_stem
from paddock.library.model import Entry

_SAYS_NOTHING = re.compile(
    r"mm|proj|mmproj|model|gguf|clip|vision|audio|encoder|projector|(?:bf|fp?)(?:16|32)|i?q\d\w*|[01]|k|s|m|l|xl|xs|xxs|"
    r"ud|it|instruct|chat")
"""Words of file names that do not tell one model from another."""
_SEPARATORS = re.compile(r"[^a-z0-9.]+|\.(?!\d)")
OWN_LAYERS = "mtp"
"""The person's word for a draft that is the model's own prediction layers."""
SMALLER = 8
"""A model that was not made as a draft should be smaller by this factor at least."""
MOST_APART = 128
"""Tokens by which two vocabularies may differ in length (speculative.cpp, SPEC_VOCAB_MAX_SIZE_DIFFERENCE)."""


@dataclass(frozen=True)
class Pairing:
    """What could go with a model, the best first, and which of it does.

    `by_person`: the choice is the person's word ("none" is a word too: then `chosen` is None). Several that fit alike
    and no word: `chosen` is None and the person is asked.
    """

    options: tuple[Entry, ...] = ()
    chosen: Entry | None = None
    by_person: bool = False
    lost: Path | None = None
    """The file that the person chose, if it is gone."""
    own_layers: int = 0
    """Of a draft: layers of the model itself that predict further tokens (MTP); they draft without another file."""
    own_chosen: bool = False


def projector_for(entry: Entry, entries: Iterable[Entry]) -> Entry | None:
    """The one projector beside this model that fits it; None if none or several do (the person then chooses)."""
    named, nameless, others = _projectors(entry, entries)
    if named:
        return named[0] if len(named) == 1 else None
    return nameless[0] if len(nameless) == 1 and not others else None


def projector_pairing(entry: Entry, entries: Iterable[Entry], word: str | None = None) -> Pairing:
    """Projectors of the model's folder that fit by width; `word`: the person's choice, a path, or "" for none."""
    known = list(entries)
    named, nameless, _ = _projectors(entry, known)
    return _with_word((*named, *nameless), projector_for(entry, known), word, known)


def draft_pairing(entry: Entry, entries: Iterable[Entry], word: str | None = None) -> Pairing:
    """Models that could draft for this one. None is taken by itself: whether one pays has to be measured."""
    known = list(entries)
    if entry.model is None:
        return Pairing()
    options, own = tuple(drafts_for(entry.model, known)), entry.model.facts.nextn_layers
    if word == OWN_LAYERS:
        return Pairing(options, None, True, own_layers=own, own_chosen=own > 0)
    return replace(_with_word(options, None, word, known), own_layers=own)


def drafts_for(model: ModelFile, entries: Iterable[Entry]) -> list[Entry]:
    """Models with the same vocabulary, as far as the headers tell, that were made as drafts or are at most an eighth of
    the size; drafts of the model's own name first, then the smallest."""
    if model.kind not in (Kind.MODEL, Kind.DRAFT):
        return []
    found = [(e, e.model) for e in entries
             if e.model is not None and e.path != model.path and e.model.kind in (Kind.MODEL, Kind.DRAFT)
             and e.model.complete and same_vocabulary(model, e.model)
             and (e.model.kind is Kind.DRAFT or e.model.size_bytes * SMALLER <= model.size_bytes)]
    words = _words(model)
    return [e for e, m in sorted(found, key=lambda pair: (
        not (pair[1].kind is Kind.DRAFT and bool(_base(pair[1]) & words)), pair[1].size_bytes))]


def draft_type(draft: ModelFile) -> str:
    """llama.cpp's --spec-type for a draft of this kind."""
    if only_prediction_layers(draft.architecture, draft.metadata, frozenset(draft.by_name)):
        return "draft-mtp"
    return {"eagle3": "draft-eagle3", "dflash": "draft-dflash"}.get(draft.architecture or "", "draft-simple")


def same_vocabulary(model: ModelFile, other: ModelFile) -> bool:
    """Kind, way of cutting and length agree; a draft without a vocabulary of its own uses the target's."""
    if other.facts.vocabulary is None:
        return other.kind is Kind.DRAFT
    if model.facts.vocabulary is None or abs(model.facts.vocabulary - other.facts.vocabulary) > MOST_APART:
        return False
    pairs = ((m.metadata.get(key) for m in (model, other)) for key in ("tokenizer.ggml.model", "tokenizer.ggml.pre"))
    return all(a == b or a is None or b is None for a, b in pairs)


def _with_word(options: tuple[Entry, ...], found: Entry | None, word: str | None, known: Sequence[Entry]) -> Pairing:
    if word is None:
        return Pairing(options, found)
    if not word:
        return Pairing(options, None, True)
    chosen = next((e for e in known if str(e.path) == word), None)
    if chosen is None:
        return Pairing(options, None, True, Path(word))
    return Pairing(options if chosen in options else (chosen, *options), chosen, True)


def _projectors(entry: Entry, entries: Iterable[Entry]) -> tuple[list[Entry], list[Entry], bool]:
    """Projectors beside the model that fit by width: with its name, without a name; whether other models that they
    would fit as well lie there."""
    model = entry.model
    if model is None or model.kind is not Kind.MODEL:
        return [], [], False
    beside = [(e, e.model) for e in entries if e.model is not None and _together(e, entry)]
    fitting = [(e, m) for e, m in beside if m.kind is Kind.PROJECTOR and width_fits(model, m)]
    words = _words(model)
    named = [e for e, m in fitting if _base(m) and _base(m) <= words]
    nameless = [e for e, m in fitting if not _base(m)]
    others = any(m.kind is Kind.MODEL and m.facts.embedding == model.facts.embedding and _base(m) != _base(model)
                 for _, m in beside)
    return named, nameless, others


def width_fits(model: ModelFile, projector: ModelFile) -> bool:
    """Whether the projector's output is as wide as the model's embedding."""
    return model.facts.embedding is not None and model.facts.embedding in projection_widths(projector.metadata)


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
