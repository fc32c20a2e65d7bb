"""Layers that carry a state instead of a cache: Mamba, gated delta nets, short convolutions (src/models/*-base.cpp)."""

from __future__ import annotations

from collections.abc import Callable

from paddock.fit.replay.nodes import F32, GATHER, I32, KEEP, Node, Tensor, View
from paddock.fit.replay.parts import Build


class States:
    """The indexes of the states that a batch reads, shared by all layers, and the sizes of a sequence."""

    def __init__(self, b: Build) -> None:
        self.b = b
        self.slots = b.sizes.slots
        self.each = b.u // self.slots
        self.copy = b.g.input(I32, self.slots)
        self.main = b.g.view(self.copy, self.slots)
        self.tail = b.g.view(self.copy, self.slots - 1)
        self.snapshots = 1 + b.sizes.states
        """States kept per slot (1 without rejected drafts)."""

    def cache(self, layer: int, elements: int) -> Node:
        return self.b.cache(layer, 4 * elements * self.slots * self.snapshots)

    def read(self, cache: Node, elements: int, scan: Callable[[Tensor, Tensor], Node] | None = None) -> Tensor:
        """build_rs: clear one, gather, hand out, copy what is left over. `scan` reads the states itself."""
        g = self.b.g
        g.expand(_inplace(self.b, cache))
        count = self.slots if scan is None else self.slots - 1
        rows = Node(
            GATHER,
            (_look(self.b, cache), self.copy if scan is None else self.tail),
            F32,
            (elements, count, 1, 1),
            4 * elements * count,
        )
        out: Tensor = g.view(rows, elements, self.slots) if scan is None else scan(_look(self.b, cache), self.main)
        g.expand(out)
        g.expand(_copied(self.b, g.view(rows, elements, 0), cache))
        return out

    def store(self, source: Tensor, cache: Node) -> None:
        """Copy a part of a result back into the cache."""
        self.b.g.expand(_copied(self.b, source, cache))


def _look(b: Build, cache: Node) -> View:
    return b.g.view(cache, 1, size=cache.size)


def _inplace(b: Build, cache: Node) -> Node:
    node = Node(KEEP, (_look(b, cache),), cache.type, (1, 1, 1, 1), 4)
    node.base = cache
    return node


def _copied(b: Build, source: Tensor, cache: Node) -> Node:
    node = Node(KEEP, (source, _look(b, cache)), cache.type, (1, 1, 1, 1), cache.size)
    node.base = cache
    return node


def last(b: Build, joined: Node, kept: int) -> View:
    """The last columns of a convolution's input: strided, so a copy of it spans nearly all."""
    long, wide, slots = joined.ne[0], joined.ne[1], joined.ne[2]
    return b.g.view(joined, kept, wide, slots, size=4 * (long * (wide * slots - 1) + kept))


def mamba(b: Build, s: States, layer: int, x: Tensor) -> Tensor:
    """Mamba 1: a scan whose decay differs per channel."""
    g, shape = b.g, b.shape
    inner, state, conv = (
        shape.integer("ssm.inner_size"),
        shape.integer("ssm.state_size"),
        shape.integer("ssm.conv_kernel"),
    )
    rank = shape.integer("ssm.time_step_rank")
    r_cache, s_cache = s.cache(layer, shape.state_r), s.cache(layer, shape.state_s)
    history = s.read(r_cache, shape.state_r)
    both = b.mm(b.lw(layer, "ssm_in.weight"), g.view(x, x.ne[0], s.each, s.slots), b.lw(layer, "ssm_in.scale"))
    span = 4 * (2 * inner * (b.u - 1) + inner)
    x_in = g.view(both, inner, s.each, s.slots, size=span)
    z = g.view(both, inner, s.each, s.slots, size=span)
    cur = _convolved(b, s, layer, history, x_in, r_cache, inner, conv)
    mixed = b.mm(b.lw(layer, "ssm_x.weight"), cur)
    row = mixed.ne[0]
    dt: Tensor = g.view(mixed, rank, s.each, s.slots, size=4 * (row * (b.u - 1) + rank))
    gate_b: Tensor = g.view(mixed, state, 1, s.each, s.slots, size=4 * (row * (b.u - 1) + state))
    gate_c: Tensor = g.view(mixed, state, 1, s.each, s.slots, size=4 * (row * (b.u - 1) + state))
    if shape.integer("ssm.dt_b_c_rms") or b.lw(layer, "ssm_dt_norm.weight") is not None:
        dt = b.norm(dt, b.lw(layer, "ssm_dt_norm.weight"))
        gate_b = b.norm(gate_b, b.lw(layer, "ssm_b_norm.weight"))
        gate_c = b.norm(gate_c, b.lw(layer, "ssm_c_norm.weight"))
    else:
        dt = g.cont(dt)
    dt = _biased(b, b.mm(b.lw(layer, "ssm_dt.weight"), dt), b.lw(layer, "ssm_dt.bias"))
    wide = g.view(cur, 1, inner, s.each, s.slots)
    out = _scanned(b, s, s_cache, wide, dt, b.lw(layer, "ssm_a"), gate_b, gate_c, inner, state, 1)
    y = g.same(g.view(out, inner, s.each, s.slots), g.same(cur, *known(b.lw(layer, "ssm_d"))))
    y = g.new([g.cont(z), y], inner, s.each, s.slots)
    return b.mm(b.lw(layer, "ssm_out.weight"), y, b.lw(layer, "ssm_out.scale"))


def known(*nodes: Node | None) -> list[Node]:
    return [n for n in nodes if n is not None]


def _biased(b: Build, x: Node, bias: Node | None) -> Node:
    return x if bias is None else b.g.same(x, bias)


def _convolved(b: Build, s: States, layer: int, history: Tensor, x: Tensor, cache: Node, wide: int, conv: int) -> Node:
    """The causal convolution over the batch with its history before it; the last columns go back to the cache."""
    g = b.g
    joined = g.new([g.view(history, conv - 1, wide, s.slots), x], conv - 1 + s.each, wide, s.slots)
    for _ in range(min(s.each, s.snapshots)):
        s.store(last(b, joined, conv - 1), cache)
    weight = b.lw(layer, "ssm_conv1d.weight")
    cur = g.new([joined, *known(weight)], wide, s.each, s.slots)
    return g.same(_biased(b, cur, b.lw(layer, "ssm_conv1d.bias")))


def _scanned(
    b: Build,
    s: States,
    cache: Node,
    x: Tensor,
    dt: Tensor,
    decay: Tensor | None,
    gate_b: Tensor,
    gate_c: Tensor,
    inner: int,
    state: int,
    kept: int,
) -> Node:
    g = b.g
    total = inner * b.u + kept * state * inner * s.slots
    made: list[Node] = []

    def scan(states: Tensor, ids: Tensor) -> Node:
        sources = [states, x, dt, *([decay] if decay is not None else []), gate_b, gate_c, ids]
        made.append(g.new(sources, total))
        return made[0]

    s.read(cache, state * inner, scan)
    s.store(g.view(made[0], state * inner * s.slots), cache)
    return made[0]


def mamba2(b: Build, s: States, layer: int, x: Tensor) -> Tensor:
    """Mamba 2: one decay per head, groups share the gates."""
    g, shape, u = b.g, b.shape, b.u
    inner, state, conv = (
        shape.integer("ssm.inner_size"),
        shape.integer("ssm.state_size"),
        shape.integer("ssm.conv_kernel"),
    )
    heads, groups = shape.integer("ssm.time_step_rank"), shape.integer("ssm.group_count")
    head = inner // max(1, heads)
    wide = inner + 2 * groups * state
    r_cache, s_cache = s.cache(layer, shape.state_r), s.cache(layer, shape.state_s)
    history = s.read(r_cache, shape.state_r)
    both = b.mm(b.lw(layer, "ssm_in.weight"), x, b.lw(layer, "ssm_in.scale"))
    row = both.ne[0]
    z = g.view(both, head, heads, s.each, s.slots, size=4 * (row * (u - 1) + inner))
    x_bc = g.view(both, wide, s.each, s.slots, size=4 * (row * (u - 1) + wide))
    dt_in = g.view(both, heads, s.each, s.slots, size=4 * (row * (u - 1) + heads))
    cur = _convolved(b, s, layer, history, x_bc, r_cache, wide, conv)
    x_in = g.view(cur, head, heads, s.each, s.slots, size=4 * (wide * (u - 1) + inner))
    gates = [g.view(cur, state, groups, s.each, s.slots, size=4 * (wide * (u - 1) + groups * state)) for _ in range(2)]
    dt = _biased(b, g.cont(dt_in), b.lw(layer, "ssm_dt.bias"))
    out = _scanned(b, s, s_cache, x_in, dt, b.lw(layer, "ssm_a"), gates[0], gates[1], inner, state, s.snapshots)
    y: Tensor = g.same(g.view(out, head, heads, s.each, s.slots), g.same(x_in, *known(b.lw(layer, "ssm_d"))))
    y = g.new([g.cont(z), y], head, heads, s.each, s.slots)
    if b.lw(layer, "ssm_norm.weight") is not None:
        y = b.norm(g.view(y, inner // groups, groups, s.each, s.slots), b.lw(layer, "ssm_norm.weight"))
    return b.mm(b.lw(layer, "ssm_out.weight"), g.view(y, inner, u), b.lw(layer, "ssm_out.scale"))


def plamo2(b: Build, s: States, layer: int, x: Tensor) -> Tensor:
    """PLaMo 2's form of Mamba: heads interleaved, gates normed."""
    g, shape, u = b.g, b.shape, b.u
    inner, state, conv = (
        shape.integer("ssm.inner_size"),
        shape.integer("ssm.state_size"),
        shape.integer("ssm.conv_kernel"),
    )
    heads, groups = shape.integer("ssm.time_step_rank"), shape.integer("ssm.group_count")
    head = inner // max(1, heads)
    r_cache, s_cache = s.cache(layer, shape.state_r), s.cache(layer, shape.state_s)
    history = s.read(r_cache, shape.state_r)
    both = b.mm(b.lw(layer, "ssm_in.weight"), g.view(x, x.ne[0], s.each, s.slots))
    zx = g.cont(g.view(both, *both.ne), (2 * head, heads, s.each, s.slots))
    x_in = g.cont(g.view(zx, head, heads, s.each, s.slots), (head * heads, s.each, s.slots, 1))
    z = g.view(zx, head, heads, s.each, s.slots, size=zx.size - 4 * head)
    wide = inner + 2 * groups * state
    joined = g.new(
        [g.view(history, conv - 1, wide, s.slots), g.view(x_in, inner, s.each, s.slots)],
        conv - 1 + s.each,
        wide if groups else inner,
        s.slots,
    )
    s.store(last(b, joined, conv - 1), r_cache)
    cur = g.same(g.new([joined, *known(b.lw(layer, "ssm_conv1d.weight"))], inner, s.each, s.slots))
    mixed = b.mm(b.lw(layer, "ssm_x.weight"), cur)
    row, rank = mixed.ne[0], max(64, shape.embedding // 16)
    gates = [
        b.lnorm(layer, f"ssm_{n}_norm", g.view(mixed, state, s.each, s.slots, size=4 * (row * (u - 1) + state)))
        for n in "bc"
    ]
    dt: Tensor = b.lnorm(layer, "ssm_dt_norm", g.view(mixed, rank, s.each, s.slots, size=4 * (row * (u - 1) + rank)))
    dt = _biased(b, b.mm(b.lw(layer, "ssm_dt.weight"), dt), b.lw(layer, "ssm_dt.bias"))
    decay, skip = b.lw(layer, "ssm_a"), b.lw(layer, "ssm_d")
    heads_x = g.view(cur, head, heads, s.each, s.slots)
    out = _scanned(
        b,
        s,
        s_cache,
        heads_x,
        dt,
        g.view(decay, 1, heads) if decay is not None else None,
        g.view(gates[0], state, 1, s.each, s.slots),
        g.view(gates[1], state, 1, s.each, s.slots),
        inner,
        state,
        1,
    )
    scaled = g.same(heads_x, *([g.view(skip, 1, heads)] if skip is not None else []))
    y = g.same(g.view(out, head, heads, s.each, s.slots), scaled)
    y = g.new([g.cont(z), y], head, heads, s.each, s.slots)
    return b.mm(b.lw(layer, "ssm_out.weight"), g.view(y, inner, s.each, s.slots))


def short_convolution(b: Build, s: States, layer: int, x: Tensor) -> Tensor:
    """LFM2's gated short convolution."""
    g, shape, u = b.g, b.shape, b.u
    kept = shape.integer("shortconv.l_cache") - 1
    both = b.mm(b.lw(layer, "shortconv.in_proj.weight"), g.view(x, x.ne[0], s.each, s.slots))
    wide = both.ne[0] // 3
    parts = [g.view(both, wide, s.each, s.slots, size=4 * (3 * wide * (u - 1) + wide)) for _ in range(3)]
    mixed = g.same(parts[0], parts[2])
    cache = s.cache(layer, shape.state_r)
    history = s.read(cache, shape.state_r)
    fresh = g.view(mixed, s.each, wide, s.slots)
    if shape.causal:
        joined = g.new([g.view(history, kept, wide, s.slots), fresh], kept + s.each, wide, s.slots)
    else:
        side = kept // 2
        left = g.cont(g.view(history, side, wide, s.slots, size=history.size - 4 * (kept - side)))
        joined = g.new([g.new([left, fresh], side + s.each, wide, s.slots)], 2 * side + s.each, wide, s.slots)
    for _ in range(min(s.each, s.snapshots) if shape.causal else 1):
        s.store(last(b, joined, kept), cache)
    out = g.new([joined, *known(b.lw(layer, "shortconv.conv.weight"))], wide, s.each, s.slots)
    y = g.same(parts[1], out)
    return b.mm(b.lw(layer, "shortconv.out_proj.weight"), y)


def unit(b: Build, x: Tensor) -> Node:
    """Rows scaled to unit length: RMS_NORM, then SCALE."""
    return b.g.same(b.g.same(x))


def delta(
    b: Build,
    s: States,
    cache: Node,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    gate: Tensor,
    beta: Tensor,
    state: Tensor,
    head: int,
    heads: int,
) -> View:
    """The gated delta rule, fused; the new state goes back to the cache."""
    g = b.g
    out = g.new([q, k, v, gate, beta, state], head * heads, b.u + s.snapshots * head * s.slots)
    s.store(g.view(out, head * head * heads, s.slots), cache)
    return g.view(out, head, heads, s.each, s.slots, size=4 * head * heads * b.u)


def gated_delta(b: Build, s: States, layer: int, x: Tensor) -> Tensor:
    """The linear attention of Qwen3-Next and Qwen3.5."""
    g, shape, u = b.g, b.shape, b.u
    inner, key, conv = (
        shape.integer("ssm.inner_size"),
        shape.integer("ssm.state_size"),
        shape.integer("ssm.conv_kernel"),
    )
    k_heads, v_heads = shape.integer("ssm.group_count"), shape.integer("ssm.time_step_rank")
    head = inner // max(1, v_heads)
    mixed, z = _mixed(b, s, layer, x, key, head, k_heads, v_heads)
    gate, beta = _gates(b, s, layer, x, k_heads, v_heads)
    wide = inner + 2 * k_heads * key
    r_cache, s_cache = s.cache(layer, shape.state_r), s.cache(layer, shape.state_s)
    history = s.read(r_cache, shape.state_r)
    joined = g.new([g.view(history, conv - 1, wide, s.slots), mixed], conv - 1 + s.each, wide, s.slots)
    for _ in range(s.snapshots):
        s.store(last(b, joined, conv - 1), r_cache)
    state = g.view(s.read(s_cache, shape.state_s), head, head, v_heads, s.slots)
    cur = g.same(g.new([joined, *known(b.lw(layer, "ssm_conv1d.weight"))], wide, s.each, s.slots))
    span = 4 * (wide * (u - 1))
    q: Tensor = unit(b, g.view(cur, key, k_heads, s.each, s.slots, size=span + 4 * key * k_heads))
    k: Tensor = unit(b, g.view(cur, key, k_heads, s.each, s.slots, size=span + 4 * key * k_heads))
    v = g.view(cur, head, v_heads, s.each, s.slots, size=span + 4 * inner)
    if k_heads != v_heads and b.arch == "qwen3next":
        q, k = (g.view(g.new([t], key, v_heads // k_heads, k_heads, u), key, v_heads, s.each, s.slots) for t in (q, k))
    out = delta(b, s, s_cache, q, k, v, gate, beta, state, head, v_heads)
    normed = b.norm(out, b.lw(layer, "ssm_norm.weight"))
    y = g.same(normed, g.same(g.view(z, head, v_heads, s.each, s.slots)))
    return b.mm(b.lw(layer, "ssm_out.weight"), g.view(y, head * v_heads, s.each, s.slots), b.lw(layer, "ssm_out.scale"))


def _mixed(
    b: Build,
    s: States,
    layer: int,
    x: Tensor,
    key: int,
    head: int,
    k_heads: int,
    v_heads: int,
) -> tuple[Tensor, Tensor]:
    """q, k and v beside each other, and the output gate z."""
    g = b.g
    fused = b.lw(layer, "attn_qkv.weight")
    scales = b.arch != "qwen3next"
    if fused is not None:
        mixed = b.mm(fused, x, b.lw(layer, "attn_qkv.scale") if scales else None)
        z = b.mm(b.lw(layer, "attn_gate.weight"), x, b.lw(layer, "attn_gate.scale") if scales else None)
        return g.view(mixed, mixed.ne[0], s.each, s.slots), z
    both = b.mm(b.lw(layer, "ssm_in.weight"), x)
    share = head * v_heads // k_heads
    z_out = g.cont(g.view(both, share, k_heads, s.each, s.slots))
    flat = [
        g.cont(g.view(both, n, k_heads, s.each, s.slots), (n * k_heads, s.each, s.slots, 1)) for n in (key, key, share)
    ]
    joined = g.new([flat[0], flat[1]], 2 * key * k_heads, s.each, s.slots)
    return g.new([joined, flat[2]], (2 * key + share) * k_heads, s.each, s.slots), z_out


def _gates(b: Build, s: States, layer: int, x: Tensor, k_heads: int, v_heads: int) -> tuple[Tensor, Tensor]:
    """(decay, beta) per value head and token."""
    g = b.g
    if b.lw(layer, "ssm_ba.weight") is not None:
        both = b.mm(b.lw(layer, "ssm_ba.weight"), x)
        share = v_heads // k_heads
        beta = g.same(g.cont(g.view(both, share, k_heads, s.each, s.slots)))
        alpha: Tensor = g.cont(g.view(both, share, k_heads, s.each, s.slots), (v_heads, s.each, s.slots, 1))
    else:
        raw = b.mm(b.lw(layer, "ssm_beta.weight"), x, b.lw(layer, "ssm_beta.scale"))
        beta = g.same(g.view(raw, 1, v_heads, s.each, s.slots))
        alpha = g.view(
            b.mm(b.lw(layer, "ssm_alpha.weight"), x, b.lw(layer, "ssm_alpha.scale")), v_heads, s.each, s.slots
        )
    decay = g.same(g.same(g.same(alpha, *known(b.lw(layer, "ssm_dt.bias")))), *known(b.lw(layer, "ssm_a")))
    return g.view(decay, 1, v_heads, s.each, s.slots), g.view(beta, 1, v_heads, s.each, s.slots)
