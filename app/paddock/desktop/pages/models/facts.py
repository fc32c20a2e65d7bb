"""The facts of a model as label and value, in two columns."""

from __future__ import annotations

from paddock.desktop.tr import tr
from paddock.gguf.model import Facts, ModelFile
from paddock.units import KIB, bytes_text, count_text, number_text, short_count_text


def _spread(values: tuple[int, ...] | None) -> str | None:
    """One figure where all layers agree, else least to most."""
    if not values:
        return None
    low, high = min(values), max(values)
    return count_text(low) if low == high else tr("{low} to {high}", low=count_text(low), high=count_text(high))


def _heads(facts: Facts) -> str | None:
    heads, kv = _spread(facts.heads), _spread(facts.kv_heads)
    if heads is None:
        return None
    if kv is None:
        return heads
    return tr("{heads}, KV {kv} × {length}", heads=heads, kv=kv, length=facts.key_length) if facts.key_length else tr(
        "{heads}, KV {kv}", heads=heads, kv=kv)


def _parameters(facts: Facts) -> str | None:
    return short_count_text(facts.parameters) if facts.parameters is not None else None


def _layers(facts: Facts) -> str | None:
    if facts.layers is None:
        return None
    if facts.nextn_layers:
        return tr("{layers}, {nextn} of them for drafts", layers=facts.layers, nextn=facts.nextn_layers)
    return tr("{layers} + output", layers=facts.layers) if facts.output_bytes else str(facts.layers)


def _kv(bytes_per_token: float | None) -> str | None:
    if not bytes_per_token:
        return None
    if bytes_per_token >= KIB:
        digits = 0 if bytes_per_token >= 10 * KIB else 1
        return tr("{size} KiB a token", size=number_text(bytes_per_token / KIB, digits))
    return tr("{size} a token", size=bytes_text(bytes_per_token))


def _template(facts: Facts) -> str:
    if not facts.has_template:
        return tr("none")
    return tr("with tools") if facts.template_has_tools else tr("without tools")


def fact_pairs(model: ModelFile, kv_bytes_per_token: float | None = None) -> list[tuple[str, str]]:
    """(label, value); what cannot be told is left out, but for the ones that everybody looks for."""
    facts = model.facts
    experts = None
    if facts.experts:
        experts = tr("{count}, {used} used", count=facts.experts, used=facts.experts_used or "?")
    window = tr("{tokens} tokens", tokens=count_text(facts.sliding_window)) if facts.sliding_window else None
    weights = tr("{bits} bits each", bits=number_text(facts.bits_per_weight, 2)) if facts.bits_per_weight else None
    pairs = [
        (tr("Parameters"), _parameters(facts) or "–"),
        (tr("Trained for"), count_text(facts.trained_context) if facts.trained_context else "–"),
        (tr("Layers"), _layers(facts) or "–"),
        (tr("KV cache"), _kv(kv_bytes_per_token)),
        (tr("Embedding"), count_text(facts.embedding) if facts.embedding else None),
        (tr("Weights"), weights),
        (tr("Heads"), _heads(facts)),
        (tr("Vocabulary"), count_text(facts.vocabulary) if facts.vocabulary else None),
        (tr("Experts"), experts),
        (tr("Sliding window"), window),
        (tr("Pooling"), facts.pooling),
        (tr("Template"), _template(facts)),
        (tr("Size"), bytes_text(model.size_bytes)),
        (tr("GGUF version"), str(model.version)),
    ]
    return [(label, value) for label, value in pairs if value is not None]
