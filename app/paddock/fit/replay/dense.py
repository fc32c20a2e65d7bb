"""Architectures with plain attention and a dense or expert feed-forward, told apart by a few traits."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.fit.replay.nodes import Node, Tensor
from paddock.fit.replay.parts import Build


@dataclass(frozen=True)
class Traits:
    """How an architecture's layer differs from LLaMA's. Everything else is told by which tensors the file has."""

    layer_norm: bool = False
    rope: bool = True
    norm_first: bool = True
    """The q and k norms come before the rope."""
    flat_norm: bool = False
    """q and k are normed as whole rows, before they are cut into heads."""
    q_scale: bool = False
    clamp: bool = False
    parallel: str = ""
    """"same": the feed-forward reads the attention's norm; "own": it has its own norm of the layer's input."""
    post_attention: str = ""
    """The norm after attention, before the residual is added."""
    post_ffn: str = ""
    ffn_norm: str = "ffn_norm"
    attn_norm: str = "attn_norm"
    activation: int = 1
    """In-place operations of an ungated activation; 0: the first product is fused [2F]."""
    gating: str = "softmax"
    norm_weights: bool = True
    scale_weights: bool = False
    shared: bool = True
    shared_first: bool = False
    residual_scale: bool = False
    embedding_scale: str = ""
    logit_ops: int = 0
    late_cut: bool = False
    """All rows go through the last feed-forward; the logits' rows are taken after it."""
    softcap: int = 0
    position_table: str = ""
    embedding_norm: bool = False
    temperature: bool = False


TRAITS: dict[str, Traits] = {}
_PLAIN = Traits()


def build(b: Build, traits: Traits | None = None) -> None:
    """The whole graph of a plain architecture."""
    t = traits or TRAITS.get(b.arch, _PLAIN)
    g = b.g
    x: Tensor = b.inp_embd(token_scale=t.embedding_scale == "tokens", scale=t.embedding_scale == "all")
    if t.rope:
        b.inp_pos()
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        x = _layer(b, t, layer, x, cut if layer == layers[-1] and not t.late_cut else None)
    if t.late_cut:
        b.outputs.append(x)
    b.finish(x, layer_norm=t.layer_norm, logit_scale=t.logit_ops, cut=cut if t.late_cut else None)
    b.mark()


def _layer(b: Build, t: Traits, layer: int, x: Tensor, cut: Node | None) -> Node:
    g = b.g
    skip = x
    cur: Tensor = b.lnorm(layer, t.attn_norm, x, t.layer_norm) if t.attn_norm else x
    normed = cur
    cur = attention(b, t, layer, cur)
    if cut is not None:
        cur = g.rows(cur, cut)
        skip = g.rows(skip, cut)
        if t.parallel == "same":
            normed = g.rows(normed, cut)
    if t.post_attention:
        cur = b.lnorm(layer, t.post_attention, cur, t.layer_norm)
    if t.residual_scale:
        cur = g.same(cur)
    middle: Tensor = g.same(cur, skip)
    cur = b.lnorm(layer, t.ffn_norm, middle, t.layer_norm) if t.ffn_norm else middle
    cur = feed_forward(b, t, layer, cur)
    if t.post_ffn:
        cur = b.lnorm(layer, t.post_ffn, cur, t.layer_norm)
    if t.residual_scale:
        cur = g.same(cur)
    return g.same(cur, middle)


def attention(b: Build, t: Traits, layer: int, x: Tensor) -> Node:
    g = b.g
    q, k, v = b.qkv(layer, x, t.clamp)
    factors = b.rope_factors(layer)
    more = [b.inp_pos(), *([factors] if factors is not None else [])] if t.rope else []
    if b.lw(layer, "attn_q_norm.weight") is not None:
        q = b.lnorm(layer, "attn_q_norm", q, t.layer_norm)
    if t.rope:
        q = g.rope(q, *more)
    if b.lw(layer, "attn_k_norm.weight") is not None:
        k = b.lnorm(layer, "attn_k_norm", k, t.layer_norm)
    if t.rope:
        k = g.rope(k, *more)
    if t.q_scale:
        q = g.same(q)
    return b.attention(layer, q, k, v, sinks=b.lw(layer, "attn_sinks.weight"), softcap=t.softcap)


def feed_forward(b: Build, t: Traits, layer: int, x: Tensor) -> Node:
    if b.lw(layer, "ffn_gate_inp.weight") is None:
        return b.ffn(layer, x, ops=t.activation, fused=t.activation == 0)
    out = b.moe(layer, x, gating=t.gating, norm=t.norm_weights, scale=t.scale_weights, ops=t.activation)
    if t.shared and b.lw(layer, "ffn_up_shexp.weight") is not None:
        return b.g.same(out, shared(b, t, layer, x))
    return out


def shared(b: Build, t: Traits, layer: int, x: Tensor) -> Node:
    return b.ffn(layer, x, up="ffn_up_shexp", gate="ffn_gate_shexp", down="ffn_down_shexp", ops=t.activation)
