"""WavTokenizer's decoder: convolutions over the batch, one plain attention, no cache (src/models, b11434)."""

from __future__ import annotations

from paddock.fit.replay.nodes import F16, F32, MATMUL, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build

GRAPHED = frozenset({"wavtokenizer-dec"})
_BF16 = 30
"""The type's number in a file."""


def build(b: Build) -> None:
    """The whole graph."""
    g = b.g
    x = _turned(b, b.inp_embd())
    cur: Tensor = _convolved(b, "conv1d", x)
    for block in range(b.shape.integer("posnet.block_count")):
        cur = _posnet(b, f"posnet.{block}", block, cur)
    normed = b.norm(_turned(b, cur), b.w("token_embd_norm.weight"), b.w("token_embd_norm.bias"), True)
    cur = _turned(b, normed)
    for block in range(b.shape.integer("convnext.block_count")):
        cur = _convnext(b, f"convnext.{block}", cur)
    out = b.norm(_turned(b, cur), b.w("output_norm.weight"), b.w("output_norm.bias"), True)
    bias = b.w("output.bias")
    done = g.same(b.mm(b.w("output.weight"), out, b.w("output.scale")), *([bias] if bias is not None else []))
    b.embed(done)
    g.expand(done)
    b.mark()


def _turned(b: Build, x: Tensor) -> Node:
    return b.g.cont(x, (x.ne[1], x.ne[0], 1, 1))


def _named(b: Build, name: str) -> Node:
    found = b.w(name)
    if found is None:
        raise NotDescribedError
    return found


def _patches(b: Build, name: str, x: Tensor, channels: int) -> Node:
    """The input of a convolution laid out for a product (IM2COL), F16 unless the kernel is BF16."""
    w = _named(b, name)
    index = b.weights.index
    wide = index.tensors[index.position[name]].type_id == _BF16
    inner = w.ne[0] * (w.ne[1] if channels == 1 else 1)
    return b.g.new([w, x], inner, x.ne[0], channels, type_=F32 if wide else F16)


def _convolved(b: Build, name: str, x: Tensor) -> Node:
    """A convolution over all channels, with its bias."""
    g, w = b.g, _named(b, name + ".weight")
    columns = _patches(b, name + ".weight", x, 1)
    product = g.mm(columns, g.view(w, w.ne[0] * w.ne[1], w.ne[2], size=w.size))
    return g.same(g.view(product, x.ne[0], w.ne[2]), _named(b, name + ".bias"))


def _grouped(b: Build, name: str, x: Tensor) -> Node:
    g = b.g
    normed = g.fresh(g.view(x, x.ne[0], 1, x.ne[1]))
    scaled = g.same(g.view(normed, *x.ne), _named(b, name + ".weight"))
    return g.same(scaled, _named(b, name + ".bias"))


def _posnet(b: Build, name: str, block: int, x: Tensor) -> Tensor:
    g = b.g
    if block == 2:
        return _attention(b, name, x)
    if block == 5:
        return _grouped(b, name + ".attn_norm", x)
    cur = x
    for half in (1, 2):
        normed = _grouped(b, f"{name}.norm{half}", cur)
        cur = _convolved(b, f"{name}.conv{half}", g.same(g.same(normed), normed))
    return g.same(cur, x)


def _attention(b: Build, name: str, x: Tensor) -> Node:
    g = b.g
    normed = _grouped(b, name + ".attn_norm", x)
    raw = []
    for part in "qkv":
        w = _named(b, f"{name}.attn_{part}.weight")
        product = g.mm(_patches(b, f"{name}.attn_{part}.weight", normed, 1), g.view(w, w.ne[1], w.ne[2], size=w.size))
        raw.append(g.view(product, x.ne[0], w.ne[2]))
    q, k, v = (g.same(t, _named(b, f"{name}.attn_{part}.bias")) for t, part in zip(raw, "qkv", strict=True))
    q, k = _turned(b, q), _turned(b, k)
    probs = g.same(g.mm(k, q))
    out = _convolved(b, name + ".attn_output", g.mm(probs, v))
    return g.same(out, x)


def _convnext(b: Build, name: str, x: Tensor) -> Node:
    g = b.g
    w = _named(b, name + ".dw.weight")
    view = g.view(x, x.ne[0], 1, x.ne[1])
    columns = _patches(b, name + ".dw.weight", view, x.ne[1])
    product = Node(MATMUL, (columns, w), F32, (x.ne[0], 1, x.ne[1], 1), 4 * x.ne[0] * x.ne[1])
    cur: Tensor = g.same(g.view(product, *x.ne), _named(b, name + ".dw.bias"))
    cur = b.norm(_turned(b, cur), b.w(name + ".norm.weight"), b.w(name + ".norm.bias"), True)
    cur = g.same(b.mm(b.w(name + ".pw1.weight"), cur), _named(b, name + ".pw1.bias"))
    cur = g.same(b.mm(b.w(name + ".pw2.weight"), g.same(cur)), _named(b, name + ".pw2.bias"))
    return g.same(_turned(b, g.same(cur, _named(b, name + ".gamma.weight"))), x)
