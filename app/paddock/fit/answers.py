"""One line of `fit --batch`: an estimate as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paddock.fit.builds import rules_of
from paddock.fit.corrections import Correction
from paddock.fit.model import Budget, DeviceEstimate, Estimate
from paddock.fit.verdicts import estimate
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan


def answer(request: Mapping[str, Any], model: ModelFile, plan: Plan, draft: ModelFile | None = None,
           corrections: Sequence[Correction] = (), adapters: Sequence[ModelFile] = (),
           projector: ModelFile | None = None) -> dict[str, Any]:
    """The answer to a request line whose files were read by the caller.

    request: {"id", "devices": [{"name", "kind", "total", "free", "integrated"?}…]}, bytes; one named Host, or of kind
    host or cpu, stands for the RAM, which is not judged where it is left out; "rules": an engine's build. The figures
    are those of llama.cpp's dry run. Keys of the answer: see `as_answer`, and "id". AppError for rules that are no
    build.
    """
    devices = request.get("devices", ())
    budgets = tuple(Budget(d["name"], d["kind"], d.get("total"), d.get("free"), bool(d.get("integrated", False)))
                    for d in devices if not _is_ram(d))
    ram: Mapping[str, Any] = next((d for d in devices if _is_ram(d)), {})
    found = as_answer(estimate(model, plan, budgets, draft=draft, pins=False, corrections=corrections,
                               host_total=ram.get("total"), host_free=ram.get("free"), adapters=adapters,
                               projector=projector, rules=rules_of(request.get("rules"))))
    return {"id": request.get("id"), **found}


def _is_ram(device: Mapping[str, Any]) -> bool:
    return device["name"] == "Host" or str(device["kind"]).lower() in ("host", "cpu")


def as_answer(found: Estimate) -> dict[str, Any]:
    """{"main": [{"name", "model", "context", "compute"}…], "draft"?, "overhead", "verdict", "reason", "rejected"?,
    "notes", "ms"}: bytes; the devices in their order, "Host" last."""
    out: dict[str, Any] = {}
    if found.rejected is not None:
        out["rejected"] = str(found.rejected)
    else:
        out["main"] = [_row(d, (d.model, d.context, d.compute)) for d in found.devices]
        if found.has_draft:
            out["draft"] = [_row(d, d.draft) for d in found.devices]
        beside = {d.name: d.overhead + d.projector for d in found.devices if d.overhead or d.projector}
        if beside:
            out["overhead"] = beside
    out["verdict"] = found.verdict.value
    out["reason"] = str(found.reason)
    out["notes"] = [str(n) for n in found.notes]
    out["ms"] = round(found.ms, 4)
    return out


def _row(device: DeviceEstimate, terms: tuple[int, int, int]) -> dict[str, Any]:
    return {"name": device.name, "model": terms[0], "context": terms[1], "compute": terms[2]}
