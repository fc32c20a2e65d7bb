"""Cells, rows and patterns in words."""

from __future__ import annotations

from paddock.desktop.tr import tr
from paddock.fit.placement_map import EMBEDDING, HOST_NAME, Pattern, PlacementMap
from paddock.units import MIB, bytes_text


def row_word(name: str) -> str:
    """The engine calls the host's memory CPU, and so do patterns."""
    return "CPU" if name == HOST_NAME else name


def column_word(found: PlacementMap, column: int) -> str:
    """Embedding, Layer 12, Output."""
    if column == EMBEDDING:
        return tr("Embedding")
    return tr("Output") if column == found.output else tr("Layer {number}", number=column)


def kind_word(kind: str) -> str:
    return {"experts": tr("experts"), "ffn": tr("FFN"), "attention": tr("attention"), "kv": tr("KV"),
            "other": tr("other")}[kind]


def cell_words(found: PlacementMap, row: str, column: int) -> str:
    """Layer 12 on CUDA0: 15 tensors, 392 MiB; experts 370 MiB, attention 22 MiB, KV 96 MiB."""
    cell = found.cell(row, column)
    where = tr("{layer} on {device}", layer=column_word(found, column), device=row_word(row))
    if not cell.total:
        return tr("{where}: nothing", where=where)
    count = tr("{count} tensor", plural="{count} tensors", count=cell.tensors)
    kinds = [k for k in ("experts", "ffn", "attention", "kv", "other") if cell.of(k)]
    if column in (EMBEDDING, found.output) and kinds == ["other"]:
        return tr("{where}: {tensors}, {size}", where=where, tensors=count, size=bytes_text(cell.total))
    parts = ", ".join(f"{kind_word(k)} {bytes_text(cell.of(k))}" for k in kinds)
    return tr("{where}: {tensors}, {size}: {parts}", where=where, tensors=count, size=bytes_text(cell.total),
              parts=parts)


def layers_words(numbers: list[int]) -> str:
    """[0, 1, 2, 7] -> "0 to 2, 7"."""
    runs: list[list[int]] = []
    for n in sorted(numbers):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else tr("{first} to {last}", first=a, last=b) for a, b in runs)


def map_sentence(found: PlacementMap) -> str:
    """The picture in a few sentences, for a screen reader."""
    said = []
    for row in found.rows:
        weights, kv = found.sums(row.name)
        held = [c for c in range(found.layers) if found.cell(row.name, c).total]
        if not weights and not kv:
            said.append(tr("{device}: nothing.", device=row_word(row.name)))
            continue
        layers = tr("layer {numbers}", plural="layers {numbers}", count=len(held),
                    numbers=layers_words(held)) if held else tr("no layer")
        said.append(tr("{device}: {layers}; weights {weights}, KV {kv}.", device=row_word(row.name), layers=layers,
                       weights=bytes_text(weights), kv=bytes_text(kv)))
    return " ".join(said)


def target_word(pattern: Pattern) -> str:
    return pattern.target or "?"


def effect_words(pattern: Pattern, found: PlacementMap) -> tuple[str, str, str]:
    """(icon, role, sentence): what a pattern does, or why it does nothing."""
    if pattern.problem is not None:
        return "circle-x", "bad", str(pattern.problem)
    if not pattern.matched:
        return "circle-x", "bad", _nothing(pattern, found)
    if not pattern.taken:
        if len(pattern.late) == 1:
            number, count = pattern.late[0]
            return "triangle-alert", "warn", tr("no effect: {number} takes all {count} first", number=number,
                                                count=count)
        numbers = ", ".join(str(n) for n, _ in pattern.late)
        return "triangle-alert", "warn", tr("no effect: {numbers} take all first", numbers=numbers)
    if not pattern.moved:
        return "equal", "text2", tr("no effect: all are on {device} already", device=target_word(pattern))
    moves = tr("{sources} to {target}", sources=", ".join(row_word(s) for s in pattern.sources),
               target=target_word(pattern))
    if pattern.late:
        first = "; ".join(tr("{number} takes {count} first", number=n, count=c) for n, c in pattern.late)
        moves = f"{moves}; {first}"
    return "circle-check", "ok", moves


def _nothing(pattern: Pattern, found: PlacementMap) -> str:
    wants = pattern.expression
    if pattern.flag in ("-cmoe", "-ncmoe") and found.has_experts:
        return tr("matches nothing: no layers")
    if "shexp" in wants and found.layers:
        return tr("matches nothing: no shared experts there")
    if ("exps" in wants or pattern.flag in ("-cmoe", "-ncmoe")) and not found.has_experts:
        return tr("matches nothing: this model has no experts")
    return tr("matches nothing")


def pattern_text(pattern: Pattern) -> str:
    """As it stands in the list: the expression, or the flag with its value."""
    if pattern.flag == "-ot":
        return pattern.expression
    return f"{pattern.flag} {pattern.expression}".strip()


def mib_text(size: int) -> str:
    """537, 1.4, 0.01: whole MiB where there are ten or more."""
    value = size / MIB
    if value >= 0.1:
        return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.01 else "<0.01"


def short_name(description: str) -> str:
    """NVIDIA GeForce RTX 4090 -> RTX 4090, for a place of a few letters."""
    for word in ("NVIDIA ", "GeForce ", "AMD ", "Radeon ", "Intel(R) ", "Graphics "):
        description = description.replace(word, "")
    return description.strip()
