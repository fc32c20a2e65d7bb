"""How the layers of plain architectures differ from LLaMA's, as data (src/models/*.cpp, b11434).

What a file's tensors already tell (biases, norms of q and k, gates, experts, shared experts) is not repeated here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Traits:
    """One architecture's order of operations. The defaults are LLaMA's."""

    layer_norm: bool = False
    """NORM instead of RMS_NORM for the layer's norms."""
    qk_layer_norm: bool | None = None
    """NORM for the norms of q and k; None: as layer_norm."""
    rope: str = "all"
    """all, none, "sliding" (sliding layers, or all where nothing slides), "three_of_four", "not_fourth_first"."""
    norm_after_rope: bool = False
    flat_norm: bool = False
    """q and k are normed as whole rows, before they are cut into heads."""
    bare_norm: str = ""
    """RMS_NORM of q and k without weights: "kq_norm" where the file or the class asks for it."""
    q_scale: bool = False
    temperature: str = ""
    """q times a position-dependent scale: "no_rope" (layers without rope), "key" (where the file has the scale)."""
    parallel: str = ""
    """Order of the sum where the feed-forward runs beside attention: "ffn_attn", "attn_ffn", "ffn_input_attn"."""
    parallel_norm: bool = False
    """A parallel feed-forward has its own norm of the layer's input."""
    attn_norm: str = "attn_norm"
    ffn_norm: str = "ffn_norm"
    post_attention: str = ""
    post_ffn: str = ""
    activation: int = 1
    """In-place operations of an ungated activation; 0: the first product is fused [2F]."""
    gating: str = "softmax"
    """softmax, sigmoid, weight, or "key": expert_gating_func, else the default after the colon."""
    norm_weights: bool | None = True
    """Expert weights are normed; None: expert_weights_norm says."""
    scale_weights: bool = False
    """expert_weights_scale is read."""
    expert_bias: bool = False
    shared_first: bool = False
    residual_scale: str = ""
    """"key" (residual_scale present) or "always"."""
    embedding: str = ""
    """What happens to the embeddings: scale, "key" (embedding_scale present), tokens, norm, position, bare."""
    logits: str = ""
    """Operations on the logits: "scale", "scale_key", "softcap_key" (three), joined by "+"."""
    late_cut: str = ""
    """All rows pass the last feed-forward and are cut after it: "before_norm" or "after_norm"; the rows before stay."""
    softcap: bool = False
    gate: str = ""
    """attn_gate multiplies the attention's output: "flat" or "heads"."""
    sub_norms: bool = False
    scale_output: bool = False
    deepstack: bool = False


_QWEN3VL = Traits(deepstack=True)
_OWN_GATE = Traits(gating="key:sigmoid", norm_weights=None, scale_weights=True, expert_bias=True)
_GRANITE = Traits(rope="granite", residual_scale="key", embedding="key", logits="scale")
_LN = Traits(layer_norm=True)

TRAITS: dict[str, Traits] = {
    "afmoe": replace(
        _OWN_GATE,
        rope="three_of_four",
        gate="flat",
        post_attention="post_attention_norm",
        post_ffn="post_ffw_norm",
        embedding="scale",
    ),
    "apertus": Traits(),
    "arcee": Traits(activation=2),
    "baichuan": Traits(rope="baichuan"),
    "bailingmoe": Traits(norm_weights=None, scale_weights=True),
    "bailingmoe2": _OWN_GATE,
    "bitnet": Traits(sub_norms=True),
    "bloom": replace(_LN, rope="none", embedding="norm"),
    "chameleon": Traits(qk_layer_norm=True),
    "chatglm": Traits(activation=0),
    "codeshell": _LN,
    "cohere2": replace(_LN, rope="only_sliding", parallel="ffn_input_attn", logits="scale_key"),
    "cohere2moe": Traits(
        rope="cohere2moe",
        parallel="ffn_input_attn",
        logits="scale_key",
        gating="key:sigmoid",
        norm_weights=None,
        scale_weights=True,
        late_cut="after_norm",
    ),
    "command-r": replace(_LN, parallel="ffn_input_attn", logits="scale_key"),
    "dbrx": replace(_LN, ffn_norm="attn_output_norm"),
    "deepseek": Traits(norm_weights=False, scale_weights=True),
    "deepseek2-ocr": replace(_OWN_GATE, gating="key:softmax"),
    "dots1": replace(_OWN_GATE, gating="key:softmax"),
    "ernie4_5-moe": Traits(expert_bias=True),
    "exaone-moe": replace(_OWN_GATE, rope="only_sliding"),
    "exaone4": Traits(
        rope="sliding", attn_norm="", ffn_norm="", post_attention="post_attention_norm", post_ffn="post_ffw_norm"
    ),
    "falcon": replace(_LN, parallel="ffn_attn"),
    "gemma": Traits(embedding="scale", q_scale=True),
    "gemma2": Traits(
        embedding="scale",
        q_scale=True,
        post_attention="post_attention_norm",
        post_ffn="post_ffw_norm",
        logits="softcap",
        softcap=True,
    ),
    "gemma3": Traits(
        embedding="tokens",
        q_scale=True,
        post_attention="post_attention_norm",
        post_ffn="post_ffw_norm",
        logits="softcap_key",
    ),
    "glm4": Traits(activation=0, post_attention="post_attention_norm", post_ffn="post_ffw_norm"),
    "glm4moe": replace(_OWN_GATE, ffn_norm="post_attention_norm"),
    "gpt-oss": Traits(ffn_norm="post_attention_norm", gating="weight", norm_weights=False, late_cut="before_norm"),
    "gpt2": replace(_LN, rope="none", embedding="position"),
    "gptneox": replace(_LN, parallel="gptneox"),
    "granite": _GRANITE,
    "granite_swa": replace(_GRANITE, activation=0, rope="pattern"),
    "granitemoe": replace(_GRANITE, rope="all"),
    "grok": Traits(
        post_attention="attn_output_norm", post_ffn="grok", softcap=True, logits="scale+softcap_key", embedding="key"
    ),
    "hunyuan-dense": Traits(norm_after_rope=True),
    "hunyuan-moe": Traits(norm_after_rope=True),
    "hunyuan_vl": Traits(norm_after_rope=True),
    "hy_v3": replace(_OWN_GATE, late_cut="after_norm"),
    "jais": replace(_LN, rope="none"),
    "jais2": replace(_LN, activation=2),
    "laguna": replace(_OWN_GATE, gate="laguna"),
    "llada-moe": Traits(norm_weights=False),
    "llama4": Traits(rope="llama4", temperature="no_rope", bare_norm="kq_norm", gating="sigmoid", norm_weights=False),
    "maincoder": Traits(norm_after_rope=True),
    "maple": Traits(rope="only_sliding"),
    "mimo2": Traits(gating="sigmoid", expert_bias=True, scale_output=True),
    "minicpm": replace(_GRANITE, rope="all", residual_scale="always", embedding="scale"),
    "minimax-m2": Traits(flat_norm=True, gating="key:softmax", expert_bias=True),
    "mistral3": Traits(temperature="key"),
    "mpt": replace(_LN, rope="none", embedding="position", flat_norm=True),
    "muse-glimmer": Traits(
        rope="only_sliding",
        gate="flat",
        embedding="bare",
        post_attention="post_attention_norm",
        post_ffn="post_ffw_norm",
        logits="scale+softcap_key",
    ),
    "nemotron": replace(_LN, activation=2),
    "olmo": _LN,
    "olmo2": Traits(
        attn_norm="", ffn_norm="", flat_norm=True, post_attention="post_attention_norm", post_ffn="post_ffw_norm"
    ),
    "olmoe": Traits(flat_norm=True, norm_weights=False),
    "orion": _LN,
    "phi2": replace(_LN, parallel="attn_ffn", q_scale=True),
    "phi3": Traits(q_scale=True, activation=0),
    "phimoe": Traits(q_scale=True, activation=0),
    "plamo": Traits(parallel="ffn_attn"),
    "plamo3": Traits(activation=0, post_attention="post_attention_norm", post_ffn="post_ffw_norm"),
    "pockettts": _LN,
    "qwen2moe": Traits(norm_weights=False),
    "qwen3vl": _QWEN3VL,
    "qwen3vlmoe": _QWEN3VL,
    "qwen3tts": _QWEN3VL,
    "refact": Traits(rope="none"),
    "seed_oss": Traits(ffn_norm="post_attention_norm"),
    "smallthinker": Traits(rope="not_fourth_first", gating="key:softmax"),
    "smollm3": Traits(rope="three_of_four"),
    "spark2_5": Traits(gate="heads"),
    "stablelm": _LN,
    "starcoder": replace(_LN, rope="none", embedding="position"),
    "starcoder2": _LN,
    "step35": replace(_OWN_GATE, flat_norm=False, gate="heads", late_cut="before_norm"),
}
PLAIN = Traits()
_GATES = {1: "softmax", 2: "sigmoid", 3: "weight", 4: "sqrt"}


def gate_name(traits: Traits, key: int) -> str:
    """The router's activation: fixed, or the file's expert_gating_func."""
    if not traits.gating.startswith("key:"):
        return traits.gating
    return _GATES.get(key, traits.gating.partition(":")[2])
