"""The whole answer: rows of the contexts, overhead, bands, and the verdict with its reason."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from paddock.fit import estimator
from paddock.fit.adapters import adapter_paths, adapter_terms, control_terms
from paddock.fit.arguments import read
from paddock.fit.builds import KNOWN, by_rules
from paddock.fit.corrections import Correction, corrected
from paddock.fit.estimator import ContextRows, cant_tell, known
from paddock.fit.judging import rejudged
from paddock.fit.levers import Levers
from paddock.fit.memory import parts
from paddock.fit.model import Budget, DeviceEstimate, Estimate, Known, Term, Verdict
from paddock.fit.overheads import driver_term, host_terms, projector_terms
from paddock.fit.placement import HOST, Device, RefusedError, available
from paddock.fit.tensor_mode import divided
from paddock.gguf.model import Kind, ModelFile
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import MIB, count_text

BACKEND_BAND = {"cuda": 0.03, "rocm": 0.03, "sycl": 0.03, "vulkan": 0.10, "metal": 0.10}
"""Part of compute by which a backend may differ from the replay (memory-model 3.7: judgement); RPC and CPU: checked."""
HOST_MARGIN = 1024 * MIB
SPILL_MARGIN = 512 * MIB
"""More margin where a driver spills: reports tell of it within a few hundred MiB of the limit."""
_SPILLING = frozenset({"cuda", "rocm", "hip", "vulkan", "sycl"})
_NOT_MODELS = {
    Kind.PROJECTOR: Text("This is a projector: it is given beside a model, with --mmproj."),
    Kind.ADAPTER: Text("This is an adapter: it is given beside a model, with --lora."),
    Kind.IMATRIX: Text("This is an importance matrix, not a model."),
    Kind.VOCAB: Text("This file holds a vocabulary only, no weights."),
}


def estimate(model: ModelFile, plan: Plan, budgets: Sequence[Budget], *, draft: ModelFile | None = None,
             projector: ModelFile | None = None, host_total: int | None = None, host_free: int | None = None,
             pins: bool = True, corrections: Sequence[Correction] = (), spills: bool = False,
             adapters: Sequence[ModelFile] = (), rules: str = KNOWN) -> Estimate:
    """What this plan reserves on each device, "Host" last, and whether it fits the memory that is free.

    `pins`: the figures of a running server; without, those of llama.cpp's dry run (a second GPU's compute then is
    larger by one residual's four copies, memory-model 3.2). `corrections`: what earlier launches showed beyond the
    bands, taken over with a note. `spills`: the driver moves what a nearly full card cannot hold into RAM, without an
    error (Windows), so a larger margin is kept. `rules`: see `builds`. Sizes are bytes. Never raises for a readable
    model: what llama.cpp refuses is `rejected`, what cannot be told is the verdict "can't tell" with the reason.
    """
    start = time.perf_counter()
    found = _estimate(model, plan, tuple(budgets), draft, projector, host_total, host_free, pins,
                      corrections, spills, tuple(adapters), rules)
    return replace(found, ms=(time.perf_counter() - start) * 1e3)


def _estimate(model: ModelFile, plan: Plan, budgets: tuple[Budget, ...], draft: ModelFile | None,
              projector: ModelFile | None, host_total: int | None, host_free: int | None, pins: bool,
              corrections: Sequence[Correction], spills: bool, adapters: tuple[ModelFile, ...],
              rules: str) -> Estimate:
    if model.kind in _NOT_MODELS:
        return _unknown(_NOT_MODELS[model.kind])
    arguments = read(plan)
    if arguments.refused is not None:
        return _refused(arguments.refused)
    try:
        unsure = cant_tell(known(model).shape)
        if unsure is not None:
            return _unknown(unsure)
        levers = running(Levers.of(plan)) if pins else Levers.of(plan)
        devices = available(budgets)
        main = estimator.main_rows(model, levers, devices)
        second = _second(model, draft, levers, devices, main)
    except RefusedError as error:
        return _refused(error.text)
    except ValueError as error:
        return _unknown(Text("Its metadata does not say enough: {why}.", why=error))
    host = Budget("Host", "host", host_total, host_free)
    rows = [_device(i, budget, levers, main, second, projector) for i, budget in enumerate(budgets)]
    rows.append(_host(host, levers, main, second, projector))
    rows = _beside(rows, main, adapter_terms(adapters, main))
    rows = _beside(rows, main, control_terms(plan, main))
    found = tuple(_with_margin(row, levers, i, spills) for i, row in enumerate(divided(rows, levers, main)))
    whole = _whole(model, levers, main, found, second is not None)
    notes = (*arguments.notes, *_open_context(levers, whole), *whole.notes, *_uncounted(found))
    whole = _with_unread(replace(whole, notes=notes), levers, plan, projector, adapters)
    judged = corrected(by_rules(whole, rules), corrections)
    return replace(judged, notes=(*_spilling(judged), *judged.notes)) if spills else judged


def _spilling(found: Estimate) -> list[Text]:
    """Cards so full that Windows may begin to move memory."""
    return [Text("{device} is near its limit: Windows may then move memory into RAM without an error, and generation "
                 "becomes about ten times slower.", device=d.name)
            for d in found.devices if d.name != "Host" and d.total and d.left is not None and d.left < d.margin]


def _beside(rows: list[DeviceEstimate], main: ContextRows, terms: dict[int, Term]) -> list[DeviceEstimate]:
    """The rows with what LoRA adapters or control vectors add to them."""
    for device, term in terms.items():
        at = len(rows) - 1 if device == HOST else main.placement.devices[device].row
        rows[at] = replace(rows[at], terms=(*rows[at].terms, term), overhead=rows[at].overhead + term.bytes)
    return rows


def _open_context(levers: Levers, whole: Estimate) -> list[Text]:
    """A context that nobody asked for is the model's own, which may be many GiB."""
    if levers.context or not whole.kv_bytes_per_token:
        return []
    if whole.unified or whole.slots == 1:
        return [Text("No context is set, so it is the model's own: {tokens} tokens.",
                     tokens=count_text(whole.context_length))]
    return [Text("No context is set, so each slot has the model's own: {each} of {tokens} tokens in all.",
                 each=count_text(whole.context_per_slot), tokens=count_text(whole.context_length))]


def _uncounted(rows: Sequence[DeviceEstimate]) -> list[Text]:
    """Devices of this machine in use whose free memory nobody counts: the verdict is then the best case."""
    return [Text("Nobody counts what is free on {device}: the engine calls all of it free. The verdict holds if no "
                 "other program uses it.", device=row.name)
            for row in rows if row.total and row.budget is not None and row.budget.free_assumed]


def running(levers: Levers) -> Levers:
    """For the figures of a running server."""
    draft = replace(levers.draft, running=True) if levers.draft is not None else None
    return replace(levers, running=True, draft=draft)


def _refused(why: Text) -> Estimate:
    return Estimate((), Verdict.CANT_TELL, why, rejected=why)


def _unknown(reason: Text) -> Estimate:
    return Estimate((), Verdict.CANT_TELL, reason)


def _second(model: ModelFile, draft: ModelFile | None, levers: Levers, devices: list[Device],
            main: ContextRows) -> ContextRows | None:
    if levers.draft_model is not None:
        return estimator.draft_rows(draft, levers, devices, main) if draft is not None else None
    return estimator.mtp_rows(model, levers, main) if levers.mtp else None


def _three(rows: ContextRows | None, row: int | None) -> tuple[int, int, int]:
    """(model, context, compute) of a budget row (None = Host)."""
    if rows is None:
        return 0, 0, 0
    places = {d.row: i for i, d in enumerate(rows.placement.devices)}
    device = HOST if row is None else places.get(row)
    if device is None:
        return 0, 0, 0
    compute = rows.compute.by_device.get(device, 0)
    return rows.model.get(device, 0), rows.context.get(device, 0), compute


def _compute_term(rows: ContextRows, compute: int, kind: str) -> Term:
    spread = BACKEND_BAND.get(kind, 0.0)
    low, high = rows.compute.low - spread, rows.compute.high + spread
    exact = rows.compute.replayed and not spread
    how = Known.CHECKED if exact else Known.SOURCE
    note = None
    if not rows.compute.replayed:
        note = Text("Compute is a formula here, not a replay: {low} to {high} %.", low=round(100 * (low - 1)),
                    high=f"+{round(100 * (high - 1))}")
    elif spread:
        note = Text("Compute was checked on the CPU and RPC backends; here ±{percent} %.", percent=round(100 * spread))
    return Term("compute", compute, how, int(compute * low), int(compute * high), note)


def _terms(rows: ContextRows, three: tuple[int, int, int], kind: str, draft: tuple[int, int, int],
           more: Sequence[Term]) -> tuple[Term, ...]:
    checked = Known.CHECKED if kind in ("rpc", "host") else Known.SOURCE
    total = sum(draft)
    terms = [Term("weights", three[0], checked, three[0], three[0]), Term("kv", three[1], checked, three[1], three[1]),
             _compute_term(rows, three[2], kind)]
    if total:
        terms.append(Term("draft", total, checked, total, total))
    return (*terms, *more)


def _device(row: int, budget: Budget, levers: Levers, main: ContextRows, second: ContextRows | None,
            projector: ModelFile | None) -> DeviceEstimate:
    three = _three(main, row)
    draft = _draft(second, row, levers)
    used = row in {d.row for d in main.placement.devices}
    driver = driver_term(budget.kind.lower()) if used else None
    place, pictures = projector_terms(projector, levers, main)
    here = used and place != HOST and main.placement.devices[place].row == row
    more = [*([driver] if driver else []), *(pictures if here else [])]
    return _filled(budget, three, draft, _terms(main, three, budget.kind.lower(), draft, more))


def _draft(second: ContextRows | None, row: int | None, levers: Levers) -> tuple[int, int, int]:
    """A context on the target's own MTP layers shares its weights: they are counted once."""
    model, context, compute = _three(second, row)
    return (0 if levers.mtp else model), context, compute


def _host(budget: Budget, levers: Levers, main: ContextRows, second: ContextRows | None,
          projector: ModelFile | None) -> DeviceEstimate:
    three = _three(main, None)
    draft = _draft(second, None, levers)
    place, pictures = projector_terms(projector, levers, main)
    more = [*host_terms(levers, main), *(pictures if place == HOST else [])]
    return _filled(budget, three, draft, _terms(main, three, "host", draft, more))


def _filled(budget: Budget, three: tuple[int, int, int], draft: tuple[int, int, int],
            terms: tuple[Term, ...]) -> DeviceEstimate:
    def of(name: str) -> int:
        return sum(t.bytes for t in terms if t.id == name)

    other = None
    if budget.total_bytes is not None and budget.free_bytes is not None:
        other = max(0, budget.total_bytes - budget.free_bytes)
    return DeviceEstimate(budget.name, *three, draft=draft, projector=of("projector"), overhead=of("overhead"),
                          terms=terms, budget=budget, other_bytes=other)


def _with_margin(row: DeviceEstimate, levers: Levers, index: int, spills: bool) -> DeviceEstimate:
    host = row.name == "Host"
    targets = levers.fit_target_mib or (1024,)
    margin = HOST_MARGIN if host else targets[min(index, len(targets) - 1)] * MIB
    if spills and row.budget is not None and row.budget.kind.lower() in _SPILLING:
        margin += SPILL_MARGIN
    return replace(row, margin=margin, mapped=host and levers.load_mode in ("auto", "mmap"))


def _whole(model: ModelFile, levers: Levers, main: ContextRows, rows: tuple[DeviceEstimate, ...],
           has_draft: bool) -> Estimate:
    sizes, placement = main.sizes, main.placement
    per_slot = sizes.context if sizes.unified else sizes.cells
    notes = tuple(dict.fromkeys(t.note for r in rows for t in r.terms if t.note is not None))
    exact = main.compute.replayed and levers.split_mode != "tensor" and all(
        r.budget is None or r.budget.kind in ("rpc", "host") for r in rows)
    return rejudged(Estimate(
        devices=rows, verdict=Verdict.CANT_TELL, reason=Text(""), context_length=sizes.context, slots=sizes.slots,
        unified=sizes.unified, context_per_slot=per_slot, kv_bytes_per_token=_per_token(main),
        layers_offloaded=(sum(d != HOST for d in placement.layer_device), len(placement.layer_device)),
        notes=notes, has_draft=has_draft, known=Known.CHECKED if exact else Known.SOURCE, rules=KNOWN,
        doubt=_doubt(model, levers, has_draft)))


def _with_unread(found: Estimate, levers: Levers, plan: Plan, projector: ModelFile | None,
                 adapters: Sequence[ModelFile]) -> Estimate:
    """In doubt where a file beside the model is asked for and was not there to be counted."""
    if found.doubt is not None:
        return found
    if levers.projector and projector is None:
        return rejudged(replace(found, doubt=Text("The projector could not be read, so it is not counted.")))
    if len(adapters) < len(adapter_paths(plan)):
        return rejudged(replace(found, doubt=Text("An adapter (LoRA) could not be read, so it is not counted.")))
    return found


def _doubt(model: ModelFile, levers: Levers, has_draft: bool) -> Text | None:
    if not model.complete:
        return Text("Parts of the model are missing, so these figures are a lower bound.")
    if any(p.id == "heads-unknown" for p in model.problems):
        return Text("The file does not say how many attention heads it has: the KV cache cannot be told and is not "
                    "counted.")
    if levers.draft_model is not None and not has_draft:
        return Text("The draft model could not be read, so it is not counted.")
    return None


def _per_token(rows: ContextRows) -> float | None:
    """Bytes that one more token of context costs: the caches that grow with it."""
    shape, sizes = rows.shape, rows.sizes
    growing = sum(p.nbytes for p in parts(shape, sizes)
                  if p.kind != "state" and not (shape.windowed and shape.swa[p.layer] and not sizes.swa_full))
    return growing / sizes.context if sizes.context else None

