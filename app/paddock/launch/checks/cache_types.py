"""KV cache formats against flash attention, head sizes and model families."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.launch.catalogue import CATALOGUE, KV_TYPES
from paddock.launch.checks.question import Question, error, hint, warning
from paddock.launch.model import Issue
from paddock.text import Text

BLOCK = 32
"""Values in one block of every quantised cache format."""
_PLAIN = frozenset(("f32", "f16", "bf16"))
_ON = (("flash-attn", ("on",)),)
_KERNELS = frozenset((("f16", "f16"), ("bf16", "bf16"), ("q8_0", "q8_0"), ("q4_0", "q4_0")))
"""(K, V) with attention kernels in builds for CUDA that nobody changed."""


def _types(q: Question) -> tuple[str, str]:
    return q.text("cache-type-k") or "f16", q.text("cache-type-v") or "f16"


def quantised(name: str) -> bool:
    """Whether a cache format packs values into blocks."""
    return name not in _PLAIN


def quantised_values(q: Question) -> Iterator[Issue]:
    """A quantised V cache needs flash attention."""
    pairs = [("cache-type-v", _types(q)[1])]
    if q.text("spec-draft-model") or q.text("spec-draft-hf"):
        pairs.append(("spec-draft-type-v", q.text("spec-draft-type-v") or "f16"))
    for option, kind in pairs:
        if quantised(kind) and kind in CATALOGUE[option].choices and q.flash_attention_off:
            yield error("v-cache-needs-fa", option,
                        Text("{flag} {type} needs flash attention, and it is off.",
                             flag=CATALOGUE[option].names[0], type=kind),
                        Text("Turn flash attention on."), _ON)
    if q.model is not None and q.model.architecture == "grok" and quantised(_types(q)[1]):
        yield error("v-cache-needs-fa", "cache-type-v",
                    Text("This model runs without flash attention, and a quantised V cache needs it."),
                    Text("Use f16 for V."), (("cache-type-v", ("f16",)),))


def values_with_auto(q: Question) -> Iterator[Issue]:
    """auto may find that a backend has no flash attention; then the load fails late."""
    if quantised(_types(q)[1]) and not q.flash_attention_off and (q.text("flash-attn") or "auto") == "auto":
        yield hint("v-cache-with-auto-fa", "flash-attn",
                   Text("With a quantised V cache the load fails if this device has no flash attention for the model."),
                   Text("Turn it on by name, so that it is plain in the command."), _ON)


def is_latent(q: Question) -> bool:
    """Whether the model keeps one latent vector instead of keys and values (MLA), or is of a family that acts so."""
    if q.model is None:
        return False
    keys = (q.model.value("attention.key_length_mla"), q.model.value("attention.value_length_mla"))
    return all(isinstance(n, int) and n > 0 for n in keys) or q.model.architecture == "deepseek4"


def same_types(q: Question) -> Iterator[Issue]:
    """MLA models have one cache, so K and V must agree. On CUDA a pair without a kernel of its own is converted to f16
    at each step; which pairs are compiled is said by GGML_CUDA_FA_QUANTS (ggml/CMakeLists.txt, fattn.cu)."""
    k, v = _types(q)
    if k != v and is_latent(q):
        yield error("cache-types-differ", "cache-type-v",
                    Text("This model keeps keys and values in one cache: -ctk {k} and -ctv {v} must be the same.",
                         k=k, v=v), Text("Use {k} for both.", k=k), (("cache-type-v", (k,)),))
    elif q.devices and any(d.kind == "cuda" for d in q.devices) and not q.flash_attention_off \
            and {k, v} <= set(KV_TYPES) and ("f16" if k == "f32" else k, "f16" if v == "f32" else v) not in _KERNELS:
        yield warning("cache-types-slow", "cache-type-v",
                      Text("Usual builds for CUDA have no attention kernel for K in {k} with V in {v}: both are "
                           "converted at each step, which is slow. Engines built with GGML_CUDA_FA_QUANTS=all have it.",
                           k=k, v=v),
                      Text("Use q8_0 for both, or f16."), (("cache-type-k", ("q8_0",)), ("cache-type-v", ("q8_0",))))


def head_sizes(q: Question) -> Iterator[Issue]:
    """A block of 32 must divide the head size, or the context is refused."""
    if q.model is None or q.flash_attention_off:
        return
    k, v = _types(q)
    for option, kind, part, size in (("cache-type-k", k, "key", q.model.facts.key_length),
                                     ("cache-type-v", v, "value", q.model.facts.value_length)):
        window = q.model.value(f"attention.{part}_length_swa")
        sizes = [n for n in (size, window) if isinstance(n, int) and n > 0]
        bad = next((n for n in sizes if n % BLOCK), None)
        if quantised(kind) and kind in CATALOGUE[option].choices and bad is not None:
            yield error("head-size", option,
                        Text("{flag} {type} packs {block} values, which do not divide the model's head size of {size}.",
                             flag=CATALOGUE[option].names[0], type=kind, block=BLOCK, size=bad),
                        Text("Use f16."), ((option, ("f16",)),))


def fused_heads(q: Question) -> Iterator[Issue]:
    """Files with one tensor for Q, K and V overrun the graph with both caches quantised and several streams."""
    k, v = _types(q)
    if q.model is None or q.model.architecture != "phi3" or "blk.0.attn_qkv.weight" not in q.model.by_name:
        return
    if quantised(k) and quantised(v) and q.effective.slots > 1 and not q.effective.unified:
        yield error("graph-too-large", "kv-unified",
                    Text("This model aborts with both caches quantised and slots that do not share one cache."),
                    Text("Turn on --kv-unified."), (("kv-unified", ("on",)),))


def window_cache(q: Question) -> Iterator[Issue]:
    """--swa-full on a model without sliding windows is a warning in the log."""
    if q.model is not None and q.on("swa-full") and not q.model.facts.sliding_window:
        yield hint("no-sliding-window", "swa-full", Text("This model has no sliding-window layers: --swa-full does "
                                                         "nothing."), Text("Take it out."), (("swa-full", None),))
