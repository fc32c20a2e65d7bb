"""DFlash: a block of tokens drafted at once, with its Markov head or its selector (src/models/dflash.cpp, b11434)."""

from __future__ import annotations

from paddock.fit.replay import compressed
from paddock.fit.replay.drafts import embedded, head, spread
from paddock.fit.replay.kpool import filled
from paddock.fit.replay.nodes import F32, I32, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build

GRAPHED = frozenset({"dflash"})


def build(b: Build) -> None:
    """The whole graph."""
    g = b.g
    tokens, x = embedded(b)
    selecting = b.w("selector_hidden.weight") is not None
    if b.shape.integer("hyper_connection.count"):
        known = compressed.stages(b, x)
        cur = b.norm(known, b.w("output_norm.weight"))
    else:
        if b.number("embedding_scale"):
            x = g.same(x)
        for layer in range(b.shape.layers):
            x = _layer(b, layer, x)
        known = cur = b.norm(x, b.w("output_norm.weight"))
    b.embed(known)
    out = head(b, cur, _transforms(b) if selecting else 0)
    g.expand(out)
    b.outputs.append(out)
    if b.w("markov_w1.weight") is not None:
        _markov(b, tokens, out, known)
    if selecting:
        _Selector(b, tokens, out, known).build()
    b.mark()


def _transforms(b: Build) -> int:
    """Operations on the logits."""
    return int(bool(b.number("logit_scale"))) + (3 if b.number("final_logit_softcapping") > 0 else 0)


def _layer(b: Build, layer: int, x: Node) -> Node:
    g, s, u = b.g, b.shape, b.u
    heads, kv, head = s.heads[layer], s.kv_heads[layer], s.head_k[layer]
    normed: Tensor = b.lnorm(layer, "attn_norm", x)
    mixed = _mixing(b, layer, "attn", normed)
    if mixed is not None:
        normed = _convolved(b, layer, "attn", normed, mixed)
    raw = {n: b.lw(layer, f"attn_{n}.weight") for n in "qkv"}
    q_raw, k_raw = (b.mm(raw[n], normed, b.lw(layer, f"attn_{n}.scale")) for n in "qk")
    shared = raw["v"] is None
    v_raw = k_raw if shared else b.mm(raw["v"], normed, b.lw(layer, "attn_v.scale"))
    q: Tensor = b.lnorm(layer, "attn_q_norm", g.view(q_raw, head, heads, u))
    k: Tensor = b.lnorm(layer, "attn_k_norm", g.view(k_raw, head, kv, u))
    v: Tensor = g.view(v_raw, head, kv, u)
    if shared:
        v = g.same(v)
    factors = b.rope_factors(0)
    more = [b.inp_pos(), *([factors] if factors is not None else [])]
    q, k = g.rope(q, *more), g.rope(k, *more)
    cur: Tensor = b.attention(layer, q, k, v, sinks=b.lw(layer, "attn_sinks.weight"))
    if b.number("attention.value_scale"):
        cur = g.same(cur)
    if mixed is not None:
        cur = _convolved(b, layer, "attn", cur, mixed)
    if b.lw(layer, "post_attention_norm.weight") is not None:
        cur = b.lnorm(layer, "post_attention_norm", cur)
    middle = g.same(cur, x)
    cur = b.lnorm(layer, "ffn_norm", middle)
    mixed = _mixing(b, layer, "ffn", cur)
    cur = b.ffn(layer, cur if mixed is None else _convolved(b, layer, "ffn", cur, mixed))
    if mixed is not None:
        cur = _convolved(b, layer, "ffn", cur, mixed)
    if b.lw(layer, "post_ffw_norm.weight") is not None:
        cur = b.lnorm(layer, "post_ffw_norm", cur)
    out = g.same(cur, middle)
    scale = b.lw(layer, "layer_output_scale.weight")
    return out if scale is None else g.same(out, scale)


def _markov(b: Build, tokens: Node, base: Tensor, embedded: Tensor) -> None:
    """Logits biased by the token before, one place of every slot's block after another (DSpark)."""
    g, blocks, u = b.g, b.sizes.slots, b.u
    each, vocabulary = u // blocks, base.ne[0]
    if each > b.shape.integer("block_size"):
        return
    confident = b.w("conf_proj.weight") is not None
    prev: Tensor = g.cont(g.view(tokens, 1, blocks, size=4 * (each * (blocks - 1) + 1)), (blocks, 1, 1, 1))

    def column(x: Tensor, width: int) -> Tensor:
        return g.view(x, width, blocks, size=4 * (x.ne[0] * each * (blocks - 1) + width))

    drafted: Tensor | None = None
    sure: Tensor | None = None
    first = 0 if b.shape.integer("sample_from_anchor", 1) else 1
    if first:
        drafted = g.cont(column(base, vocabulary))
        sure = g.same(g.cont(column(base, 1))) if confident else None
    for i in range(first, each):
        low = g.rows(_required(b.w("markov_w1.weight")), prev)
        bias = spread(b, b.mm(b.w("markov_w2.weight"), low, b.w("markov_w2.scale")))
        col = g.same(column(base, vocabulary), bias)
        drafted = col if drafted is None else g.new([drafted, col], vocabulary, (i - first + 1 + first) * blocks)
        if confident:
            one = _confidence(b, column(embedded, b.embd), low)
            sure = one if sure is None else g.new([sure, one], 1, (i + 1) * blocks)
        if i + 1 < each:
            prev = g.new([col], blocks, type_=I32)
    assert drafted is not None
    out = g.cont(g.view(drafted, vocabulary, each, blocks, size=drafted.size))
    if sure is not None:
        placed = g.cont(g.view(sure, 1, each, blocks, size=sure.size))
        wide = g.new([g.view(placed, 1, u)], b.embd, u)
        b.outputs.append(wide)
        g.expand(wide)
    b.outputs.append(out)
    g.expand(out)


def _confidence(b: Build, x: Tensor, low: Node) -> Node:
    g = b.g
    joined = g.new([g.cont(x), low], x.ne[0] + low.ne[0], x.ne[1])
    out = b.mm(b.w("conf_proj.weight"), joined)
    bias = b.w("conf_proj.bias")
    return g.same(out if bias is None else g.same(out, bias))


def _required(weight: Node | None) -> Node:
    if weight is None:
        raise NotDescribedError
    return weight


# DFlash 2 -----------------------------------------------------------------------------------------------------------


def _mixing(b: Build, layer: int, half: str, x: Tensor) -> Node | None:
    """The coefficients of a half's two convolutions, if the file has them."""
    weight = b.lw(layer, f"{half}_conv_proj.weight")
    return None if weight is None else b.mm(weight, x)


def _convolved(b: Build, layer: int, half: str, x: Tensor, mixed: Node) -> Node:
    """A short convolution along each slot's block, its weights from the tokens themselves and from the file."""
    g, u, blocks = b.g, b.u, b.sizes.slots
    each, wide = u // blocks, b.embd
    kernel, size = b.shape.integer("conv_kernel_size"), b.shape.integer("conv_group_size")
    groups = wide // size
    side = g.cont(g.view(mixed, groups, kernel, u, size=mixed.size - 4 * groups * kernel))
    spread_out = g.new([g.view(side, 1, groups, kernel, u)], size, groups, kernel, u)
    base = _required(b.lw(layer, f"{half}_conv_base"))
    weights = g.same(spread_out, g.view(base, size, groups, kernel))
    total: Node | None = None
    for tap in range(min(kernel, each)):
        values: Tensor = g.view(x, wide, each, blocks)
        if tap:
            earlier = g.view(x, wide, each - tap, blocks, size=x.size - 4 * wide * tap)
            values = g.new([earlier], wide, each, blocks)
        own = g.cont(g.view(weights, size, groups, 1, u, size=weights.size - 4 * wide * (kernel - 1)))
        term = g.same(g.view(own, wide, u), g.view(values, wide, u))
        total = term if total is None else g.same(total, term)
    assert total is not None
    return total


class _Selector:
    """The best candidates of every place, and how well each follows each of the place before."""

    def __init__(self, b: Build, tokens: Node, logits: Tensor, known: Tensor) -> None:
        self.b, self.tokens, self.logits, self.known = b, tokens, logits, known
        self.blocks = b.sizes.slots
        self.each = b.u // self.blocks
        self.best = b.shape.integer("selector_top_k")

    def build(self) -> None:
        """Packed into rows as wide as an embedding."""
        b, g, best, blocks = self.b, self.b.g, self.best, self.blocks
        count = min(self.each, b.shape.integer("block_size"))
        self.found = g.new([self.logits], best, b.u, type_=I32)
        self.own = g.rows(g.view(self.logits, 1, self.logits.ne[0], b.u), self.found)
        self.gate = b.mm(b.w("selector_hidden.weight"), self.known)
        packed: Node = g.same(filled(b, F32, b.embd, 1, blocks))
        if count > 1:
            anchor = g.view(self.tokens, 1, blocks, size=4 * (self.each * (blocks - 1) + 1))
            packed = g.new([packed, self._run(1, g.cont(anchor, (blocks, 1, 1, 1)))], b.embd, 2, blocks)
        if count > 2:
            before = g.cont(self._part(self.found, best, count - 2))
            more = self._run(count - 2, g.view(before, best * (count - 2) * blocks))
            packed = g.new([packed, more], b.embd, count, blocks)
        b.outputs.append(packed)
        g.expand(packed)

    def _part(self, x: Tensor, wide: int, count: int) -> Tensor:
        """Some places of every block."""
        size = 4 * wide * (self.each * (self.blocks - 1) + count)
        return self.b.g.view(x, wide, count, self.blocks, size=size)

    def _run(self, count: int, before: Tensor) -> Node:
        b, g, best, blocks = self.b, self.b.g, self.best, self.blocks
        rank, total = self.gate.ne[0], count * blocks
        found, own, gate = (
            g.cont(self._part(t, wide, count)) for t, wide in ((self.found, best), (self.own, best), (self.gate, rank))
        )
        after = g.rows(_required(b.w("selector_successor.weight")), g.view(found, best * total))
        first = g.rows(_required(b.w("selector_predecessor.weight")), before)
        earlier = before.ne[0] // total
        joined = g.same(
            g.view(first, rank, earlier, count, blocks),
            g.new([g.view(gate, rank, 1, count, blocks)], rank, earlier, count, blocks),
        )
        score = g.mm(g.view(after, rank, best, count, blocks), joined)
        if earlier == 1:
            score = g.new([score], best, best, count, blocks)
        wide = g.new([g.view(own, best, 1, count, blocks)], best, best, count, blocks)
        score = g.same(score, wide)
        row = g.new(
            [g.new([found], best, count, blocks), g.view(score, best * best, count, blocks)],
            best + best * best,
            count,
            blocks,
        )
        return g.new([row], b.embd, count, blocks)
