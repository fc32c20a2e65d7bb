"""MiniMax M3: attention over blocks of tokens that an indexer chooses for each group of heads (src/models, b11434)."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.fit.quants import padded, row_bytes
from paddock.fit.replay import dense
from paddock.fit.replay.nodes import ARANGE, F16, F32, FLASH, I32, I64, KEEP, Node, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.traits import Traits

GRAPHED = frozenset({"minimax-m3"})
_POSITIONS = 256
"""Positions that the indexer reserves for before anything has been decoded."""
_M3 = Traits(gating="key:sigmoid", norm_weights=None, scale_weights=True, expert_bias=True)


@dataclass
class _Blocks:
    """Inputs of the block indexer."""

    bias: Node
    hidden: Node
    slots: Node
    cells: Node
    ids: Node
    mask: Node
    places: int
    count: int
    size: int
    slots_again: Node
    """The same places as fractions, to be gathered from: one token per stream only."""


def _blocks(b: Build, mask: Node) -> _Blocks:
    g, s, cells = b.g, b.shape, b.sizes.cells
    block = s.integer("attention.indexer.block_size")
    places = padded(_POSITIONS, block)
    count = places // block
    return _Blocks(
        g.input(F32, count, b.u),
        g.input(F32, places, b.u),
        g.input(I32, places, b.streams),
        g.input(I32, cells, b.streams),
        g.input(I64, b.u),
        g.new([mask], *mask.ne),
        places,
        count,
        block,
        g.input(F32, places, b.streams),
    )


def build(b: Build) -> None:
    """Dense attention, or blocks of tokens chosen per head where every slot has its own stream."""
    g, s = b.g, b.shape
    x: Tensor = b.inp_embd()
    b.inp_pos()
    sparse = b.flash and (b.sizes.slots == 1 or not b.sizes.unified)
    blocks = _blocks(b, b.memory(False).mask) if sparse else None
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        skip = x
        normed = b.lnorm(layer, "attn_norm", x)
        q, k, v = b.qkv(layer, normed)
        q = g.rope(b.lnorm(layer, "attn_q_norm", q), b.inp_pos())
        k = g.rope(b.lnorm(layer, "attn_k_norm", k), b.inp_pos())
        if blocks is None or layer < s.integer("leading_dense_block_count"):
            cur: Tensor = b.attention(layer, q, k, v)
        else:
            cur = _sparse(b, blocks, layer, normed, q, k, v)
        if layer == layers[-1]:
            cur, skip = g.rows(cur, cut), g.rows(skip, cut)
        middle = g.same(cur, skip)
        x = g.same(dense.feed_forward(b, _M3, layer, b.lnorm(layer, "ffn_norm", middle)), middle)
    b.finish(x)
    b.mark()


def _sparse(b: Build, i: _Blocks, layer: int, x: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    g, s, u = b.g, b.shape, b.u
    size, heads = s.integer("attention.indexer.key_length"), s.integer("attention.indexer.head_count")
    iq = g.view(b.mm(b.lw(layer, "indexer.q_proj.weight"), x), size, heads, u)
    ik = g.view(b.mm(b.lw(layer, "indexer.k_proj.weight"), x), size, 1, u)
    queries = g.rope(b.lnorm(layer, "indexer.q_norm", iq), b.inp_pos())
    keys = g.rope(b.lnorm(layer, "indexer.k_norm", ik), b.inp_pos())
    index = b.cache(layer, row_bytes(b.sizes.type_k, size) * b.sizes.cells * b.streams)
    g.expand(g.store(index, keys, i.ids))
    memory = b.memory(False)
    if memory.k_turn is not None:
        q, k = b.turned(q, memory.k_turn), b.turned(k, memory.k_turn)
    if memory.v_turn is not None:
        v = b.turned(v, memory.v_turn)
    for tensor in (q, k, v):
        g.expand(tensor)
    k_cache, v_cache = b.caches(layer)
    assert memory.v_ids is not None
    g.expand(g.store(k_cache, k, memory.k_ids))
    g.expand(g.store(v_cache, v, memory.v_ids))
    out = _gathered if u == b.streams else _masked
    cur = out(b, i, layer, queries, index, q, k_cache, v_cache)
    if memory.v_turn is not None:
        cur = b.turned(cur, memory.v_turn)
    return b.project(layer, cur, "attn_output")


def _masked(
    b: Build, i: _Blocks, layer: int, queries: Node, index: Node, q: Tensor, k_cache: Node, v_cache: Node
) -> Tensor:
    """One stream after another, each through a mask of its own."""
    g = b.g
    out = _stream(b, i, layer, queries, index, q, k_cache, v_cache)
    for stream in range(1, b.streams):
        one = _stream(b, i, layer, queries, index, q, k_cache, v_cache)
        out = g.new([out, one], one.ne[0], (stream + 1) * one.ne[1])
    return out


def _gathered(
    b: Build, i: _Blocks, layer: int, queries: Node, index: Node, q: Tensor, k_cache: Node, v_cache: Node
) -> Tensor:
    """One token per stream: the chosen blocks' keys and values are gathered, for all streams at once."""
    g, s, streams = b.g, b.shape, b.streams
    size, heads, head, kv = queries.ne[0], queries.ne[1], s.head_k[layer], s.kv_heads[layer]
    best = min(i.count, s.integer("attention.indexer.top_k"))
    total = i.size * best * heads
    found = g.rows(g.view(index, size, b.sizes.cells, streams, size=index.size), i.slots)
    score = g.mm(g.view(found, size, i.places, 1, streams), g.view(queries, size, heads, 1, streams))
    hidden = g.write(score, g.view(i.hidden, i.places, 1, 1, streams))
    pooled = g.new([hidden], i.count, heads, 1, streams)
    top = g.new([g.same(pooled, g.view(i.bias, i.count, 1, 1, streams))], best, heads, 1, streams, type_=I32)
    first = g.same(g.new([top], best, heads, 1, streams))
    wide = g.new([g.view(first, 1, best, heads, streams)], i.size, best, heads, streams)
    places = g.new([g.view(g.same(wide, _counted(i.size)), total, streams)], total, streams, type_=I32)
    cells = g.rows(g.view(i.slots_again, 1, i.places, streams), places)
    lines = g.same(g.same(g.view(cells, i.size, best, heads, streams)), g.view(_counted(kv), 1, 1, heads))
    lines = g.new([g.view(lines, total, streams)], total, streams, type_=I32)
    keys, values = (
        _cast(b, g.rows(g.view(c, head, kv * b.sizes.cells, streams, size=c.size), lines), kind, heads * streams)
        for c, kind in ((k_cache, b.sizes.type_k), (v_cache, b.sizes.type_v))
    )
    seen = g.rows(g.view(i.hidden, 1, i.places, streams), places)
    mask = g.new([g.view(seen, i.size * best, 1, 1, heads * streams)], i.size * best, 1, 1, heads * streams, type_=F16)
    all_heads, value = s.heads[layer], s.head_v[layer]
    ne = value, all_heads // kv, 1, kv * streams
    part = g.view(q, head, 1, all_heads // kv, kv * streams)
    return g.view(
        Node(FLASH, (part, keys, values, mask), F32, ne, 4 * value * all_heads * streams), value * all_heads, streams
    )


def _counted(count: int) -> Node:
    """0, 1, 2 …"""
    return Node(ARANGE, (), F32, (count, 1, 1, 1), 4 * count)


def _cast(b: Build, x: Node, kind: str, channels: int) -> Tensor:
    """Gathered rows as flash attention reads them: the cache's type, F16 for a quantised one."""
    rows = x.ne[1] * x.ne[2] // channels
    view = b.g.view(x, x.ne[0], rows, 1, channels)
    if kind == "f32":
        return view
    return b.g.new([view], x.ne[0], rows, 1, channels, type_=F16)


def _stream(
    b: Build, i: _Blocks, layer: int, queries: Node, index: Node, q: Tensor, k_cache: Node, v_cache: Node
) -> Tensor:
    """One stream's tokens: score the blocks, keep the best per head, attend through a mask of them."""
    g, s, streams = b.g, b.shape, b.streams
    tokens, cells = b.u // streams, b.sizes.cells
    size, heads = queries.ne[0], queries.ne[1]
    best = min(i.count, s.integer("attention.indexer.top_k"))
    found = g.rows(g.view(index, size, 1, size=index.size // streams), g.view(i.slots, i.places))
    score = g.mm(found, g.view(queries, size, heads * tokens))
    flat = g.view(score, i.places, heads, tokens)
    hidden = g.write(flat, g.view(i.hidden, i.places, 1, tokens))
    pooled = g.new([hidden], i.count, heads, tokens)
    bias = g.view(i.bias, i.count, 1, tokens)
    top = g.new([g.same(pooled, bias)], best, heads, tokens, type_=I32)
    closed = g.new([g.new([g.same(bias)], i.count, 1, tokens, type_=F16)], i.count, heads, tokens, type_=F16)
    zero = g.same(g.new([top], best, heads, tokens))
    place = g.view(closed, 1, i.count, heads * tokens)
    opened = Node(
        KEEP,
        (g.view(zero, 1, best, heads * tokens), g.view(top, best, heads * tokens), place),
        F16,
        place.ne,
        closed.size,
    )
    opened.base = closed
    g.writers.append(opened)
    turned = g.cont(g.view(opened, i.count, tokens, heads, size=closed.size))
    turned = g.cont(g.view(turned, tokens * heads, i.count, size=closed.size))
    wide = g.rows(turned, g.view(i.cells, cells))
    back = g.cont(g.view(wide, cells, tokens * heads, size=wide.size))
    joined = g.write(g.view(back, cells, tokens, heads), g.view(i.mask, cells, tokens))
    mask = g.new([g.view(joined, cells, tokens, 1, heads)], cells, tokens, 1, heads, type_=F16)
    all_heads, value = s.heads[layer], s.head_v[layer]
    part = g.view(q, q.ne[0], all_heads, tokens)
    ne = value, all_heads // s.kv_heads[layer], tokens, s.kv_heads[layer]
    k_view, v_view = (g.view(c, 1, size=c.size // streams) for c in (k_cache, v_cache))
    out = Node(FLASH, (part, k_view, v_view, mask), F32, ne, 4 * value * all_heads * tokens)
    if s.kv_heads[layer] == 1 or tokens == 1:
        return g.view(out, value * all_heads, tokens)
    return g.cont(g.view(out, value, ne[1], ne[3], tokens), (value * all_heads, tokens, 1, 1))
