"""DeepSeek V4: a raw window beside compressed keys, hyper-connections around each half of a layer (b11434)."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.fit.quants import QUANTISED, padded, row_bytes
from paddock.fit.replay.hyper import Fused
from paddock.fit.replay.nodes import F16, F32, FLASH, I32, I64, KEEP, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.traits import Traits, gate_name

GRAPHED = frozenset({"deepseek4"})
_ROUTER = Traits(gating="key:softmax")
_OVERLAPPED, _WHOLE = 4, 128
_OVERLAPPED_ROWS = 8


@dataclass
class _Kind:
    """One compressor: its inputs for a batch, the same for all layers."""

    ratio: int
    rows: int
    """State rows per slot."""
    width: int
    """Elements of a state row."""
    head: int
    blocks: int
    cells: int
    pos: Node
    persist_from: Node
    persist_to: Node
    read: Node
    write: Node
    write_pos: Node
    mask: Node
    turn: Node | None
    restore: tuple[Node, Node] | None
    snapshot: tuple[Node, Node] | None


def build(b: Build) -> None:
    """The whole graph."""
    _Graph(b).build()
    b.mark()


def draft(b: Build) -> None:
    """The second context on the model's own MTP block."""
    _Graph(b).draft()
    b.mark()


def stages(b: Build, x: Tensor) -> Node:
    """The layers of a draft for DeepSeek V4 (DSpark), over the rows of an embedding; its streams joined at the end."""
    return _Graph(b).stages(x)


def beside(b: Build, layer: int, count: int) -> Node:
    """Every stream of the state beside the token's embedding, projected back to one width."""
    g = b.g
    table = b.lw(layer, "nextn.embed_tokens.weight") or b.w("token_embd.weight")
    if table is None:
        raise NotDescribedError
    token = g.rows(table, g.input(I32, b.u))
    state = b.lnorm(layer, "nextn.hnorm", g.view(g.input(F32, b.embd * count, b.u), b.embd, count, b.u))
    normed = b.lnorm(layer, "nextn.enorm", token)
    wide = g.new([g.view(normed, b.embd, 1, b.u)], b.embd, count, b.u)
    both = g.new([wide, state], 2 * b.embd, count, b.u)
    return b.mm(b.lw(layer, "nextn.eh_proj.weight"), both, b.lw(layer, "nextn.eh_proj.scale"))


class _Graph:
    def __init__(self, b: Build) -> None:
        self.b = b
        self.slots = b.sizes.slots

    def build(self) -> None:
        b, g, shape = self.b, self.b.g, self.b.shape
        x: Tensor = b.inp_embd()
        b.inp_pos()
        cut = b.out_ids()
        self._inputs()
        streams = Fused(b)
        cur: Tensor = streams.spread(x)
        for layer in range(shape.layers):
            residual = cur
            inner, post, comb = streams.before(layer, cur, f"blk.{layer}.hc_attn")
            out = self._attention(layer, b.lnorm(layer, "attn_norm", inner))
            cur = residual = streams.after(layer, out, residual, post, comb)
            inner, post, comb = streams.before(layer, cur, f"blk.{layer}.hc_ffn")
            for tensor in (residual, post, comb):
                g.expand(tensor)
            cur = streams.after(layer, self._experts(layer, b.lnorm(layer, "ffn_norm", inner)), residual, post, comb)
            if b.probe or b.pinned:
                b.pins.append((cur.base, b.device_of_layer(layer)))
        b.finish(streams.head(streams.cut(cur, cut)))

    def draft(self) -> None:
        """The MTP block: the streams of the state beside the token, a plain window of raw keys."""
        b, g, layer = self.b, self.b.g, self.b.shape.layers
        if layer < b.shape.integer("hash_layer_count"):
            raise NotDescribedError
        self.slots = b.streams
        self._raw(b.sizes.sliding(b.shape.window))
        streams = Fused(b)
        cur: Tensor = beside(b, layer, streams.count)
        cut = b.out_ids()
        rows = streams.cut(self._stage(layer, streams, cur), cut)
        b.outputs.append(rows)
        norm = b.lw(layer, "nextn.shared_head_norm.weight") or b.w("output_norm.weight")
        normed = b.norm(streams.head(rows), norm)
        b.embed(normed)
        logits = b.mm(b.lw(layer, "nextn.shared_head_head.weight") or b.output_weight(), normed)
        b.outputs.append(logits)
        g.expand(logits)

    def stages(self, x: Tensor) -> Node:
        """Every layer as an MTP block has it."""
        b = self.b
        self.slots = b.streams
        self._raw(b.sizes.sliding(b.shape.window))
        streams = Fused(b)
        cur: Tensor = streams.spread(x)
        for layer in range(b.shape.layers):
            cur = self._stage(layer, streams, cur)
        return streams.head(cur)

    def _stage(self, layer: int, streams: Fused, cur: Tensor) -> Tensor:
        b, residual = self.b, cur
        inner, post, comb = streams.before(layer, cur, f"blk.{layer}.hc_attn")
        out = self._attention(layer, b.lnorm(layer, "attn_norm", inner))
        cur = residual = streams.after(layer, out, residual, post, comb)
        inner, post, comb = streams.before(layer, cur, f"blk.{layer}.hc_ffn")
        return streams.after(layer, self._experts(layer, b.lnorm(layer, "ffn_norm", inner)), residual, post, comb)

    def _raw(self, cells: int) -> None:
        """The window of keys as they are."""
        b, g, shape, sizes = self.b, self.b.g, self.b.shape, self.b.sizes
        self.raw = cells
        self.raw_ids = g.input(I64, b.u)
        self.raw_mask = g.input(F16 if b.flash else F32, cells, b.u // self.slots, 1, self.slots)
        head = shape.head_k[0]
        self.turns = sizes.type_k in QUANTISED and head % 64 == 0
        if b.arch == "deepseek4" and head == shape.integer("attention.indexer.key_length"):
            self.turns = True
        self.raw_turn = self._turn(head) if self.turns else None

    def _inputs(self) -> None:
        b, g, shape, sizes = self.b, self.b.g, self.b.shape, self.b.sizes
        self._raw(sizes.cells if sizes.swa_full else padded(min(sizes.cells, shape.window + sizes.ubatch), 256))
        head, key, turned = shape.head_k[0], shape.integer("attention.indexer.key_length"), self.turns
        csa_turn, hca_turn = (self._turn(head) if turned else None for _ in range(2))
        mask = F16 if b.flash else F32
        self.csa = self._kind(_OVERLAPPED, _OVERLAPPED_ROWS, 2 * head, head, mask, csa_turn)
        self.hca = self._kind(_WHOLE, _WHOLE, head, head, mask, hca_turn)
        self.lid = self._kind(_OVERLAPPED, _OVERLAPPED_ROWS, 2 * key, key, F16, self._turn(key))
        g.expand(self.raw_mask)

    def _turn(self, size: int) -> Node:
        n = 64
        while size % (2 * n) == 0:
            n *= 2
        return self.b.g.input(F32, n, n)

    def _kind(self, ratio: int, rows: int, width: int, head: int, mask: int, turn: Node | None) -> _Kind:
        b, g, sizes = self.b, self.b.g, self.b.sizes
        blocks = b.u // ratio + self.slots
        cells = padded(-(-sizes.cells // ratio), 256)
        persist = min(b.u, rows * self.slots)
        each = rows * self.slots
        states = sizes.states
        return _Kind(
            ratio,
            rows,
            width,
            head,
            blocks,
            cells,
            g.input(I32, b.u),
            g.input(I32, persist),
            g.input(I32, persist),
            g.input(I32, (2 if rows == _OVERLAPPED_ROWS else 1) * ratio * blocks),
            g.input(I64, blocks),
            g.input(I32, blocks),
            g.input(mask, cells, b.u // self.slots, 1, self.slots),
            turn,
            (g.input(I32, each), g.input(I32, each)) if states else None,
            (g.input(I32, states * each), g.input(I32, states * each)) if states else None,
        )

    # the compressors ------------------------------------------------------------------------------------------------

    def _compressed(self, layer: int, kind: _Kind, name: str, x: Tensor, cache: Node) -> None:
        """Keys and scores of the batch, after those of the state; pools that are full go to the cache."""
        b, g = self.b, self.b.g
        ape = b.lw(layer, f"{name}_ape.weight")
        if ape is None:
            raise NotDescribedError
        keys = b.mm(b.lw(layer, f"{name}_kv.weight"), x)
        scores = g.same(b.mm(b.lw(layer, f"{name}_gate.weight"), x), g.rows(ape, kind.pos))
        rows = kind.rows * self.slots
        whole = 4 * kind.width * rows * (1 + b.sizes.states)
        states = [b.cache(layer, whole) for _ in range(2)]
        before: list[Tensor] = [g.view(s, kind.width, rows * (1 + b.sizes.states)) for s in states]
        if kind.restore is not None:
            before = [
                g.store(s, g.rows(v, kind.restore[0]), kind.restore[1]) for s, v in zip(states, before, strict=True)
            ]
        sources = [
            g.new([g.view(v, kind.width, rows), new], kind.width, rows + b.u)
            for v, new in zip(before, (keys, scores), strict=True)
        ]
        pooled = self._pooled(kind, sources, b.lw(layer, f"{name}_norm.weight"))
        if kind.turn is not None:
            pooled = b.turned(pooled, kind.turn)
        g.expand(g.store(cache, pooled, kind.write))
        if kind.snapshot is not None:
            count = rows * (1 + b.sizes.states) + b.u
            for state, old, new in zip(states, before, (keys, scores), strict=True):
                joined = g.new([old, new], kind.width, count)
                g.expand(g.store(state, g.rows(joined, kind.snapshot[0]), kind.snapshot[1]))
        kept = [g.rows(t, kind.persist_from) for t in (keys, scores)]
        for state, value in zip(states, kept, strict=True):
            g.expand(g.store(state, value, kind.persist_to))

    def _pooled(self, kind: _Kind, sources: list[Node], norm: Node | None) -> Tensor:
        b, g, head, blocks, width = self.b, self.b.g, kind.head, kind.blocks, kind.width
        if kind.rows == _OVERLAPPED_ROWS:
            count = kind.ratio * blocks
            longer = [g.new([s, g.view(g.same(g.view(s, width)), width, 1)], width, s.ne[1] + 1) for s in sources]
            found = [g.rows(s, kind.read) for s in longer]
            span = 4 * (width * (count - 1) + head)
            parts = [[g.cont(g.view(f, head, count, size=span)) for f in found] for _ in range(2)]
            long = 2 * kind.ratio
            joined: list[Tensor] = [
                g.new(
                    [g.view(parts[0][i], head, kind.ratio, blocks), g.view(parts[1][i], head, kind.ratio, blocks)],
                    head,
                    long,
                    blocks,
                )
                for i in range(2)
            ]
        else:
            long = kind.ratio
            joined = [g.view(g.rows(s, kind.read), head, long, blocks) for s in sources]
        values, scores = (g.cont(g.view(t, head, long, blocks), (long, head, blocks, 1)) for t in joined)
        total = g.new([g.same(values, g.same(scores))], 1, head, blocks)
        turned = g.cont(g.view(total, head, 1, blocks))
        return g.rope(b.norm(turned, norm), kind.write_pos)

    # attention ------------------------------------------------------------------------------------------------------

    def _attention(self, layer: int, x: Tensor) -> Node:
        b, g, s, u = self.b, self.b.g, self.b.shape, self.b.u
        head, heads = s.head_k[layer], s.heads[layer]
        rank = b.norm(b.mm(b.lw(layer, "attn_q_a.weight"), x), b.lw(layer, "attn_q_a_norm.weight"))
        q: Tensor = g.view(b.mm(b.lw(layer, "attn_q_b.weight"), rank), head, heads, u)
        q = g.rope(g.same(q), b.inp_pos())
        kv: Tensor = b.norm(b.mm(b.lw(layer, "attn_kv.weight"), x), b.lw(layer, "attn_kv_a_norm.weight"))
        kv = g.rope(g.view(kv, head, 1, u), b.inp_pos())
        ratios = s.arrays.get("attention.compress_ratios", ())
        ratio = ratios[layer] if layer < len(ratios) else 0
        row = row_bytes(b.sizes.type_k, head * s.kv_heads[layer])
        more: tuple[Node, Tensor, int] | None = None
        if ratio == _OVERLAPPED:
            cache = b.cache(layer, row * self.csa.cells * self.slots)
            self._compressed(layer, self.csa, "attn_compressor", x, cache)
            index = b.cache(layer, row_bytes(b.sizes.type_k, self.lid.head) * self.lid.cells * self.slots)
            self._compressed(layer, self.lid, "indexer_compressor", x, index)
            more = cache, self._hidden(self._best(layer, x, rank, index)), self.csa.cells
        elif ratio == _WHOLE:
            cache = b.cache(layer, row * self.hca.cells * self.slots)
            self._compressed(layer, self.hca, "attn_compressor", x, cache)
            more = cache, self.hca.mask, self.hca.cells
        if self.raw_turn is not None:
            q, kv = b.turned(q, self.raw_turn), b.turned(kv, self.raw_turn)
        g.expand(q)
        g.expand(kv)
        raw = b.cache(layer, row * self.raw * self.slots)
        g.expand(g.store(raw, kv, self.raw_ids))
        out = self._attend(layer, q, raw, row, more)
        if self.raw_turn is not None:
            out = b.turned(out, self.raw_turn)
        return self._projected(layer, out)

    def _projected(self, layer: int, out: Tensor) -> Node:
        b, g, s, u = self.b, self.b.g, self.b.shape, self.b.u
        head, heads = s.head_k[layer], s.heads[layer]
        groups, rank = s.integer("attention.output_group_count"), s.integer("attention.output_lora_rank")
        turned = g.rope(g.view(out, head, heads, u), b.inp_pos())
        low = b.mm(b.lw(layer, "attn_output_a.weight"), g.view(turned, head * heads // groups, u, groups))
        flat = g.cont(g.view(low, rank, groups, u), (rank * groups, u, 1, 1))
        return b.mm(b.lw(layer, "attn_output_b.weight"), flat)

    def _best(self, layer: int, x: Tensor, rank: Node, index: Node) -> Node:
        """The compressed tokens that the indexer chooses."""
        b, g, s, u, slots = self.b, self.b.g, self.b.shape, self.b.u, self.slots
        size, heads = self.lid.head, s.integer("attention.indexer.head_count")
        assert self.lid.turn is not None
        q: Tensor = g.view(b.mm(b.lw(layer, "indexer.attn_q_b.weight"), rank), size, heads, u)
        q = b.turned(g.rope(q, b.inp_pos()), self.lid.turn)
        weights = g.same(b.mm(b.lw(layer, "indexer.proj.weight"), x))
        cells = self.lid.cells
        score = g.new(
            [
                g.view(q, size, heads, u // slots, slots),
                g.view(index, 1, size=index.size),
                g.view(weights, heads, u // slots, 1, slots),
                self.lid.mask,
            ],
            cells,
            u // slots,
            1,
            slots,
        )
        best = min(cells, s.integer("attention.indexer.top_k"))
        return g.cont(g.new([score], best, u // slots, 1, slots, type_=I32))

    def _hidden(self, top: Node) -> Node:
        """The compressed tokens' mask with everything hidden but the chosen ones."""
        g, mask = self.b.g, self.csa.mask
        kind = F16 if self.b.flash else F32
        closed = g.same(mask)
        ne = 1, top.ne[0], top.ne[1], top.ne[3]
        zeros = g.same(Node(KEEP, (), kind, ne, (2 if kind == F16 else 4) * ne[1] * ne[2] * ne[3]))
        place = g.view(closed, 1, mask.ne[0], mask.ne[1], mask.ne[3], size=closed.size)
        opened = Node(
            KEEP, (zeros, g.view(top, top.ne[0], top.ne[1], top.ne[3]), place), closed.type, place.ne, closed.size
        )
        opened.base = closed
        g.writers.append(opened)
        return g.same(g.view(opened, *mask.ne, size=closed.size), mask)

    def _attend(self, layer: int, q: Tensor, raw: Node, row: int, more: tuple[Node, Tensor, int] | None) -> Tensor:
        """Attention over the window and the compressed tokens, joined first."""
        b, g, s, u, slots = self.b, self.b.g, self.b.shape, self.b.u, self.slots
        keys: Tensor = g.view(raw, 1, size=raw.size)
        mask: Tensor = self.raw_mask
        cells = self.raw
        if more is not None:
            cache, hidden, count = more
            cells += count
            look = g.view(cache, 1, size=cache.size)
            joined = Node(KEEP, (keys, look), F16, (s.head_k[layer], 1, cells, slots), row * cells * slots)
            keys = joined
            kind = F16 if b.flash else F32
            mask = g.new([self.raw_mask, hidden], cells, u // slots, 1, slots, type_=kind)
        sinks = b.lw(layer, "attn_sinks.weight")
        extra = [sinks] if sinks is not None else []
        head, heads, size = s.head_v[layer], s.heads[layer], row * cells * slots
        q_view = g.view(q, *q.ne, size=q.size)
        k_view, v_view = (g.view(keys, 1, size=size) for _ in range(2))
        if b.flash:
            ks: Tensor = k_view
            vs: Tensor = v_view
            if b.sizes.type_k == "f32":
                ks, vs = (g.new([t], size // 4, type_=F16) for t in (k_view, v_view))
            out = Node(FLASH, (q_view, ks, vs, mask, *extra), F32, (head, heads, u, 1), 4 * head * heads * u)
            b.fused.append(("flash", out, layer))
            flat: Tensor = g.view(out, head * heads, u)
        else:
            kq = g.same(g.new([k_view, q_view], cells, u // slots, heads, slots), mask, *extra)
            turned = Node(KEEP, (v_view,), F16, (cells, head, 1, slots), size)
            mixed = g.new([turned, kq], head, u // slots, heads, slots)
            flat = b.attended(g.cont(mixed, (head * heads, u, 1, 1)))
        g.expand(flat)
        return flat

    # experts --------------------------------------------------------------------------------------------------------

    def _experts(self, layer: int, x: Tensor) -> Node:
        b, g, s = self.b, self.b.g, self.b.shape
        chosen: Node | None = None
        if layer < s.integer("hash_layer_count"):
            table = b.lw(layer, "ffn_gate_tid2eid.weight")
            if table is None or b.tokens is None:
                raise NotDescribedError
            chosen = g.rows(table, b.tokens)
            chosen.type = I32
        out = b.moe(
            layer,
            x,
            gating=gate_name(_ROUTER, s.integer("expert_gating_func")),
            norm=bool(s.integer("expert_weights_norm")),
            scale=b.number("expert_weights_scale") not in (0.0, 1.0),
            bias=None if chosen is not None else "exp_probs_b.bias",
            selected=chosen,
        )
        shared = b.ffn(layer, x, up="ffn_up_shexp", gate="ffn_gate_shexp", down="ffn_down_shexp")
        return g.same(out, shared)
