"""What runs on the processor though a card could do it."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.launch.checks.question import Question, hint, warning
from paddock.launch.model import Issue
from paddock.text import Text

_ALL = (("gpu-layers", ("all",)),)


def engine_without_gpu(q: Question) -> Iterator[Issue]:
    """A card is in the machine, and this engine lists no device: it was built without its backend, or lost it.

    A processor's own graphics are nearly everywhere: an engine that leaves them alone is no mistake.
    """
    found = [card for card in q.machine.gpus if card.integrated is not True] if q.machine is not None else []
    if not found or q.engine is None or q.text("rpc"):
        return
    if q.engine.error is not None or q.engine.devices_error is not None or _on_purpose(q):
        return
    if not any(device.is_gpu for device in q.engine.devices):
        cards = ", ".join(dict.fromkeys(card.name for card in found))
        yield warning("engine-without-gpu", "gpu-layers",
                      Text("This machine has {cards}, and this engine sees no GPU: everything runs on the processor.",
                           cards=cards),
                      Text("Choose an engine that was built for it. Variables that hide cards "
                           "(CUDA_VISIBLE_DEVICES) can be the reason too."))


def _on_purpose(q: Question) -> bool:
    return q.text("device") == "none" or q.text("gpu-layers") == "0"


def layers(q: Question) -> Iterator[Issue]:
    """Layers left to the processor. llama.cpp counts the output as one more: all of N blocks are N + 1 layers
    (llama-model.cpp, `i_gpu_start = n_layer_all + 1 - n_gpu_layers`)."""
    blocks = q.model.facts.layers if q.model is not None else None
    asked = q.number("gpu-layers")
    if blocks is None or asked is None or asked < 0 or not _has_gpu(q):
        return
    if asked == blocks:
        yield warning("one-layer-short", "gpu-layers",
                      Text("-ngl {asked} leaves one layer to the processor, the output: llama.cpp counts {all} layers "
                           "in this model, and each token waits for the last one.", asked=asked, all=blocks + 1),
                      Text("Use -ngl all."), _ALL)
    elif asked == 0:
        yield hint("no-layers-offloaded", "gpu-layers",
                   Text("-ngl 0 keeps all layers in RAM: generation runs at the speed of the RAM, the GPU only helps "
                        "with prompts."), Text("Leave -ngl out: what fits goes to the GPU."), (("gpu-layers", None),))
    elif asked < blocks:
        yield hint("layers-left", "gpu-layers",
                   Text("{left} of {all} layers stay in RAM: their share of each token runs at the speed of the RAM.",
                        left=blocks + 1 - asked, all=blocks + 1),
                   Text("If there is room for them, use -ngl all; a smaller context or KV cache makes room."), _ALL)


def _has_gpu(q: Question) -> bool:
    return bool(q.devices) and any(device.is_gpu for device in q.devices or ())
