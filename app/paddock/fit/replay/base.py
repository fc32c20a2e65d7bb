"""What every graph begins with: its leafs, its inputs, norms and products (src/llama-graph.cpp, b11434)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paddock.fit import architectures as arch_data
from paddock.fit.architectures import names
from paddock.fit.memory import Sizes
from paddock.fit.placement import HOST
from paddock.fit.quants import padded
from paddock.fit.replay.nodes import F32, I32, I64, KEEP, Graph, Node, NotDescribedError, Tensor, View
from paddock.fit.shape import Shape
from paddock.fit.weights import Weights

_MROPE = names("qwen2vl qwen3vl qwen3vlmoe qwen35 qwen35moe qwen4exp clef paddleocr qwen3tts")
_SECTIONED = names("glm4 glm4moe hunyuan_vl bailingmoe3")
_CLAMPED_GLU = frozenset({"maple", "deepseek4", "glm5-next", "hy_v4"})
"""The limit is part of the gated activation itself, not operations of its own."""


@dataclass(frozen=True)
class Target:
    """The context that a draft works for."""

    shape: Shape
    sizes: Sizes
    weights: Weights


class Base:
    """One context's graph while it grows. `u`: tokens of the micro-batch, `n_out`: rows that give logits."""

    def __init__(
        self,
        shape: Shape,
        sizes: Sizes,
        weights: Weights,
        lost: frozenset[str] = frozenset(),
        probe: bool = False,
        pinned: bool = False,
        target: Target | None = None,
    ) -> None:
        self.shape, self.sizes, self.weights = shape, sizes, weights
        self.target = target
        self.g = Graph()
        self.arch = shape.architecture
        tokens = min(sizes.context, sizes.ubatch)
        self.u = sizes.slots if probe else padded(tokens, sizes.slots)
        self.n_out = sizes.slots if probe else min(tokens, sizes.outputs)
        self.flash = sizes.flash and "flash" not in lost
        self.turned_values = not sizes.flash
        """Values lie transposed in the cache."""
        self.probe = probe
        self.pinned = pinned
        """Keep the hints that a running server gives its scheduler: a layer's norms stay on its device."""
        self.layer = -1
        """The layer that is being built, for the hints that a probe keeps."""
        self.staged = any(d.offloads_ops for d in weights.placement.devices)
        self.fused: list[tuple[str, Node, int]] = []
        """Fused operations by kind and layer, for llama.cpp's probes."""
        self.lost: frozenset[str] = lost
        """Kinds of fused operations that a probe has given up."""
        self.embd = shape.embedding
        self.cpu = len(weights.placement.devices)
        self.leafs: dict[str, Node | None] = {}
        self.outputs: list[Tensor] = []
        self.pins: list[tuple[Node, int]] = []
        self.held: list[tuple[Node, int]] = []
        """What --no-kv-offload holds on the CPU, as far as hints are kept."""
        self.tokens: Node | None = None
        self.embedded: Tensor | None = None
        """The rows that become embeddings (t_embd)."""
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
        original = self.shape.integer("rope.scaling.original_context_length", self.shape.trained_context)
        return "rope_factors_long.weight" if self.sizes.cells > original else "rope_factors_short.weight"

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

    def lent(self, name: str) -> Node:
        """A weight of the target that a draft has not got itself."""
        if self.target is None:
            raise NotDescribedError
        theirs = self.target.weights
        i = theirs.index.position.get(name)
        if i is not None:
            device = theirs.device_of(i)
        elif name == "output.weight" and theirs.index.tied is not None:
            i = theirs.index.tied
            device = theirs.moved.get(i, theirs.placement.output_device)
        else:
            raise NotDescribedError
        tensor = theirs.index.tensors[i]
        node = Node(KEEP, (), F32, (*tensor.shape, 1, 1, 1)[:4], tensor.nbytes or 0)  # type: ignore[arg-type]
        node.buffered = node.weight = True
        node.device = self.lent_device(device)
        return node

    def lent_device(self, device: int) -> int:
        """A device of the target as the draft counts it."""
        if device == HOST:
            return self.cpu
        assert self.target is not None
        name = self.target.weights.placement.devices[device].name
        for i, own in enumerate(self.weights.placement.devices):
            if own.name == name:
                return i
        raise NotDescribedError

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
            raise NotDescribedError
        tokens = self.tokens = g.input(I32, u)
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
        return (
            self.arch in ("glm4", "glm4moe", "hunyuan_vl", "bailingmoe3")
            and len(found) > 1
            and found[0] > 0
            and found[1] > 0
        )

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
        if self.arch in _CLAMPED_GLU or (self.arch == "dflash" and self.shape.integer("hyper_connection.count")):
            return False
        found = self.shape.lists.get(key)
        limit = found[layer] if found and layer < len(found) else self.number(key)
        return limit > 1e-6

    def out_ids(self) -> Node:
        return self.g.input(I32, self.n_out)

    # pieces -----------------------------------------------------------------------------------------------------

    def mm(self, w: Node | None, x: Tensor, scale: Node | None = None) -> Node:
        if w is None:
            raise NotDescribedError
        out = self.g.mm(w, x)
        return out if scale is None else self.g.same(out, scale)

    def attended(self, flat: Node) -> Node:
        """What attention without flash gives: with --no-kv-offload llama.cpp holds it on the CPU."""
        if not self.sizes.kv_offload:
            self.held.append((flat, self.cpu))
        return flat

    def biased(self, layer: int, name: str, x: Tensor) -> Node:
        """A product with a block's weight, its scale and its bias, where the file has them."""
        out = self.mm(self.lw(layer, name + ".weight"), x, self.lw(layer, name + ".scale"))
        bias = self.lw(layer, name + ".bias")
        return out if bias is None else self.g.same(out, bias)

    def norm(self, x: Tensor, w: Node | None, b: Node | None = None, layer_norm: bool = False) -> Node:
        """RMS_NORM (in place where it can) or NORM (a block of its own), times weight, plus bias."""
        g = self.g
        cur = g.fresh(x) if layer_norm else g.same(x)
        if self.probe and self.layer >= 0 and (w is not None or b is not None):
            self.pins.append((cur, self.device_of_layer(self.layer)))
        elif self.pinned and w is not None and w is not self.w("output_norm.weight"):
            self.pins.append((cur, self.device_of_layer(self.layer) if self.layer >= 0 else w.device))
        if w is not None:
            cur = g.same(cur, w)
        if b is not None:
            cur = g.same(cur, b)
        return cur

    def lnorm(self, layer: int, name: str, x: Tensor, layer_norm: bool = False) -> Node:
        """A norm with a block's own weights (PLaMo names some without a suffix), hinted to the block's device."""
        within, self.layer = self.layer, layer
        weight = self.lw(layer, name + ".weight") or self.lw(layer, name)
        out = self.norm(x, weight, self.lw(layer, name + ".bias"), layer_norm)
        self.layer = within
        return out

    def heads_view(self, x: Tensor, head: int, heads: int) -> View:
        return self.g.view(x, head, heads, self.u)

    def qkv(
        self,
        layer: int,
        x: Tensor,
        clamp: bool = False,
        reshape: bool = True,
        scales: int | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value, as [head size, heads, tokens] (build_qkv). scales: the layer whose scales are taken."""
        shape, g, u = self.shape, self.g, self.u
        heads, kv = shape.heads[layer], shape.kv_heads[layer]
        hk, hv = shape.head_k[layer], shape.head_v[layer]
        fused = self.lw(layer, "attn_qkv.weight")
        if fused is not None:
            return self._fused(layer, x, fused, clamp, reshape)
        scaled = layer if scales is None else scales
        out: list[Tensor] = []
        for part, head, count in (("q", hk, heads), ("k", hk, kv), ("v", hv, kv)):
            cur = self.mm(self.lw(layer, f"attn_{part}.weight"), x, self.lw(scaled, f"attn_{part}.scale"))
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
