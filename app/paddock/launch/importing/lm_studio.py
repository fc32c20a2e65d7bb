"""LM Studio: presets (*.preset.json) and what it keeps for each model (user-concrete-model-default-config).

Both hold lists of {"key", "value"} under load.fields and operation.fields; the keys are those of its SDK's schema. A
value may be {"checked", "value"}: a setting that is turned on or off. What is asked for per request is a default here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paddock.launch.importing.imported import Form, Imported, json_object, kept, with_extra, written
from paddock.launch.model import Plan

_LOAD = "llm.load."
_TABLE = {
    "llm.load.contextLength": "ctx-size", "llm.load.llama.cpuThreadPoolSize": "threads",
    "llm.load.llama.evalBatchSize": "batch-size", "llm.load.llama.physicalBatchSize": "ubatch-size",
    "llm.load.numParallelSessions": "parallel", "llm.load.llama.kCacheQuantizationType": "cache-type-k",
    "llm.load.llama.vCacheQuantizationType": "cache-type-v", "llm.load.llama.contextCheckpoints": "ctx-checkpoints",
    "llm.load.llama.ropeFrequencyBase": "rope-freq-base", "llm.load.llama.ropeFrequencyScale": "rope-freq-scale",
    "llm.load.seed": "seed", "llm.prediction.temperature": "temp", "llm.prediction.topKSampling": "top-k",
    "llm.prediction.topPSampling": "top-p", "llm.prediction.minPSampling": "min-p",
    "llm.prediction.repeatPenalty": "repeat-penalty", "llm.prediction.llama.presencePenalty": "presence-penalty",
    "llm.prediction.llama.frequencyPenalty": "frequency-penalty", "llm.prediction.maxPredictedTokens": "predict",
    "llm.prediction.llama.cpuThreads": "threads", "llm.prediction.llama.xtcProbability": "xtc-probability",
    "llm.prediction.llama.xtcThreshold": "xtc-threshold", "llm.prediction.speculativeDecoding.numDraftTokensExact":
    "spec-draft-n-max",
}
_SWITCHES = {
    "llm.load.offloadKVCacheToGpu": "kv-offload", "llm.load.useUnifiedKvCache": "kv-unified",
}
_FALLS_BACK = ("llm.load.llama.flashAttention", "llm.load.llama.acceleration.offloadRatio", "llm.load.llama.tryMmap",
               "llm.load.llama.keepModelInMemory", "llm.load.llama.autoFit", "llm.load.numCpuExpertLayersRatio")


def _fields(found: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for part in ("load", "operation", "loadModelConfig", "predictionConfig"):
        section = found.get(part)
        fields = section.get("fields") if isinstance(section, dict) else None
        for field in fields if isinstance(fields, list) else ():
            if isinstance(field, dict) and isinstance(field.get("key"), str):
                out[field["key"]] = field.get("value")
    return out


def _is_lm_studio(text: str, hint: str) -> bool:
    found = json_object(text)
    return found is not None and any(key.startswith(("llm.load.", "llm.prediction.")) for key in _fields(found))


def _lm_studio(text: str) -> Iterator[Imported]:
    found = json_object(text) or {}
    fields = {key: value for key, value in ((k, _checked(v)) for k, v in _fields(found).items()) if value is not None}
    plan = Plan()
    for key, option in (*_TABLE.items(), *_SWITCHES.items()):
        if key not in fields:
            continue
        value = fields[key]
        if key in _SWITCHES:
            plan = plan.with_(option, on=bool(value))
        elif not isinstance(value, list | dict | bool) and value != "":
            plan = plan.with_(option, written(value))
    plan = _rest(plan, fields)
    unknown = {key: value for key, value in fields.items()
               if key not in _TABLE and key not in _SWITCHES and key not in _FALLS_BACK}
    name = found.get("name") or found.get("indexedModelIdentifier")
    yield Imported(with_extra(plan, kept(unknown)), name if isinstance(name, str) else None, "LM Studio")


def _checked(value: Any) -> Any:
    """The value behind a tick; None where it is not ticked."""
    if isinstance(value, dict) and "checked" in value:
        return value.get("value") if value["checked"] else None
    return value


def _rest(plan: Plan, fields: Mapping[str, Any]) -> Plan:
    """The share of layers is a count here: all and none have a name, a part of them is left to --fit."""
    if "llm.load.llama.flashAttention" in fields:
        plan = plan.with_("flash-attn", "on" if fields["llm.load.llama.flashAttention"] else "off")
    ratio = fields.get("llm.load.llama.acceleration.offloadRatio")
    if ratio == "max" or (isinstance(ratio, int | float) and not isinstance(ratio, bool) and ratio >= 1):
        plan = plan.with_("gpu-layers", "all")
    elif ratio == "off" or (ratio == 0 and not isinstance(ratio, bool)):
        plan = plan.with_("gpu-layers", 0)
    elif ratio is not None:
        plan = with_extra(plan, kept({"llm.load.llama.acceleration.offloadRatio": ratio}))
    mapped, held = fields.get("llm.load.llama.tryMmap"), fields.get("llm.load.llama.keepModelInMemory")
    if held is True:
        plan = plan.with_("load-mode", "mlock" if mapped is False else "mmap+mlock")
    elif mapped is False:
        plan = plan.with_("load-mode", "none")
    experts = fields.get("llm.load.numCpuExpertLayersRatio")
    if experts == 1:
        plan = plan.with_("cpu-moe")
    elif experts:
        plan = with_extra(plan, kept({"llm.load.numCpuExpertLayersRatio": experts}))
    return plan


LM_STUDIO = Form(_is_lm_studio, _lm_studio)
