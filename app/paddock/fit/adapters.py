"""What changes a model beside its weights (llama-adapter.cpp), outside llama.cpp's memory breakdown.

Each tensor of a LoRA adapter lies beside the weight that it changes; control vectors are one vector for each layer but
the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from paddock.fit.estimator import ContextRows
from paddock.fit.model import Known, Term
from paddock.fit.placement import HOST
from paddock.fit.quants import padded
from paddock.fit.weights import INPUT
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import bytes_text

_F32 = 4
_ENDINGS = (".lora_a", ".lora_b")


def adapter_paths(plan: Plan) -> tuple[str, ...]:
    """The files that --lora and --lora-scaled name, scales left out."""
    found = [part for setting in plan.all("lora") for value in setting.values for part in value.split(",")]
    for setting in plan.all("lora-scaled"):
        for value in setting.values:
            found += [part.rpartition(":")[0] or part for part in value.split(",")]
    return tuple(path for path in found if path)


def adapter_terms(adapters: Sequence[ModelFile], rows: ContextRows) -> dict[int, Term]:
    """Device index or HOST → what the adapters take there. Tensors that change nothing of this model are left out."""
    index, weights = rows.weights.index, rows.weights
    sizes: dict[int, int] = {}
    for adapter in adapters:
        for tensor in adapter.tensors:
            base = next((tensor.name.removesuffix(e) for e in _ENDINGS if tensor.name.endswith(e)), None)
            i = index.position.get(base) if base is not None else None
            if i is None:
                continue
            home = index.homes[i]
            natural = HOST if home == INPUT else rows.placement.layer_device[max(home, 0)]
            device = weights.moved.get(i, natural)
            align = 32 if device == HOST else rows.placement.devices[device].align
            sizes[device] = sizes.get(device, 0) + padded(tensor.nbytes or 0, align)
    return {device: Term("overhead", size, Known.SOURCE, size, size,
                         Text("LoRA adapters: {size}.", size=bytes_text(size, 1))) for device, size in sizes.items()}


def control_terms(plan: Plan, rows: ContextRows) -> dict[int, Term]:
    """Device index or HOST → what control vectors take there: nothing where the plan names none.

    However many files are named and whichever layers they speak of, llama.cpp adds them up into one f32 vector of the
    embedding's length for each layer from the second on (llama_adapter_cvec::init). The compute buffer, reserved anew
    with them, grows by one vector at most where layers change the device.
    """
    if not any(value for option in ("control-vector", "control-vector-scaled") for s in plan.all(option)
               for value in s.values):
        return {}
    sizes: dict[int, int] = {}
    for device in rows.placement.layer_device[1:rows.shape.layers]:
        align = 32 if device == HOST else rows.placement.devices[device].align
        sizes[device] = sizes.get(device, 0) + padded(_F32 * rows.shape.embedding, align)
    return {device: Term("overhead", size, Known.SOURCE, size, size,
                         Text("Control vectors: {size}.", size=bytes_text(size, 1))) for device, size in sizes.items()}
