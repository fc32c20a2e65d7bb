"""RWKV 6 and 7, and the two that put their time mixing into a Qwen (src/models/rwkv*-base.cpp, b11434)."""

from __future__ import annotations

from paddock.fit.architectures import names
from paddock.fit.replay.nodes import Node, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.states import States

GRAPHED = names("rwkv6 rwkv6qwen2 rwkv7 arwkv7")
_OWN = names("rwkv6 rwkv7")


class _Mixer:
    """What the layers share: the states, and the first layer's value (RWKV 7)."""

    def __init__(self, b: Build) -> None:
        self.b = b
        self.states = States(b)
        self.first: Tensor | None = None


def build(b: Build) -> None:
    """The whole graph."""
    x: Tensor = b.inp_embd()
    own = b.arch in _OWN
    if own:
        x = b.norm(x, b.w("token_embd_norm.weight"), b.w("token_embd_norm.bias"), True)
    m = _Mixer(b)
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        last = cut if layer == layers[-1] else None
        x = _own_layer(m, layer, x, last) if own else _borrowed_layer(m, layer, x, last)
    b.finish(x, layer_norm=own)
    b.mark()


def _weight(b: Build, layer: int, name: str) -> list[Node]:
    found = b.lw(layer, name)
    return [] if found is None else [found]


def _shifted(m: _Mixer, x: Tensor, before: Tensor) -> Node:
    """The tokens one place later, the last batch's end before them."""
    g, e, s = m.b.g, m.b.embd, m.states
    tokens = g.view(x, e, s.each - 1, s.slots, size=4 * e * (m.b.u - 1))
    return g.new([before, tokens], e, s.each, s.slots)


def _last(m: _Mixer, x: Tensor) -> Tensor:
    e, s = m.b.embd, m.states
    return m.b.g.view(x, e, 1, s.slots, size=4 * e * (s.each * (s.slots - 1) + 1))


def _own_layer(m: _Mixer, layer: int, x: Tensor, cut: Node | None) -> Tensor:
    b, s = m.b, m.states
    g, e, u = b.g, b.embd, b.u
    x = g.view(x, e, s.each, s.slots)
    cache = s.cache(layer, b.shape.state_r)
    shift = s.read(cache, b.shape.state_r)
    attn_shift, ffn_shift = (g.view(shift, e, 1, s.slots, size=4 * e * (2 * s.slots - 1)) for _ in range(2))
    normed = b.lnorm(layer, "attn_norm", x, True)
    mixed = _time_mix(m, layer, normed, _shifted(m, normed, attn_shift))
    middle: Tensor = g.same(mixed, x)
    ffn_normed: Tensor = b.lnorm(layer, "attn_norm_2", middle, True)
    before: Tensor = _shifted(m, ffn_normed, ffn_shift)
    kept = g.new([_last(m, normed), _last(m, ffn_normed)], e, 2, s.slots)
    s.store(g.view(kept, e * 2 * s.slots), cache)
    middle, ffn_normed, before = (g.view(t, e, u) for t in (middle, ffn_normed, before))
    if cut is not None:
        middle, ffn_normed, before = g.rows(middle, cut), g.rows(ffn_normed, cut), g.rows(before, cut)
    x = g.same(_channel_mix(b, layer, ffn_normed, before), middle)
    every = b.shape.integer("rescale_every_n_layers")
    if b.arch == "rwkv6" and every and (layer + 1) % every == 0:
        x = g.same(x)
    return x


def _channel_mix(b: Build, layer: int, x: Tensor, before: Tensor) -> Tensor:
    g = b.g
    step = g.same(before, x)
    keys = g.same(g.same(step, *_weight(b, layer, "channel_mix_lerp_k.weight")), x)
    if b.arch == "rwkv7":
        k = g.same(g.same(b.mm(b.lw(layer, "channel_mix_key.weight"), keys)))
        return b.mm(b.lw(layer, "channel_mix_value.weight"), k)
    gates = g.same(g.same(step, *_weight(b, layer, "channel_mix_lerp_r.weight")), x)
    r = g.same(b.mm(b.lw(layer, "channel_mix_receptance.weight"), gates))
    k = g.same(g.same(b.mm(b.lw(layer, "channel_mix_key.weight"), keys)))
    return g.same(r, b.mm(b.lw(layer, "channel_mix_value.weight"), k))


def _borrowed_layer(m: _Mixer, layer: int, x: Tensor, cut: Node | None) -> Tensor:
    b, s = m.b, m.states
    g, e, u = b.g, b.embd, b.u
    x = g.view(x, e, s.each, s.slots)
    cache = s.cache(layer, b.shape.state_r)
    shift = g.view(s.read(cache, b.shape.state_r), e, 1, s.slots)
    normed = b.lnorm(layer, "attn_norm", x)
    mixed = _time_mix(m, layer, normed, _shifted(m, normed, shift))
    s.store(g.view(_last(m, normed), e * s.slots), cache)
    middle: Tensor = g.view(g.same(mixed, x), e, u)
    if cut is not None:
        middle = g.rows(middle, cut)
    return g.same(b.ffn(layer, b.lnorm(layer, "ffn_norm", middle)), middle)


def _time_mix(m: _Mixer, layer: int, x: Tensor, before: Tensor) -> Tensor:
    return _mix7(m, layer, x, before) if m.b.arch in ("rwkv7", "arwkv7") else _mix6(m, layer, x, before)


def _advanced(m: _Mixer, cache: Node, out: Node, size: int) -> Tensor:
    """The new states go back to the cache; what is left is the layer's result."""
    b, s = m.b, m.states
    s.store(b.g.view(out, b.embd * size * s.slots), cache)
    return b.g.view(out, b.embd * b.u)


def _normed(b: Build, layer: int, cur: Tensor, size: int) -> Tensor:
    """Norm per head, then the layer's weight and bias over the whole row."""
    g, e, u = b.g, b.embd, b.u
    cur = g.view(g.fresh(g.view(cur, size, e // size, u)), e, u)
    cur = g.same(cur, *_weight(b, layer, "time_mix_ln.weight"))
    return g.same(cur, *_weight(b, layer, "time_mix_ln.bias"))


def _mix7(m: _Mixer, layer: int, x: Tensor, before: Tensor) -> Tensor:
    b, s = m.b, m.states
    g, e, u = b.g, b.embd, b.u
    size = b.shape.integer("wkv.head_size")
    heads = e // size
    gated = b.lw(layer, "time_mix_g1.weight") is not None and b.lw(layer, "time_mix_g2.weight") is not None

    def mm(name: str, value: Tensor) -> Node:
        return b.mm(b.lw(layer, f"time_mix_{name}.weight"), value)

    def plus(value: Tensor, name: str) -> Node:
        return g.same(value, *_weight(b, layer, f"time_mix_{name}.weight"))

    step = g.new([g.same(before, x)], e, s.each, s.slots, 6 if gated else 5)
    both = g.same(plus(step, "lerp_fused"), x)
    part = g.view(both, e, u)
    r: Tensor = mm("receptance", part)
    w: Tensor = plus(mm("w2", g.same(mm("w1", part))), "w0")
    w = g.same(g.same(g.same(w)))
    k: Tensor = mm("key", part)
    v: Tensor = mm("value", part)
    if m.first is None:
        m.first = v
    else:
        weight = g.same(plus(mm("v2", mm("v1", part)), "v0"))
        v = g.same(v, g.same(g.same(m.first, v), weight))
    gate = mm("g2", g.same(mm("g1", part))) if gated else None
    a: Tensor = g.same(plus(mm("a2", mm("a1", part)), "a0"))
    kk = g.fresh(g.view(plus(k, "k_k"), size, heads, u))
    ka = plus(k, "k_a")
    k = g.same(k, g.same(g.same(a, ka), ka))
    r, w, k, v, a = (g.view(t, size, heads, u) for t in (r, w, k, v, a))
    cache = s.cache(layer, b.shape.state_s)
    state = s.read(cache, b.shape.state_s)
    out = g.new([r, w, k, v, g.same(kk), g.same(kk, a), state], e, u + size * s.slots)
    cur = _advanced(m, cache, out, size)
    if b.lw(layer, "time_mix_ln.weight") is not None and b.lw(layer, "time_mix_ln.bias") is not None:
        cur = _normed(b, layer, cur, size)
    else:
        cur = g.view(cur, e, u)
    r_k = [g.view(t, size, heads) for t in _weight(b, layer, "time_mix_r_k.weight")]
    rk = g.new([g.same(g.same(k, r), *r_k)], 1, heads, u)
    cur = g.same(cur, g.view(g.same(v, rk), e, u))
    if gate is not None:
        cur = g.same(cur, gate)
    return g.view(mm("output", cur), e, s.each, s.slots)


def _mix6(m: _Mixer, layer: int, x: Tensor, before: Tensor) -> Tensor:
    b, s = m.b, m.states
    g, e, u = b.g, b.embd, b.u
    size = b.shape.integer("wkv.head_size")
    heads, kv = e // size, b.shape.kv_heads[layer]
    borrowed = b.lw(layer, "time_mix_first.weight") is None

    def mm(name: str, value: Tensor) -> Node:
        return b.mm(b.lw(layer, f"time_mix_{name}.weight"), value)

    parts = _mix6_inputs(b, layer, g.view(x, e, u), g.view(g.same(before, x), e, u))
    r, k, v = (mm(n, parts[n[0]]) for n in ("receptance", "key", "value"))
    biased: list[Tensor] = []
    for n, value in (("receptance", r), ("key", k), ("value", v)):
        bias = b.lw(layer, f"time_mix_{n}.bias")
        biased.append(value if bias is None else g.same(value, bias))
    gate = g.same(mm("gate", parts["g"]))
    r_, k_, v_ = biased
    if kv and kv != heads:
        k_, v_ = (g.new([g.view(t, size, 1, kv, u)], size, heads // kv, kv, u) for t in (k_, v_))
    k_, v_, r_ = (g.view(t, size, heads, u) for t in (k_, v_, r_))
    w: Tensor = g.same(mm("decay_w2", g.same(mm("decay_w1", parts["w"]))), *_weight(b, layer, "time_mix_decay.weight"))
    w = g.view(g.same(g.same(g.same(w))), size, heads, u)
    if borrowed:
        k_ = g.same(k_, g.same(k_, w))
    cache = s.cache(layer, b.shape.state_s)
    state = s.read(cache, b.shape.state_s)
    middle = [w] if borrowed else [*_weight(b, layer, "time_mix_first.weight"), w]
    out = g.new([k_, v_, r_, *middle, state], e, u + size * s.slots)
    cur = _advanced(m, cache, out, size)
    cur = g.view(cur, e, u) if borrowed else _normed(b, layer, cur, size)
    return g.view(mm("output", g.same(cur, gate)), e, s.each, s.slots)


def _mix6_inputs(b: Build, layer: int, x: Tensor, step: Tensor) -> dict[str, Tensor]:
    """The five inputs of a layer, each another mix of a token with the one before it."""
    g, e, u = b.g, b.embd, b.u
    first, second = b.lw(layer, "time_mix_w1.weight"), b.lw(layer, "time_mix_w2.weight")
    mixed: Tensor = g.same(g.same(step, *_weight(b, layer, "time_mix_lerp_x.weight")), x)
    low = g.same(b.mm(first, mixed))
    rank = low.ne[0] // 5
    low = g.cont(g.view(low, rank, 1, 5, u, size=low.size), (rank, 1, u, 5))
    assert second is not None
    made: Tensor = g.new([g.view(second, *second.ne[:2], 1, 5), low], e, 1, u, 5)
    fused = b.lw(layer, "time_mix_lerp_fused.weight")
    if fused is not None:
        made = g.same(g.same(g.same(made, fused), g.view(step, e, 1, u)), g.view(x, e, 1, u))
        return {n: g.view(made, e, u) for n in "wkvrg"}
    return {
        n: g.same(g.same(g.same(g.view(made, e, u), *_weight(b, layer, f"time_mix_lerp_{n}.weight")), step), x)
        for n in "wkvrg"
    }
