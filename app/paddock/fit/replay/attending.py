"""Attention over a cache or within the batch (build_attn and build_attn_mha in src/llama-graph.cpp, b11434)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddock.fit import architectures as arch_data
from paddock.fit.memory import cells_of, rows
from paddock.fit.quants import QUANTISED, row_bytes
from paddock.fit.replay.base import Base
from paddock.fit.replay.nodes import F16, F32, FLASH, I64, KEEP, Node, Tensor, View, bytes_of


@dataclass
class Memory:
    """The inputs of one attention cache: where to write, what to hide, how to turn quantised rows."""

    k_ids: Node
    v_ids: Node | None
    mask: Node
    k_turn: Node | None
    v_turn: Node | None


class Attending(Base):
    """A graph that can attend."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.masks: dict[bool, Memory] = {}
        self.batch_only = self.arch in arch_data.NO_CACHE or self.arch == "llama-embed"
        """Attention looks at the batch alone."""

    def memory(self, sliding: bool = False) -> Memory:
        """The attention inputs of the full or the sliding cache (or of none)."""
        found = self.masks.get(sliding)
        if found is None:
            found = self.masks[sliding] = self._memory(sliding)
        return found

    def _memory(self, sliding: bool) -> Memory:
        g, u, sizes, shape = self.g, self.u, self.sizes, self.shape
        kind = F16 if self.flash else F32
        if self.batch_only:
            return Memory(g.input(I64, u), None, g.input(kind, u, u), None, None)
        cells = sizes.sliding(shape.window) if sliding else sizes.cells
        mask = g.input(kind, cells, u // self.streams, 1, self.streams)
        widest = max(v * h for v, h in zip(shape.head_v, shape.kv_heads, strict=True))
        v_ids = g.input(I64, u * widest if self.turned_values else u)
        return Memory(
            g.input(I64, u),
            v_ids,
            mask,
            self._turn(sizes.type_k, True, sliding),
            self._turn(sizes.type_v, False, sliding),
        )

    def _turn(self, kind: str, keys: bool, sliding: bool) -> Node | None:
        """The Hadamard matrix of a quantised cache (llama-kv-cache.cpp)."""
        if kind not in QUANTISED or self.shape.mla is not None or (self.arch == "lfm2" and self.shape.windowed):
            return None
        heads = self.shape.head_k if keys else self.shape.head_v
        members = {h for i, h in enumerate(heads) if self._member(i, sliding)}
        if len(members) != 1 or heads[0] % 64:
            return None
        n, size = 64, next(iter(members))
        while keys and size % (2 * n) == 0:
            n *= 2
        return self.g.input(F32, n, n)

    def _member(self, layer: int, sliding: bool) -> bool:
        shape = self.shape
        return (not shape.windowed or shape.swa[layer] == sliding) and bool(shape.kv_heads[layer])

    def turned(self, x: Tensor, turn: Node) -> Tensor:
        """A product with a Hadamard matrix; the shape stays."""
        n = turn.ne[0]
        total = x.ne[0] * x.ne[1] * x.ne[2] * x.ne[3]
        strided = isinstance(x, View) and x.size != bytes_of(x.type, x.ne)
        flat = self.g.cont(x, (n, total // n, 1, 1)) if strided else self.g.view(x, n, total // n)
        return self.g.view(self.g.mm(turn, flat), *x.ne)

    def attention(
        self,
        layer: int,
        q: Tensor,
        k: Tensor | None,
        v: Tensor | None,
        *,
        sinks: Node | None = None,
        wo: str | None = "attn_output",
        softcap: int = 0,
        source: int | None = None,
        bias: Node | None = None,
        mask: Tensor | None = None,
    ) -> Node:
        """Store, attend, project (build_attn). `source`: the layer whose cache is read, if another.

        bias: added to the products of queries and keys; flash attention knows nothing of it.

        softcap: 1 = scale, tanh, scale (only without flash attention).
        """
        g, shape = self.g, self.shape
        sliding = shape.windowed and shape.swa[layer]
        memory = self.memory(sliding)
        if self.batch_only:
            for x in (q, k, v):
                assert x is not None
                g.expand(x)
            assert k is not None
            assert v is not None
            cur = self.mha_plain(q, k, v, memory.mask, layer)
            return self.project(layer, cur, wo)
        if memory.k_turn is not None:
            q = self.turned(q, memory.k_turn)
            k = self.turned(k, memory.k_turn) if k is not None else None
        if memory.v_turn is not None and v is not None:
            v = self.turned(v, memory.v_turn)
        order = (q, k, v) if shape.windowed else (q, v, k)
        for x in order:
            if x is not None:
                g.expand(x)
        k_cache, v_cache = self.caches(layer if source is None else source)
        if k is not None:
            g.expand(g.store(k_cache, k, memory.k_ids))
        if v is not None:
            assert memory.v_ids is not None
            g.expand(g.store(v_cache, self._value_row(layer, v, v_cache), memory.v_ids))
        cur = self.mha(layer, q, k_cache, v_cache, memory.mask if mask is None else mask, sinks, softcap, bias)
        out: Tensor = cur
        if memory.v_turn is not None:
            out = self.turned(cur, memory.v_turn)
        return self.project(layer, out, wo)

    def _value_row(self, layer: int, v: Tensor, cache: Node) -> Tensor:
        """The value as it is stored: without flash attention a strided one is made contiguous, and padded."""
        if not self.turned_values:
            return v
        g, u = self.g, self.u
        wide = v.ne[0] * v.ne[1]
        if isinstance(v, View) and v.size != 4 * wide * u:
            v = g.cont(v, (wide, u, 1, 1))
        stored = rows(self.shape, self.sizes, layer)[1]
        if wide < stored:
            v = g.new([v], stored, u)
        return v

    def caches(self, layer: int) -> tuple[Node, Node]:
        """The cache tensors of a layer."""
        shape, sizes = self.shape, self.sizes
        key = f"cache@{layer}"
        if key not in self.leafs:
            k, v = rows(shape, sizes, layer)
            cells = cells_of(shape, sizes, layer) * sizes.streams
            self.leafs[key] = self.cache(layer, row_bytes(sizes.type_k, k) * cells)
            self.leafs[key + "v"] = self.cache(layer, row_bytes(sizes.type_v, v) * cells)
        k_cache, v_cache = self.leafs[key], self.leafs[key + "v"]
        assert k_cache is not None
        assert v_cache is not None
        return k_cache, v_cache

    def mha(
        self,
        layer: int,
        q: Tensor,
        k: Node,
        v: Node,
        mask: Tensor,
        sinks: Node | None,
        softcap: int,
        bias: Node | None = None,
    ) -> Tensor:
        """Attention over a cache (build_attn_mha); the result is flat, [heads * value size, tokens]."""
        g, shape, sizes, u = self.g, self.shape, self.sizes, self.u
        heads, hv = shape.heads[layer], shape.head_v[layer]
        extra = [sinks] if sinks is not None else []
        k_view: Tensor = g.view(k, 1, size=k.size)
        v_view: Tensor = g.view(v, 1, size=self._value_span(layer, v))
        q_view = g.view(q, *q.ne, size=q.size)
        if self.flash and bias is None:
            if sizes.type_k == "f32":
                k_view = g.new([k_view], k.size // 4, type_=F16)
            if sizes.type_v == "f32":
                v_view = g.new([v_view], v.size // 4, type_=F16)
            ne = hv, heads, u, 1
            out = Node(FLASH, (q_view, k_view, v_view, mask, *extra), F32, ne, 4 * hv * heads * u)
            self.fused.append(("flash", out, layer))
            flat: Tensor = g.view(out, hv * heads, u)
        else:
            cells = cells_of(shape, sizes, layer)
            kq: Node = g.new([k_view, q_view], cells, u // self.streams, heads, self.streams)
            for _ in range(3 if softcap else 0):
                kq = g.same(kq)
            if bias is not None:
                kq = g.same(kq, bias)
            kq = g.same(kq, mask, *extra)
            if not self.turned_values:
                v_view = Node(KEEP, (v_view,), F16, (cells, hv, shape.kv_heads[layer], self.streams), v.size)
            kqv = g.new([v_view, kq], hv, u // self.streams, heads, self.streams)
            flat = self.attended(g.cont(kqv, (hv * heads, u, 1, 1)))
        g.expand(flat)
        return flat

    def _value_span(self, layer: int, v: Node) -> int:
        """A transposed value cache that is wider than this layer's value is seen only in part."""
        if not self.turned_values:
            return v.size
        stored = rows(self.shape, self.sizes, layer)[1]
        own = self.shape.head_v[layer] * self.shape.kv_heads[layer]
        per_stream = v.size // self.streams
        return v.size - per_stream // stored * (stored - own) if stored else v.size

    def mha_plain(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, layer: int, bias: Node | None = None) -> Tensor:
        """Attention without a cache: with flash attention keys and values are cast to F16 first."""
        g, u, heads, hv = self.g, self.u, self.shape.heads[layer], self.shape.head_v[layer]
        keys = k.ne[2]
        if self.flash and bias is None:
            q_view = g.view(q, *q.ne, size=q.size)
            cast = [g.new([x], *x.ne, type_=F16) for x in (k, v)]
            out = Node(FLASH, (q_view, *cast, mask), F32, (hv, heads, u, 1), 4 * hv * heads * u)
            self.fused.append(("flash", out, layer))
            flat: Tensor = g.view(out, hv * heads, u)
        else:
            kq = g.new([g.view(k, *k.ne, size=k.size), g.view(q, *q.ne, size=q.size)], keys, u, heads)
            if bias is not None:
                kq = g.same(kq, bias)
            kq = g.same(kq, mask)
            mixed = g.new([g.cont(g.view(v, *v.ne, size=v.size)), kq], hv, u, heads)
            flat = self.attended(g.cont(mixed, (hv * heads, u, 1, 1)))
        g.expand(flat)
        return flat

    def project(self, layer: int, cur: Tensor, wo: str | None) -> Node:
        if wo is None:
            assert isinstance(cur, (Node, View))
            return cur  # type: ignore[return-value]
        weight = self.lw(layer, wo + ".weight")
        out = self.mm(weight, cur, self.lw(layer, wo + ".scale"))
        bias = self.lw(layer, wo + ".bias")
        return out if bias is None else self.g.same(out, bias)
