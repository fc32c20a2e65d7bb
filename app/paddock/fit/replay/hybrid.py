"""Architectures whose layers carry states, alone or between attention layers."""

from __future__ import annotations

from dataclasses import replace

from paddock.fit.architectures import names
from paddock.fit.replay import dense, mla
from paddock.fit.replay.kda import kimi_delta
from paddock.fit.replay.nodes import Node, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.states import (
    States,
    gated_delta,
    mamba,
    mamba2,
    plamo2,
    short_convolution,
)
from paddock.fit.replay.traits import Traits

GRAPHED = names("""mamba mamba2 jamba falcon-h1 nemotron_h nemotron_h_moe granitehybrid plamo2 lfm2 lfm2moe
qwen3next qwen35 qwen35moe kimi-linear""")
_MIXERS = {
    "mamba": mamba,
    "jamba": mamba,
    "mamba2": mamba2,
    "falcon-h1": mamba2,
    "nemotron_h": mamba2,
    "nemotron_h_moe": mamba2,
    "granitehybrid": mamba2,
    "plamo2": plamo2,
    "lfm2": short_convolution,
    "lfm2moe": short_convolution,
    "qwen3next": gated_delta,
    "qwen35": gated_delta,
    "qwen35moe": gated_delta,
    "kimi-linear": kimi_delta,
}
_KEYED = Traits(gating="key:sigmoid", norm_weights=None, scale_weights=True, expert_bias=True)
_TRAITS = {
    "jamba": Traits(rope="none", norm_weights=False),
    "falcon-h1": Traits(),
    "nemotron_h": replace(_KEYED, rope="none", activation=2),
    "nemotron_h_moe": replace(_KEYED, rope="none", activation=2),
    "granitehybrid": Traits(rope="granite", residual_scale="key", embedding="key", logits="scale_key"),
    "plamo2": Traits(activation=0),
    "lfm2": Traits(gating="key:softmax", expert_bias=True),
    "lfm2moe": Traits(gating="key:softmax", expert_bias=True),
    "kimi-linear": replace(_KEYED, norm_weights=True),
}
_LATE = frozenset({"qwen3next", "qwen35", "qwen35moe", "nemotron_h", "nemotron_h_moe"})
_EARLY_NORM = frozenset({"qwen3next", "qwen35", "qwen35moe", "kimi-linear"})


def build(b: Build) -> None:
    """The whole graph."""
    t = _TRAITS.get(b.arch, Traits())
    x = dense.embeddings(b, t)
    states = States(b)
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        x = _layer(b, t, states, layer, x, cut if layer == layers[-1] and b.arch not in _LATE else None)
    scale = "scale_key" in t.logits and bool(b.number("logit_scale"))
    b.finish(
        x,
        logit_scale=1 if scale else 0,
        norm="token_embd_norm" if b.arch in ("lfm2", "lfm2moe") else "output_norm",
        after=cut if b.arch in _LATE else None,
        headless=b.arch in ("lfm2", "lfm2moe") and b.sizes.embeddings,
    )
    b.mark()


def _layer(b: Build, t: Traits, s: States, layer: int, x: Tensor, cut: Node | None) -> Tensor:
    g, arch = b.g, b.arch
    b.layer = layer
    normed = b.lnorm(layer, "attn_norm", x)
    if arch in _EARLY_NORM:
        g.expand(normed)
    skip = x
    if arch == "falcon-h1":
        return _falcon(b, t, s, layer, x, normed, cut)
    if arch.startswith("nemotron_h"):
        return g.same(_nemotron(b, t, s, layer, normed), x)
    cur: Tensor = _MIXERS[arch](b, s, layer, normed) if b.shape.recurrent[layer] else attend(b, t, layer, normed)
    if b.shape.recurrent[layer] and _MIXERS[arch] is not mamba2:
        cur = g.view(cur, cur.ne[0], b.u)
    if cut is not None:
        cur, skip = g.rows(cur, cut), g.rows(skip, cut)
    if arch in ("mamba", "mamba2"):
        return g.same(cur, skip)
    return _second_half(b, t, layer, cur, skip)


def _second_half(b: Build, t: Traits, layer: int, cur: Tensor, skip: Tensor) -> Tensor:
    g, arch = b.g, b.arch
    scaled = t.residual_scale == "key" and bool(b.number("residual_scale"))
    if arch == "plamo2":
        cur = b.lnorm(layer, "post_attention_norm", cur)
    if scaled:
        cur = g.same(cur)
    middle = g.same(skip, cur) if arch in ("jamba", "lfm2", "lfm2moe") else g.same(cur, skip)
    name = "post_attention_norm" if arch in ("qwen3next", "qwen35", "qwen35moe") else "ffn_norm"
    cur = feed_forward(b, t, layer, b.lnorm(layer, name, middle))
    if arch == "plamo2":
        cur = b.lnorm(layer, "post_ffw_norm", cur)
    if scaled:
        cur = g.same(cur)
    return g.same(middle, cur) if arch in ("jamba", "lfm2", "lfm2moe") else g.same(cur, middle)


def attend(b: Build, t: Traits, layer: int, x: Tensor) -> Tensor:
    """An attention layer of a hybrid."""
    if b.arch == "kimi-linear":
        return _kimi_attention(b, layer, x)
    if b.arch in ("qwen3next", "qwen35", "qwen35moe"):
        return gated_attention(b, layer, x)
    return dense.attention(b, t, layer, x)


def gated_attention(b: Build, layer: int, x: Tensor, mask: Tensor | None = None) -> Node:
    """Qwen3-Next: the query's product also gives a gate for the output."""
    g, s, u = b.g, b.shape, b.u
    heads, kv, head = s.heads[layer], s.kv_heads[layer], s.head_k[layer]
    both, k_raw = b.biased(layer, "attn_q", x), b.biased(layer, "attn_k", x)
    v = g.view(b.biased(layer, "attn_v", x), s.head_v[layer], kv, u)
    span = both.size - 4 * head
    q: Tensor = b.lnorm(layer, "attn_q_norm", g.view(both, head, heads, u, size=span))
    k: Tensor = b.lnorm(layer, "attn_k_norm", g.view(k_raw, head, kv, u))
    gate = g.cont(g.view(both, head, heads, u, size=span), (head * heads, u, 1, 1))
    q, k = g.rope(q, b.inp_pos()), g.rope(k, b.inp_pos())
    out = b.attention(layer, q, k, v, wo=None, mask=mask)
    return b.project(layer, g.same(out, g.same(gate)), "attn_output")


def _kimi_attention(b: Build, layer: int, x: Tensor) -> Tensor:
    """Latent attention without positions."""
    g = b.g
    q = b.mm(b.lw(layer, "attn_q.weight"), x)
    if b.shape.mla is None or b.lw(layer, "attn_k_b.weight") is None:
        return _kimi_unfolded(b, layer, x, q)
    queries, keys, values = mla.absorbed(b, layer, x, q, rope=False)
    for tensor in (queries, values, keys):
        g.expand(tensor)
    cache, memory = mla.key_cache(b, layer), b.memory(False)
    g.expand(g.store(cache, keys, memory.k_ids))
    return b.project(layer, mla.latent(b, layer, queries, cache, memory.mask), "attn_output")


def _kimi_unfolded(b: Build, layer: int, x: Tensor, q: Node) -> Tensor:
    g, s, u = b.g, b.shape, b.u
    heads, hk, hv, rank, turn = s.heads[layer], s.head_k[layer], s.head_v[layer], s.kv_lora, s.rope_dimensions
    both = b.mm(b.lw(layer, "attn_kv_a_mqa.weight"), x)
    wide = rank + turn
    latent = b.norm(g.view(both, rank, u, size=4 * (wide * (u - 1) + rank)), b.lw(layer, "attn_kv_a_norm.weight"))
    k_pe = g.view(both, turn, 1, u, size=4 * (wide * (u - 1) + turn))
    kv = b.mm(b.lw(layer, "attn_kv_b.weight"), latent)
    nope = hk - turn
    v = g.cont(g.view(kv, hv, heads, u))
    keys = g.new([g.new([k_pe], turn, heads, u), g.view(kv, nope, heads, u)], hk, heads, u)
    return b.attention(layer, g.view(q, hk, heads, u), keys, v)


def _falcon(b: Build, t: Traits, s: States, layer: int, x: Tensor, normed: Node, cut: Node | None) -> Tensor:
    """Attention and Mamba 2 read the same input, each through a norm of its own."""
    g = b.g
    attended = dense.attention(b, t, layer, normed)
    mixed = mamba2(b, s, layer, b.lnorm(layer, "attn_norm", x))
    cur = g.same(g.same(attended, mixed), x)
    skip: Tensor = cur if cut is None else g.rows(cur, cut)
    return g.same(b.ffn(layer, b.lnorm(layer, "ffn_norm", skip)), skip)


def _nemotron(b: Build, t: Traits, s: States, layer: int, x: Node) -> Tensor:
    """One thing per layer: a state, attention, or a feed-forward."""
    if b.shape.recurrent[layer]:
        return mamba2(b, s, layer, x)
    if not b.shape.feed_forward[layer]:
        return dense.attention(b, t, layer, x)
    if b.lw(layer, "ffn_gate_inp.weight") is None:
        return b.ffn(layer, x, gate=None, ops=2)
    return nemotron_experts(b, layer, x)


def nemotron_experts(b: Build, layer: int, x: Tensor) -> Node:
    """Experts in a smaller space, a shared expert beside them."""
    g = b.g
    latent: Tensor = x
    if b.lw(layer, "ffn_latent_down.weight") is not None:
        latent = b.mm(b.lw(layer, "ffn_latent_down.weight"), x)
    logits = b.mm(b.lw(layer, "ffn_gate_inp.weight"), x)
    scale = b.number("expert_weights_scale") not in (0.0, 1.0)
    out: Node = b.moe(
        layer,
        latent,
        gating="sigmoid",
        norm=bool(b.shape.integer("expert_weights_norm")),
        scale=scale,
        ops=2,
        probs_in=logits,
        gate_bias=False,
    )
    if b.lw(layer, "ffn_latent_up.weight") is not None:
        out = b.mm(b.lw(layer, "ffn_latent_up.weight"), out)
    return g.same(out, b.ffn(layer, x, up="ffn_up_shexp", gate=None, down="ffn_down_shexp", ops=2))


def feed_forward(b: Build, t: Traits, layer: int, x: Tensor) -> Tensor:
    """Dense, or experts with a shared expert behind a gate (Qwen3-Next, Qwen3.5)."""
    g = b.g
    gate = b.lw(layer, "ffn_gate_inp_shexp.weight")
    if gate is None or b.lw(layer, "ffn_gate_inp.weight") is None:
        return dense.feed_forward(b, t, layer, x)
    out = dense.experts(b, t, layer, x)
    clamped = b.clamps("swiglu_clamp_shexp", layer)
    shared = b.ffn(layer, x, up="ffn_up_shexp", gate="ffn_gate_shexp", down="ffn_down_shexp", clamped=clamped)
    return g.same(out, g.same(shared, g.same(b.mm(gate, x))))
