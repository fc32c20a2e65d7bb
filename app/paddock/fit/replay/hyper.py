"""Hyper-connections: several residual streams, mixed before and after each half of a layer (Hy 4, GLM 5 Next)."""

from __future__ import annotations

from paddock.fit.replay import kpool, linear, mla
from paddock.fit.replay.kda import kda_layer
from paddock.fit.replay.nodes import F32, KEEP, Node, Tensor, View
from paddock.fit.replay.parts import Build
from paddock.fit.replay.states import States

GRAPHED = frozenset({"hy_v4", "glm5-next"})


def build(b: Build) -> None:
    """The whole graph."""
    if b.arch == "hy_v4":
        _hy(b)
    else:
        _glm(b)
    b.mark()


def _known(*nodes: Tensor | None) -> list[Tensor]:
    return [n for n in nodes if n is not None]


class Streams:
    """The mixing of the streams; `count` of them."""

    def __init__(self, b: Build) -> None:
        self.b = b
        self.count = b.shape.integer("hyper_connection.count") or 1

    def spread(self, x: Tensor) -> Node:
        """Every stream begins as the embeddings."""
        g, b = self.b.g, self.b
        return g.new([g.view(x, b.embd, 1, b.u)], b.embd, self.count, b.u)

    def weights(self, name: str) -> list[Node | None]:
        """The function, the scales, the bases of one mixing."""
        return [self.b.w(f"{name}_{part}.weight") for part in ("fn", "scale", "base")]

    def mixes(self, x: Tensor, fn: Node | None) -> Node:
        """All streams of a token, normed, through one small matrix."""
        b, rows = self.b, x.ne[2]
        return b.mm(fn, b.g.same(b.g.view(x, self.count * b.embd, rows)))

    def affine(self, mixes: Node, scale: Node | None, base: Node | None, more: int) -> Node:
        """One slice of the mixes, scaled and shifted, then `more` element-wise operations."""
        g, n, rows = self.b.g, self.count, mixes.ne[1]
        part: Tensor = g.view(mixes, n, rows, size=4 * (mixes.ne[0] * (rows - 1) + n))
        cur = g.same(part, *([g.view(scale, 1)] if scale is not None else []))
        cur = g.same(cur, *([g.view(base, n)] if base is not None else []))
        for _ in range(more):
            cur = g.same(cur)
        return cur

    def stream(self, x: Tensor) -> View:
        """A look at one stream."""
        e, rows = self.b.embd, x.ne[2]
        return self.b.g.view(x, e, rows, size=4 * (e * self.count * (rows - 1) + e))

    def column(self, weights: Tensor) -> View:
        """A look at one stream's weight for every token."""
        rows = weights.ne[1]
        return self.b.g.view(weights, 1, rows, size=4 * (self.count * (rows - 1) + 1))

    def cut(self, x: Tensor, ids: Node) -> View:
        """The rows that give logits, all their streams."""
        b, wide = self.b, self.b.embd * self.count
        return b.g.view(b.g.rows(b.g.view(x, wide, b.u), ids), b.embd, self.count, b.n_out)


# fused (GLM 5 Next) -------------------------------------------------------------------------------------------------


class Fused(Streams):
    """The mixing as operations of its own (DSV4_HC_*)."""

    def before(self, layer: int, x: Tensor, name: str) -> tuple[Node, Node, Node]:
        """What the layer reads, and the weights with which its result goes back."""
        g, b, n = self.b.g, self.b, self.count
        fn, scale, base = self.weights(name)
        mixes = self.mixes(x, fn)
        pre = self.affine(mixes, scale, base, 2)
        post = self.affine(mixes, scale, base, 2)
        if "comb" in b.lost:
            comb = self.balanced(mixes, scale, base)
        else:
            comb = g.new([mixes, *_known(scale, base)], n, n, b.u)
            b.fused.append(("comb", comb, layer))
        return self.read(layer, x, pre), post, comb

    def read(self, layer: int, x: Tensor, weights: Node) -> Node:
        """The streams' weighted sum; layer -1: after the last layer, never fused."""
        b, g = self.b, self.b.g
        if layer >= 0 and "pre" not in b.lost:
            out = g.new([x, weights], b.embd, x.ne[2])
            b.fused.append(("pre", out, layer))
            return out
        return self.summed(x, weights)

    def summed(self, x: Tensor, weights: Tensor) -> Node:
        """The same, stream by stream."""
        g = self.b.g
        total: Node | None = None
        for _ in range(self.count):
            cur = g.same(self.stream(x), self.column(weights))
            total = cur if total is None else g.same(total, cur)
        assert total is not None
        return total

    def balanced(self, mixes: Node, scale: Node | None, base: Node | None) -> Node:
        """The combination's rows and columns normed in turn (Sinkhorn), in single operations."""
        b, g, n = self.b, self.b.g, self.count
        part: Tensor = g.view(mixes, n * n, b.u, size=4 * (mixes.ne[0] * (b.u - 1) + n * n))
        part = g.same(part, *([g.view(scale, 1)] if scale is not None else []))
        part = g.same(part, *([g.view(base, n * n)] if base is not None else []))
        eps = g.same(Node(KEEP, (), F32, (1, 1, 1, 1), 4))
        comb = g.same(g.same(g.view(part, n, n, b.u)), eps)
        for i in range(max(1, b.shape.integer("hyper_connection.sinkhorn_iterations"))):
            if i:
                comb = g.same(comb, g.same(g.new([comb], 1, n, b.u), eps))
            turned = g.cont(g.view(comb, n, n, b.u, size=comb.size))
            total = g.same(g.new([turned], 1, n, b.u), eps)
            comb = g.same(comb, g.view(total, n, 1, b.u, size=total.size))
        return comb

    def after(self, layer: int, x: Tensor, residual: Tensor, post: Node, comb: Node) -> Tensor:
        """The layer's result added to all streams."""
        b, g = self.b, self.b.g
        if "post" not in b.lost:
            out = g.new([x, residual, post, comb], b.embd, self.count, b.u)
            b.fused.append(("post", out, layer))
            return out
        joined: Tensor | None = None
        for i in range(self.count):
            cur = g.same(x, self.column(post))
            for _ in range(self.count):
                weight = g.view(comb, 1, b.u, size=4 * (self.count * self.count * (b.u - 1) + 1))
                cur = g.same(cur, g.same(self.stream(residual), weight))
            one = g.view(cur, b.embd, 1, b.u)
            joined = one if joined is None else g.new([joined, one], b.embd, i + 1, b.u)
        assert joined is not None
        return joined

    def head(self, rows: Tensor) -> Node:
        """The streams mixed into one, after the last layer (DeepSeek V4)."""
        g = self.b.g
        fn, scale, base = self.weights("output_hc")
        pre = g.same(g.same(self.mixes(rows, fn), *_known(scale)), *_known(base))
        return self.summed(rows, g.same(g.same(pre)))

    def mean(self, x: Tensor) -> Node:
        """The streams' average."""
        g = self.b.g
        total: Tensor = self.stream(x)
        for _ in range(1, self.count):
            total = g.same(total, self.stream(x))
        return g.same(total)


def _glm(b: Build) -> None:
    g, shape = b.g, b.shape
    x: Tensor = b.inp_embd()
    s, streams = States(b), Fused(b)
    pools = kpool.Pools(b)
    cut = b.out_ids()
    cur: Tensor = streams.spread(x)
    for layer in range(shape.layers):
        residual = cur
        inner, post, comb = streams.before(layer, cur, f"blk.{layer}.hc_attn")
        normed = b.lnorm(layer, "attn_norm", inner)
        g.expand(normed)
        if shape.recurrent[layer]:
            out: Tensor = kda_layer(b, s, layer, normed)
        else:
            out = _glm_attention(b, pools, layer, normed)
        cur = residual = streams.after(layer, out, residual, post, comb)
        inner, post, comb = streams.before(layer, cur, f"blk.{layer}.hc_ffn")
        cur = streams.after(layer, _experts(b, layer, b.lnorm(layer, "ffn_norm", inner)), residual, post, comb)
    b.finish(streams.mean(streams.cut(cur, cut)))


def _experts(b: Build, layer: int, x: Tensor) -> Tensor:
    if layer < b.shape.integer("leading_dense_block_count"):
        return b.ffn(layer, x)
    return b.g.same(linear.routed(b, layer, x), linear.shared(b, layer, x))


def _glm_attention(b: Build, pools: kpool.Pools, layer: int, x: Tensor) -> Node:
    """Latent attention without positions, over the tokens that the pooled indexer chose."""
    g, s, u = b.g, b.shape, b.u
    rank = mla.query_rank(b, layer, x)
    assert rank is not None
    heads = s.heads[layer]
    q = b.mm(b.lw(layer, "attn_q_b.weight"), rank)
    nope = q.ne[0] // heads
    latent = b.norm(b.mm(b.lw(layer, "attn_kv_a_mqa.weight"), x), b.lw(layer, "attn_kv_a_norm.weight"))
    folded = b.mm(b.lw(layer, "attn_k_b.weight"), g.view(q, nope, u, heads, size=q.size))
    memory = b.memory(False)
    mask = pools.mask(layer, x, rank, memory.mask)
    g.expand(folded)
    g.expand(latent)
    cache = mla.key_cache(b, layer)
    g.expand(g.store(cache, g.view(latent, s.kv_lora, 1, u), memory.k_ids))
    out = mla.latent(b, layer, g.view(folded, s.kv_lora, heads, u), cache, mask)
    return b.mm(b.lw(layer, "attn_output.weight"), out)


# in single operations (Hy 4) ----------------------------------------------------------------------------------------


class Plain(Streams):
    """The mixing in element-wise operations, all of it cast to F32 first."""

    def reduced(self, x: Tensor, weights: Tensor) -> Node:
        """The streams' weighted sum."""
        g = self.b.g
        wide = g.fresh(x)
        total: Tensor | None = None
        for _ in range(self.count):
            cur = g.same(self.stream(wide), self.column(weights))
            total = cur if total is None else g.same(total, cur)
        assert total is not None
        return g.fresh(total)

    def before(self, x: Tensor, name: str) -> tuple[Node, Node]:
        """What the layer reads, and the weights with which its result goes back."""
        fn, scale, base = self.weights(name)
        mixes = self.mixes(x, fn)
        pre = self.affine(mixes, scale, base, 2)
        post = self.affine(mixes, scale, base, 3)
        return self.reduced(x, pre), post

    def after(self, x: Tensor, residual: Tensor, post: Node) -> Node:
        """The layer's result added to all streams."""
        g, b = self.b.g, self.b
        result, weights, streams = g.fresh(x), g.fresh(post), g.fresh(residual)
        out: Tensor | None = None
        for i in range(self.count):
            cur = g.same(self.stream(streams), g.same(result, self.column(weights)))
            one = g.view(cur, b.embd, 1, b.u)
            out = one if out is None else g.new([out, one], b.embd, i + 1, b.u)
        assert out is not None
        return g.fresh(out)

    def head(self, x: Tensor) -> Node:
        """The last mixing, before the output norm."""
        g = self.b.g
        fn, scale, base = self.weights("output_hc")
        cur = g.same(g.same(self.mixes(x, fn), *_known(scale)), *_known(base))
        return self.reduced(x, g.same(g.same(cur)))


def _hy(b: Build) -> None:
    g, shape = b.g, b.shape
    x: Tensor = b.inp_embd()
    streams = Plain(b)
    b.inp_pos()
    cut = b.out_ids()
    sparse = shape.integer("attention.indexer.top_k") > 0
    cur: Tensor = streams.spread(x)
    for layer in range(shape.layers):
        residual = cur
        inner, post = streams.before(cur, f"blk.{layer}.hc_attn")
        normed = b.lnorm(layer, "attn_norm", inner)
        out: Tensor = mla.attended(b, layer, normed, sparse, sinks=b.lw(layer, "attn_sinks.weight"), turned=False)
        gate = g.same(b.mm(b.lw(layer, "attn_gate.weight"), normed))
        out = b.mm(b.lw(layer, "attn_output.weight"), g.same(out, gate))
        cur = residual = streams.after(out, residual, post)
        inner, post = streams.before(cur, f"blk.{layer}.hc_ffn")
        cur = streams.after(_experts(b, layer, b.lnorm(layer, "ffn_norm", inner)), residual, post)
    b.finish(streams.head(streams.cut(cur, cut)))
