"""Linear attention with graphs of their own: MiniMax-01, Kimi K3 and Bailing 3 (src/models, b11434)."""

from __future__ import annotations

from paddock.fit.replay import mla
from paddock.fit.replay.kda import kda_layer
from paddock.fit.replay.nodes import F32, Node, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.states import States
from paddock.fit.replay.traits import Traits, gate_name

GRAPHED = frozenset({"minimax-01", "kimi-k3", "bailingmoe3"})
_ROUTER = Traits(gating="key:softmax")


def build(b: Build) -> None:
    """The whole graph."""
    if b.arch == "minimax-01":
        _minimax(b)
    elif b.arch == "kimi-k3":
        _Kimi(b).build()
    else:
        _bailing(b)
    b.mark()


def _known(*nodes: Node | None) -> list[Node]:
    return [n for n in nodes if n is not None]


# MiniMax-01 ---------------------------------------------------------------------------------------------------------


class _Decays:
    """Inputs that all lightning layers share."""

    def __init__(self, b: Build, s: States) -> None:
        g, heads = b.g, b.shape.heads[0]
        self.slopes = g.input(F32, heads)
        self.q = g.input(F32, 1, heads, s.each, s.slots)
        self.k = g.input(F32, 1, heads, s.each, s.slots)
        self.diagonal = g.input(F32, s.each, s.each, heads, s.slots)


def _minimax(b: Build) -> None:
    g = b.g
    x: Tensor = b.inp_embd()
    s = States(b)
    decays = _Decays(b, s)
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        normed = b.lnorm(layer, "attn_norm", x)
        if b.shape.recurrent[layer]:
            cur: Tensor = _lightning(b, s, decays, layer, normed)
        else:
            q, k, v = b.qkv(layer, normed)
            cur = b.attention(layer, g.rope(q, b.inp_pos()), g.rope(k, b.inp_pos()), v)
        residual: Tensor = normed
        if layer == layers[-1]:
            cur, residual = g.rows(cur, cut), g.rows(residual, cut)
        middle = g.same(cur, g.same(residual))
        inner = b.lnorm(layer, "ffn_norm", middle)
        out = b.moe(
            layer,
            inner,
            scale=b.number("expert_weights_scale") not in (0.0, 1.0),
            clamped=b.clamps("swiglu_clamp_exp", layer),
        )
        x = g.same(out, g.same(inner))
    b.finish(x)


def _lightning(b: Build, s: States, decays: _Decays, layer: int, x: Tensor) -> Tensor:
    """Attention with a decay per head: within the batch, and from the state before it."""
    g, u, heads = b.g, b.u, b.shape.heads[layer]
    head = b.shape.integer("attention.key_length") or b.embd // heads
    wide = head * heads
    s.read(s.cache(layer, b.shape.state_r), b.shape.state_r)
    x = g.view(x, b.embd, s.each, 1, s.slots)
    both = g.same(b.mm(b.lw(layer, "attn_qkv.weight"), x))
    span = both.size - 4 * 2 * head
    q, k, v = (g.view(both, head, heads, s.each, s.slots, size=span) for _ in range(3))
    cache = s.cache(layer, b.shape.state_s)
    before = g.view(s.read(cache, b.shape.state_s), head, head, heads, s.slots)
    q_decay, k_decay, diagonal = (g.same(g.same(t)) for t in (decays.q, decays.k, decays.diagonal))
    far = g.new([before, g.view(g.same(q, q_decay), head, s.each, heads, s.slots)], head, s.each, heads, s.slots)
    near = g.same(g.new([k, q], s.each, s.each, heads, s.slots), diagonal)
    turned = g.cont(v, (s.each, head, heads, s.slots))
    mixed = g.same(far, g.new([turned, near], head, s.each, heads, s.slots))
    g.expand(mixed)
    block = g.same(g.same(g.same(decays.slopes)))
    kept = g.same(before, g.view(block, 1, 1, heads))
    late = g.cont(g.view(g.same(k, k_decay), s.each, head, heads, s.slots, size=4 * wide * u))
    s.store(g.same(kept, g.new([late, turned], head, head, heads, s.slots)), cache)
    flat = g.view(g.cont(g.view(mixed, head, heads, s.each, s.slots, size=mixed.size)), wide, s.each, 1, s.slots)
    normed = b.norm(flat, b.lw(layer, "attn_norm_2.weight"))
    gate = g.same(b.mm(b.lw(layer, "attn_gate.weight"), x))
    out = b.mm(b.lw(layer, "attn_output.weight"), g.same(gate, normed))
    return g.view(out, out.ne[0], u)


# Bailing 3 ----------------------------------------------------------------------------------------------------------


def _bailing(b: Build) -> None:
    g = b.g
    x: Tensor = b.inp_embd()
    s = States(b)
    b.inp_pos()
    cut = b.out_ids()
    for layer in b.layers():
        normed = b.lnorm(layer, "attn_norm", x)
        cur: Tensor = (
            kda_layer(b, s, layer, normed) if b.shape.recurrent[layer] else bailing_attention(b, layer, normed)
        )
        middle = g.same(cur, x)
        x = bailing_experts(b, layer, middle)
    b.finish(x, after=cut)


def bailing_attention(b: Build, layer: int, x: Tensor) -> Tensor:
    """Latent attention with a gate per head."""
    g, u = b.g, b.u
    assert b.shape.mla is not None
    heads, value = b.shape.heads[layer], b.shape.mla[1]
    rank = mla.query_rank(b, layer, x)
    q = b.mm(b.lw(layer, "attn_q.weight"), x) if rank is None else b.mm(b.lw(layer, "attn_q_b.weight"), rank)
    out = _latent(b, layer, x, q, rope=True)
    gate = g.same(g.view(b.mm(b.lw(layer, "attn_gate.weight"), x), 1, heads, u))
    mixed = g.same(g.view(out, value, heads, u), gate)
    return b.mm(b.lw(layer, "attn_output.weight"), g.cont(mixed, (value * heads, u, 1, 1)))


def bailing_experts(b: Build, layer: int, middle: Tensor) -> Tensor:
    """Dense at first, then experts beside a shared one."""
    g = b.g
    cur = b.lnorm(layer, "ffn_norm", middle)
    if layer < b.shape.integer("leading_dense_block_count"):
        return g.same(b.ffn(layer, cur, clamped=b.clamps("swiglu_clamp_shexp", layer)), middle)
    out = routed(b, layer, cur)
    return g.same(g.same(out, shared(b, layer, cur)), middle)


def routed(b: Build, layer: int, x: Tensor) -> Node:
    """Experts as the file's keys ask for them."""
    return b.moe(
        layer,
        x,
        gating=gate_name(_ROUTER, b.shape.integer("expert_gating_func")),
        norm=bool(b.shape.integer("expert_weights_norm")),
        scale=b.number("expert_weights_scale") not in (0.0, 1.0),
        clamped=b.clamps("swiglu_clamp_exp", layer),
    )


def shared(b: Build, layer: int, x: Tensor) -> Node:
    """The expert that every token passes."""
    clamped = b.clamps("swiglu_clamp_shexp", layer)
    return b.ffn(layer, x, up="ffn_up_shexp", gate="ffn_gate_shexp", down="ffn_down_shexp", clamped=clamped)


def _latent(b: Build, layer: int, x: Tensor, q: Node, rope: bool) -> Tensor:
    queries, keys, values = mla.absorbed(b, layer, x, q, rope=rope)
    for tensor in (queries, values, keys):
        b.g.expand(tensor)
    cache, memory = mla.key_cache(b, layer), b.memory(False)
    b.g.expand(b.g.store(cache, keys, memory.k_ids))
    return mla.latent(b, layer, queries, cache, memory.mask)


# Kimi K3 ------------------------------------------------------------------------------------------------------------


class _Kimi:
    """Residual streams banked every few layers and mixed again before each half of a layer."""

    def __init__(self, b: Build) -> None:
        self.b = b
        self.bank: Node | None = None
        self.every = b.shape.integer("attn_res.block_size")

    def build(self) -> None:
        b, g = self.b, self.b.g
        x: Tensor = b.inp_embd()
        s = States(b)
        cut = b.out_ids()
        for layer in range(b.shape.layers):
            total = x
            cur = self._mixed(total, b.lw(layer, "attn_res_score.weight"))
            banked = bool(self.every) and layer % self.every == 0
            if banked:
                self._push(total)
            cur = b.lnorm(layer, "attn_norm", cur)
            g.expand(cur)
            cur = kda_layer(b, s, layer, cur) if b.shape.recurrent[layer] else self._attention(layer, cur)
            total = cur if banked else g.same(total, cur)
            cur = b.lnorm(layer, "ffn_norm", self._mixed(total, b.lw(layer, "ffn_res_score.weight")))
            dense = layer < b.shape.integer("leading_dense_block_count")
            x = g.same(total, self._feed(layer, cur, "") if dense else self._experts(layer, cur))
        b.finish(self._mixed(x, b.w("output_res_score.weight")), cut=cut)

    def _push(self, x: Tensor) -> None:
        g, b = self.b.g, self.b
        view = g.view(x, b.embd, 1, b.u)
        if self.bank is None:
            self.first = view
            self.bank = x.base
            self.count = 1
            self.source: Tensor = view
        else:
            self.count += 1
            self.source = g.new([self.source, view], b.embd, self.count, b.u)

    def _mixed(self, x: Tensor, score: Node | None) -> Tensor:
        """A softmax over the banked streams and the running one, by their scores."""
        if self.bank is None or not self.every:
            return x
        b, g, n = self.b, self.b.g, self.count
        old = g.new([g.same(g.same(self.source), *_known(score))], 1, n, b.u)
        new = g.new([g.same(g.same(x), *_known(score))], 1, b.u)
        probs = g.same(g.new([g.view(old, n, b.u), new], n + 1, b.u))
        p_old = g.cont(g.view(probs, n, b.u, size=probs.size - 4))
        p_new = g.cont(g.view(probs, 1, b.u, size=probs.size - 4 * n))
        out = g.new([self.source, p_old], b.embd, b.u)
        return g.same(out, g.same(x, p_new))

    def _attention(self, layer: int, x: Tensor) -> Tensor:
        b, g = self.b, self.b.g
        rank = mla.query_rank(b, layer, x)
        q = b.mm(b.lw(layer, "attn_q.weight"), x) if rank is None else b.mm(b.lw(layer, "attn_q_b.weight"), rank)
        out = _latent(b, layer, x, q, rope=False)
        gate = b.lw(layer, "attn_gate.weight")
        if gate is not None:
            out = g.same(out, g.same(b.mm(gate, x)))
        return b.mm(b.lw(layer, "attn_output.weight"), out)

    def situ(self, gate: Node, up: Node) -> Node:
        """The bounded gate: beta tanh(gate / beta) sigmoid(gate), times the bounded other half."""
        g = self.b.g
        cur = g.same(g.same(g.same(g.same(gate))), g.same(gate))
        if self.b.number("activation.situ_linear_beta") > 0:
            up = g.same(g.same(g.same(up)))
        return g.same(cur, up)

    def _feed(self, layer: int, x: Tensor, suffix: str) -> Node:
        b = self.b
        gate = b.mm(b.lw(layer, f"ffn_gate{suffix}.weight"), x)
        up = b.mm(b.lw(layer, f"ffn_up{suffix}.weight"), x)
        return b.mm(b.lw(layer, f"ffn_down{suffix}.weight"), self.situ(gate, up))

    def _experts(self, layer: int, x: Tensor) -> Node:
        b, g = self.b, self.b.g
        down, up = b.lw(layer, "ffn_routed_down.weight"), b.lw(layer, "ffn_routed_up.weight")
        inner: Tensor = x if down is None else b.mm(down, x)
        logits = b.mm(b.lw(layer, "ffn_gate_inp.weight"), x)
        out: Node = b.moe(
            layer,
            inner,
            gating=gate_name(_ROUTER, b.shape.integer("expert_gating_func")),
            norm=bool(b.shape.integer("expert_weights_norm")),
            scale=b.number("expert_weights_scale") not in (0.0, 1.0),
            probs_in=logits,
            gate_bias=False,
            act=self.situ,
        )
        norm = b.lw(layer, "ffn_routed_norm.weight")
        if norm is not None:
            out = b.norm(out, norm)
        if up is not None:
            out = b.mm(up, out)
        if b.lw(layer, "ffn_gate_shexp.weight") is not None:
            out = g.same(out, self._feed(layer, x, "_shexp"))
        return out
