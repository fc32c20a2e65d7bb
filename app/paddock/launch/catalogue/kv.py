"""The cache of keys and values."""

from paddock.launch.catalogue.option import KV_TYPES, Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "swa-full", ("--swa-full",), Kind.FLAG, Group.KV,
        Text("Full-size SWA cache"),
        Text("Keeps the whole context for sliding-window layers too: more memory, more prompt reuse."),
        default="off", env="LLAMA_ARG_SWA_FULL",
    ),
    Option(
        "kv-offload", ("-kvo", "--kv-offload"), Kind.PAIR, Group.KV,
        Text("KV cache on the GPU"), Text("Keeps the KV cache next to the layers on the GPU. Off moves it to RAM."),
        negations=("-nkvo", "--no-kv-offload"), default="on", env="LLAMA_ARG_KV_OFFLOAD",
    ),
    Option(
        "cache-type-k", ("-ctk", "--cache-type-k"), Kind.ENUM, Group.KV,
        Text("Cache type for K"), Text("Number format of the keys. q8_0 halves their memory at hardly any loss."),
        choices=KV_TYPES, default="f16", env="LLAMA_ARG_CACHE_TYPE_K",
    ),
    Option(
        "cache-type-v", ("-ctv", "--cache-type-v"), Kind.ENUM, Group.KV,
        Text("Cache type for V"), Text("Number format of the values. Quantised formats need flash attention."),
        choices=KV_TYPES, default="f16", env="LLAMA_ARG_CACHE_TYPE_V",
    ),
    Option(
        "kv-unified", ("-kvu", "--kv-unified"), Kind.PAIR, Group.KV,
        Text("One cache for all slots"), Text("All slots share one context instead of each having its own part."),
        negations=("-no-kvu", "--no-kv-unified"), env="LLAMA_ARG_KV_UNIFIED",
    ),
    Option(
        "defrag-thold", ("-dt", "--defrag-thold"), Kind.FLOAT, Group.KV,
        Text("Defragmentation threshold"), Text("Kept for old scripts: it no longer does anything."),
        env="LLAMA_ARG_DEFRAG_THOLD",
    ),
)
