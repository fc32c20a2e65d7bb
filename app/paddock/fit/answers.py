"""One line of `fit --batch`: the breakdown as plain data."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.fit import estimator
from paddock.fit.estimator import ContextRows
from paddock.fit.levers import Levers
from paddock.fit.model import Budget
from paddock.fit.placement import HOST, Refused, available
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan


def budgets_of(request: Mapping[str, Any]) -> tuple[Budget, ...]:
    """The devices of a request line."""
    return tuple(Budget(d["name"], d["kind"], d.get("total"), d.get("free"), bool(d.get("integrated", False)))
                 for d in request["devices"])


def table(rows: ContextRows, budgets: Sequence[Budget]) -> list[dict[str, Any]]:
    index = {d.row: i for i, d in enumerate(rows.placement.devices)}
    out = []
    for row, name in [*enumerate(b.name for b in budgets), (None, "Host")]:
        device = HOST if row is None else index.get(row)
        out.append({"name": name, "model": rows.model.get(device, 0) if device is not None else 0,
                    "context": rows.context.get(device, 0) if device is not None else 0,
                    "compute": rows.compute.by_device.get(device, 0) if device is not None else 0})
    return out


def answer(request: Mapping[str, Any], model: ModelFile, plan: Plan, draft: ModelFile | None = None) -> dict[str, Any]:
    budgets = budgets_of(request)
    start = time.perf_counter()
    out: dict[str, Any] = {"id": request.get("id"), "notes": []}
    try:
        levers = Levers.of(plan)
        devices = available(budgets)
        main = estimator.main_rows(model, levers, devices)
        out["main"] = table(main, budgets)
        if levers.draft_model is not None and draft is not None:
            out["draft"] = table(estimator.draft_rows(draft, levers, devices, main), budgets)
        elif levers.mtp:
            out["draft"] = table(estimator.mtp_rows(model, levers, main), budgets)
    except Refused as error:
        out["rejected"] = str(error.text)
    out["ms"] = (time.perf_counter() - start) * 1e3
    return out
