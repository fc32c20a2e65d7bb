"""The estimate: rows per device, what lies outside them, and the verdict."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.fit import estimator, judging, overheads
from paddock.fit.estimator import ContextRows
from paddock.fit.levers import Levers
from paddock.fit.memory import attention_layers, rows
from paddock.fit.model import Budget, DeviceEstimate, Estimate, Known, Term, Verdict
from paddock.fit.placement import HOST, Refused, available
from paddock.fit.quants import row_bytes
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import MIB

RULES = "b11434"
_BANDS = {"cuda": 0.03, "rocm": 0.03, "hip": 0.03, "musa": 0.03, "sycl": 0.05, "vulkan": 0.10, "metal": 0.10,
          "opencl": 0.10, "cann": 0.10}
"""How far a replayed compute buffer may be off on a backend that the replay was not checked on."""


@dataclass(frozen=True)
class _Case:
    """What one call works on."""

    levers: Levers
    budgets: tuple[Budget, ...]
    main: ContextRows
    draft: ContextRows | None
    shared_weights: bool
    projector: ModelFile | None
    host: Budget
    pins: bool


def estimate(model: ModelFile, plan: Plan, budgets: Sequence[Budget], *, draft: ModelFile | None = None,
             projector: ModelFile | None = None, host_total: int | None = None, host_free: int | None = None,
             pins: bool = True) -> Estimate:
    """What this plan takes on each device, and whether it fits.

    budgets: the engine's devices in its order, bytes (a budget named "Host" stands for the host's RAM). host_total,
    host_free: the host's RAM; available, not merely free. pins: True for a running server, False for the figures of
    llama.cpp's own dry run (they differ with several devices). Never raises for a plan: what llama.cpp refuses is
    `Estimate.rejected`, what cannot be told is the verdict "can't tell".
    """
    start = time.perf_counter()
    own = next((b for b in budgets if b.name == "Host"), None)
    host = Budget("Host", "cpu", host_total if host_total is not None else own.total_bytes if own else None,
                  host_free if host_free is not None else own.free_bytes if own else None)
    listed = tuple(b for b in budgets if b.name not in ("Host", "CPU"))
    levers = Levers.of(plan)
    extra: dict[str, object] = {"draft": draft, "projector": projector, "host": host}
    try:
        case = _case(model, levers, listed, draft, projector, host, pins)
    except Refused as refused:
        return Estimate(_empty(listed, host), Verdict.CANT_TELL, refused.text, rejected=refused.text, extra=extra,
                        ms=(time.perf_counter() - start) * 1e3, rules=RULES)
    except ValueError:
        reason = Text("The file's metadata does not say enough of the model to estimate it.")
        return Estimate(_empty(listed, host), Verdict.CANT_TELL, reason, extra=extra,
                        ms=(time.perf_counter() - start) * 1e3, rules=RULES)
    return _whole(case, model, draft, extra, start)


def _case(model: ModelFile, levers: Levers, budgets: tuple[Budget, ...], draft: ModelFile | None,
          projector: ModelFile | None, host: Budget, pins: bool) -> _Case:
    devices = available(budgets)
    main = estimator.main_rows(model, levers, devices)
    second = None
    if levers.draft_model is not None and draft is not None:
        second = estimator.draft_rows(draft, levers, devices, main)
    elif levers.mtp:
        second = estimator.mtp_rows(model, levers, main)
    return _Case(levers, budgets, main, second, levers.mtp, projector, host, pins)


def _empty(budgets: Sequence[Budget], host: Budget) -> tuple[DeviceEstimate, ...]:
    return tuple(DeviceEstimate(b.name, 0, 0, 0, budget=b) for b in (*budgets, host))


def _whole(case: _Case, model: ModelFile, draft: ModelFile | None, extra: dict[str, object], start: float) -> Estimate:
    main, levers = case.main, case.levers
    index = {d.row: i for i, d in enumerate(main.placement.devices)}
    listed = [_device(case, b, index.get(i)) for i, b in enumerate(case.budgets)]
    devices = judging.judged([*listed, _device(case, case.host, HOST)], levers.load_mode in ("auto", "mmap"))
    verdict, reason = judging.overall(devices, bool(main.placement.devices))
    doubt = estimator.cant_tell(main.shape)
    if not model.complete:
        verdict, reason = Verdict.CANT_TELL, Text("The model is not complete: every figure is a lower bound.")
    elif levers.draft_model is not None and draft is None:
        verdict, reason = Verdict.CANT_TELL, Text("The draft model could not be read, so what it needs is not known.")
    elif doubt is not None:
        verdict, reason = Verdict.CANT_TELL, doubt
    sizes = main.sizes
    replayed = main.compute.replayed and (case.draft is None or case.draft.compute.replayed)
    return Estimate(
        devices, verdict, reason, context_length=sizes.context, slots=sizes.slots, unified=sizes.unified,
        context_per_slot=sizes.cells, kv_bytes_per_token=per_token(main),
        layers_offloaded=(sum(d != HOST for d in main.placement.layer_device), len(main.placement.layer_device)),
        notes=tuple(_notes(case, verdict)), has_draft=case.draft is not None,
        known=Known.CHECKED if replayed else Known.SOURCE, ms=(time.perf_counter() - start) * 1e3, rules=RULES, extra=extra)


def _device(case: _Case, budget: Budget, device: int | None) -> DeviceEstimate:
    """One row; device None: llama.cpp does not use it."""
    main, second = case.main, case.draft
    other = (budget.total_bytes - budget.free_bytes
             if budget.total_bytes is not None and budget.free_bytes is not None else None)
    small = _draft_device(case, budget, device)
    if device is None and small == (0, 0, 0):
        return DeviceEstimate(budget.name, 0, 0, 0, budget=budget, other_bytes=other)
    key = -2 if device is None else device
    model, context = main.model.get(key, 0), main.context.get(key, 0)
    compute = _pinned(case, main, key)
    terms = [_exact("weights", model), _exact("kv", context), _compute(main, budget, compute)]
    if second is not None:
        spare = round(small[2] * 0.1)
        terms.append(Term("draft", sum(small), Known.CHECKED, sum(small) - spare, sum(small) + spare))
    beside, projected = _beside(case, key)
    terms.extend(beside)
    margin = 0 if device == HOST else _margin(case, budget)
    return DeviceEstimate(
        budget.name, model, context, compute, draft=small, projector=projected,
        overhead=sum(t.bytes for t in beside if t.id == "overhead"), terms=tuple(t for t in terms if t.high), budget=budget,
        other_bytes=other, margin=margin)


def _draft_device(case: _Case, budget: Budget, device: int | None) -> tuple[int, int, int]:
    second = case.draft
    if second is None:
        return 0, 0, 0
    if device == HOST:
        key: int | None = HOST
    else:
        row = next(i for i, b in enumerate(case.budgets) if b is budget)
        key = next((i for i, d in enumerate(second.placement.devices) if d.row == row), None)
    if key is None:
        return 0, 0, 0
    weights = 0 if case.shared_weights else second.model.get(key, 0)
    return weights, second.context.get(key, 0), second.compute.by_device.get(key, 0)


def _pinned(case: _Case, rows_: ContextRows, device: int) -> int:
    """A running server keeps hints that the dry run loses: four copies of the residual less on later devices."""
    size = rows_.compute.by_device.get(device, 0)
    if case.pins and device > 0 and size and estimator.is_pipelined(case.levers, rows_):
        size = max(0, size - 4 * estimator.residual_bytes(rows_))
    return size


def _exact(name: str, size: int) -> Term:
    return Term(name, size, Known.CHECKED, size, size)


def _compute(rows_: ContextRows, budget: Budget, size: int) -> Term:
    found = rows_.compute
    if not found.replayed:
        return Term("compute", size, Known.SOURCE, round(size * found.low), round(size * found.high),
                    Text("This architecture's graph is not replayed: a formula with a band."))
    spread = _BANDS.get(budget.kind.lower(), 0.0)
    known = Known.SOURCE if spread else Known.CHECKED
    return Term("compute", size, known, round(size * (1 - spread)), round(size * (1 + spread)))


def _beside(case: _Case, device: int) -> tuple[list[Term], int]:
    """Terms outside the breakdown, and the projector's bytes."""
    main = case.main
    found: list[Term] = []
    if device == HOST:
        found.append(overheads.logits(main))
    elif 0 <= device < len(main.placement.devices):
        term = overheads.driver(main.placement.devices[device])
        if term is not None:
            found.append(term)
    projected = 0
    if case.projector is not None and overheads.projector_device(case.levers, main.placement.devices, main) == device:
        term = overheads.projector(case.projector)
        found.append(term)
        projected = term.bytes
    return found, projected


def _margin(case: _Case, budget: Budget) -> int:
    targets = case.levers.fit_target_mib
    row = next(i for i, b in enumerate(case.budgets) if b is budget)
    return (targets[row] if row < len(targets) else targets[-1]) * MIB


def per_token(found: ContextRows) -> float:
    """Bytes of cache that one more token of context takes, over all devices (window layers do not grow)."""
    shape, sizes = found.shape, found.sizes
    if not found.context:
        return 0.0
    wanted = attention_layers(shape, sizes)
    total = 0
    for layer in range(shape.layers_all):
        if wanted(layer) and not (shape.windowed and shape.swa[layer] and not sizes.swa_full) and shape.architecture not in estimator.STATELESS:
            k, v = rows(shape, sizes, layer)
            total += row_bytes(sizes.type_k, k) + (row_bytes(sizes.type_v, v) if v else 0)
    return float(total)


def _notes(case: _Case, verdict: Verdict) -> list[Text]:
    main, levers = case.main, case.levers
    found = []
    if not main.shape.known:
        found.append(Text("The architecture {arch} is not in the table: it is taken for a plain one, from its metadata.",
                          arch=main.shape.architecture))
    if not main.placement.shares_known:
        found.append(Text("The free memory of a device is not known: layers are shared out evenly."))
    if (verdict is Verdict.WONT_FIT and levers.fit and levers.gpu_layers == -1 and not levers.overrides
            and main.placement.devices):
        found.append(Text("With --fit on (the default) llama.cpp makes the context smaller or leaves layers on the CPU "
                          "instead of failing."))
    if main.weights.index.unknown:
        found.append(Text("{count} tensor has a type whose size is not known: it counts as nothing.",
                          plural="{count} tensors have types whose sizes are not known: they count as nothing.",
                          count=main.weights.index.unknown))
    if levers.load_mode in ("auto", "mmap") and main.model.get(HOST, 0):
        found.append(Text("Weights on the host are mapped from the file: they count as page cache, and may be read again."))
    found.extend(overheads.notes(main, levers))
    return found
