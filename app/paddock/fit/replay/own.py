"""Two graphs of their own kind: Talkie and HRM-Text (src/models, b11434)."""

from __future__ import annotations

from paddock.fit.replay.nodes import NotDescribedError, Tensor
from paddock.fit.replay.parts import Build

GRAPHED = frozenset({"talkie", "hrm_text"})


def build(b: Build) -> None:
    """The whole graph."""
    if b.arch == "talkie":
        _talkie(b)
    else:
        _hrm(b)
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
    """One pass through a stack: caches (and scales, if any) of its own, weights shared with the other passes."""
    g, s = b.g, b.shape
    step = s.integer("hrm.l_cycles") + 1
    blocks = count if first // count % step == step - 1 else 0
    for layer in range(first, first + count):
        block = blocks + layer - first
        skip = cur
        cur = b.norm(cur, None)
        gate = b.mm(b.lw(block, "attn_gate.weight"), cur)
        q, k, v = b.qkv(block, cur, scales=layer)
        out: Tensor = b.attention(layer, g.rope(q, b.inp_pos()), g.rope(k, b.inp_pos()), v, wo=None)
        gated = g.same(out, g.same(gate))
        out = b.mm(b.lw(block, "attn_output.weight"), gated, b.lw(layer, "attn_output.scale"))
        cur = g.same(out, skip)
        cur = g.same(b.ffn(block, b.norm(cur, None)), cur)
    return b.norm(cur, None)
