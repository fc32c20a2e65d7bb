"""paddock inspect: what is in this file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.output import document, facts, in_words, line, table
from paddock.text import Text
from paddock.units import bytes_text, count_text, number_text, short_count_text

if TYPE_CHECKING:
    from paddock.gguf.model import ModelFile


@click.command()
@click.argument("file", type=click.Path())
@click.option("--tensors", is_flag=True, help="List every tensor.")
@click.pass_obj
def inspect(options: Globals, file: str, tensors: bool) -> int:
    """What a GGUF file is: architecture, size, quantisation, context, problems."""

    if not file:
        raise click.UsageError(str(Text("Name a file.")))
    model = options.workspace().read_model(file)
    if options.json:
        document(as_dict(model, tensors))
    else:
        show(model, tensors)
    return 0


def as_dict(model: ModelFile, tensors: bool = False) -> dict[str, Any]:
    """The JSON form. Sizes in bytes; null is "not known"."""
    f = model.facts
    out: dict[str, Any] = {
        "path": str(model.path), "kind": model.kind.value, "architecture": model.architecture, "version": model.version,
        "name": f.name, "quant": f.quant, "size": model.size_bytes, "tensor_bytes": model.tensor_bytes,
        "tensor_count": len(model.tensors), "complete": model.complete, "identity": model.identity,
        "parameters": f.parameters, "bits_per_weight": f.bits_per_weight, "layers": f.layers,
        "nextn_layers": f.nextn_layers, "embedding": f.embedding, "heads": _compact(f.heads),
        "kv_heads": _compact(f.kv_heads), "key_length": f.key_length, "value_length": f.value_length,
        "trained_context": f.trained_context, "experts": f.experts, "experts_used": f.experts_used,
        "sliding_window": f.sliding_window, "vocabulary": f.vocabulary, "has_template": f.has_template,
        "template_has_tools": f.template_has_tools, "pooling": f.pooling, "quant_mix": dict(f.quant_mix),
        "shards": [{"path": str(s.path), "number": s.number, "size": s.size_bytes, "tensors": s.tensor_count,
                    "expected": s.expected_bytes} for s in model.shards],
        "problems": [{"id": p.id, "severity": p.severity, "text": str(p.text)} for p in model.problems],
    }
    if tensors:
        out["tensors"] = [{"name": t.name, "shape": list(t.shape), "type": t.type_name, "bytes": t.nbytes,
                           "shard": t.shard} for t in model.tensors]
    return out


def _compact(values: tuple[int, ...] | None) -> int | list[int] | None:
    """One number where all layers agree, else the list."""
    if not values:
        return None
    return values[0] if len(set(values)) == 1 else list(values)


def show(model: ModelFile, tensors: bool) -> None:
    """The text form."""
    f = model.facts
    experts = None
    if f.experts:
        experts = str(Text("{n}, {used} used", n=f.experts, used=f.experts_used or "n/a"))
    missing = str(Text("a lower bound: parts are missing"))
    facts([
        (Text("Name"), f.name), (Text("File"), model.path), (Text("Kind"), model.kind.value),
        (Text("Architecture"), model.architecture), (Text("Quantisation"), f.quant),
        (Text("Size"), bytes_text(model.size_bytes) + ("" if model.complete else f" ({missing})")),
        (Text("Parameters"), short_count_text(f.parameters) if f.parameters else None),
        (Text("Bits per weight"), number_text(f.bits_per_weight, 2) if f.bits_per_weight else None),
        (Text("Layers"), f.layers), (Text("Embedding"), count_text(f.embedding) if f.embedding else None),
        (Text("Heads"), runs(f.heads)), (Text("KV heads"), runs(f.kv_heads)),
        (Text("Trained context"), count_text(f.trained_context) if f.trained_context else None),
        (Text("Sliding window"), count_text(f.sliding_window) if f.sliding_window else None),
        (Text("Experts"), experts), (Text("Vocabulary"), count_text(f.vocabulary) if f.vocabulary else None),
        (Text("Shards"), len(model.shards) if len(model.shards) > 1 else None),
    ])
    for problem in model.problems:
        line(f"{in_words(problem.severity)}: {problem.text}")
    if tensors:
        line("")
        table([Text("Tensor"), Text("Shape"), Text("Type"), Text("Bytes")],
              ((t.name, " × ".join(map(str, t.shape)), t.type_name, count_text(t.nbytes)) for t in model.tensors), (3,))


def runs(values: tuple[int, ...] | None) -> str | None:
    """(8,8,8,0) → "8 (×3), 0 (×1)"; one value for all layers → itself."""
    if not values:
        return None
    if len(set(values)) == 1:
        return str(values[0])
    counts: dict[int, int] = {}
    for v in values:
        counts[v] = counts.get(v, 0) + 1
    return ", ".join(f"{v} (×{n})" for v, n in counts.items())
