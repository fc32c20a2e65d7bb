"""An indexer over pooled keys: which tokens an attention layer looks at (src/models/glm5-next.cpp, b11434)."""

from __future__ import annotations

from paddock.fit.quants import padded, row_bytes
from paddock.fit.replay.nodes import ARANGE, F16, F32, I32, I64, KEEP, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build

_SMALL_BATCH = 16
"""Up to here the chosen rows are gathered instead of masked."""


class Pools:
    """The inputs that all layers share."""

    def __init__(self, b: Build, rows: int = 3, gathers: bool = True) -> None:
        g, u, sizes = b.g, b.u, b.sizes
        self.b = b
        self.rows, self.gathers = rows, gathers
        """Key-sized pieces per cell: key, gate, pooled key (or key and pooled key)."""
        shape = b.shape
        self.each = shape.integer("attention.indexer.kpool")
        self.size = shape.integer("attention.indexer.key_length")
        self.heads = shape.integer("attention.indexer.head_count")
        top = shape.integer("attention.indexer.top_k")
        if not self.each or (gathers and sizes.ubatch <= _SMALL_BATCH and sizes.context > top + self.each - 1):
            raise NotDescribedError
        self.new = max(1, sizes.cells // self.each * sizes.slots)
        self.count = max(64, padded(sizes.cells // self.each * sizes.slots + 1, 64))
        self.best = min(self.count, top // self.each)
        tail = not gathers or bool(shape.integers.get("attention.indexer.kpool_select_tail", 1))
        self.tail = tail
        self.chosen = self.each * self.best + (self.each - 1 if tail else 0)
        self.ids = g.input(I64, u)
        self.cells = g.input(I32, self.count)
        self.members = g.input(I32, self.each, self.count)
        self.hidden = g.input(F16, self.count, u)
        self.tails = g.input(I32, self.each - 1, u)
        for leaf in (self.cells, self.members, self.hidden, self.tails):
            g.expand(leaf)
        self.live = g.input(F32, self.chosen, 1, 1, u)
        if gathers:
            g.expand(self.live)
        self.new_members = g.input(I32, self.each, self.new)
        self.new_places = g.input(I64, self.new)
        self.last: Tensor | None = None

    def mask(self, layer: int, x: Tensor, rank: Tensor, mask: Node) -> Tensor:
        """The attention mask of this layer: its own choice, or that of the last layer that chose."""
        b, shape = self.b, self.b.shape
        if layer < shape.layers and not shape.indexer_full[layer] and self.last is not None:
            return self.last
        q = b.g.view(b.mm(b.lw(layer, "indexer.attn_q_b.weight"), rank), self.size, self.heads, b.u)
        key = b.norm(
            b.mm(b.lw(layer, "indexer.attn_k.weight"), x),
            b.lw(layer, "indexer.k_norm.weight"),
            b.lw(layer, "indexer.k_norm.bias"),
            True,
        )
        gate = b.mm(b.lw(layer, "indexer_compressor_gate.weight"), x)
        cache = self._stored(layer, b.g.new([key, gate], 2 * self.size, b.u))
        self._pooled(layer, cache)
        pooled = b.g.rows(self._pieces(cache, 1), self.cells)
        weights = b.g.same(b.mm(b.lw(layer, "indexer.proj.weight"), x))
        score = b.g.new([q, b.g.view(pooled, self.size, 1, self.count), weights, self.hidden], self.count, b.u)
        self.last = self._masked(self._order(score), mask)
        return self.last

    def _stored(self, layer: int, packed: Node) -> Node:
        b, g = self.b, self.b.g
        empty = g.same(filled(b, F32, self.size, b.u))
        row = row_bytes(b.sizes.type_k, self.rows * self.size)
        cache = b.cache(layer, row * b.sizes.cells * b.streams)
        whole = g.new([packed, empty], self.rows * self.size, b.u)
        g.expand(g.store(cache, whole, self.ids))
        return cache

    def _pieces(self, cache: Node, count: int) -> Tensor:
        """Some of the key-sized pieces of every cell: what is left of the last cell is not spanned."""
        kind = self.b.sizes.type_k
        left = row_bytes(kind, self.rows * self.size) - row_bytes(kind, count * self.size)
        return self.b.g.view(cache, count * self.size, 1, size=cache.size - left)

    def _pooled(self, layer: int, cache: Node) -> None:
        """Pools that the batch completes: a softmax over each pool's gates weighs its keys."""
        b, g, n, size, new = self.b, self.b.g, self.each, self.size, self.new
        flat = g.view(self.new_members, n * new)
        rows = g.rows(self._pieces(cache, 2), flat)
        span = rows.size - 4 * size
        ape = b.lw(layer, "indexer_compressor_ape.weight")
        logits = g.same(g.view(rows, size, n, new, size=span), *([ape] if ape is not None else []))
        turned = g.cont(g.view(logits, size, n, new), (n, size, new, 1))
        probs = g.same(g.view(turned, n, size * new))
        keys = g.cont(g.view(rows, size, n, new, size=span), (n, size, new, 1))
        total = g.new([g.same(g.view(probs, n, size, new), keys)], 1, size, new)
        g.expand(g.store(cache, g.view(total, size, new), self.new_places))

    def _order(self, score: Node) -> Tensor:
        """The cells of the best pools, in the order of their scores."""
        g, u, best = self.b.g, self.b.u, self.best
        top = g.new([score], best, u, type_=I32)
        found = g.rows(g.view(score, 1, self.count, u), top)
        order = g.new([g.view(found, best, u)], best, u, type_=I32)
        number = g.new([top], best, u)
        sorted_ = g.rows(g.view(number, 1, best, u), order)
        ids = g.new([g.cont(g.view(sorted_, best, u))], best, u, type_=I32)
        cells = g.rows(self.members, g.view(ids, best * u))
        out: Tensor = g.view(cells, self.each * best, u)
        return g.new([out, self.tails], self.chosen, u, type_=I32) if self.tail else out

    def _masked(self, chosen: Tensor, mask: Node, alive: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """The mask with everything hidden but the chosen cells; alive: which count, and where the others go."""
        b, g, u, n = self.b, self.b.g, self.b.u, self.chosen
        cells = b.sizes.cells
        g.expand(chosen)
        hidden = g.same(filled(b, mask.type, cells + n))
        wide = g.new([hidden], cells + n, u, type_=mask.type)
        none = g.same(filled(b, mask.type, n))
        zeros = g.new([none], n, u, type_=mask.type)
        if alive is None:
            alive = g.same(g.view(self.live, n, u)), Node(ARANGE, (), F32, (n, 1, 1, 1), 4 * n)
        live, dump = alive
        number = g.new([chosen], n, u)
        moved = g.same(g.same(g.same(number, dump), live), dump)
        ids = g.new([moved], n, u, type_=I32)
        place = g.view(wide, 1, cells + n, u)
        written = Node(KEEP, (g.view(zeros, 1, n, u), g.view(ids, n, u), place), wide.type, place.ne, wide.size)
        written.base = wide
        g.writers.append(written)
        ne = (cells, u, 1, 1) if self.gathers else mask.ne
        seen = g.view(written, *ne, size=wide.size - bytes_of(mask, n))
        return g.same(seen, mask) if not self.gathers else g.same(seen, g.view(mask, cells, u))


def bytes_of(mask: Node, count: int) -> int:
    """Bytes of `count` elements of a mask."""
    return count * (2 if mask.type == F16 else 4)


def filled(b: Build, type_: int, *ne: int) -> Node:
    """A tensor that only a FILL writes."""
    shape = (*ne, 1, 1, 1)[:4]
    size = (2 if type_ == F16 else 4) * shape[0] * shape[1] * shape[2] * shape[3]
    return Node(KEEP, (), type_, (shape[0], shape[1], shape[2], shape[3]), size)
