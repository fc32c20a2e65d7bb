"""Context, slots, batch, attention and positions."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "ctx-size", ("-c", "--ctx-size"), Kind.INT, Group.CONTEXT,
        Text("Context"),
        Text("Tokens that the KV cache holds, over all slots. 0 takes what the model was trained with."),
        low=0, default="0", unit=Text("tokens"), env="LLAMA_ARG_CTX_SIZE", strict=True,
    ),
    Option(
        "predict", ("-n", "--predict", "--n-predict"), Kind.INT, Group.CONTEXT,
        Text("Longest answer"),
        Text("Most tokens that one answer may have unless the request says otherwise. -1 is no limit."),
        low=-2, default="-1", unit=Text("tokens"), env="LLAMA_ARG_N_PREDICT",
    ),
    Option(
        "batch-size", ("-b", "--batch-size"), Kind.INT, Group.CONTEXT,
        Text("Batch"), Text("Most tokens that are submitted to the model at once."),
        low=0, default="2048", unit=Text("tokens"), env="LLAMA_ARG_BATCH", strict=True,
    ),
    Option(
        "ubatch-size", ("-ub", "--ubatch-size"), Kind.INT, Group.CONTEXT,
        Text("Micro-batch"),
        Text("Most tokens that are computed at once. Larger is faster for prompts and costs compute memory."),
        low=0, default="512", unit=Text("tokens"), env="LLAMA_ARG_UBATCH", strict=True,
    ),
    Option(
        "keep", ("--keep",), Kind.INT, Group.CONTEXT,
        Text("Keep from the prompt"),
        Text("Tokens at the start of the prompt that a context shift keeps. -1 keeps all."),
        low=-1, default="0", unit=Text("tokens"),
    ),
    Option(
        "parallel", ("-np", "--parallel"), Kind.INT, Group.CONTEXT,
        Text("Slots"),
        Text("Requests that are answered at the same time. -1 leaves it to the engine: four that share one context."),
        low=-1, high=256, default="-1", unit=Text("slots"), env="LLAMA_ARG_N_PARALLEL", strict=True,
    ),
    Option(
        "cont-batching", ("-cb", "--cont-batching"), Kind.PAIR, Group.CONTEXT,
        Text("Continuous batching"), Text("Lets new requests join the batch while others are being answered."),
        negations=("-nocb", "--no-cont-batching"), default="on", env="LLAMA_ARG_CONT_BATCHING",
    ),
    Option(
        "context-shift", ("--context-shift",), Kind.PAIR, Group.CONTEXT,
        Text("Context shift"), Text("Drops the oldest tokens when the context is full, so that an answer can go on."),
        negations=("--no-context-shift",), default="off", env="LLAMA_ARG_CONTEXT_SHIFT",
    ),
    Option(
        "kv-unified-per-slot", ("--kv-unified-per-slot",), Kind.INT, Group.CONTEXT,
        Text("Context limit per slot"), Text("Most tokens that one slot may use of a shared context."),
        low=1, unit=Text("tokens"), env="LLAMA_ARG_KV_UNIFIED_PER_SLOT", strict=True,
    ),
    Option(
        "flash-attn", ("-fa", "--flash-attn"), Kind.ENUM, Group.CONTEXT,
        Text("Flash attention"),
        Text("Computes attention without the big intermediate matrix. A quantised V cache needs it."),
        choices=("on", "off", "auto"), default="auto", env="LLAMA_ARG_FLASH_ATTN", optional_value=True,
    ),
    Option(
        "warmup", ("--warmup",), Kind.PAIR, Group.CONTEXT,
        Text("Warm-up"), Text("One empty run after loading, so that the first request is not slower."),
        negations=("--no-warmup",), default="on",
    ),
    Option(
        "perf", ("--perf",), Kind.PAIR, Group.CONTEXT,
        Text("Internal timings"), Text("Measures times inside the library."),
        negations=("--no-perf",), default="off", env="LLAMA_ARG_PERF",
    ),
    Option(
        "rope-scaling", ("--rope-scaling",), Kind.ENUM, Group.CONTEXT,
        Text("RoPE scaling"), Text("How positions are stretched beyond the trained context."),
        choices=("none", "linear", "yarn"), env="LLAMA_ARG_ROPE_SCALING_TYPE",
    ),
    Option(
        "rope-scale", ("--rope-scale",), Kind.FLOAT, Group.CONTEXT,
        Text("RoPE scale"), Text("Factor by which the context is stretched."),
        low=0, open_low=True, env="LLAMA_ARG_ROPE_SCALE", strict=True,
    ),
    Option(
        "rope-freq-base", ("--rope-freq-base",), Kind.FLOAT, Group.CONTEXT,
        Text("RoPE base frequency"), Text("Base frequency of the position encoding. The model's own unless set."),
        low=0, env="LLAMA_ARG_ROPE_FREQ_BASE",
    ),
    Option(
        "rope-freq-scale", ("--rope-freq-scale",), Kind.FLOAT, Group.CONTEXT,
        Text("RoPE frequency scale"), Text("Frequencies are multiplied by this: the inverse of the context factor."),
        low=0, env="LLAMA_ARG_ROPE_FREQ_SCALE",
    ),
    Option(
        "yarn-orig-ctx", ("--yarn-orig-ctx",), Kind.INT, Group.CONTEXT,
        Text("YaRN original context"), Text("Context that the model was trained with. 0 reads it from the model."),
        low=0, default="0", unit=Text("tokens"), env="LLAMA_ARG_YARN_ORIG_CTX",
    ),
    Option(
        "yarn-ext-factor", ("--yarn-ext-factor",), Kind.FLOAT, Group.CONTEXT,
        Text("YaRN extrapolation mix"), Text("0 interpolates only, 1 extrapolates only. -1 takes the model's."),
        default="-1.0", env="LLAMA_ARG_YARN_EXT_FACTOR",
    ),
    Option(
        "yarn-attn-factor", ("--yarn-attn-factor",), Kind.FLOAT, Group.CONTEXT,
        Text("YaRN attention factor"), Text("Scales the attention magnitude. -1 takes the model's."),
        default="-1.0", env="LLAMA_ARG_YARN_ATTN_FACTOR",
    ),
    Option(
        "yarn-beta-slow", ("--yarn-beta-slow",), Kind.FLOAT, Group.CONTEXT,
        Text("YaRN slow beta"), Text("High correction dimension. -1 takes the model's."),
        default="-1.0", env="LLAMA_ARG_YARN_BETA_SLOW",
    ),
    Option(
        "yarn-beta-fast", ("--yarn-beta-fast",), Kind.FLOAT, Group.CONTEXT,
        Text("YaRN fast beta"), Text("Low correction dimension. -1 takes the model's."),
        default="-1.0", env="LLAMA_ARG_YARN_BETA_FAST",
    ),
)
