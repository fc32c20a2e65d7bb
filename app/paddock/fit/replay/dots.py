"""Dots 3 Note: latent attention with a token indexer, or within a window with sizes of its own (b11434)."""

from __future__ import annotations

from paddock.fit.replay import dense, mla
from paddock.fit.replay.mla import Latent
from paddock.fit.replay.nodes import NotDescribedError, Tensor
from paddock.fit.replay.parts import Build

GRAPHED = frozenset({"dots3note"})


def build(b: Build) -> None:
    """The whole graph."""
    g = b.g
    x: Tensor = b.inp_embd()
    b.inp_pos()
    cut = b.out_ids()
    traits = mla.traits(b)
    last = b.shape.layers - 1
    for layer in range(b.shape.layers):
        skip = x
        cur = _attention(b, layer, b.lnorm(layer, "attn_norm", x))
        if layer == last:
            cur, skip = g.rows(cur, cut), g.rows(skip, cut)
        middle = g.same(cur, skip)
        x = g.same(dense.feed_forward(b, traits, layer, b.lnorm(layer, "ffn_norm", middle)), middle)
    cur = b.norm(x, b.w("output_norm.weight"))
    b.embed(cur)
    out = b.mm(b.output_weight(), cur)
    b.outputs.append(out)
    g.expand(out)
    b.mark()


def _attention(b: Build, layer: int, x: Tensor) -> Tensor:
    g, s, u = b.g, b.shape, b.u
    sliding = s.swa[layer]
    rank = mla.query_rank(b, layer, x)
    if rank is None:
        raise NotDescribedError
    b.chosen = None
    top = None if sliding else mla.indexed(b, layer, x, rank)
    size = mla.sizes_of(b)
    if sliding:
        size = Latent(
            s.integer("attention.kv_lora_rank_swa"),
            s.integer("attention.key_length_mla_swa"),
            s.integer("attention.value_length_mla_swa"),
        )
    q = b.mm(b.lw(layer, "attn_q_b.weight"), rank)
    norm = b.lw(layer, "attn_k_norm.weight")
    queries, keys, values = mla.absorbed(b, layer, x, q, sizes=size, key_norm=norm)
    for tensor in (queries, values, keys):
        g.expand(tensor)
    cache, memory = mla.key_cache(b, layer), b.memory(sliding)
    g.expand(g.store(cache, keys, memory.k_ids))
    mask: Tensor = memory.mask if top is None else mla.chosen_mask(b, memory.mask, top)
    out = mla.latent(b, layer, queries, cache, mask, sizes=size)
    gate = g.same(b.mm(b.lw(layer, "attn_gate.weight"), x))
    heads = s.heads[layer]
    mixed = g.same(g.view(out, size.value, heads, u), g.view(gate, 1, heads, u))
    return b.project(layer, g.view(mixed, size.value * heads, u), "attn_output")
