"""Encoders and T5: attention within the batch, no head, norms after the sums (src/models/bert.cpp and kin, b11434)."""

from __future__ import annotations

from paddock.fit.architectures import names
from paddock.fit.replay.nodes import F16, F32, I32, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build

_BERTS = names("bert nomic-bert nomic-bert-moe jina-bert-v2 jina-bert-v3")
_BEFORE = names("modern-bert neo-bert eurobert gemma-embedding")
_ROPED = names("nomic-bert nomic-bert-moe jina-bert-v3")
_PLAIN_FFN = names("bert nomic-bert-moe jina-bert-v3")
GRAPHED = _BERTS | _BEFORE | {"t5", "t5encoder"}


def build(b: Build) -> None:
    """The whole graph."""
    if b.arch in _BERTS:
        _bert(b)
    elif b.arch in _BEFORE:
        _before(b)
    elif b.arch == "t5":
        _decoder(b)
    else:
        _encoder(b)
    b.mark()


def _end(b: Build, x: Tensor) -> None:
    b.g.expand(x)
    b.embed(x)


def _bert(b: Build) -> None:
    g = b.g
    x: Tensor = b.inp_embd()
    types = b.w("token_types.weight")
    if types is not None:
        x = g.same(x, g.view(types, b.embd))
    if b.arch == "bert":
        x = g.same(g.rows(_required(b.w("position_embd.weight")), b.inp_pos()), x)
    x = b.norm(x, b.w("token_embd_norm.weight"), b.w("token_embd_norm.bias"), True)
    cut = b.out_ids()
    layers = list(b.layers())
    for layer in layers:
        x = _bert_layer(b, layer, x, cut if layer == layers[-1] else None)
    _end(b, x)


def _bert_layer(b: Build, layer: int, x: Tensor, cut: Node | None) -> Tensor:
    g, s = b.g, b.shape
    q, k, v = b.qkv(layer, x)
    if b.lw(layer, "attn_q_norm.weight") is not None:
        q = _flat_norm(b, layer, "attn_q_norm", q)
    if b.lw(layer, "attn_k_norm.weight") is not None:
        k = _flat_norm(b, layer, "attn_k_norm", k)
    if b.arch in _ROPED:
        q, k = g.rope(q, b.inp_pos()), g.rope(k, b.inp_pos())
    cur: Tensor = b.attention(layer, q, k, v)
    skip = x
    if cut is not None:
        cur, skip = g.rows(cur, cut), g.rows(skip, cut)
    cur = b.lnorm(layer, "attn_output_norm", g.same(cur, skip), True)
    if b.lw(layer, "attn_norm_2.weight") is not None:
        cur = b.lnorm(layer, "attn_norm_2", g.same(cur, skip), True)
    middle = cur
    every = s.integer("moe_every_n_layers")
    if every > 0 and layer % every == 1:
        cur = b.moe(layer, cur, norm=False, scale=b.number("expert_weights_scale") not in (0.0, 1.0), bias=None)
    elif b.arch in _PLAIN_FFN:
        cur = b.ffn(layer, cur, gate=None)
    else:
        up = b.lw(layer, "ffn_up.weight")
        fused = b.arch == "jina-bert-v2" and up is not None and up.ne[1] != s.feed_forward[layer]
        cur = b.ffn(layer, cur, fused=fused)
    return b.lnorm(layer, "layer_output_norm", g.same(cur, middle), True)


def _flat_norm(b: Build, layer: int, name: str, x: Tensor) -> Tensor:
    g, ne = b.g, x.ne
    return g.view(b.lnorm(layer, name, g.view(x, ne[0] * ne[1], b.u, size=x.size), True), *ne)


def _before(b: Build) -> None:
    """Norms before attention and feed-forward, as in decoders."""
    g = b.g
    modern = b.arch == "modern-bert"
    x: Tensor = b.inp_embd(token_scale=b.arch == "gemma-embedding")
    if modern:
        x = b.norm(x, b.w("token_embd_norm.weight"), None, True)
    cut = b.out_ids()
    deciding = b.shape.integer("decision.block_count") if modern else 0
    layers = list(b.layers())
    for layer in layers:
        if layer >= b.shape.layers - deciding:
            break
        skip = x
        cur: Tensor = x
        if b.lw(layer, "attn_norm.weight") is not None:
            cur = b.norm(x, b.lw(layer, "attn_norm.weight"), None, modern)
        cur = _turned_attention(b, layer, cur)
        if layer == layers[-1]:
            cur, skip = g.rows(cur, cut), g.rows(skip, cut)
        if b.arch == "gemma-embedding":
            cur = b.lnorm(layer, "post_attention_norm", cur)
        middle = g.same(cur, skip)
        cur = b.norm(middle, b.lw(layer, "ffn_norm.weight"), None, modern)
        cur = b.ffn(layer, cur, fused=b.arch in ("modern-bert", "neo-bert"))
        if b.arch == "gemma-embedding":
            cur = b.lnorm(layer, "post_ffw_norm", cur)
        x = g.same(cur, middle)
    name = "enc.output_norm" if b.arch == "neo-bert" else "output_norm"
    normed = b.norm(x, b.w(name + ".weight"), None, modern)
    _end(b, _decided(b, normed, cut, layers[-1] - deciding + 1) if deciding else normed)


_QUESTIONS = 3
"""Kinds of questions that a decision model knows; its head runs for each."""


def _decided(b: Build, x: Tensor, cut: Node, first: int) -> Node:
    """One score per kind of question: layers of their own without positions, then a small network."""
    g, scores = b.g, None
    for kind in range(_QUESTIONS):
        cur: Tensor = g.same(x, g.view(_required(b.w("token_types.weight")), b.embd))
        for layer in range(first, b.shape.layers):
            skip = cur
            q, k, v = b.qkv(layer, b.lnorm(layer, "attn_norm", cur, True))
            cur = b.attention(layer, q, k, v)
            if layer == b.shape.layers - 1:
                cur, skip = g.rows(cur, cut), g.rows(skip, cut)
            middle = g.same(cur, skip)
            cur = g.same(b.ffn(layer, b.lnorm(layer, "ffn_norm", middle, True), gate=None), middle)
        cur = b.norm(cur, b.w("cls.norm.weight"), b.w("cls.norm.bias"), True)
        for name in ("cls", "cls.output"):
            cur = g.same(b.mm(b.w(name + ".weight"), cur), _required(b.w(name + ".bias")))
            cur = g.same(cur) if name == "cls" else cur
        assert isinstance(cur, Node)
        scores = cur if scores is None else g.new([scores, cur], (kind + 1) * cur.ne[0], cur.ne[1])
    assert scores is not None
    return scores


def _turned_attention(b: Build, layer: int, x: Tensor) -> Tensor:
    g = b.g
    q, k, v = b.qkv(layer, x)
    if b.lw(layer, "attn_q_norm.weight") is not None:
        q = b.lnorm(layer, "attn_q_norm", q)
    q = g.rope(q, b.inp_pos())
    if b.lw(layer, "attn_k_norm.weight") is not None:
        k = b.lnorm(layer, "attn_k_norm", k)
    k = g.rope(k, b.inp_pos())
    if b.arch == "gemma-embedding":
        q = g.same(q)
    return b.attention(layer, q, k, v)


# T5 -----------------------------------------------------------------------------------------------------------------


def _required(weight: Node | None) -> Node:
    if weight is None:
        raise NotDescribedError
    return weight


def _bias(b: Build, side: str, layer: int, buckets: Node) -> Node:
    """Relative positions looked up for every key and query, then turned so that heads come last."""
    g = b.g
    table = b.w(f"{side}.blk.{layer}.attn_rel_b.weight") or b.w(f"{side}.blk.0.attn_rel_b.weight")
    keys, queries = buckets.ne[0], buckets.ne[1]
    found = g.rows(_required(table), g.view(buckets, keys * queries))
    return g.cont(g.view(found, keys, queries, found.ne[0], size=found.size), (keys, queries, found.ne[0], 1))


def _three(b: Build, prefix: str, layer: int, x: Tensor, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    g, s = b.g, b.shape
    made = [b.mm(b.w(f"{prefix}_{n}.weight"), x if n == "q" else source) for n in "qkv"]
    return (
        g.view(made[0], s.head_k[layer], s.heads[layer], x.ne[1]),
        g.view(made[1], s.head_k[layer], s.kv_heads[layer], source.ne[1]),
        g.view(made[2], s.head_v[layer], s.kv_heads[layer], source.ne[1]),
    )


def _half(b: Build, prefix: str, x: Tensor) -> Tensor:
    """Norm and feed-forward, added to what came in."""
    g = b.g
    cur = b.norm(x, b.w(f"{prefix}.ffn_norm.weight"))
    up = b.mm(b.w(f"{prefix}.ffn_up.weight"), cur)
    gate = b.w(f"{prefix}.ffn_gate.weight")
    if gate is None:
        act = g.same(up)
    else:
        made = b.mm(gate, cur)
        act = g.new([made, up], *made.ne)
    return g.same(b.mm(b.w(f"{prefix}.ffn_down.weight"), act), x)


def _decoder(b: Build) -> None:
    """The decoder, reading what an encoder of the trained context's length left."""
    g, s, u = b.g, b.shape, b.u
    if b.streams != 1:
        raise NotDescribedError
    x: Tensor = b.inp_embd()
    known = g.input(F32, b.embd, s.trained_context)
    buckets = g.input(I32, b.sizes.cells, u)
    mask = g.input(F16 if b.flash else F32, s.trained_context, u)
    cut = b.out_ids()
    count = s.integer("decoder_block_count") or s.layers
    for layer in range(count):
        prefix = f"dec.blk.{layer}"
        cur: Tensor = b.norm(x, b.w(f"{prefix}.attn_norm.weight"))
        q, k, v = _three(b, f"{prefix}.attn", layer, cur, cur)
        bias = _bias(b, "dec", layer, buckets)
        cur = b.attention(layer, q, k, v, wo=None, bias=bias)
        middle: Tensor = g.same(b.mm(b.w(f"{prefix}.attn_o.weight"), cur), x)
        cur = b.norm(middle, b.w(f"{prefix}.cross_attn_norm.weight"))
        q, k, v = _three(b, f"{prefix}.cross_attn", layer, cur, known)
        for tensor in (q, k, v):
            g.expand(tensor)
        cur = b.mm(b.w(f"{prefix}.cross_attn_o.weight"), b.mha_plain(q, k, v, mask, layer))
        if layer == count - 1:
            cur, middle = g.rows(cur, cut), g.rows(middle, cut)
        x = _half(b, prefix, g.same(cur, middle))
    b.finish(x, norm="dec.output_norm")


def _encoder(b: Build) -> None:
    g, u = b.g, b.u
    x: Tensor = b.inp_embd()
    buckets = g.input(I32, u, u)
    mask = g.input(F16 if b.flash else F32, u, u)
    cut = b.out_ids()
    for layer in range(b.shape.layers):
        prefix = f"enc.blk.{layer}"
        skip = x
        cur: Tensor = b.norm(x, b.w(f"{prefix}.attn_norm.weight"))
        q, k, v = _three(b, f"{prefix}.attn", layer, cur, cur)
        bias = _bias(b, "enc", layer, buckets)
        for tensor in (q, k, v):
            g.expand(tensor)
        cur = b.mm(b.w(f"{prefix}.attn_o.weight"), b.mha_plain(q, k, v, mask, layer, bias))
        if layer == b.shape.layers - 1:
            cur, skip = g.rows(cur, cut), g.rows(skip, cut)
        x = _half(b, prefix, g.same(cur, skip))
    _end(b, b.norm(x, b.w("enc.output_norm.weight")))
