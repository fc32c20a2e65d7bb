"""Three graphs of their own kind: Talkie, HRM-Text and MiniMax M3 (src/models, b11434)."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.fit.quants import padded, row_bytes
from paddock.fit.replay import dense
from paddock.fit.replay.nodes import F16, F32, FLASH, I32, I64, KEEP, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.traits import Traits

GRAPHED = frozenset({"talkie", "hrm_text", "minimax-m3"})
_POSITIONS = 256
"""Positions that the indexer reserves for before anything has been decoded."""
_M3 = Traits(gating="key:sigmoid", norm_weights=None, scale_weights=True, expert_bias=True)


def build(b: Build) -> None:
    """The whole graph."""
    if b.arch == "talkie":
        _talkie(b)
    elif b.arch == "hrm_text":
        _hrm(b)
    else:
        _minimax(b)
    b.mark()


def _head(b: Build, cur: Tensor, scales: int) -> None:
    b.embed(cur)
    out = b.mm(b.output_weight(), cur, b.w("output.scale") if b.arch != "talkie" else None)
    for _ in range(scales):
        out = b.g.same(out)
    b.outputs.append(out)
    b.g.expand(out)


def _talkie(b: Build) -> None:
    """No norm has weights but that of the queries; every layer sees the embeddings again."""
    g = b.g
    x: Tensor = b.norm(b.inp_embd(), None)
    start = x
    b.inp_pos()
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        skip, again = x, start
        q, k, v = b.qkv(layer, b.norm(x, None))
        q = b.norm(g.rope(q, b.inp_pos()), b.lw(layer, "attn_q_norm.weight"))
        k = b.norm(g.rope(k, b.inp_pos()), None)
        cur: Tensor = b.attention(layer, q, k, v)
        if layer == layers[-1]:
            cur, skip, again = g.rows(cur, cut), g.rows(skip, cut), g.rows(again, cut)
        middle = g.same(cur, skip)
        cur = g.same(b.ffn(layer, b.norm(middle, None)), middle)
        scale = b.lw(layer, "layer_output_scale.weight")
        x = g.same(cur, g.same(again, *([scale] if scale is not None else [])))
    _head(b, b.norm(x, None), 1)


def _hrm(b: Build) -> None:
    """Two stacks of layers that hand their states to each other, over and over."""
    g, s = b.g, b.shape
    high: Tensor = b.inp_embd()
    b.inp_pos()
    cut = b.out_ids()
    low: Tensor | None = b.w("hrm.z_l_init")
    if low is None:
        raise NotDescribedError
    each, inner = s.integer("hrm.layers_per_stack"), s.integer("hrm.l_cycles")
    for outer in range(s.integer("hrm.h_cycles")):
        for step in range(inner):
            low = _stack(b, g.same(high, low), (outer * (inner + 1) + step) * each, each)
        high = _stack(b, g.same(high, low), (outer * (inner + 1) + inner) * each, each)
    _head(b, g.rows(high, cut), 0)


def _stack(b: Build, cur: Tensor, first: int, count: int) -> Tensor:
    """One pass through a stack: caches of its own, weights shared with the other passes."""
    g, s, u = b.g, b.shape, b.u
    step = s.integer("hrm.l_cycles") + 1
    blocks = count if first // count % step == step - 1 else 0
    for layer in range(first, first + count):
        block = blocks + layer - first
        skip = cur
        cur = b.norm(cur, None)
        gate = b.mm(b.lw(block, "attn_gate.weight"), cur)
        q, k, v = b.qkv(block, cur)
        out: Tensor = b.attention(layer, g.rope(q, b.inp_pos()), g.rope(k, b.inp_pos()), v, wo=None)
        out = g.view(out, s.head_v[layer] * s.heads[layer], u)
        out = b.project(block, g.same(out, g.same(gate)), "attn_output")
        cur = g.same(out, skip)
        cur = g.same(b.ffn(block, b.norm(cur, None)), cur)
    return b.norm(cur, None)


# MiniMax M3 ---------------------------------------------------------------------------------------------------------


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
    )


def _minimax(b: Build) -> None:
    """Dense attention, or blocks of tokens chosen per head where every slot has its own stream."""
    g, s = b.g, b.shape
    x: Tensor = b.inp_embd()
    b.inp_pos()
    sparse = b.flash and (b.sizes.slots == 1 or not b.sizes.unified)
    if sparse and b.u == b.streams:
        raise NotDescribedError
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
    out: Tensor | None = None
    for stream in range(b.streams):
        one = _stream(b, i, layer, queries, index, q, k_cache, v_cache)
        if out is None:
            out = one
        else:
            out = g.new([out, one], one.ne[0], (stream + 1) * one.ne[1])
    assert out is not None
    if memory.v_turn is not None:
        out = b.turned(out, memory.v_turn)
    return b.project(layer, out, "attn_output")


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
