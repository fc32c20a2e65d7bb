"""Granite Switch: an adapter per token, chosen by a router that is one more attention layer (src/models, b11434)."""

from __future__ import annotations

from paddock.fit.replay.nodes import F32, I32, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build

GRAPHED = frozenset({"graniteswitch"})


def build(b: Build) -> None:
    """The whole graph."""
    g, table = b.g, b.w("token_embd.weight")
    if table is None:
        raise NotDescribedError
    x: Node = g.rows(table, g.input(I32, b.u))
    if b.number("embedding_scale"):
        x = g.same(x)
    turned = bool(b.shape.integer("rope.scaling.finetuned", 1))
    adapters = _routed(b)
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        skip: Tensor = x
        cur: Tensor = _attention(b, layer, b.lnorm(layer, "attn_norm", x), adapters, turned)
        if layer == layers[-1]:
            cur, skip = g.rows(cur, cut), g.rows(skip, cut)
            adapters = g.view(g.rows(g.view(adapters, 1, b.u), cut), b.n_out)
        x = _feed_forward(b, layer, cur, skip, adapters)
    b.finish(x, logit_scale=1)
    b.mark()


def _routed(b: Build) -> Tensor:
    """The adapter of every token: attention over signals that are padded to a head's size."""
    g, u, router = b.g, b.u, b.shape.layers
    key, signal, value = (g.input(F32, u) for _ in range(3))
    q, k, v = (_lane(b, t, router) for t in (value, key, signal))
    out = b.attention(router, q, k, v, wo=None)
    slot = g.cont(g.view(out, 1, u, size=out.size - 4 * (b.shape.head_v[router] - 1)))
    return g.new([g.same(g.same(g.view(slot, u)))], u, type_=I32)


def _lane(b: Build, signal: Node, router: int) -> Node:
    return b.g.new([b.g.view(signal, 1, 1, b.u)], b.shape.head_k[router], 1, b.u)


def _delta(b: Build, layer: int, name: str, x: Tensor, adapters: Tensor) -> Tensor:
    """What each token's adapter adds."""
    g = b.g
    first, second = b.lw(layer, f"{name}.lora_a"), b.lw(layer, f"{name}.lora_b")
    if first is None or second is None:
        raise NotDescribedError
    ids = g.view(adapters, 1, x.ne[1])
    low = g.mm_id(first, g.view(x, x.ne[0], 1, x.ne[1]), ids)
    wide = g.mm_id(second, low, ids)
    return g.view(wide, wide.ne[0], x.ne[1])


def _adapted(b: Build, layer: int, name: str, x: Tensor, adapters: Tensor) -> Node:
    base = b.mm(b.lw(layer, f"{name}.weight"), x)
    return b.g.same(base, _delta(b, layer, name, x, adapters))


def _attention(b: Build, layer: int, x: Tensor, adapters: Tensor, turned: bool) -> Node:
    g, s, u = b.g, b.shape, b.u
    both = b.mm(b.lw(layer, "attn_qkv.weight"), x)
    made: list[Tensor] = []
    for name, count in (("attn_q", s.heads[layer]), ("attn_k", s.kv_heads[layer]), ("attn_v", s.kv_heads[layer])):
        wide = s.head_k[layer] * count
        part = g.cont(g.view(both, wide, u, size=4 * (both.ne[0] * (u - 1) + wide)))
        made.append(g.view(g.same(part, _delta(b, layer, name, x, adapters)), s.head_k[layer], count, u))
    q, k, v = made
    if turned:
        factors = b.rope_factors(layer)
        more = [b.inp_pos(), *([factors] if factors is not None else [])]
        q, k = g.rope(q, *more), g.rope(k, *more)
    out = b.attention(layer, q, k, v, wo=None)
    return _adapted(b, layer, "attn_output", out, adapters)


def _feed_forward(b: Build, layer: int, cur: Tensor, skip: Tensor, adapters: Tensor) -> Node:
    g = b.g
    scaled = bool(b.number("residual_scale"))
    if scaled:
        cur = g.same(cur)
    middle = g.same(cur, skip)
    normed = b.lnorm(layer, "ffn_norm", middle)
    gate = _adapted(b, layer, "ffn_gate", normed, adapters)
    up = _adapted(b, layer, "ffn_up", normed, adapters)
    out = _adapted(b, layer, "ffn_down", g.same(g.same(gate), up), adapters)
    return g.same(g.same(out) if scaled else out, middle)
