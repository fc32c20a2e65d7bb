"""What the graphs of all architectures are made of: inputs, norms, attention, feed-forward, experts, the output.

Each method follows the function of the same purpose in src/llama-graph.cpp (b11434): same operations, same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paddock.fit import architectures as arch_data
from paddock.fit.memory import Sizes, cells_of, rows
from paddock.fit.placement import HOST
from paddock.fit.quants import QUANTISED, padded, row_bytes
from paddock.fit.replay.nodes import F16, F32, FLASH, I32, I64, KEEP, Graph, Node, NotDescribed, Tensor, View, bytes_of
from paddock.fit.replay.runs import shortened
from paddock.fit.shape import Shape
from paddock.fit.weights import Weights

_MROPE = frozenset(["qwen2vl", "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen4exp", "clef", "paddleocr", "qwen3tts"])

_FFN_SCALES = frozenset(["bitnet", "clef", "cohere2", "cohere2moe", "deepseek32", "dflash", "dots3note", "gemma4", "glm-dsa", "hy_v3", "llama", "mistral3", "nanbeige", "nemotron_h", "nemotron_h_moe", "qwen3", "qwen35"])
_EXPERT_SCALES = frozenset(["cohere2moe", "deepseek32", "dots3note", "gemma4", "glm-dsa", "hy_v3", "llama", "mellum", "mistral3", "nemotron_h", "nemotron_h_moe", "qwen35moe", "qwen3moe", "qwen3next", "qwen4exp"])
_SHARED_SCALES = frozenset(["cohere2moe", "deepseek32", "dots3note", "glm-dsa", "hy_v3", "nemotron_h", "nemotron_h_moe", "qwen35moe", "qwen3next", "qwen4exp"])
_CLAMPED_GLU = frozenset({"maple", "deepseek4", "glm5-next", "hy_v4"})
"""The limit is part of the gated activation itself, not operations of its own."""


@dataclass
class Memory:
    """The inputs of one attention cache: where to write, what to hide, how to turn quantised rows."""

    k_ids: Node
    v_ids: Node | None
    mask: Node
    k_turn: Node | None
    v_turn: Node | None


class Build:
    """One context's graph while it grows. `u`: tokens of the micro-batch, `n_out`: rows that give logits."""

    def __init__(self, shape: Shape, sizes: Sizes, weights: Weights, flash: bool | None = None, probe: bool = False) -> None:
        self.shape, self.sizes, self.weights = shape, sizes, weights
        self.g = Graph()
        self.arch = shape.architecture
        tokens = min(sizes.context, sizes.ubatch)
        self.u = sizes.slots if probe else padded(tokens, sizes.slots)
        self.n_out = sizes.slots if probe else min(tokens, sizes.outputs)
        self.flash = sizes.flash if flash is None else flash
        self.turned_values = not sizes.flash
        """Values lie transposed in the cache."""
        self.probe = probe
        self.layer = -1
        """The layer that is being built, for the hints that a probe keeps."""
        self.staged = any(d.offloads_ops for d in weights.placement.devices)
        self.flashes: list[tuple[Node, int]] = []
        self.embd = shape.embedding
        self.cpu = len(weights.placement.devices)
        self.leafs: dict[str, Node | None] = {}
        self.outputs: list[Tensor] = []
        self.pins: list[tuple[Node, int]] = []
        self.masks: dict[bool, Memory] = {}
        self.pos: Node | None = None
        self.streams = sizes.streams
        self.scale: Node | None = None
        self.deep: Node | None = None
        self.chosen: Tensor | None = None
        self.index: Any = None

    # leafs ------------------------------------------------------------------------------------------------------

    def device_of_layer(self, layer: int) -> int:
        device = self.weights.placement.layer_device[layer]
        return self.cpu if device == HOST else device

    def w(self, name: str) -> Node | None:
        """A weight by its full name, None if the file has none."""
        found = self.leafs.get(name, self)
        if found is not self:
            return found  # type: ignore[return-value]
        index = self.weights.index
        i = index.position.get(name)
        node = None
        if i is not None:
            node = self._weight(i, self.weights.device_of(i))
        self.leafs[name] = node
        return node

    def _weight(self, i: int, device: int) -> Node:
        tensor = self.weights.index.tensors[i]
        ne = (*tensor.shape, 1, 1, 1)[:4]
        node = Node(KEEP, (), F32, ne, tensor.nbytes or 0)  # type: ignore[arg-type]
        node.buffered = node.weight = True
        node.device = self.cpu if device == HOST else device
        return node

    def lw(self, layer: int, name: str) -> Node | None:
        """A weight of a block."""
        return self.w(f"blk.{layer}.{name}")

    def rope_factors(self, layer: int) -> Node | None:
        """rope_freqs or the long/short factors, on the layer's device."""
        index = self.weights.index
        for name in ("rope_freqs.weight", self._long_short()):
            i = index.position.get(name)
            if i is None:
                continue
            key = f"{name}@{layer}"
            if key not in self.leafs:
                device = self.weights.moved.get(i, self.weights.placement.layer_device[layer])
                shared = f"{name}#{device}"
                if shared not in self.leafs:
                    self.leafs[shared] = self._weight(i, device)
                self.leafs[key] = self.leafs[shared]
            return self.leafs[key]
        return None

    def _long_short(self) -> str:
        per_slot = self.sizes.context // self.sizes.slots
        original = self.shape.integer("rope.scaling.original_context_length", self.shape.trained_context)
        return "rope_factors_long.weight" if per_slot > original else "rope_factors_short.weight"

    def output_weight(self) -> Node | None:
        """The head: output.weight, or the token embedding loaded again for the output layer."""
        found = self.w("output.weight")
        if found is not None:
            return found
        i = self.weights.index.tied
        if i is None:
            return None
        if "output#" not in self.leafs:
            device = self.weights.moved.get(i, self.weights.placement.output_device)
            self.leafs["output#"] = self._weight(i, device)
        return self.leafs["output#"]

    def cache(self, layer: int, nbytes: int, ne: tuple[int, int, int, int] = (1, 1, 1, 1)) -> Node:
        """A cache or state tensor on its layer's device (the CPU with --no-kv-offload)."""
        node = Node(KEEP, (), F32, ne, nbytes)
        node.buffered = True
        node.device = self.device_of_layer(layer) if self.sizes.kv_offload else self.cpu
        return node

    # inputs -----------------------------------------------------------------------------------------------------

    def inp_embd(self, token_scale: bool = False, scale: bool = False) -> Tensor:
        """Token embeddings; the branch for mixed batches is built and never read (llama-graph.cpp build_inp_embd)."""
        g, u, shape = self.g, self.u, self.shape
        deep = shape.integer("n_deepstack_layers")
        wide = self.embd * (1 + deep)
        table = self.w("token_embd.weight")
        if table is None:
            raise NotDescribed
        tokens = g.input(I32, u)
        embd = g.input(F32, wide, u)
        found: Node = g.rows(table, tokens)
        if deep:
            found = g.new([found], wide, u)
        g.expand(found)
        g.expand(embd)
        if self.arch not in arch_data.NO_MIXED_BATCH and not self.sizes.mtp:
            ids, slots, mixed = g.input(I32, u), g.input(I64, u), g.input(F32, wide, u)
            if deep:
                row: Node = g.new([g.rows(table, ids)], wide, u)
            else:
                row = g.rows(table, ids)
            copy = g.fresh(mixed)
            written = Node(KEEP, (row, slots, copy), F32, copy.ne, copy.size)
            written.base = copy
            g.writers.append(written)
            g.expand(written)
        cur: Tensor = found
        if deep:
            self.deep = found
            cur = g.view(found, self.embd, u, size=4 * (wide * (u - 1) + self.embd))
            if scale or token_scale:
                cur = g.cont(cur)
        elif scale:
            cur = g.same(cur)
        if token_scale:
            cur = g.same(cur, g.input(F32, 1, u))
        if isinstance(cur, Node):
            g.expand(cur)
        return cur

    def inp_pos(self) -> Node:
        if self.pos is None:
            sections = 4 if self.arch in _MROPE or self._sectioned() else 1
            self.pos = self.g.input(I32, self.u * sections)
        return self.pos

    def _sectioned(self) -> bool:
        """Multi-section rope where the file asks for it."""
        found = self.shape.arrays.get("rope.dimension_sections", ())
        return self.arch in ("glm4", "glm4moe", "hunyuan_vl") and len(found) > 1 and found[0] > 0 and found[1] > 0

    def attention_scale(self) -> Node:
        """One scale per token for the queries (attention temperature)."""
        if self.scale is None:
            self.scale = self.g.input(F32, 1, 1, self.u)
        return self.scale

    def deep_view(self) -> Tensor:
        """A slice of the deep-stacked embeddings."""
        assert self.deep is not None
        wide = self.deep.ne[0]
        return self.g.view(self.deep, self.embd, self.u, size=4 * (wide * (self.u - 1) + self.embd))

    def number(self, key: str) -> float:
        """A float of the metadata, 0 where it is missing."""
        return self.shape.numbers.get(key, float(self.shape.integers.get(key, 0)))

    def clamps(self, key: str, layer: int) -> bool:
        """Whether this layer's gated activation is limited by operations of its own."""
        if self.arch in _CLAMPED_GLU:
            return False
        found = self.shape.lists.get(key)
        limit = found[layer] if found and layer < len(found) else self.number(key)
        return limit > 1e-6

    def out_ids(self) -> Node:
        return self.g.input(I32, self.n_out)

    def memory(self, sliding: bool = False) -> Memory:
        """The attention inputs of the full or the sliding cache (or of none)."""
        found = self.masks.get(sliding)
        if found is None:
            found = self.masks[sliding] = self._memory(sliding)
        return found

    def _memory(self, sliding: bool) -> Memory:
        g, u, sizes, shape = self.g, self.u, self.sizes, self.shape
        kind = F16 if self.flash else F32
        if self.arch in arch_data.NO_CACHE:
            return Memory(g.input(I64, u), None, g.input(kind, u, u), None, None)
        cells = sizes.sliding(shape.window) if sliding else sizes.cells
        mask = g.input(kind, cells, u // self.streams, 1, self.streams)
        widest = max(v * h for v, h in zip(shape.head_v, shape.kv_heads, strict=True))
        v_ids = g.input(I64, u * widest if self.turned_values else u)
        return Memory(g.input(I64, u), v_ids, mask, self._turn(sizes.type_k, True, sliding),
                      self._turn(sizes.type_v, False, sliding))

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

    # pieces -----------------------------------------------------------------------------------------------------

    def mm(self, w: Node | None, x: Tensor, scale: Node | None = None) -> Node:
        if w is None:
            raise NotDescribed
        out = self.g.mm(w, x)
        return out if scale is None else self.g.same(out, scale)

    def norm(self, x: Tensor, w: Node | None, b: Node | None = None, layer_norm: bool = False) -> Node:
        """RMS_NORM (in place where it can) or NORM (a block of its own), times weight, plus bias."""
        g = self.g
        cur = g.fresh(x) if layer_norm else g.same(x)
        if self.probe and self.layer >= 0 and (w is not None or b is not None):
            self.pins.append((cur, self.device_of_layer(self.layer)))
        if w is not None:
            cur = g.same(cur, w)
        if b is not None:
            cur = g.same(cur, b)
        return cur

    def lnorm(self, layer: int, name: str, x: Tensor, layer_norm: bool = False) -> Node:
        return self.norm(x, self.lw(layer, name + ".weight"), self.lw(layer, name + ".bias"), layer_norm)

    def heads_view(self, x: Tensor, head: int, heads: int) -> View:
        return self.g.view(x, head, heads, self.u)

    def qkv(self, layer: int, x: Tensor, clamp: bool = False, reshape: bool = True,
            ) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value, as [head size, heads, tokens] (build_qkv)."""
        shape, g, u = self.shape, self.g, self.u
        heads, kv = shape.heads[layer], shape.kv_heads[layer]
        hk, hv = shape.head_k[layer], shape.head_v[layer]
        fused = self.lw(layer, "attn_qkv.weight")
        if fused is not None:
            return self._fused(layer, x, fused, clamp, reshape)
        out: list[Tensor] = []
        for part, head, count in (("q", hk, heads), ("k", hk, kv), ("v", hv, kv)):
            cur = self.mm(self.lw(layer, f"attn_{part}.weight"), x, self.lw(layer, f"attn_{part}.scale"))
            bias = self.lw(layer, f"attn_{part}.bias")
            if bias is not None:
                cur = g.same(cur, bias)
            if clamp:
                cur = g.same(cur)
            out.append(g.view(cur, head, count, u) if reshape else cur)
        return out[0], out[1], out[2]

    def _fused(self, layer: int, x: Tensor, fused: Node, clamp: bool, reshape: bool) -> tuple[Tensor, Tensor, Tensor]:
        shape, g, u = self.shape, self.g, self.u
        heads, kv = shape.heads[layer], shape.kv_heads[layer]
        hk, hv = shape.head_k[layer], shape.head_v[layer]
        cur = self.mm(fused, x, self.lw(layer, "attn_qkv.scale"))
        bias = self.lw(layer, "attn_qkv.bias")
        apart = [self.lw(layer, f"attn_{p}.bias") for p in "qkv"]
        if bias is not None:
            cur = g.same(cur, bias)
        elif all(b is not None for b in apart):
            q_b, k_b, v_b = (b for b in apart if b is not None)
            joined = g.new([q_b, k_b], q_b.ne[0] + k_b.ne[0])
            cur = g.same(cur, g.new([joined, v_b], joined.ne[0] + v_b.ne[0]))
        if clamp:
            cur = g.same(cur)
        row = cur.ne[0]
        out: list[Tensor] = []
        for head, count in ((hk, heads), (hk, kv), (hv, kv)):
            view = g.view(cur, head, count, u, size=4 * (row * (u - 1) + head * count))
            out.append(view if reshape else g.cont(g.view(cur, head * count, u, size=view.size)))
        return out[0], out[1], out[2]

    def turned(self, x: Tensor, turn: Node) -> Tensor:
        """A product with a Hadamard matrix; the shape stays."""
        n = turn.ne[0]
        total = x.ne[0] * x.ne[1] * x.ne[2] * x.ne[3]
        strided = isinstance(x, View) and x.size != bytes_of(x.type, x.ne)
        flat = self.g.cont(x, (n, total // n, 1, 1)) if strided else self.g.view(x, n, total // n)
        return self.g.view(self.g.mm(turn, flat), *x.ne)

    def attention(self, layer: int, q: Tensor, k: Tensor | None, v: Tensor | None, *, sinks: Node | None = None,
                  wo: str | None = "attn_output", softcap: int = 0, source: int | None = None) -> Node:
        """Store, attend, project (build_attn). `source`: the layer whose cache is read, if another.

        softcap: 1 = scale, tanh, scale (only without flash attention).
        """
        g, shape, sizes = self.g, self.shape, self.sizes
        sliding = shape.windowed and shape.swa[layer]
        memory = self.memory(sliding)
        if self.arch in arch_data.NO_CACHE:
            for x in (q, k, v):
                assert x is not None
                g.expand(x)
            assert k is not None and v is not None
            cur = self._mha_plain(q, k, v, memory, layer)
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
        cur = self.mha(layer, q, k_cache, v_cache, memory.mask, sinks, softcap)
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
        assert k_cache is not None and v_cache is not None
        return k_cache, v_cache

    def mha(self, layer: int, q: Tensor, k: Node, v: Node, mask: Tensor, sinks: Node | None, softcap: int) -> Tensor:
        """Attention over a cache (build_attn_mha); the result is flat, [heads * value size, tokens]."""
        g, shape, sizes, u = self.g, self.shape, self.sizes, self.u
        heads, hv = shape.heads[layer], shape.head_v[layer]
        extra = [sinks] if sinks is not None else []
        k_view: Tensor = g.view(k, 1, size=k.size)
        v_view: Tensor = g.view(v, 1, size=self._value_span(layer, v))
        q_view = g.view(q, *q.ne, size=q.size)
        if self.flash:
            if sizes.type_k == "f32":
                k_view = g.new([k_view], k.size // 4, type_=F16)
            if sizes.type_v == "f32":
                v_view = g.new([v_view], v.size // 4, type_=F16)
            ne = hv, heads, u, 1
            out = Node(FLASH, (q_view, k_view, v_view, mask, *extra), F32, ne, 4 * hv * heads * u)
            self.flashes.append((out, layer))
            flat: Tensor = g.view(out, hv * heads, u)
        else:
            cells = cells_of(shape, sizes, layer)
            kq: Node = g.new([k_view, q_view], cells, u // self.streams, heads, self.streams)
            for _ in range(3 if softcap else 0):
                kq = g.same(kq)
            kq = g.same(kq, mask, *extra)
            if not self.turned_values:
                v_view = Node(KEEP, (v_view,), F16, (cells, hv, shape.kv_heads[layer], self.streams), v.size)
            kqv = g.new([v_view, kq], hv, u // self.streams, heads, self.streams)
            flat = g.cont(kqv, (hv * heads, u, 1, 1))
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

    def _mha_plain(self, q: Tensor, k: Tensor, v: Tensor, memory: Memory, layer: int) -> Tensor:
        """Attention without a cache: with flash attention keys and values are cast to F16 first."""
        g, u, heads, hv = self.g, self.u, self.shape.heads[layer], self.shape.head_v[layer]
        if self.flash:
            q_view = g.view(q, *q.ne, size=q.size)
            cast = [g.new([x], *x.ne, type_=F16) for x in (k, v)]
            out = Node(FLASH, (q_view, *cast, memory.mask), F32, (hv, heads, u, 1), 4 * hv * heads * u)
            flat: Tensor = g.view(out, hv * heads, u)
        else:
            kq = g.new([g.view(k, *k.ne, size=k.size), g.view(q, *q.ne, size=q.size)], u, u, heads)
            kq = g.same(kq, memory.mask)
            flat = g.cont(g.new([g.cont(g.view(v, *v.ne, size=v.size)), kq], hv, u, heads), (hv * heads, u, 1, 1))
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

    def ffn(self, layer: int, x: Tensor, *, up: str = "ffn_up", gate: str | None = "ffn_gate", down: str = "ffn_down",
            parallel: bool = True, ops: int = 1, fused: bool = False, clamped: bool = False, act_scale: bool = False) -> Node:
        """Feed-forward (build_ffn). ops: in-place operations of an ungated activation; fused: [2F] in one product."""
        g = self.g
        tmp = self._linear(layer, up, x)
        gate_w = self.lw(layer, gate + ".weight") if gate else None
        if gate_w is not None:
            assert gate is not None
            cur = self._linear(layer, gate, x if parallel else tmp)
            if not parallel:
                cur = g.same(cur)
            elif clamped:
                tmp = g.same(tmp)
                cur = g.same(g.same(g.same(cur)), tmp)
            else:
                cur = g.new([cur, tmp], *cur.ne)
        elif fused:
            cur = g.new([tmp], tmp.ne[0] // 2, *tmp.ne[1:])
        else:
            cur = tmp
            for _ in range(ops):
                cur = g.same(cur)
            scale = self.lw(layer, "ffn_act.scales") if act_scale else None
            if scale is not None:
                cur = g.same(cur, scale)
        if self.lw(layer, down + ".weight") is None:
            return cur
        return self._linear(layer, down, cur)

    def _linear(self, layer: int, name: str, x: Tensor) -> Node:
        cur = self.mm(self.lw(layer, name + ".weight"), x)
        scaled = self.arch in (_SHARED_SCALES if name.endswith("shexp") else _FFN_SCALES)
        for suffix in (".bias", ".scale") if scaled else (".bias",):
            extra = self.lw(layer, name + suffix)
            if extra is not None:
                cur = self.g.same(cur, extra)
        return cur

    def experts_linear(self, layer: int, name: str, x: Tensor, ids: Tensor) -> Node:
        """MUL_MAT_ID with its scale (repeated, gathered) and bias (ADD_ID)."""
        g = self.g
        w = self.lw(layer, name + ".weight")
        if w is None:
            raise NotDescribed
        cur = g.mm_id(w, x, ids)
        scale = self.lw(layer, name + ".scale") if self.arch in _EXPERT_SCALES else None
        if scale is not None:
            n = scale.ne[0]
            wide = g.new([g.view(scale, 1, n)], 1, n, x.ne[2])
            cur = g.same(cur, g.rows(wide, ids))
        bias = self.lw(layer, name + ".bias")
        return cur if bias is None else g.same(cur, bias, ids)

    def moe(self, layer: int, x: Tensor, *, gating: str = "softmax", norm: bool = True, scale: bool = False, ops: int = 1,
            bias: str | None = "exp_probs_b.bias", gate_bias: bool = True, probs_in: Tensor | None = None,
            exps: str = "exps", experts: int | None = None, clamped: bool = False, before: bool = False,
            prefix: str = "ffn_", selected: Tensor | None = None, used: int | None = None) -> Node:
        """Mixture of experts (build_moe_ffn); ops: in-place operations of an ungated activation."""
        g, shape = self.g, self.shape
        tokens = x.ne[1]
        count = experts or shape.experts
        use = used or shape.experts_used[layer]
        ids, weights = self._route(layer, x, gating, norm, scale, bias, gate_bias, probs_in, count, use, selected)
        g.expand(weights)
        cur: Tensor = g.view(x, x.ne[0], 1, tokens, size=x.size)
        if before:
            cur = g.same(g.new([cur], x.ne[0], use, tokens), weights)
        merged = self.lw(layer, f"{prefix}gate_up_{exps}.weight")
        if merged is not None:
            both = self.experts_linear(layer, f"{prefix}gate_up_{exps}", cur, ids)
            half = both.ne[0] // 2
            span = both.size - 4 * half
            act = g.new([g.view(both, half, use, tokens, size=span), g.view(both, half, use, tokens, size=span)], half, use,
                        tokens)
        else:
            up = self.experts_linear(layer, f"{prefix}up_{exps}", cur, ids)
            if self.lw(layer, f"{prefix}gate_{exps}.weight") is not None:
                gate = self.experts_linear(layer, f"{prefix}gate_{exps}", cur, ids)
                if clamped:
                    up = g.same(up)
                    act = g.same(g.same(g.same(gate)), up)
                else:
                    act = g.new([gate, up], *gate.ne)
            else:
                act = up
                for _ in range(ops):
                    act = g.same(act)
        out = self.experts_linear(layer, f"{prefix}down_{exps}", act, ids)
        if not before:
            out = g.same(out, weights)
        return self._gather(out, use, tokens)

    def _gather(self, out: Node, used: int, tokens: int) -> Node:
        """The experts' outputs added up, one view after another."""
        g = self.g
        g.expand(out)
        wide = out.ne[0]
        span = 4 * (wide * used * (tokens - 1) + wide)
        views = [g.view(out, wide, tokens, size=span) for _ in range(used)]
        if used == 1:
            return g.cont(views[0])
        total: Tensor = views[0]
        for view in views[1:]:
            total = g.same(total, view)
            g.expand(total)
        assert isinstance(total, Node)
        return total

    def _route(self, layer: int, x: Tensor, gating: str, norm: bool, scale: bool, bias: str | None, gate_bias: bool,
               probs_in: Tensor | None, count: int, use: int, selected: Tensor | None) -> tuple[Tensor, Tensor]:
        """Router: (chosen experts, their weights)."""
        g, tokens = self.g, x.ne[1]
        logits: Tensor = self.mm(self.lw(layer, "ffn_gate_inp.weight"), x) if probs_in is None else probs_in
        extra = self.lw(layer, "ffn_gate_inp.bias") if gate_bias else None
        if extra is not None:
            logits = g.same(logits, extra)
        probs: Tensor = logits if gating == "weight" else g.same(logits)
        if gating == "sqrt":
            probs = g.same(probs)
        chosen = probs
        extra = self.lw(layer, bias) if bias else None
        if extra is not None:
            chosen = g.same(probs, extra)
        if self.arch == "llama4":
            chosen = logits
        if self.arch == "grovemoe":
            chosen = g.same(logits)
        groups = self.shape.integer("expert_group_count")
        if groups > 1:
            chosen = self._groups(chosen, count, groups, tokens)
        if selected is None:
            ids: Tensor = g.view(g.new([chosen], count, tokens, type_=I32), use, tokens, size=4 * (count * (tokens - 1) + use))
        else:
            ids = selected
        if self.arch == "grovemoe" and count != self.shape.experts:
            cast = g.same(g.new([ids], use, tokens))
            ids = g.new([cast], use, tokens, type_=I32)
        probs_view = g.view(probs, 1, probs.ne[0], tokens, size=probs.size)
        weights: Tensor = g.rows(probs_view, ids)
        if gating == "weight":
            weights = g.view(g.same(g.view(weights, use, tokens)), 1, use, tokens)
        if norm:
            flat = g.view(weights, use, tokens)
            total = g.same(g.new([flat], 1, tokens))
            weights = g.view(g.same(flat, total), 1, use, tokens)
        if scale:
            weights = g.same(weights)
        return ids, weights

    def _groups(self, chosen: Tensor, count: int, groups: int, tokens: int) -> Tensor:
        """Only the best groups of experts stay in the choice (DeepSeek V3)."""
        g = self.g
        each, best = count // groups, self.shape.integer("expert_group_used_count")
        grouped = g.view(chosen, each, groups, tokens)
        top = g.view(g.new([grouped], each, groups, tokens, type_=I32), 2, groups, tokens,
                     size=4 * (each * (groups * tokens - 1) + 2))
        scores: Tensor = g.rows(g.view(chosen, 1, each, groups, tokens), top)
        scores = g.new([g.view(scores, 2, groups, tokens)], 1, groups, tokens)
        order = g.new([g.view(scores, groups, tokens)], groups, tokens, type_=I32)
        keep = g.view(order, best, tokens, size=4 * (groups * (tokens - 1) + best))
        kept = g.rows(grouped, keep)
        filled = g.same(grouped)
        written = Node(KEEP, (kept, keep, filled), F32, filled.ne, filled.size)
        written.base = filled
        g.writers.append(written)
        return g.view(written, count, tokens)

    # ends -------------------------------------------------------------------------------------------------------

    def finish(self, cur: Tensor, *, layer_norm: bool = False, logit_scale: int = 0, cut: Node | None = None,
               norm: str = "output_norm", pin: Tensor | None = None, after: Node | None = None) -> None:
        """Final norm and head; `logit_scale`: operations on the logits; `cut`: rows taken before the norm."""
        g = self.g
        self.layer = -1
        if cut is not None:
            cur = g.rows(cur, cut)
        cur = self.norm(cur, self.w(norm + ".weight"), self.w(norm + ".bias"), layer_norm)
        if after is not None:
            self.outputs.append(cur)
            cur = g.rows(cur, after)
        classes = self.w("cls.output.weight") if self.arch == "qwen35" else None
        if classes is not None:
            bias = self.w("cls.output.bias")
            embd = self.mm(classes, cur)
            embd = embd if bias is None else g.same(embd, bias)
            g.expand(embd)
            self.outputs.append(embd)
        else:
            self.outputs.append(cur)
        head = self.w("token_embd.weight") if self.arch == "bitnet" else self.output_weight()
        if head is not None:
            cur = self.mm(head, cur, self.w("output.scale"))
            bias = self.w("output.bias")
            if bias is not None:
                cur = g.same(cur, bias)
            for _ in range(logit_scale):
                cur = g.same(cur)
            self.outputs.append(cur)
        g.expand(cur)

    def mark(self) -> None:
        for tensor in self.outputs:
            tensor.base.is_output = True

    def layers(self) -> Sequence[int]:
        """The trunk's layers to build."""
        return shortened(self.shape, self.weights, self.staged)
