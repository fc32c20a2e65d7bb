"""What each choice of the form costs now, in a sentence. Figures between stars are bold."""

from __future__ import annotations

from paddock.desktop.pages.launch.serving import many_words
from paddock.desktop.tr import tr
from paddock.desktop.whatif import WhatIf, kv_bytes
from paddock.engine.model import Engine
from paddock.fit.model import Estimate
from paddock.gguf.model import ModelFile
from paddock.launch.effective import DEFAULT_PORT
from paddock.launch.model import Plan
from paddock.units import bytes_text, count_text

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


def model_words(model: ModelFile | None, plan: Plan | None = None) -> str:
    """17.28 GiB, 48 layers, 128 experts, 8 used. Of a router's plan: what becomes of its models."""
    if model is None:
        many = plan is not None and many_words(plan) is not None
        return tr("Each is loaded when it is asked for.") if many else ""
    facts = model.facts
    parts = [bytes_text(model.size_bytes)]
    if facts.layers is not None:
        parts.append(tr("{count} layer", plural="{count} layers", count=facts.layers))
    if facts.experts:
        parts.append(tr("{experts} experts, {used} used", experts=facts.experts, used=facts.experts_used or "?")
                     if facts.experts_used else tr("{experts} experts", experts=facts.experts))
    if not model.complete:
        parts.append(tr("parts are missing"))
    return ", ".join(parts)


def engine_words(engine: Engine | None) -> str:
    """CUDA0, CUDA1. Knows 258 options."""
    if engine is None:
        return ""
    if engine.error is not None:
        return str(engine.error)
    devices = ", ".join(d.name for d in engine.devices) or tr("CPU only")
    known = sum(1 for option in engine.options if not option.removed)
    if not engine.flags_verified:
        return tr("{devices}. Its options could not be read: flags are passed on unchecked.", devices=devices)
    return tr("{devices}. Knows {known} options.", devices=devices, known=known)


def context_words(estimate: Estimate | None, model: ModelFile | None, found: WhatIf) -> str:
    """12.0 GiB KV, 96 KiB a token; fits up to …, tight up to …"""
    if estimate is None:
        return ""
    lines = []
    kv = kv_bytes(estimate)
    if kv and estimate.kv_bytes_per_token:
        lines.append(tr("*{kv}* KV, {each} a token.", kv=bytes_text(kv), each=bytes_text(estimate.kv_bytes_per_token)))
    elif kv:
        lines.append(tr("*{kv}* KV.", kv=bytes_text(kv)))
    trained = model.facts.trained_context if model is not None else None
    if found.fits_up_to is not None and found.plan is not None:
        if trained is not None and found.fits_up_to >= trained:
            lines.append(tr("Fits up to all it was trained for, {tokens}.", tokens=count_text(trained)))
        elif found.tight_up_to:
            fits = count_text(found.fits_up_to) if found.fits_up_to else ""
            lines.append(tr("Fits up to {fits}, tight up to {tight}.", fits=fits, tight=count_text(found.tight_up_to))
                         if fits else tr("Tight up to {tight}.", tight=count_text(found.tight_up_to)))
    return "\n".join(lines)


def placement_words(estimate: Estimate | None, model: ModelFile | None) -> str:
    """Where the weights end up."""
    if estimate is None or model is None or not estimate.devices:
        return ""
    gpus = [d for d in estimate.devices if d.name != "Host" and d.model]
    host = estimate.device("Host")
    if not gpus:
        return tr("All layers on the CPU.")
    parts = []
    if estimate.layers_offloaded is not None:
        on, of = estimate.layers_offloaded
        parts.append(tr("{on} of {of} layers on the GPU.", on=on, of=of))
    if len(gpus) > 1:
        parts.append(tr("Weights: {places}.", places=", ".join(f"{d.name} {bytes_text(d.model, 1)}" for d in gpus)))
    if host is not None and host.model > (1 << 30):
        parts.append(tr("*{size}* of weights in RAM.", size=bytes_text(host.model)))
    return " ".join(parts)


def kv_words(plan: Plan, found: WhatIf) -> str:
    """What q8_0 would save, or what mixed types cost."""
    k, v = plan.get("cache-type-k", "f16"), plan.get("cache-type-v", "f16")
    if k != v:
        return tr("K and V differ: some backends then fall back to slow attention.")
    if found.kv_saving is not None and found.kv_saving > 0 and found.plan == plan:
        return tr("q8_0 would save *{size}*.", size=bytes_text(found.kv_saving))
    return ""


def slots_words(estimate: Estimate | None) -> str:
    """Each of 4 requests may use all 131,072."""
    if estimate is None or estimate.slots is None:
        return ""
    if estimate.slots == 1:
        return tr("One request at a time.")
    if estimate.unified and estimate.context_length:
        return tr("Each of {slots} requests may use all {tokens}.", slots=estimate.slots,
                  tokens=count_text(estimate.context_length))
    if estimate.context_per_slot:
        return tr("Each of {slots} requests gets {tokens}.", slots=estimate.slots,
                  tokens=count_text(estimate.context_per_slot))
    return ""


def draft_words(plan: Plan, estimate: Estimate | None, draft: ModelFile | None, candidates: int) -> str:
    """What the draft model takes."""
    if plan.get("spec-draft-model"):
        if estimate is None or draft is None:
            return ""
        weights = sum(d.draft[0] for d in estimate.devices)
        kv = sum(d.draft[1] for d in estimate.devices)
        if not weights:
            return bytes_text(draft.size_bytes)
        return tr("*{weights}* and {kv} KV.", weights=bytes_text(weights), kv=bytes_text(kv))
    if "draft-mtp" in (plan.get("spec-type") or "").split(","):
        return tr("Guesses with layers of the model itself, which then take memory too.")
    if plan.get("spec-type", "none") not in ("none", None):
        return tr("Guesses from the text itself: no memory, less gain.")
    if candidates:
        return tr("{count} small model here could draft for it.",
                  plural="{count} small models here could draft for it.", count=candidates)
    return tr("A small model of the same family can guess ahead.")


def address_words(plan: Plan, taken: bool = False) -> str:
    """Who can connect. `taken`: the usual port is not free, so that another one was chosen."""
    if taken:
        words = tr("Port {port} is taken: another one is used.", port=str(DEFAULT_PORT))
        return f"{address_words(plan)}\n{words}"
    host = plan.get("host", "127.0.0.1") or "127.0.0.1"
    key = plan.get("api-key") or plan.get("api-key-file")
    if host in LOCAL_HOSTS:
        return tr("Only programs on this computer can connect.") + ("" if not key else " " + tr("A key is asked for."))
    if key:
        return tr("Programs on your network can connect with the key.")
    return tr("*Anyone on your network can use it*: set a key.")
