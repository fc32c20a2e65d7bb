"""Qwen 4 (experimental): gated hyper-connections, embeddings of n-grams, attention over chosen tokens (b11434)."""

from __future__ import annotations

from paddock.fit.replay import hybrid
from paddock.fit.replay.compressed import beside
from paddock.fit.replay.kpool import Pools, filled
from paddock.fit.replay.nodes import F32, I32, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.states import States, delta, known, last, unit
from paddock.fit.replay.traits import PLAIN

GRAPHED = frozenset({"qwen4exp"})


def build(b: Build) -> None:
    """The whole graph."""
    _Graph(b).build()
    b.mark()


def draft(b: Build) -> None:
    """The second context on the model's own MTP block."""
    _Graph(b).draft()
    b.mark()


class _Chosen(Pools):
    """The indexer's choice: pools of plain means."""

    def __init__(self, b: Build) -> None:
        super().__init__(b, rows=2, gathers=False)
        self.new_positions = b.g.input(I32, 4 * self.new)

    def choice(self, layer: int, x: Tensor, mask: Node) -> Tensor:
        """The attention mask with everything hidden but the best pools and the tail."""
        b, g = self.b, self.b.g
        size, u = self.size, self.b.u
        cache = self._stored(layer, b.mm(b.lw(layer, "indexer.k_proj.weight"), x))
        self._means(layer, cache)
        pooled = g.rows(self._pieces(cache, 1), self.cells)
        q: Tensor = g.view(b.mm(b.lw(layer, "indexer.q_proj.weight"), x), size, self.heads, u)
        q = g.rope(b.lnorm(layer, "indexer.q_norm", q), b.inp_pos())
        weights = g.same(filled(b, F32, self.heads, u))
        score = g.new([q, g.view(pooled, size, 1, self.count), weights, self.hidden], self.count, u)
        top = g.new([score], self.best, u, type_=I32)
        found = g.rows(self.members, g.view(top, self.best * u))
        cells = g.new([g.view(found, self.each * self.best, u), self.tails], self.chosen, u, type_=I32)
        return self._masked(cells, mask, self._alive(score, top))

    def _means(self, layer: int, cache: Node) -> None:
        b, g, size, new = self.b, self.b.g, self.size, self.new
        rows = g.rows(self._pieces(cache, 1), g.view(self.new_members, self.each * new))
        span = 4 * size * (self.each * (new - 1) + 1)
        total: Node = g.cont(g.view(rows, size, new, size=span))
        for _ in range(1, self.each):
            total = g.same(total, g.view(rows, size, new, size=span))
        total = b.norm(g.same(total), b.lw(layer, "indexer.k_norm.weight"))
        turned = g.rope(g.view(total, size, 1, new), self.new_positions)
        g.expand(g.store(cache, g.view(turned, size, new), self.new_places))

    def _alive(self, score: Node, top: Node) -> tuple[Tensor, Tensor]:
        """Which of the chosen cells count, and where the others go."""
        g, u = self.b.g, self.b.u
        pools = g.same(g.same(g.rows(g.view(score, 1, self.count, u), top)))
        wide = g.new([pools], self.each, self.best, u)
        tails = g.same(g.same(g.new([self.tails], self.each - 1, u)))
        live = g.new([g.view(wide, self.each * self.best, u), tails], self.chosen, u)
        return live, g.same(g.fresh(g.same(live)))


class _Graph:
    def __init__(self, b: Build) -> None:
        self.b = b
        self.count = b.shape.integer("hyper_connection.count") or 1
        self.read: dict[str, Tensor] = {}

    def build(self) -> None:
        b, g, shape = self.b, self.b.g, self.b.shape
        x: Tensor = b.inp_embd()
        self.states = States(b)
        ratios = shape.arrays.get("attention.compress_ratios", ())
        ratio = shape.integer("attention.compress_ratios")
        sparse = any(ratios) or bool(ratio)
        pools = _Chosen(b) if sparse and shape.integer("attention.indexer.kpool") else None
        b.inp_pos()
        cut = b.out_ids()
        grams = self._grams()
        streams: Tensor = g.new([g.view(x, b.embd, 1, b.u)], b.embd, self.count, b.u)
        g.expand(streams)
        side = shape.arrays.get("ple.layers", ())
        last_layer = shape.layers - 1
        for layer in range(shape.layers):
            if layer in side and grams is not None:
                streams = self._remembered(layer, grams, streams)
            cur, inject = self._mixed(layer, f"blk.{layer}.hc_attn", streams)
            assert inject is not None
            g.expand(cur)
            if shape.recurrent[layer]:
                cur = self._linear(layer, cur)
            else:
                chosen = pools if (ratios[layer] if layer < len(ratios) else ratio) > 0 else None
                cur = self._attention(layer, cur, chosen)
            if layer == last_layer:
                cur, inject = g.rows(cur, cut), g.rows(inject, cut)
                rows = g.rows(g.view(streams, b.embd * self.count, b.u), cut)
                streams = g.view(rows, b.embd, self.count, b.n_out)
            streams = self._combined(layer, streams, cur, inject)
            cur, inject = self._mixed(layer, f"blk.{layer}.hc_ffn", streams)
            assert inject is not None
            done = self._combined(layer, streams, hybrid.feed_forward(b, PLAIN, layer, cur), inject)
            streams = done
            if b.probe or b.pinned:
                b.pins.append((done, b.device_of_layer(layer)))
        cur, _ = self._mixed(-1, "output_hc", streams)
        b.embed(cur)
        out = b.mm(b.output_weight(), cur, b.w("output.scale"))
        b.outputs.append(out)
        g.expand(out)

    def draft(self) -> None:
        """The MTP block: the streams of the state beside the token, one layer of attention."""
        b, g, shape, layer = self.b, self.b.g, self.b.shape, self.b.shape.layers
        g.expand(g.input(I32, b.sizes.slots))
        ratios = shape.arrays.get("attention.compress_ratios", ())
        ratio = ratios[layer] if layer < len(ratios) else shape.integer("attention.compress_ratios")
        sparse = any(ratios) or bool(ratio)
        pools = _Chosen(b) if sparse and shape.integer("attention.indexer.kpool") else None
        streams: Tensor = beside(b, layer, self.count)
        cut = b.out_ids()
        cur, inject = self._mixed(layer, f"blk.{layer}.hc_attn", streams)
        assert inject is not None
        streams = self._combined(layer, streams, self._attention(layer, cur, pools if ratio > 0 else None), inject)
        cur, inject = self._mixed(layer, f"blk.{layer}.hc_ffn", streams)
        assert inject is not None
        streams = self._combined(layer, streams, hybrid.feed_forward(b, PLAIN, layer, cur), inject)
        b.outputs.append(streams)
        g.expand(streams)
        rows = g.rows(g.view(streams, b.embd * self.count, b.u), cut)
        name = f"blk.{layer}.nextn.hc_head"
        cur, _ = self._mixed(layer, name, g.view(rows, b.embd, self.count, b.n_out))
        b.embed(cur)
        out = b.mm(b.output_weight(), cur, b.w("output.scale"))
        b.outputs.append(out)
        g.expand(out)

    # hyper-connections ----------------------------------------------------------------------------------------------

    def _mixed(self, layer: int, name: str, x: Tensor) -> tuple[Tensor, Node | None]:
        """What a half of a layer reads out of the streams, and how its result will go back."""
        b, g, n = self.b, self.b.g, self.count
        rows = x.ne[2]
        normed = g.same(g.same(x), *known(b.w(f"{name}_norm.weight")))
        flat = g.view(normed, b.embd * n, rows)
        low = g.same(g.same(b.mm(b.w(f"{name}_down.weight"), flat)))
        gate = b.mm(b.w(f"{name}_up.weight"), low)
        if layer >= 0 and "pre" not in b.lost:
            mixed: Node = g.new([g.view(normed, b.embd, n, rows), g.view(gate, b.embd, n, rows)], b.embd, rows)
            b.fused.append(("pre", mixed, layer))
        else:
            gated = g.same(flat, g.same(gate))
            span = 4 * b.embd * (n * (rows - 1) + 1)
            mixed = g.cont(g.view(gated, b.embd, rows, size=span))
            for _ in range(1, n):
                mixed = g.same(mixed, g.view(gated, b.embd, rows, size=span))
            mixed = g.same(mixed)
        inject = b.w(f"{name}_inject.weight")
        return mixed, None if inject is None else b.mm(inject, flat)

    def _combined(self, layer: int, residual: Tensor, x: Tensor, inject: Tensor) -> Node:
        b, g, n = self.b, self.b.g, self.count
        rows = residual.ne[2]
        weights = g.same(g.same(g.same(inject)))
        if "post" not in b.lost:
            out = g.new([x, residual, weights], b.embd, n, rows)
            b.fused.append(("post", out, layer))
            return out
        wide = g.new([g.view(x, b.embd, 1, rows)], b.embd, n, rows)
        return g.same(residual, g.same(wide, g.view(weights, 1, n, rows)))

    # n-grams --------------------------------------------------------------------------------------------------------

    def _grams(self) -> Tensor | None:
        b, g, shape = self.b, self.b.g, self.b.shape
        heads = (shape.integer("ple.ngram_size") - 1) * shape.integer("ple.heads_per_ngram")
        table = b.w("per_layer_token_embd.weight")
        if heads <= 0 or table is None:
            return None
        found = g.rows(table, g.input(I32, heads * b.u))
        g.expand(found)
        return g.view(found, found.ne[0] * heads, b.u)

    def _grouped(self, x: Tensor, name: str, layer: int) -> Node:
        b, g = self.b, self.b.g
        flat = g.view(x, b.embd, self.count, b.u)
        return g.same(g.same(flat), *known(b.lw(layer, name)))

    def _remembered(self, layer: int, grams: Tensor, hidden: Tensor) -> Node:
        """What the last tokens' n-grams say, gated by how well it fits, convolved, added to the streams."""
        b, g, shape, n = self.b, self.b.g, self.b.shape, self.count
        s, wide = self.states, self.b.embd * self.count
        key = self._grouped(b.mm(b.lw(layer, "ple_key.weight"), grams), "ple_norm_key.weight", layer)
        value = b.mm(b.lw(layer, "ple_value.weight"), grams)
        query = self._grouped(hidden, "ple_norm_query.weight", layer)
        score = g.same(g.new([g.same(key, query)], 1, n, b.u))
        size = g.same(g.same(g.same(score)))
        gate = g.same(g.same(g.same(score), size))
        gated = g.same(g.new([g.view(value, b.embd, 1, b.u)], b.embd, n, b.u), gate)
        normed = self._grouped(gated, "ple_norm_conv.weight", layer)
        kernel = shape.integer("ple.conv_kernel")
        history = (kernel - 1) * shape.integer("ple.ngram_size")
        joined = self._history("p", layer, g.view(normed, wide, s.each, s.slots), history, wide, history * wide)
        weight = b.lw(layer, "ple_conv1d.weight")
        if weight is None:
            raise NotDescribedError
        exact = weight.size == 4 * weight.ne[0] * weight.ne[1]
        total: Node | None = None
        for _ in range(kernel):
            shifted = g.cont(g.view(joined, wide, s.each, s.slots, size=joined.size - 4 * history))
            tap: Node = g.cont(g.view(weight, 1, wide))
            if not exact:
                tap.size = weight.size // weight.ne[0]
                tap = g.new([g.view(tap, wide, size=tap.size)], wide)
            term = g.same(shifted, g.view(tap, wide))
            total = term if total is None else g.same(total, term)
        assert total is not None
        conv = g.view(g.cont(g.same(total)), b.embd, n, b.u)
        return g.same(hidden, g.same(gated, conv))

    def _history(self, kind: str, layer: int, x: Tensor, kept: int, wide: int, row: int) -> Node:
        """A convolution's input with what came before it; its last columns go back to the cache."""
        b, g, s = self.b, self.b.g, self.states
        cache = s.cache(layer, row)
        before = s.read(cache, row)
        joined = g.new([g.view(before, kept, wide, s.slots), x], kept + s.each, wide, s.slots)
        for _ in range(s.snapshots):
            s.store(g.cont(last(b, joined, kept)), cache)
        return joined

    # attention ------------------------------------------------------------------------------------------------------

    def _linear(self, layer: int, x: Tensor) -> Tensor:
        b, g, shape, s, u = self.b, self.b.g, self.b.shape, self.states, self.b.u
        size, conv = shape.integer("ssm.state_size"), shape.integer("ssm.conv_kernel")
        k_heads, v_heads = shape.integer("ssm.group_count"), shape.integer("ssm.time_step_rank")
        wide = 2 * size * k_heads + size * v_heads
        mixed = b.mm(b.lw(layer, "attn_qkv.weight"), x, b.lw(layer, "attn_qkv.scale"))
        z = b.mm(b.lw(layer, "attn_gate.weight"), x, b.lw(layer, "attn_gate.scale"))
        raw = b.mm(b.lw(layer, "ssm_beta.weight"), x, b.lw(layer, "ssm_beta.scale"))
        beta = g.same(g.view(raw, 1, v_heads, s.each, s.slots))
        alpha = g.view(
            b.mm(b.lw(layer, "ssm_alpha.weight"), x, b.lw(layer, "ssm_alpha.scale")), v_heads, s.each, s.slots
        )
        decay = g.same(g.same(g.same(alpha, *known(b.lw(layer, "ssm_dt.bias")))), *known(b.lw(layer, "ssm_a")))
        joined = self._history("r", layer, g.view(mixed, wide, s.each, s.slots), conv - 1, wide, shape.state_r)
        s_cache = s.cache(layer, shape.state_s)
        state = g.view(s.read(s_cache, shape.state_s), size, size, v_heads, s.slots)
        cur = g.same(g.new([joined, *known(b.lw(layer, "ssm_conv1d.weight"))], wide, s.each, s.slots))
        span = 4 * wide * (u - 1)
        q, k = (unit(b, g.view(cur, size, k_heads, s.each, s.slots, size=span + 4 * size * k_heads)) for _ in range(2))
        v = g.view(cur, size, v_heads, s.each, s.slots, size=span + 4 * size * v_heads)
        gate = g.view(decay, 1, v_heads, s.each, s.slots)
        out = delta(b, s, s_cache, q, k, v, gate, beta, state, size, v_heads)
        normed = b.norm(out, b.lw(layer, "ssm_norm.weight"))
        y = g.same(normed, g.same(g.view(z, size, v_heads, s.each, s.slots)))
        flat = g.view(y, size * v_heads, s.each, s.slots)
        done = b.mm(b.lw(layer, "ssm_out.weight"), flat, b.lw(layer, "ssm_out.scale"))
        return g.view(done, b.embd, u)

    def _attention(self, layer: int, x: Tensor, pools: _Chosen | None) -> Node:
        mask = None if pools is None else pools.choice(layer, x, self.b.memory(False).mask)
        return hybrid.gated_attention(self.b, layer, x, mask)
