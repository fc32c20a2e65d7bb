"""Gemma 3n and Gemma 4: caches shared between layers, embeddings per layer, several residual streams."""

from __future__ import annotations

from paddock.fit.replay.nodes import I32, Node, NotDescribedError, Tensor, View
from paddock.fit.replay.parts import Build

GRAPHED = frozenset({"gemma3n", "gemma4"})
_STREAMS = 4
_SPARSE_LAYERS = 10
"""Gemma 3n: the first layers keep only the strongest activations."""


def build(b: Build) -> None:
    """The whole graph."""
    if b.arch == "gemma4":
        _gemma4(b)
    else:
        _gemma3n(b)
    b.mark()


def per_layer(b: Build, x: Tensor) -> Node | None:
    """Embeddings for every layer, [width, tokens, layers]; None where the model has none."""
    g, u = b.g, b.u
    table = b.w("per_layer_token_embd.weight")
    if table is None:
        return None
    rows = g.rows(table, g.input(I32, u))
    width = rows.ne[0] // b.shape.layers
    scaled = g.same(g.view(rows, width, b.shape.layers, u))
    g.expand(scaled)
    projected = g.same(b.mm(b.w("per_layer_model_proj.weight"), x))
    normed = b.norm(g.view(projected, width, b.shape.layers, u), b.w("per_layer_proj_norm.weight"))
    return g.cont(g.same(g.same(normed, scaled)), (width, u, b.shape.layers, 1))


def _queries(b: Build, layer: int, x: Tensor) -> tuple[Tensor, Node | None]:
    """The query, normed and turned, and the fused product where there is one."""
    g, s, u = b.g, b.shape, b.u
    heads, head = s.heads[layer], s.head_k[layer]
    fused_w = b.lw(layer, "attn_qkv.weight")
    fused = None
    if fused_w is not None:
        fused = b.mm(fused_w, x, b.lw(layer, "attn_qkv.scale"))
        raw: Tensor = g.cont(g.view(fused, head * heads, u))
    else:
        raw = b.mm(b.lw(layer, "attn_q.weight"), x, b.lw(layer, "attn_q.scale"))
    q = b.norm(g.view(raw, head, heads, u), b.lw(layer, "attn_q_norm.weight"))
    return g.rope(q, *_turns(b, layer)), fused


def _turns(b: Build, layer: int) -> list[Node]:
    factors = b.rope_factors(layer) if b.arch == "gemma4" and not b.shape.swa[layer] else None
    return [b.inp_pos(), *([factors] if factors is not None else [])]


def _attention(b: Build, layer: int, x: Tensor) -> Node:
    """Layers beyond the shared ones read the cache of the last layer of their kind that has one."""
    g, s, u = b.g, b.shape, b.u
    if b.arch == "gemma3n" and layer < s.own_kv_layers:
        q0, k0, v0 = b.qkv(layer, x)
        q: Tensor = g.rope(b.norm(q0, b.lw(layer, "attn_q_norm.weight")), *_turns(b, layer))
        k: Tensor = g.rope(b.norm(k0, b.lw(layer, "attn_k_norm.weight")), *_turns(b, layer))
        return b.attention(layer, q, k, g.same(v0))
    q, fused = _queries(b, layer, x)
    if layer >= s.own_kv_layers:
        return b.attention(layer, q, None, None, source=s.own_kv_layers - (2 if s.swa[layer] else 1))
    kv, head = s.kv_heads[layer], s.head_k[layer]
    if fused is not None:
        k_raw: Tensor = g.cont(g.view(fused, head * kv, u))
        v_raw: Tensor = g.cont(g.view(fused, head * kv, u))
    else:
        k_raw = b.mm(b.lw(layer, "attn_k.weight"), x, b.lw(layer, "attn_k.scale"))
        own = b.lw(layer, "attn_v.weight")
        v_raw = b.mm(own, x, b.lw(layer, "attn_v.scale")) if own is not None else k_raw
    k = b.norm(g.view(k_raw, head, kv, u), b.lw(layer, "attn_k_norm.weight"))
    v = g.same(g.view(v_raw, head, kv, u))
    return b.attention(layer, q, g.rope(k, *_turns(b, layer)), v)


def _gemma4(b: Build) -> None:
    g = b.g
    x: Tensor = b.inp_embd(token_scale=True)
    cut = b.out_ids()
    extra = per_layer(b, x)
    for layer in b.layers():
        cur: Tensor = _attention(b, layer, b.lnorm(layer, "attn_norm", x))
        middle = g.same(b.lnorm(layer, "post_attention_norm", cur), x)
        cur = (
            _experts(b, layer, middle)
            if b.lw(layer, "ffn_gate_inp.weight") is not None
            else b.ffn(layer, b.lnorm(layer, "ffn_norm", middle))
        )
        cur = g.same(b.lnorm(layer, "post_ffw_norm", cur), middle)
        if extra is not None:
            gate = g.same(b.mm(b.lw(layer, "inp_gate.weight"), cur))
            mixed = b.mm(b.lw(layer, "proj.weight"), g.same(gate, _slice(b, extra, extra.ne[0])))
            cur = g.same(cur, b.lnorm(layer, "post_norm", mixed))
        scale = b.lw(layer, "layer_output_scale.weight")
        x = cur if scale is None else g.same(cur, scale)
    ops = 3 if b.number("final_logit_softcapping") else 0
    b.finish(x, logit_scale=ops, after=cut)


def _experts(b: Build, layer: int, middle: Tensor) -> Tensor:
    """A dense feed-forward and experts side by side, each with norms of its own."""
    g = b.g
    dense = b.lnorm(layer, "post_ffw_norm_1", b.ffn(layer, b.lnorm(layer, "ffn_norm", middle)))
    sparse = b.lnorm(layer, "pre_ffw_norm_2", middle)
    routed = g.same(g.same(middle))
    scale = b.lw(layer, "ffn_gate_inp.scale")
    routed = g.same(routed, scale) if scale is not None else routed
    logits = b.mm(b.lw(layer, "ffn_gate_inp.weight"), routed)
    out = b.moe(layer, sparse, probs_in=logits, bias=None, gate_bias=False)
    return g.same(dense, b.lnorm(layer, "post_ffw_norm_2", out))


def _slice(b: Build, x: Tensor, width: int) -> View:
    """One [width, tokens] slab of a stack."""
    return b.g.view(x, width, b.u)


def _magnitude(b: Build, x: Tensor) -> Node:
    g = b.g
    squared = g.same(x)
    return g.same(g.new([squared], 1, *x.ne[1:]))


def _gemma3n(b: Build) -> None:
    g, e, u = b.g, b.embd, b.u
    first: Tensor = b.inp_embd(token_scale=True)
    extra = per_layer(b, first)
    if extra is None:
        raise NotDescribedError
    target = _magnitude(b, first)
    others = b.mm(b.w("altup_proj.weight"), g.new([first], e, u, _STREAMS - 1))
    size = _magnitude(b, others)
    x: Tensor = g.new([first, g.same(g.same(others, target), size)], e, u, _STREAMS)
    for layer in b.layers():
        x = _streams(b, layer, x, extra)
    target = _magnitude(b, _slice(b, x, e))
    others = b.mm(b.w("altup_unembd_proj.weight"), g.view(x, e, u, _STREAMS - 1))
    size = _magnitude(b, others)
    scaled = g.same(g.same(others, target), size)
    cur: Tensor = _slice(b, x, e)
    for _ in range(_STREAMS - 1):
        cur = g.same(cur, _slice(b, scaled, e))
    b.finish(g.same(cur), logit_scale=3, cut=b.out_ids())


def _router(b: Build, layer: int, x: Tensor) -> Node:
    g = b.g
    normed = g.same(b.lnorm(layer, "altup_router_norm", x))
    return g.same(b.mm(b.lw(layer, "altup_router.weight"), normed))


def _streams(b: Build, layer: int, x: Tensor, extra: Node) -> Tensor:
    """Predict all streams, run the layer on the first, correct all."""
    g, e, u = b.g, b.embd, b.u
    coefs = b.mm(b.lw(layer, "altup_predict_coef.weight"), _router(b, layer, _slice(b, x, e)))
    turned = g.cont(g.view(x, *x.ne), (_STREAMS, e, u, 1))
    mixed = g.mm(turned, g.view(coefs, _STREAMS, _STREAMS, u))
    predicted = g.same(g.cont(g.view(mixed, *mixed.ne), (e, u, _STREAMS, 1)), x)
    active = _slice(b, predicted, e)
    normed = b.lnorm(layer, "attn_norm", active)
    low = b.mm(b.lw(layer, "laurel_r.weight"), b.mm(b.lw(layer, "laurel_l.weight"), normed))
    laurel = g.same(b.lnorm(layer, "laurel_post_norm", low), normed)
    cur: Tensor = g.same(b.lnorm(layer, "post_attention_norm", _attention(b, layer, normed)), active)
    middle = g.same(g.same(cur, laurel))
    out = g.same(b.lnorm(layer, "post_ffw_norm", _sparse_ffn(b, layer, b.lnorm(layer, "ffn_norm", middle))), middle)
    corrected = _corrected(b, layer, predicted, out)
    gain = b.lw(layer, "altup_correct_scale.weight")
    lead = g.same(_slice(b, corrected, e), *([gain] if gain is not None else []))
    gate = g.same(b.mm(b.lw(layer, "inp_gate.weight"), lead))
    lead = b.mm(b.lw(layer, "proj.weight"), g.same(gate, _slice(b, extra, extra.ne[0])))
    lead = b.lnorm(layer, "post_norm", lead)
    rest = g.same(g.view(corrected, e, u, _STREAMS - 1), lead)
    return g.new([_slice(b, corrected, e), rest], e, u, _STREAMS)


def _corrected(b: Build, layer: int, predicted: Node, out: Node) -> Node:
    g, e, u = b.g, b.embd, b.u
    modalities = _router(b, layer, out)
    news = g.same(out, _slice(b, predicted, e))
    coefs = g.same(b.mm(b.lw(layer, "altup_correct_coef.weight"), modalities))
    weights = g.cont(g.view(coefs, *coefs.ne), (1, u, _STREAMS, 1))
    return g.same(g.same(g.new([news], e, u, _STREAMS), weights), predicted)


def _sparse_ffn(b: Build, layer: int, x: Tensor) -> Node:
    g, u = b.g, b.u
    up = b.mm(b.lw(layer, "ffn_up.weight"), x)
    gate: Node = b.mm(b.lw(layer, "ffn_gate.weight"), x)
    if layer < _SPARSE_LAYERS:
        mean = g.new([gate], 1, u)
        spread = g.same(g.same(g.new([g.same(g.same(gate, mean))], 1, u)))
        gate = g.same(g.same(gate, g.same(mean, g.same(spread))))
    return b.mm(b.lw(layer, "ffn_down.weight"), g.same(up, g.same(gate)))
