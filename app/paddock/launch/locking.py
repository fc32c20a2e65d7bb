"""Which options have no effect in this plan, and why: the page "All options" greys them and says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from paddock.engine.model import Engine
from paddock.gguf.model import ModelFile
from paddock.hardware.model import Machine
from paddock.launch.catalogue import CATALOGUE, KV_TYPES, Option
from paddock.launch.checks.question import Question
from paddock.launch.checks.speculation import TWINS, chosen_types, draft_option
from paddock.launch.model import Conditions, Plan
from paddock.launch.spelling import known_to
from paddock.text import Text

Rule = tuple[tuple[str, ...], Callable[[Question], bool], Text]

_DRAFT_MODEL = tuple(option.id for option in CATALOGUE if option.id.startswith("spec-draft-") and option.id not in (
    "spec-draft-model", "spec-draft-hf", "spec-draft-n-max", "spec-draft-n-min", "spec-draft-p-min"))
_DRAFTING = ("spec-draft-n-max", "spec-draft-n-min", "spec-draft-p-min")


def _number(q: Question, name: str, default: float) -> float:
    try:
        return float(q.text(name) or default)
    except ValueError:
        return default


def _one_device(q: Question) -> bool:
    return q.devices is not None and len(q.devices) < 2


def _no_draft(q: Question) -> bool:
    return draft_option(q) is None and not any(name.startswith("draft-") for name in chosen_types(q))


def _lacks(name: str) -> Callable[[Question], bool]:
    return lambda q: not q.text(name)


def _not_speculating(name: str) -> Callable[[Question], bool]:
    return lambda q: name not in chosen_types(q)


_RULES: tuple[Rule, ...] = (
    (("kv-unified",), lambda q: (q.number("parallel") or -1) < 0, Text("-np auto turns it on; set -np to choose")),
    (("swa-full",), lambda q: q.model is not None and not q.model.facts.sliding_window,
     Text("this model has no sliding-window layers")),
    (("cpu-moe", "n-cpu-moe"), lambda q: q.model is not None and not q.model.facts.experts,
     Text("this model has no experts")),
    (("spec-draft-type-k", "spec-draft-type-v", *_DRAFT_MODEL, *_DRAFTING), _no_draft,
     Text("no draft model is chosen (-md)")),
    (("split-mode", "tensor-split", "main-gpu"), _one_device, Text("there are not two devices to share between")),
    (("numa",), lambda q: q.machine is not None and q.machine.numa_nodes == 1,
     Text("this machine has one bank of memory")),
    (("mmproj-offload", "mmproj-device", "image-min-tokens", "image-max-tokens", "mtmd-batch-max-tokens", "video-fps",
      "video-timestamp-interval", "video-ffmpeg-dir"),
     lambda q: not any(q.text(name) for name in ("mmproj", "mmproj-url", "hf-repo")),
     Text("no projector is chosen (-mm)")),
    (("mmproj-auto", "hf-file", "hf-token"), _lacks("hf-repo"), Text("no repository is chosen (-hf)")),
    (("context-shift", "cache-reuse"), lambda q: bool(q.text("mmproj")), Text("does nothing with a projector (-mm)")),
    (("models-max", "models-autoload"), lambda q: not q.effective.router, Text("a model is chosen")),
    (("pooling", "embd-normalize"), lambda q: not q.effective.embedding, Text("--embedding is off")),
    (("cache-idle-slots",), lambda q: q.number("cache-ram") == 0, Text("the prompt cache is off (-cram 0)")),
    (("fit-target", "fit-ctx"), lambda q: (q.text("fit") or "on") in ("off", "0", "false", "disabled"),
     Text("-fit is off")),
    (("lora-init-without-apply",), lambda q: not q.text("lora") and not q.text("lora-scaled"),
     Text("no adapter is chosen (--lora)")),
    (("control-vector-layer-range",), lambda q: not q.text("control-vector") and not q.text("control-vector-scaled"),
     Text("no control vector is chosen")),
    (("mirostat-lr", "mirostat-ent"), lambda q: q.number("mirostat") in (None, 0), Text("--mirostat is 0")),
    (("xtc-threshold",), lambda q: _number(q, "xtc-probability", 0) == 0, Text("--xtc-probability is 0")),
    (("dry-base", "dry-allowed-length", "dry-penalty-last-n", "dry-sequence-breaker"),
     lambda q: _number(q, "dry-multiplier", 0) == 0, Text("--dry-multiplier is 0")),
    (("dynatemp-exp",), lambda q: _number(q, "dynatemp-range", 0) == 0, Text("--dynatemp-range is 0")),
    (("adaptive-decay",), lambda q: _number(q, "adaptive-target", -1) < 0, Text("--adaptive-target is off")),
    (("lookup-cache-static", "lookup-cache-dynamic"), _not_speculating("ngram-cache"),
     Text("--spec-type has no ngram-cache")),
    *((tuple(option.id for option in CATALOGUE if option.id.startswith(f"spec-{kind}-")), _not_speculating(kind),
       Text("--spec-type has no {kind}", kind=kind)) for kind in ("ngram-mod", "ngram-simple")),
    *((tuple(f"spec-{kind}-{part}" for part in ("size-n", "size-m", "min-hits")), _not_speculating(kind),
       Text("--spec-type has no {kind}", kind=kind)) for kind in ("ngram-map-k", "ngram-map-k4v")),
    *((twins, (lambda q, needed=needed: (q.number(needed) or -1) < 0),
       Text("does nothing unless {flag} is set", flag=CATALOGUE[needed].names[0])) for needed, twins in TWINS.items()),
)


def locked(
    plan: Plan, model: ModelFile | None, engine: Engine | None, machine: Machine | None,
    conditions: Conditions | None = None,
) -> Mapping[str, Text]:
    """Option id -> why it has no effect here; options that are set in the plan are never locked.

    The reasons are written to follow a lock sign: no capital at the beginning, no full stop.
    """
    question = Question(plan, model, engine, machine, conditions or Conditions())
    out: dict[str, Text] = {}
    for options, applies, reason in _RULES:
        if applies(question):
            out.update({name: reason for name in options if name not in out})
    if engine is not None:
        out.update({option.id: Text("this engine does not have it") for option in CATALOGUE
                    if not _known(option, engine)})
    return {name: reason for name, reason in out.items() if plan.find(name) is None}


def _known(option: Option, engine: Engine) -> bool:
    return known_to(option, engine) or (bool(option.negations) and known_to(option, engine, False))


_WIDE_TYPES = frozenset(("f32", "f16", "bf16"))


def locked_choices(plan: Plan, conditions: Conditions | None = None) -> Mapping[str, Mapping[str, Text]]:
    """Option id -> value -> why it cannot be chosen here, for options that are free otherwise.

    A quantised V cache and splitting by tensors are refused without flash attention (contract 5 and 6.5).
    """
    question = Question(plan, None, None, None, conditions or Conditions())
    if not question.flash_attention_off:
        return {}
    reason = Text("needs flash attention: -fa is off")
    quantised = {kind: reason for kind in KV_TYPES if kind not in _WIDE_TYPES}
    return {"cache-type-v": quantised, "spec-draft-type-v": quantised, "split-mode": {"tensor": reason}}
