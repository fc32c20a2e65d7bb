"""Attention over compressed keys (DeepSeek): absorbed into one head, or unfolded; with and without a token indexer."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.fit import architectures as arch_data
from paddock.fit.memory import cells_of
from paddock.fit.quants import padded, row_bytes
from paddock.fit.replay import dense
from paddock.fit.replay.nodes import F16, F32, FLASH, I32, I64, KEEP, Node, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.traits import Traits

GRAPHED = frozenset({"deepseek2", "mistral4", "deepseek32", "glm-dsa", "minicpm3", "plm"})
_KEY = Traits(gating="key:sigmoid", norm_weights=None, scale_weights=True, expert_bias=True)
_OTHER = Traits(activation=2)


def traits(b: Build) -> Traits:
    if b.arch in ("minicpm3", "plm"):
        return _OTHER if b.arch == "plm" else Traits()
    if b.arch == "deepseek2" and b.shape.layers in (26, 27) and not b.shape.integer("expert_gating_func"):
        return Traits(gating="softmax", norm_weights=None, scale_weights=True, expert_bias=True)
    return _KEY


def build(b: Build) -> None:
    """The whole graph."""
    g, t = b.g, traits(b)
    small = b.arch == "minicpm3"
    x: Tensor = b.inp_embd()
    if small:
        x = g.same(x)
    b.inp_pos()
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        skip = x
        cur: Tensor = attend(b, layer, b.lnorm(layer, "attn_norm", x), sparse=b.arch in arch_data.DSA)
        if layer == layers[-1]:
            cur, skip = g.rows(cur, cut), g.rows(skip, cut)
        if small:
            cur = g.same(cur)
        middle = g.same(cur, skip)
        cur = dense.feed_forward(b, t, layer, b.lnorm(layer, "ffn_norm", middle))
        if small:
            cur = g.same(cur)
        x = g.same(cur, middle)
    cur = b.norm(x, b.w("output_norm.weight"))
    b.embed(cur)
    if small:
        cur = g.same(cur)
    out = b.mm(b.output_weight(), cur, b.w("output.scale") if small or b.arch == "plm" else None)
    b.outputs.append(out)
    g.expand(out)
    b.mark()


def attend(b: Build, layer: int, x: Tensor, sparse: bool = False) -> Node:
    """One layer's attention, of whichever kind the file has."""
    if b.shape.mla is None:
        return unfolded(b, layer, x)
    return b.project(layer, attended(b, layer, x, sparse), "attn_output")


def attended(
    b: Build, layer: int, x: Tensor, sparse: bool, *, sinks: Node | None = None, turned: bool = True
) -> Tensor:
    """Latent attention before its output projection. turned: the indexer's keys go through a Hadamard matrix."""
    g = b.g
    rank = query_rank(b, layer, x)
    top = indexed(b, layer, x, rank, turned) if sparse else None
    q = b.mm(b.lw(layer, "attn_q_b.weight"), rank) if rank is not None else b.mm(b.lw(layer, "attn_q.weight"), x)
    queries, keys, values = absorbed(b, layer, x, q)
    if b.number("attention.temperature_scale"):
        queries = g.same(queries, b.attention_scale())
    for tensor in (queries, values, keys):
        g.expand(tensor)
    k_cache = key_cache(b, layer)
    memory = b.memory(False)
    g.expand(g.store(k_cache, keys, memory.k_ids))
    mask: Tensor = memory.mask if top is None else chosen_mask(b, memory.mask, top)
    return latent(b, layer, queries, k_cache, mask, sinks)


def query_rank(b: Build, layer: int, x: Tensor) -> Node | None:
    """The compressed query, where the file has one."""
    if b.lw(layer, "attn_q_a.weight") is None:
        return None
    return b.norm(b.mm(b.lw(layer, "attn_q_a.weight"), x), b.lw(layer, "attn_q_a_norm.weight"))


@dataclass(frozen=True)
class Latent:
    """Sizes of a latent attention: the compressed row, a head's key before it is folded, a head's value."""

    rank: int
    key: int
    value: int


def sizes_of(b: Build) -> Latent:
    """The file's latent sizes."""
    assert b.shape.mla is not None
    return Latent(b.shape.kv_lora, *b.shape.mla)


def absorbed(
    b: Build,
    layer: int,
    x: Tensor,
    q: Node,
    rope: bool = True,
    sizes: Latent | None = None,
    key_norm: Node | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries in the latent space [rank + rope, heads], the key [rank + rope, 1], the value [rank, 1]."""
    g, s, u = b.g, b.shape, b.u
    size = sizes or sizes_of(b)
    heads, rank, turn = s.heads[layer], size.rank, s.rope_dimensions
    width = size.key
    nope = width - turn
    row = width * heads
    q_nope = g.view(q, nope, u, heads, size=4 * (row * (u - 1) + width * (heads - 1) + nope))
    q_pe: Tensor = g.view(q, turn, heads, u, size=4 * (row * (u - 1) + width * (heads - 1) + turn))
    both = b.mm(b.lw(layer, "attn_kv_a_mqa.weight"), x)
    wide = rank + turn
    latent_view = g.view(both, rank, u, size=4 * (wide * (u - 1) + rank))
    k_pe: Tensor = g.view(both, turn, 1, u, size=4 * (wide * (u - 1) + turn))
    if key_norm is not None:
        k_pe = b.norm(k_pe, key_norm)
    if rope:
        q_pe, k_pe = g.rope(q_pe, b.inp_pos()), g.rope(k_pe, b.inp_pos())
    value = b.norm(latent_view, b.lw(layer, "attn_kv_a_norm.weight"))
    key_weight = b.lw(layer, "attn_k_b.weight")
    folded = b.mm(key_weight, q_nope)
    queries = g.new([g.view(folded, rank, heads, u), q_pe], wide, heads, u)
    value_view = g.view(value, rank, 1, u)
    keys = g.new([value_view, k_pe], wide, 1, u)
    return queries, keys, value_view


def key_cache(b: Build, layer: int) -> Node:
    """The cache of a layer that keeps keys alone."""
    key = f"cache@{layer}"
    if key not in b.leafs:
        row = row_bytes(b.sizes.type_k, b.shape.head_k[layer] * b.shape.kv_heads[layer])
        b.leafs[key] = b.cache(layer, row * cells_of(b.shape, b.sizes, layer) * b.sizes.streams)
    found = b.leafs[key]
    assert found is not None
    return found


def latent(
    b: Build,
    layer: int,
    q: Tensor,
    cache: Node,
    mask: Tensor,
    sinks: Node | None = None,
    sizes: Latent | None = None,
) -> Tensor:
    """Attention over latent keys, then each head's own values out of them; flat [heads * value size, tokens]."""
    g, s, u, streams = b.g, b.shape, b.u, b.streams
    size = sizes or sizes_of(b)
    heads, rank, value = s.heads[layer], size.rank, size.value
    row = row_bytes(b.sizes.type_k, s.head_k[layer] * s.kv_heads[layer])
    span = cache.size - row + row_bytes(b.sizes.type_k, rank)
    k_view: Tensor = g.view(cache, 1, size=cache.size)
    v_view: Tensor = g.view(cache, 1, size=span)
    q_view = g.view(q, *q.ne, size=q.size)
    extra = [sinks] if sinks is not None else []
    cells = cells_of(s, b.sizes, layer)
    out_weight = b.lw(layer, "attn_v_b.weight")
    if b.flash:
        if b.sizes.type_k == "f32":
            k_view = g.new([k_view], cache.size // 4, type_=F16)
            v_view = g.new([v_view], cells * streams * rank, type_=F16)
        found = Node(FLASH, (q_view, k_view, v_view, mask, *extra), F32, (rank, heads, u, 1), 4 * rank * heads * u)
        b.fused.append(("flash", found, layer))
        own = b.mm(out_weight, g.view(found, rank, u // streams, heads, streams))
        flat: Tensor = g.cont(g.view(own, value, heads, u))
        flat = g.view(flat, value * heads, u)
    else:
        kq = g.same(g.new([k_view, q_view], cells, u // streams, heads, streams), mask, *extra)
        nbytes = row_bytes(b.sizes.type_k, rank) * cells * streams
        copied = Node(KEEP, (v_view,), F16, (cells, rank, 1, streams), nbytes)
        kqv = g.new([copied, kq], rank, u // streams, heads, streams)
        flat = b.attended(g.cont(b.mm(out_weight, kqv), (value * heads, u, 1, 1)))
    g.expand(flat)
    return flat


def unfolded(b: Build, layer: int, x: Tensor) -> Node:
    """Keys and values for every head (files without absorbed weights, MiniCPM3, PLM)."""
    g, s, u = b.g, b.shape, b.u
    heads, hk, hv, rank, turn = s.heads[layer], s.head_k[layer], s.head_v[layer], s.kv_lora, s.rope_dimensions
    compressed = query_rank(b, layer, x)
    q: Tensor = (
        b.mm(b.lw(layer, "attn_q.weight"), x)
        if compressed is None
        else b.mm(b.lw(layer, "attn_q_b.weight"), compressed)
    )
    q = g.view(q, hk, heads, u)
    both = b.mm(b.lw(layer, "attn_kv_a_mqa.weight"), x)
    wide = rank + turn
    latent_view = g.view(both, rank, u, size=4 * (wide * (u - 1) + rank))
    k_pe = g.view(both, turn, 1, u, size=4 * (wide * (u - 1) + turn))
    kv = b.mm(b.lw(layer, "attn_kv_b.weight"), b.norm(latent_view, b.lw(layer, "attn_kv_a_norm.weight")))
    nope = hk - turn
    row = heads * (nope + hv)
    k_nope = g.view(kv, nope, heads, u, size=4 * (row * u - hv))
    v = g.cont(g.view(kv, hv, heads, u, size=4 * (row * u - nope)))
    factors = b.rope_factors(layer)
    more = [b.inp_pos(), *([factors] if factors is not None and b.arch == "minicpm3" else [])]
    q = g.rope(q, *more)
    turned = g.rope(k_pe, *more)
    keys = g.new([k_nope, g.new([turned], turn, heads, u)], hk, heads, u)
    if b.number("attention.temperature_scale"):
        q = g.same(q, b.attention_scale())
    return b.attention(layer, q, keys, v)


class _Index:
    """Inputs of the indexer's cache, shared by all layers."""

    def __init__(self, b: Build) -> None:
        size = b.shape.integer("attention.indexer.key_length")
        n = 64
        while size % (2 * n) == 0:
            n *= 2
        self.ids = b.g.input(I64, b.u)
        self.mask = b.g.input(F16, b.sizes.cells, b.u // b.streams, 1, b.streams)
        self.turn = b.g.input(F32, n, n)


def indexed(b: Build, layer: int, x: Tensor, rank: Tensor | None, turned: bool = True) -> Tensor:
    """The tokens that this layer looks at: its own choice, or that of the last layer that chose."""
    if not b.shape.indexer_full[layer] and b.chosen is not None:
        return b.chosen
    g, s, u, streams = b.g, b.shape, b.u, b.streams
    assert rank is not None
    if b.index is None:
        b.index = _Index(b)
    inputs: _Index = b.index
    heads, size = s.integer("attention.indexer.head_count"), s.integer("attention.indexer.key_length")
    q = g.rope(g.view(b.mm(b.lw(layer, "indexer.attn_q_b.weight"), rank), size, heads, u), b.inp_pos())
    k = b.norm(
        b.mm(b.lw(layer, "indexer.attn_k.weight"), x),
        b.lw(layer, "indexer.k_norm.weight"),
        b.lw(layer, "indexer.k_norm.bias"),
        True,
    )
    k2 = g.rope(g.view(k, size, 1, u), b.inp_pos())
    q2 = q
    if turned:
        q2, k2 = g.mm(inputs.turn, q), g.mm(inputs.turn, k2)
    row = row_bytes(b.sizes.type_k, size)
    cache = b.cache(layer, row * b.sizes.cells * streams)
    g.expand(g.store(cache, k2, inputs.ids))
    weights = g.same(g.view(b.mm(b.lw(layer, "indexer.proj.weight"), x), heads, u // streams, 1, streams))
    cells = b.sizes.cells
    score = g.new(
        [g.view(q2, size, heads, u // streams, streams), g.view(cache, 1, size=cache.size), weights, inputs.mask],
        cells,
        u // streams,
        1,
        streams,
    )
    best = min(cells, s.integer("attention.indexer.top_k"))
    top = g.cont(g.new([score], best, u // streams, 1, streams, type_=I32))
    b.chosen = top
    return top


def chosen_mask(b: Build, mask: Node, top: Tensor) -> Tensor:
    """The mask with everything hidden but the chosen tokens."""
    g = b.g
    hidden = g.same(mask)
    zeros = Node(KEEP, (), F32, (1, top.ne[0], top.ne[1], top.ne[3]), padded(4 * top.ne[0] * top.ne[1] * top.ne[3], 1))
    filled = g.same(zeros)
    written = Node(
        KEEP, (filled, g.view(top, *top.ne), g.view(hidden, 1, size=hidden.size)), hidden.type, hidden.ne, hidden.size
    )
    written.base = hidden
    g.writers.append(written)
    return g.same(g.view(written, *mask.ne), mask)
