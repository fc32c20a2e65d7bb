"""Sharing one model between several devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import Question, error, hint, warning
from paddock.launch.model import Issue
from paddock.launch.spelling import engine_option
from paddock.text import Text

_SPLIT_BUFFERS = frozenset(("cuda", "rocm", "musa", "sycl"))
"""Backends that can split a matrix by rows."""
_BAD_WITH_TENSOR = frozenset(("q4_1", "q5_0", "q5_1", "iq4_nl"))
_NOT_BY_TENSOR = frozenset((
    "grok", "mpt", "plamo2", "minicpm3", "gemma3n", "mamba", "mamba2", "jamba", "falcon-h1", "olmo2", "olmoe",
    "deepseek2", "deepseek32", "hy_v4", "dots3note", "glm-dsa", "bitnet", "t5", "nemotron_h", "nemotron_h_moe",
    "granitehybrid", "minimax-01", "minimax-m2", "minimax-m3", "mistral4", "kimi-linear", "bailingmoe3", "kimi-k3",
    "glm5-next", "qwen3tts",
))
"""Families that build 11434 refuses (llama-arch.cpp, llm_arch_supports_sm_tensor)."""
_LAYER = (("split-mode", ("layer",)),)


def split_mode(q: Question) -> Iterator[Issue]:
    """Split modes that the devices or the other options rule out."""
    mode = q.text("split-mode") or "layer"
    layer = (("split-mode", ("layer",)),)
    if mode == "tensor" and q.flash_attention_off:
        yield error("tensor-split-needs-fa", "split-mode", Text("-sm tensor needs flash attention, and it is off."),
                    Text("Turn flash attention on."), (("flash-attn", ("on",)),))
    types = {q.text("cache-type-k") or "f16", q.text("cache-type-v") or "f16"}
    if mode == "tensor" and types & _BAD_WITH_TENSOR:
        yield warning("tensor-split-cache-type", "split-mode",
                      Text("-sm tensor with a KV cache of type {types} has stopped builds with a bare assertion.",
                           types=", ".join(sorted(types & _BAD_WITH_TENSOR))),
                      Text("Use f16 or q8_0, or -sm layer."), layer)
    if q.devices is None:
        return
    if mode == "tensor" and not q.devices:
        yield error("tensor-split-without-device", "split-mode", Text("-sm tensor needs at least one device."),
                    Text("Use -sm layer."), layer)
    wrong = [d.name for d in q.devices if d.kind not in _SPLIT_BUFFERS]
    if mode == "row" and wrong:
        yield error("row-split-unsupported", "split-mode",
                    Text("{names} cannot split by rows.", names=", ".join(wrong)), Text("Use -sm layer."), layer)


def main_device(q: Question) -> Iterator[Issue]:
    """-sm none uses one device, which must exist."""
    index = q.number("main-gpu")
    if index is None or q.devices is None or (q.text("split-mode") or "layer") != "none":
        return
    if index >= len(q.devices) and q.devices:
        yield error("no-such-main-device", "main-gpu",
                    Text("-mg {index} names no device: there are {count}.", index=index, count=len(q.devices)),
                    Text("The first one is 0."), (("main-gpu", ("0",)),))


def split_parts(q: Question) -> Iterator[Issue]:
    """More parts than devices: the rest is ignored."""
    parts = [p for p in re.split(r"[,/]", q.plan.get("tensor-split") or "") if p]
    if q.devices and len(parts) > len(q.devices):
        yield warning("split-beyond-devices", "tensor-split",
                      Text("-ts has {parts} parts for {devices} devices: the last ones are ignored.",
                           parts=len(parts), devices=len(q.devices)),
                      Text("Give one part for each device."),
                      (("tensor-split", (",".join(parts[:len(q.devices)]),)),))


def tensor_families(q: Question) -> Iterator[Issue]:
    """Families that cannot be split by tensors, and what is left out with that mode (contract: -bs off)."""
    if q.text("split-mode") != "tensor":
        return
    family = q.model.architecture if q.model is not None else None
    if family in _NOT_BY_TENSOR:
        yield error("tensor-split-family", "split-mode",
                    Text("llama.cpp cannot split models of the family {family} by tensors: it would stop.",
                         family=family), Text("Use -sm layer."), _LAYER)
    if q.on("backend-sampling"):
        yield hint("no-device-sampling", "backend-sampling",
                   Text("-bs is turned off with -sm tensor."), Text("Take it out."), (("backend-sampling", None),))


def row_mode(q: Question) -> Iterator[Issue]:
    """-sm row is on its way out: docs/multi-gpu.md calls it deprecated and tensor its successor."""
    if q.text("split-mode") != "row":
        return
    known = engine_option(CATALOGUE["split-mode"], q.engine)
    if known is not None and known.choices and "row" not in known.choices:
        yield error("row-split-gone", "split-mode", Text("This engine no longer has -sm row."),
                    Text("Use -sm layer, or -sm tensor for fast generation on fast links."), _LAYER)
    else:
        yield warning("row-split-old", "split-mode",
                      Text("-sm row is deprecated: slow, and it splits dense weights only."),
                      Text("Use -sm layer, or -sm tensor for fast generation on fast links."), _LAYER)
