"""Kimi's delta attention: a convolution each for queries, keys and values, a decay per channel (src/models, b11434)."""

from __future__ import annotations

import math

from paddock.fit.replay.nodes import Node, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.states import States, delta, known, last, unit


def kimi_delta(b: Build, s: States, layer: int, x: Tensor) -> Tensor:
    """Kimi's delta attention: a convolution each for q, k and v, a decay per channel."""
    g, shape, u = b.g, b.shape, b.u
    heads, head, conv = shape.heads[0], shape.integer("kda.head_dim"), shape.integer("ssm.conv_kernel") or 4
    inner = heads * head
    r_cache, s_cache = s.cache(layer, shape.state_r), s.cache(layer, shape.state_s)
    history = s.read(r_cache, shape.state_r)
    parts = [kda_part(b, s, layer, name, x, history, r_cache, inner, head, heads, conv) for name in "qkv"]
    rank = b.mm(b.lw(layer, "ssm_f_a.weight"), x)
    decay: Tensor = g.same(g.same(b.mm(b.lw(layer, "ssm_f_b.weight"), rank), *known(b.lw(layer, "ssm_dt.bias"))))
    scale = b.lw(layer, "ssm_a")
    decay = g.same(g.view(decay, head, heads, u), *([g.view(scale, 1, heads)] if scale is not None else []))
    decay = g.view(decay, head, heads, s.each, s.slots)
    beta = g.same(g.view(b.mm(b.lw(layer, "ssm_beta.weight"), x), 1, heads, s.each, s.slots))
    state = g.view(s.read(s_cache, shape.state_s), head, head, heads, s.slots)
    q, k = unit(b, parts[0]), unit(b, parts[1])
    result = g.new([q, k, parts[2], decay, beta, state], inner, u + head * s.slots)
    out = g.cont(g.view(result, head, heads, s.each, s.slots, size=4 * inner * u))
    s.store(g.view(result, head * head * heads, s.slots), s_cache)
    gate = b.mm(b.lw(layer, "ssm_g_b.weight"), b.mm(b.lw(layer, "ssm_g_a.weight"), g.view(x, x.ne[0], u)))
    normed = b.norm(g.view(out, head, heads, u), b.lw(layer, "ssm_norm.weight"))
    mixed = g.same(normed, g.same(g.view(gate, head, heads, u)))
    return b.mm(b.lw(layer, "attn_output.weight"), g.cont(mixed, (inner, u, 1, 1)))


def kda_part(
    b: Build,
    s: States,
    layer: int,
    name: str,
    x: Tensor,
    history: Tensor,
    cache: Node,
    inner: int,
    head: int,
    heads: int,
    conv: int,
) -> Tensor:
    """One of q, k and v: projected, convolved with its history, activated."""
    g, u = b.g, b.u
    projected: Tensor = b.mm(b.lw(layer, f"attn_{name}.weight"), x)
    joined = g.new(
        [g.view(history, conv - 1, inner, s.slots), g.view(projected, inner, s.each, s.slots)],
        conv - 1 + s.each,
        inner,
        s.slots,
    )
    for _ in range(s.snapshots):
        s.store(last(b, joined, conv - 1), cache)
    weight = b.lw(layer, f"ssm_conv1d_{name}.weight")
    cur = g.new([joined, *([g.view(weight, conv, inner)] if weight is not None else [])], inner, s.each, s.slots)
    return g.view(g.same(g.view(cur, inner, u)), head, heads, s.each, s.slots)


def _delta(b: Build, s: States, layer: int, x: Tensor, conv: int) -> tuple[Tensor, Tensor]:
    """The layer's result per head, and its own gate for it (not yet through the sigmoid)."""
    g, shape, u = b.g, b.shape, b.u
    heads, head = shape.heads[0], shape.integer("kda.head_dim")
    inner = heads * head
    r_cache, s_cache = s.cache(layer, shape.state_r), s.cache(layer, shape.state_s)
    history = s.read(r_cache, shape.state_r)
    bailing = b.arch == "bailingmoe3"
    parts = [kda_part(b, s, layer, n, x, history, r_cache, inner, head, heads, conv) for n in "qkv"]
    decay: Tensor = b.mm(b.lw(layer, "ssm_f_a.weight"), x)
    if not bailing:
        decay = b.mm(b.lw(layer, "ssm_f_b.weight"), decay)
    decay = g.same(decay, *known(b.lw(layer, "ssm_dt.bias")))
    scale = b.lw(layer, "ssm_a")
    scales = [g.view(scale, 1, heads)] if scale is not None else []
    if bailing:
        decay = g.same(g.same(g.same(g.view(decay, head, heads, u), *scales)))
    elif shape.numbers.get("kda.gate_lower_bound", -math.inf) > -math.inf:
        decay = g.same(g.same(g.same(g.same(g.view(decay, head, heads, u), *scales))))
    else:
        decay = g.same(g.view(g.same(decay), head, heads, u), *scales)
    decay = g.view(decay, head, heads, s.each, s.slots)
    beta = g.same(g.view(b.mm(b.lw(layer, "ssm_beta.weight"), x), 1, heads, s.each, s.slots))
    if bailing:
        q, k = unit(b, parts[0]), unit(b, parts[1])
        state = g.view(s.read(s_cache, shape.state_s), head, head, heads, s.slots)
    else:
        state = g.view(s.read(s_cache, shape.state_s), head, head, heads, s.slots)
        q, k = unit(b, parts[0]), unit(b, parts[1])
    out = g.cont(delta(b, s, s_cache, q, k, parts[2], decay, beta, state, head, heads))
    flat = g.view(x, x.ne[0], u)
    if b.arch == "kimi-k3":
        gate = b.mm(b.lw(layer, "ssm_g.weight"), flat)
    else:
        gate = b.mm(b.lw(layer, "ssm_g_a.weight"), x)
        if not bailing:
            gate = b.mm(b.lw(layer, "ssm_g_b.weight"), gate)
    return g.view(out, head, heads, u), g.view(gate, head, heads, u)


def kda_layer(b: Build, s: States, layer: int, x: Tensor) -> Tensor:
    """One layer of delta attention with its output projection."""
    g, shape, u = b.g, b.shape, b.u
    inner = shape.heads[0] * shape.integer("kda.head_dim")
    out, gate = _delta(b, s, layer, x, shape.integer("ssm.conv_kernel") or 4)
    normed = b.norm(out, b.lw(layer, "ssm_norm.weight"))
    mixed = g.same(normed, g.same(gate))
    return b.mm(b.lw(layer, "attn_output.weight"), g.cont(mixed, (inner, u, 1, 1)))
