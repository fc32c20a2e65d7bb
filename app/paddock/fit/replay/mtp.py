"""The second context that drafts with a model's own MTP block (graph_mtp in src/models)."""

from __future__ import annotations

from paddock.fit.replay import compressed, dense, hybrid, linear, mla, qsa
from paddock.fit.replay.nodes import F32, I32, Node, NotDescribedError, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.traits import PLAIN, Traits

_OWN = {"deepseek4": compressed.draft, "qwen4exp": qsa.draft}
_ROWS_FIRST = frozenset({"step35", "mimo2"})
_OUTPUT_NORM = frozenset({"mimo2", "bailingmoe3"})
_CUT_BEFORE = frozenset({"qwen3next", "nemotron_h_moe"})
"""The rows are cut before the feed-forward already."""


def build(b: Build) -> None:
    """Token and hidden state joined, one layer, the head."""
    if b.arch in _OWN:
        _OWN[b.arch](b)
        return
    g, layer = b.g, b.shape.layers
    x = joined(b, layer)
    cut = b.out_ids()
    if b.arch in ("deepseek2", "deepseek32", "glm-dsa"):
        middle = g.same(mla.attend(b, layer, b.lnorm(layer, "attn_norm", x)), x)
        cur: Tensor = g.same(dense.feed_forward(b, mla.traits(b), layer, b.lnorm(layer, "ffn_norm", middle)), middle)
    elif b.arch in ("qwen35", "qwen35moe", "qwen3next"):
        attended: Tensor = hybrid.gated_attention(b, layer, b.lnorm(layer, "attn_norm", x))
        skip: Tensor = x
        if b.arch == "qwen3next":
            attended, skip = g.rows(attended, cut), g.rows(skip, cut)
        middle = g.same(attended, skip)
        normed = b.lnorm(layer, "post_attention_norm", middle)
        cur = g.same(hybrid.feed_forward(b, PLAIN, layer, normed), middle)
    elif b.arch == "nemotron_h_moe":
        middle = g.same(dense.attention(b, Traits(rope="none"), layer, b.lnorm(layer, "attn_norm", x)), x)
        rows = g.rows(middle, cut)
        cur = g.same(hybrid.nemotron_experts(b, layer, b.lnorm(layer, "post_attention_norm", rows)), rows)
    elif b.arch == "bailingmoe3":
        middle = g.same(linear.bailing_attention(b, layer, b.lnorm(layer, "attn_norm", x)), x)
        cur = linear.bailing_experts(b, layer, middle)
    elif b.arch in dense.GRAPHED:
        cur = dense.one_layer(b, dense.traits(b), layer, x)
    else:
        raise NotDescribedError
    finish(b, layer, cur, cut)


def joined(b: Build, layer: int) -> Node:
    """The normed embedding beside the normed hidden state, projected back to one width."""
    g = b.g
    table = b.lw(layer, "nextn.embed_tokens.weight") or b.w("token_embd.weight")
    if table is None:
        raise NotDescribedError
    hidden = g.input(F32, b.embd, b.u)
    token = g.rows(table, g.input(I32, b.u))
    layer_norm = dense.traits(b).layer_norm
    normed_h = b.norm(hidden, b.lw(layer, "nextn.hnorm.weight"), None, layer_norm)
    normed_e = b.norm(token, b.lw(layer, "nextn.enorm.weight"), None, layer_norm)
    both = g.new([normed_e, normed_h], 2 * b.embd, b.u)
    return b.mm(b.lw(layer, "nextn.eh_proj.weight"), both, b.lw(layer, "nextn.eh_proj.scale"))


def finish(b: Build, layer: int, cur: Tensor, cut: Node) -> None:
    g = b.g
    first = b.arch in _ROWS_FIRST
    if first:
        cur = g.rows(cur, cut)
        b.outputs.append(cur)
    norm = (
        b.lw(layer, "nextn.shared_head_norm.weight")
        or (b.lw(layer, "layer_output_norm.weight") if b.arch in _OUTPUT_NORM else None)
        or b.w("output_norm.weight")
    )
    cur = b.norm(cur, norm, None, dense.traits(b).layer_norm or b.arch == "nemotron_h_moe")
    if not first:
        b.outputs.append(cur)
        cur = cur if b.arch in _CUT_BEFORE else g.rows(cur, cut)
    head = b.lw(layer, "nextn.shared_head_head.weight")
    scale = b.lw(layer, "nextn.shared_head_head.scale") if head is not None else b.w("output.scale")
    out = b.mm(head or b.output_weight(), cur, scale)
    if b.arch == "cohere2moe" and b.number("logit_scale"):
        out = g.same(out)
    b.outputs.append(out)
    g.expand(out)
    b.mark()
