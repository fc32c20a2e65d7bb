"""Draft models that read their target: EAGLE-3 and Gemma 4's assistant (src/models, b11434).

What they have no weights for (embeddings, head), and for the assistant the caches too, is the target's.
"""

from __future__ import annotations

from dataclasses import replace

from paddock.fit.memory import rows
from paddock.fit.quants import row_bytes
from paddock.fit.replay.kpool import filled
from paddock.fit.replay.nodes import F32, I32, KEEP, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build

GRAPHED = frozenset({"eagle3", "gemma4-assistant"})


def build(b: Build) -> None:
    """The whole graph."""
    if b.arch == "eagle3":
        _eagle(b)
    else:
        _assistant(b)
    b.mark()


def embedded(b: Build) -> tuple[Node, Node]:
    """The tokens, and the rows of an embedding: the draft's own, or the target's."""
    tokens = b.g.input(I32, b.u)
    return tokens, b.g.rows(b.w("token_embd.weight") or b.lent("token_embd.weight"), tokens)


def head(b: Build, x: Tensor, transforms: int = 0) -> Tensor:
    """Logits over the target's vocabulary, spread out where the draft knows only a part of it."""
    own = b.output_weight()
    scale = b.w("output.scale") if own is not None and b.arch == "dflash" else None
    out: Tensor = b.mm(own or b.lent("output.weight"), x, scale)
    for _ in range(transforms):
        out = b.g.same(out)
    return spread(b, out)


def spread(b: Build, x: Tensor) -> Tensor:
    """Scattered to the target's rows, if the file maps them."""
    g, table = b.g, b.w("d2t")
    if table is None:
        return x
    count, rows = b.shape.vocabulary, x.ne[1]
    place = g.same(filled(b, F32, 1, count, rows))
    written = Node(KEEP, (g.view(x, 1, x.ne[0], rows), g.view(table, table.ne[0], 1), place), F32, place.ne, place.size)
    written.base = place
    g.writers.append(written)
    return g.view(written, count, rows)


# EAGLE-3 ------------------------------------------------------------------------------------------------------------


def _eagle(b: Build) -> None:
    """One layer over a token and the fused features of the one before it."""
    g, u = b.g, b.u
    _, token = embedded(b)
    fused = g.input(F32, b.embd, u)
    normed_token = b.lnorm(0, "attn_norm", token)
    normed = b.norm(fused, b.lw(0, "attn_norm_2.weight"))
    skip = normed if b.shape.integer("norm_before_residual") else fused
    both = g.new([normed_token, normed], 2 * b.embd, u)
    q, k, v = b.qkv(0, both)
    factors = b.rope_factors(0)
    more = [b.inp_pos(), *([factors] if factors is not None else [])]
    q, k = g.rope(q, *more), g.rope(k, *more)
    middle = g.same(b.attention(0, q, k, v), skip)
    cur = g.same(b.ffn(0, b.lnorm(0, "ffn_norm", middle)), middle)
    b.outputs.append(cur)
    out = head(b, b.norm(cur, b.w("output_norm.weight")))
    b.outputs.append(out)
    g.expand(out)


# Gemma 4's assistant ------------------------------------------------------------------------------------------------


def _assistant(b: Build) -> None:
    """A small model that attends to the caches of the target's last layers."""
    if b.target is None:
        raise NotDescribedError
    g, u, target = b.g, b.u, b.target
    b.shape = replace(b.shape, window=target.shape.window)
    b.sizes = replace(b.sizes, type_k=target.sizes.type_k, type_v=target.sizes.type_v)
    table = b.lent("token_embd.weight")
    token = g.same(g.rows(table, g.input(I32, u)))
    hidden = g.input(F32, table.ne[0], u)
    x: Tensor = b.mm(b.w("nextn.pre_projection.weight"), g.new([token, hidden], 2 * table.ne[0], u))
    cut = b.out_ids()
    last = b.shape.layers_all - 1
    for layer in range(last + 1):
        x = _assistant_layer(b, layer, x, cut if layer == last else None)
    cur = b.norm(x, b.w("output_norm.weight"))
    logits, after = b.mm(b.output_weight(), cur), b.mm(b.w("nextn.post_projection.weight"), cur)
    for out in (logits, after):
        b.outputs.append(out)
        g.expand(out)


def _assistant_layer(b: Build, layer: int, x: Tensor, cut: Node | None) -> Tensor:
    g, s, u = b.g, b.shape, b.u
    _borrow(b, layer)
    raw = b.mm(b.lw(layer, "attn_q.weight"), b.lnorm(layer, "attn_norm", x))
    q = b.lnorm(layer, "attn_q_norm", g.view(raw, s.head_k[layer], s.heads[layer], u))
    factors = None if s.swa[layer] else b.rope_factors(layer)
    turned = g.rope(q, b.inp_pos(), *([factors] if factors is not None else []))
    cur: Tensor = b.attention(layer, turned, None, None)
    skip = x
    if cut is not None:
        cur, skip = g.rows(cur, cut), g.rows(skip, cut)
    middle = g.same(b.lnorm(layer, "post_attention_norm", cur), skip)
    cur = b.norm(b.ffn(layer, b.lnorm(layer, "ffn_norm", middle)), b.lw(layer, "post_ffw_norm.weight"))
    out = g.same(cur, middle)
    scale = b.lw(layer, "layer_output_scale.weight")
    return out if scale is None else g.same(out, scale)


def _borrow(b: Build, layer: int) -> None:
    """The caches of the target's last layer of this kind stand in for the layer's own."""
    assert b.target is not None
    shape, sizes = b.target.shape, b.target.sizes
    owner = min(shape.layers, shape.own_kv_layers) - (2 if b.shape.swa[layer] else 1)
    cells = (sizes.sliding(shape.window) if shape.windowed and shape.swa[owner] else sizes.cells) * sizes.streams
    device = b.lent_device(b.target.weights.placement.layer_device[owner]) if sizes.kv_offload else b.cpu
    k, v = rows(shape, sizes, owner)
    for name, kind, row in (("", sizes.type_k, k), ("v", sizes.type_v, v)):
        node = Node(KEEP, (), F32, (1, 1, 1, 1), row_bytes(kind, row) * cells)
        node.buffered = True
        node.device = device
        b.leafs[f"cache@{layer}{name}"] = node
