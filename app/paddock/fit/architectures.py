"""What sets llama.cpp's architectures apart, as data.

Facts read from llama.cpp b11434 (src/llama-arch.cpp, src/llama-model.cpp, src/models). An architecture that appears in
no table here is "plain": K and V on every layer, a cell per token of context.
"""

from __future__ import annotations

from dataclasses import dataclass


def names(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


_NAMES = """
llama llama4 deci falcon grok gpt2 gptneox mpt baichuan starcoder refact bert modern-bert nomic-bert nomic-bert-moe
neo-bert jina-bert-v2 jina-bert-v3 eurobert bloom stablelm qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3next
qwen3vl qwen3vlmoe qwen35 qwen35moe clef qwen4exp phi2 phi3 phimoe plamo plamo2 plamo3 codeshell orion internlm2
minicpm minicpm3 gemma gemma2 gemma3 gemma3n gemma4 gemma4-assistant gemma-embedding starcoder2 mamba mamba2 maple
jamba falcon-h1 xverse command-r cohere2 cohere2moe dbrx olmo olmo2 olmoe muse-glimmer openelm arctic deepseek
deepseek2 deepseek2-ocr deepseek32 deepseek4 chatglm glm4 glm4moe glm-dsa bitnet t5 t5encoder jais jais2 nemotron
nemotron_h nemotron_h_moe exaone exaone4 exaone-moe rwkv6 rwkv6qwen2 rwkv7 arwkv7 granite granitemoe granitehybrid
graniteswitch granite_swa chameleon wavtokenizer-dec plm bailingmoe bailingmoe2 bailingmoe3 dots1 dots3note arcee
afmoe laguna ernie4_5 ernie4_5-moe hunyuan-moe hunyuan-dense hunyuan_vl hy_v3 hy_v4 smollm3 gpt-oss lfm2 lfm2moe
dream smallthinker llada llada-moe seed_oss grovemoe apertus minimax-01 hrm_text minimax-m2 minimax-m3 cogvlm rnd1
pangu-embedded mistral3 eagle3 dflash mistral4 paddleocr mimo2 step35 spark2_5 llama-embed maincoder kimi-linear
kimi-k3 glm5-next talkie mellum nanbeige qwen3tts pockettts
"""
KNOWN = names(_NAMES)

NO_CACHE = names("""bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert
gemma-embedding wavtokenizer-dec dream llada llada-moe rnd1 clef""")
ENCODING = frozenset({"t5", "t5encoder", "eagle3", "dflash"})
"""With an encoder of their own: every row of a batch may be wanted."""
BOTH_WAYS = frozenset({"dream", "llada", "llada-moe", "rnd1", "gemma-embedding"})
"""Never causal, whatever the file says; all others are, unless attention.causal is false."""
RECURRENT = frozenset(["mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"])
HYBRID = names("""jamba granitehybrid plamo2 falcon-h1 nemotron_h nemotron_h_moe lfm2 lfm2moe qwen3next qwen35
qwen35moe qwen4exp minimax-01 kimi-linear kimi-k3 bailingmoe3 glm5-next""")
INTERVAL = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4, "qwen4exp": 4, "minimax-01": 8, "clef": 4}
"""Hybrids whose recurrent layers come from attention.recurrent_layers, else from full_attention_interval (default)."""
NO_HEAD = names("""bitnet bert modern-bert eurobert neo-bert nomic-bert nomic-bert-moe jina-bert-v2 jina-bert-v3
eagle3""")
"""No output tensor is made, tied or not."""
ALWAYS_TIED = frozenset(["cohere2", "command-r", "gemma", "gemma2", "openelm", "pockettts", "gemma4-assistant"])
HEAD_FIRST = frozenset({"gemma3n", "gemma4"})
"""The duplicate of a tied embedding is made before the embedding, so it always counts twice."""
HEAD_REQUIRED = names("""apertus arwkv7 baichuan bailingmoe bailingmoe2 codeshell dbrx deepseek4 dots1 exaone-moe
glm5-next gpt-oss gptneox hy_v4 internlm2 jais kimi-k3 kimi-linear llada-moe maple mellum mimo2 minimax-m2
minimax-m3 muse-glimmer nemotron olmo2 olmoe orion phi2 phimoe plamo qwen qwen2moe rwkv6 rwkv6qwen2 rwkv7 stablelm
step35 talkie xverse""")
NEXTN_LOADABLE = names("""deepseek2 mistral4 deepseek32 deepseek4 glm-dsa glm4moe glm5-next hy_v3 mimo2 step35
cohere2moe bailingmoe3 qwen3next qwen35 qwen35moe qwen4exp nemotron_h nemotron_h_moe""")
NEXTN_NEVER = frozenset(["bailingmoe2", "exaone4", "exaone-moe", "glm4", "dots3note"])
MTP_GRAPH = names("""bailingmoe3 cohere2moe deepseek2 deepseek32 deepseek4 glm-dsa glm4moe hy_v3 mimo2
nemotron_h_moe qwen35 qwen35moe qwen3next qwen4exp step35""")
MTP_MANY = frozenset(["hy_v3", "step35", "mimo2"])
ROLLBACK = names("""kimi-k3 qwen35 qwen35moe qwen4exp deepseek4 glm5-next nemotron_h nemotron_h_moe lfm2 lfm2moe
bailingmoe3""")
NO_MIXED_BATCH = frozenset(["cogvlm", "deepseek4", "graniteswitch", "eagle3", "dflash", "gemma4-assistant"])
NO_TENSOR_SPLIT = names("""grok mpt plamo2 minicpm3 gemma3n mamba mamba2 jamba falcon-h1 olmo2 olmoe deepseek2
deepseek32 hy_v4 dots3note glm-dsa bitnet t5 nemotron_h nemotron_h_moe granitehybrid minimax-01 minimax-m2
minimax-m3 mistral4 kimi-linear bailingmoe3 kimi-k3 glm5-next qwen3tts""")
DSA = frozenset(["deepseek32", "glm-dsa", "hy_v4", "dots3note"])
EQUAL_SEQUENCES = frozenset({"kimi-linear", "minimax-01"})
"""Not unified: the micro-batch must divide by the slots, since a last graph is reserved for one sequence.

An attention layer then gives fewer rows than it was asked for. In the trunk's last layer nobody notices: the rows that
are wanted are picked right after it.
"""
OWN_GRAPH = names("""deepseek4 qwen4exp glm5-next minimax-m3 hy_v4 kimi-k3 minimax-01 hrm_text cogvlm dots3note
bailingmoe3 talkie""")
HEAD_SIZE_CHECKED = frozenset(["llama", "deci", "falcon", "llama-embed"])
"""rope.dimension_count must equal key_length."""
_HEADS = ("nextn.embed_tokens", "nextn.shared_head_head", "nextn.shared_head_norm")
_EXPERTS = ("ffn_gate.", "ffn_up.", "ffn_down.", "ffn_gate_inp", "exp_probs_b", "_exps", "_shexp")
NEXTN_KEPT = {
    "hy_v3": (*_HEADS, *_EXPERTS),
    "step35": (*_HEADS, *_EXPERTS, "attn_q_norm", "attn_k_norm", "attn_gate"),
    "cohere2moe": _HEADS,
    "deepseek32": ("exp_probs_b.bias",),
    "glm-dsa": ("exp_probs_b.bias",),
}
"""Tensors of an MTP block that are loaded although the block is skipped."""


@dataclass(frozen=True, slots=True)
class Window:
    """How an architecture mixes sliding-window and full layers.

    `period` n: the last (`dense_first`: the first) of each n layers is full; 0: the file's array says, and must.
    `when`: "always", "positive" (attention.sliding_window > 0, else plain), "not_zero" (absent is fine) or "64_layers".
    `cells` overrides the key's value, `default` stands in for a missing key.
    """

    period: int
    dense_first: bool = False
    when: str = "always"
    default: int = 0
    cells: int | None = None


WINDOWS: dict[str, Window] = {
    "gemma2": Window(2, default=4096),
    "gemma3": Window(6, when="positive"),
    "gemma3n": Window(5),
    "gemma4": Window(0),
    "gemma4-assistant": Window(0),
    "cohere2": Window(4),
    "cohere2moe": Window(4, dense_first=True),
    "exaone4": Window(4, when="64_layers", default=4096),
    "exaone-moe": Window(4, default=128),
    "llama4": Window(4, when="not_zero", cells=8192),
    "gpt-oss": Window(2),
    "olmo2": Window(4, when="positive"),
    "plamo3": Window(8, when="positive"),
    "smallthinker": Window(4, dense_first=True, when="positive", cells=4096),
    "afmoe": Window(4, when="positive"),
    "mellum": Window(4, when="positive"),
    "laguna": Window(4, dense_first=True, when="positive"),
    "muse-glimmer": Window(4),
    "granite_swa": Window(0),
    "maple": Window(0),
    "mimo2": Window(0),
    "spark2_5": Window(0),
    "step35": Window(0),
    "dots3note": Window(0),
    "modern-bert": Window(3, dense_first=True, when="positive"),
    "gemma-embedding": Window(6, when="positive"),
}
