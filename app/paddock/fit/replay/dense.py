"""Architectures with plain attention and a dense or expert feed-forward: one builder, led by traits and tensors."""

from __future__ import annotations

from dataclasses import replace

from paddock.fit.architectures import names
from paddock.fit.replay.nodes import F32, Node, Tensor
from paddock.fit.replay.parts import Build
from paddock.fit.replay.traits import PLAIN, TRAITS, Traits, gate_name

GRAPHED = names("""llama llama4 deci falcon grok gpt2 gptneox mpt baichuan starcoder refact bloom stablelm qwen
qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3vl qwen3vlmoe qwen3tts phi2 phi3 phimoe plamo plamo3 codeshell orion
internlm2 minicpm gemma gemma2 gemma3 starcoder2 xverse command-r cohere2 cohere2moe dbrx olmo olmo2 olmoe openelm
arctic deepseek deepseek2-ocr chatglm glm4 glm4moe bitnet jais jais2 nemotron exaone exaone4 exaone-moe granite
granitemoe granite_swa chameleon bailingmoe bailingmoe2 dots1 arcee afmoe laguna ernie4_5 ernie4_5-moe paddleocr
hunyuan-moe hunyuan-dense hunyuan_vl hy_v3 smollm3 seed_oss grovemoe apertus minimax-m2 pangu-embedded mistral3
maincoder pockettts mellum maple mimo2 muse-glimmer nanbeige smallthinker spark2_5 step35 gpt-oss dream llada
llada-moe rnd1 cogvlm llama-embed""")

_NO_FACTORS = frozenset({"falcon-h1", "llada", "pangu-embedded", "cogvlm"})
"""Their graphs turn without the file's frequency factors."""


def build(b: Build) -> None:
    """The whole graph of a plain architecture."""
    t = traits(b)
    x = embeddings(b, t)
    cut = b.out_ids()
    layers = list(b.layers())
    last = layers[-1]
    for layer in layers:
        x = _layer(b, t, layer, x, cut if layer == last and not t.late_cut and b.arch != "cogvlm" else None)
        if t.deepstack and layer < b.shape.integer("n_deepstack_layers"):
            x = b.g.same(x, b.deep_view())
        if b.arch == "nanbeige" and _loop_ends(b, layer):
            x = b.norm(x, b.w("output_norm.weight"))
    ends(b, t, x, cut)


def traits(b: Build) -> Traits:
    """The architecture's order of operations, as the file has it."""
    found = TRAITS.get(b.arch, PLAIN)
    if b.arch == "cohere2moe" and not b.number("attention.layer_norm_rms_epsilon"):
        found = replace(found, layer_norm=True)
    return found


def ends(b: Build, t: Traits, x: Tensor, cut: Node) -> None:
    if t.late_cut == "before_norm":
        b.outputs.append(x)
    ops = 0
    for part in t.logits.split("+"):
        if part == "scale" or (part == "scale_key" and b.number("logit_scale")):
            ops += 1
        elif part == "softcap" or (part == "softcap_key" and b.number("final_logit_softcapping")):
            ops += 3
    b.finish(
        x,
        layer_norm=t.layer_norm,
        logit_scale=ops,
        cut=cut if t.late_cut == "before_norm" else None,
        after=cut if t.late_cut == "after_norm" else None,
        headless=b.arch == "llama-embed",
    )
    b.mark()


def embeddings(b: Build, t: Traits) -> Tensor:
    """Token embeddings with what the architecture does to them."""
    g = b.g
    scaled = bool(b.number("embedding_scale")) if t.embedding == "key" else b.arch == "minicpm"
    x = b.inp_embd(token_scale=t.embedding == "tokens", scale=scaled)
    if t.embedding == "scale" and b.arch != "minicpm":
        return g.same(x)
    if t.embedding == "bare":
        return b.norm(x, None)
    if t.embedding == "norm":
        return b.norm(x, b.w("token_embd_norm.weight"), b.w("token_embd_norm.bias"), True)
    table = b.w("position_embd.weight") if t.embedding == "position" else None
    return x if table is None else g.same(x, g.rows(table, b.inp_pos()))


def one_layer(b: Build, t: Traits, layer: int, x: Tensor) -> Tensor:
    """A layer by itself, all rows kept."""
    return _layer(b, t, layer, x, None)


def _loop_ends(b: Build, layer: int) -> bool:
    loops = max(1, b.shape.integer("num_loops", 1))
    physical = b.shape.layers_all // loops
    return (
        loops > 1
        and (layer + 1) % physical == 0
        and layer + 1 < b.shape.layers
        and not b.shape.integer("skip_loop_final_norm")
    )


def _layer(b: Build, t: Traits, layer: int, x: Tensor, cut: Node | None) -> Tensor:
    g = b.g
    if not b.shape.heads[layer] and b.arch == "deci":
        return _without_attention(b, t, layer, x, cut)
    skip = x
    probs: Tensor | None = b.mm(b.lw(layer, "ffn_gate_inp.weight"), x) if b.arch == "smallthinker" else None
    cur: Tensor = b.lnorm(layer, t.attn_norm, x, t.layer_norm) if t.attn_norm else x
    normed = cur
    if b.lw(layer, "attn_norm_2.weight") is not None and b.arch == "falcon":
        cur = b.lnorm(layer, "attn_norm_2", x, True)
    cur = _attend(b, t, layer, cur)
    if cut is not None:
        cur, skip = g.rows(cur, cut), g.rows(skip, cut)
        if t.parallel or b.arch == "stablelm":
            normed = g.rows(normed, cut)
        probs = g.rows(probs, cut) if probs is not None else None
    parallel = t.parallel
    if parallel == "gptneox":
        parallel = "ffn_input_attn" if b.shape.integer("use_parallel_residual") else ""
        if parallel:
            normed = b.lnorm(layer, "ffn_norm", skip, True)
    if parallel:
        return _beside(b, t, layer, parallel, cur, skip, normed)
    return _after(b, t, layer, cur, skip, normed, probs)


def _without_attention(b: Build, t: Traits, layer: int, x: Tensor, cut: Node | None) -> Tensor:
    cur: Tensor = b.g.rows(x, cut) if cut is not None else x
    if not b.shape.feed_forward[layer]:
        return x
    middle = cur
    return b.g.same(feed_forward(b, t, layer, b.lnorm(layer, "ffn_norm", cur)), middle)


def _attend(b: Build, t: Traits, layer: int, cur: Tensor) -> Tensor:
    """Attention with the gates and norms that some architectures put around its output projection."""
    if b.arch == "deci" and not b.shape.kv_heads[layer]:
        return b.mm(b.lw(layer, "attn_output.weight"), cur)
    gate_w = b.lw(layer, "attn_gate.weight") if t.gate else None
    if gate_w is None and not t.sub_norms:
        out = attention(b, t, layer, cur)
        return b.g.same(out) if t.scale_output and b.number("attention.value_scale") else out
    out = attention(b, t, layer, cur, project=False)
    if t.sub_norms:
        out = b.norm(out, b.lw(layer, "attn_sub_norm.weight"))
    else:
        out = _gated(b, t, layer, out, b.mm(gate_w, cur))
    return b.project(layer, out, "attn_output")


def _gated(b: Build, t: Traits, layer: int, out: Tensor, gate: Node) -> Tensor:
    g, heads, u = b.g, b.shape.heads[layer], b.u
    gate = g.same(gate)
    if t.gate == "flat" or (t.gate == "laguna" and gate.ne[0] != heads):
        return g.same(out, gate)
    mixed = g.same(g.view(out, b.shape.head_v[layer], heads, u), g.view(gate, 1, heads, u))
    return g.view(mixed, b.shape.head_v[layer] * heads, u)


def _beside(b: Build, t: Traits, layer: int, order: str, attended: Tensor, skip: Tensor, normed: Tensor) -> Tensor:
    g = b.g
    out = feed_forward(b, t, layer, normed)
    if order == "ffn_attn":
        return g.same(g.same(out, attended), skip)
    if order == "attn_ffn":
        return g.same(g.same(attended, out), skip)
    return g.same(g.same(out, skip), attended)


def _after(b: Build, t: Traits, layer: int, cur: Tensor, skip: Tensor, normed: Tensor, probs: Tensor | None) -> Tensor:
    g = b.g
    scaled = t.residual_scale == "always" or (t.residual_scale == "key" and bool(b.number("residual_scale")))
    if t.post_attention:
        cur = b.lnorm(layer, t.post_attention, cur, t.layer_norm)
    if scaled:
        cur = g.same(cur)
    middle: Tensor = g.same(skip, cur) if b.arch == "openelm" else g.same(cur, skip)
    if b.arch == "arctic":
        return _arctic(b, t, layer, middle, skip)
    if b.arch == "stablelm" and b.lw(layer, "ffn_norm.weight") is None:
        cur = normed
    else:
        cur = b.lnorm(layer, t.ffn_norm, middle, t.layer_norm) if t.ffn_norm else middle
    cur = feed_forward(b, t, layer, cur, probs)
    if t.post_ffn:
        cur = b.lnorm(layer, _post_ffn(b, t, layer), cur, t.layer_norm)
    if scaled:
        cur = g.same(cur)
    return g.same(middle, cur) if b.arch in ("phi3", "phimoe") else g.same(cur, middle)


def _post_ffn(b: Build, t: Traits, layer: int) -> str:
    if t.post_ffn != "grok":
        return t.post_ffn
    return "layer_output_norm" if b.lw(layer, "layer_output_norm.weight") is not None else "post_ffw_norm"


def _arctic(b: Build, t: Traits, layer: int, middle: Tensor, skip: Tensor) -> Tensor:
    """A dense feed-forward, and experts on the layer's input beside it."""
    g = b.g
    dense = g.same(b.ffn(layer, b.lnorm(layer, "ffn_norm", middle)), middle)
    out = b.moe(layer, b.lnorm(layer, "ffn_norm_exps", skip))
    return g.same(out, dense)


def ropes(b: Build, t: Traits, layer: int) -> bool:
    """Whether this layer turns q and k by position."""
    shape, sliding = b.shape, b.shape.swa[layer]
    kind = t.rope
    if kind == "none":
        return False
    if kind == "sliding":
        return sliding or not shape.windowed
    if kind == "only_sliding":
        return sliding
    if kind == "cohere2moe":
        return sliding or layer < shape.integer("leading_dense_block_count") or layer >= shape.layers
    if kind == "three_of_four":
        return (layer + 1) % 4 != 0
    if kind == "llama4":
        step = 4 if shape.windowed else shape.layers
        return (layer + 1) % step != 0
    if kind == "not_fourth_first":
        return not shape.windowed or layer % 4 != 0
    if kind == "baichuan":
        return shape.layers == 32
    if kind == "pattern":
        pattern = shape.arrays.get("attention.rope_pattern", ())
        return layer >= len(pattern) or bool(pattern[layer])
    if kind == "granite":
        return bool(shape.integer("rope.scaling.finetuned", 1))
    return True


def attention(b: Build, t: Traits, layer: int, x: Tensor, project: bool = True) -> Tensor:
    g = b.g
    flat = t.flat_norm and b.lw(layer, "attn_q_norm.weight") is not None
    if flat:
        q, k, v = _flat(b, t, layer, x)
    else:
        q, k, v = b.qkv(layer, x, bool(b.number("attention.clamp_kqv")))
    turned = ropes(b, t, layer)
    if not t.norm_after_rope and not t.flat_norm:
        q, k = _normed(b, t, layer, q, k)
    if turned:
        plain = b.arch in _NO_FACTORS or (b.arch == "step35" and b.shape.swa[layer])
        factors = None if plain else b.rope_factors(layer)
        more = [b.inp_pos(), *([factors] if factors is not None else [])]
        q, k = g.rope(q, *more), g.rope(k, *more)
    if t.norm_after_rope:
        q, k = _normed(b, t, layer, q, k)
    if t.temperature and (
        (t.temperature == "no_rope" and not turned)
        or (t.temperature == "key" and b.number("attention.temperature_scale"))
    ):
        q = g.same(q, b.attention_scale())
    if t.bare_norm and turned and b.shape.experts != 128:
        q, k = g.same(q), g.same(k)
    if t.q_scale:
        q = g.same(q)
    softcap = 1 if t.softcap else 0
    return b.attention(
        layer, q, k, v, sinks=b.lw(layer, "attn_sinks.weight"), softcap=softcap, wo="attn_output" if project else None
    )


def _normed(b: Build, t: Traits, layer: int, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    kind = t.layer_norm if t.qk_layer_norm is None else t.qk_layer_norm
    if b.lw(layer, "attn_q_norm.weight") is not None:
        q = b.lnorm(layer, "attn_q_norm", q, kind)
    if b.lw(layer, "attn_k_norm.weight") is not None:
        k = b.lnorm(layer, "attn_k_norm", k, kind)
    return q, k


def _flat(b: Build, t: Traits, layer: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    g, s, u = b.g, b.shape, b.u
    q, k, v = b.qkv(layer, x, bool(b.number("attention.clamp_kqv")), reshape=False)
    q, k = _normed(b, t, layer, q, k)
    return (
        g.view(q, s.head_k[layer], s.heads[layer], u),
        g.view(k, s.head_k[layer], s.kv_heads[layer], u),
        g.view(v, s.head_v[layer], s.kv_heads[layer], u),
    )


def feed_forward(b: Build, t: Traits, layer: int, x: Tensor, probs: Tensor | None = None) -> Tensor:
    g = b.g
    if b.arch == "refact" and b.lw(layer, "ffn_up.weight") is None:
        return g.same(x)  # its graph knows no experts: what is left is the activation
    if b.lw(layer, "ffn_gate_inp.weight") is None:
        if t.sub_norms:
            cur: Tensor = b.ffn(layer, x, down="none")
            cur = b.norm(cur, b.lw(layer, "ffn_sub_norm.weight"))
            return b.mm(b.lw(layer, "ffn_down.weight"), cur, b.lw(layer, "ffn_down.scale"))
        return b.ffn(
            layer,
            x,
            ops=t.activation,
            fused=t.activation == 0,
            clamped=b.clamps("swiglu_clamp_shexp", layer),
            act_scale=b.arch == "mpt",
        )
    if b.arch == "hunyuan-moe":
        return g.same(experts(b, t, layer, x), shared(b, t, layer, x))
    if b.arch == "grovemoe":
        return _grove(b, layer, x)
    out: Tensor = experts(b, t, layer, x, probs)
    if b.arch == "grok" and b.lw(layer, "ffn_up.weight") is not None:
        return g.same(g.same(b.ffn(layer, x), out))
    if b.lw(layer, "ffn_up_shexp.weight") is None:
        return out
    if b.arch == "qwen2moe":
        gate = b.mm(b.lw(layer, "ffn_gate_inp_shexp.weight"), x)
        return g.same(out, g.same(shared(b, t, layer, x), g.same(g.same(gate), gate)))
    out = g.same(out, shared(b, t, layer, x))
    return g.same(out) if b.arch == "cohere2moe" else out


def experts(b: Build, t: Traits, layer: int, x: Tensor, probs: Tensor | None = None) -> Tensor:
    scale = b.number("expert_weights_scale") if t.scale_weights else 0.0
    norm = bool(b.shape.integer("expert_weights_norm")) if t.norm_weights is None else t.norm_weights
    return b.moe(
        layer,
        x,
        gating=gate_name(t, b.shape.integer("expert_gating_func")),
        norm=norm,
        scale=scale not in (0.0, 1.0),
        ops=max(1, t.activation),
        bias="exp_probs_b.bias" if t.expert_bias else None,
        probs_in=probs,
        before=b.arch == "llama4",
        clamped=b.clamps("swiglu_clamp_exp", layer),
    )


def _grove(b: Build, layer: int, x: Tensor) -> Tensor:
    """Experts, then smaller ones that share the router."""
    g, shape = b.g, b.shape
    probs = b.mm(b.lw(layer, "ffn_gate_inp.weight"), x)
    cur = b.moe(layer, x, probs_in=probs, bias=None)
    chunks = shape.experts // max(1, shape.integer("experts_per_group", 1))
    used = min(shape.experts_used[layer], chunks)
    more = b.moe(layer, cur, probs_in=probs, exps="chexps", experts=chunks, used=used, bias=None)
    return g.same(cur, g.same(more))


def shared(b: Build, t: Traits, layer: int, x: Tensor) -> Node:
    return b.ffn(
        layer,
        x,
        up="ffn_up_shexp",
        gate="ffn_gate_shexp",
        down="ffn_down_shexp",
        ops=max(1, t.activation),
        fused=t.activation == 0,
        clamped=b.clamps("swiglu_clamp_shexp", layer),
    )


__all__ = ["F32", "GRAPHED", "attention", "build", "embeddings", "ends", "experts", "feed_forward", "ropes", "shared"]
