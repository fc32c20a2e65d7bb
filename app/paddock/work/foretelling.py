"""What the launch will make of a plan: what --fit does with it, and how fast memory lets it be."""

from __future__ import annotations

import contextlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from paddock.engine.model import Engine, EngineDevice
from paddock.fit import Budget, Estimate, Verdict
from paddock.fit.ceiling import Ceiling, Past, bandwidths, ceiling, reached
from paddock.fit.missing import missing_for_all_layers
from paddock.fit.prediction import FitPrediction, predict_fit
from paddock.gguf.model import ModelFile
from paddock.hardware.ram_speed import measure_ram_speed
from paddock.launch import Plan
from paddock.paths import DataPaths
from paddock.store import speeds
from paddock.store.speeds import PastDevice
from paddock.text import Text
from paddock.units import count_text, number_text
from paddock.work.ledger import stamp_of

_PREDICTIONS: OrderedDict[tuple[Any, ...], FitPrediction] = OrderedDict()
_KEPT = 32
_FILE = "ram-speed.json"


def predicted(model: ModelFile, plan: Plan, budgets: Sequence[Budget], **given: Any) -> FitPrediction:
    """`predict_fit`, its last answers kept: it takes up to 0.1 s where layers must be moved."""
    others = tuple(m.identity if isinstance(m, ModelFile) else m for m in given.values())
    key = model.identity, str(model.path), plan, tuple(budgets), others
    found = _PREDICTIONS.get(key)
    if found is None:
        found = _PREDICTIONS[key] = predict_fit(model, plan, budgets, **given)
        while len(_PREDICTIONS) > _KEPT:
            _PREDICTIONS.popitem(last=False)
    return found


def noted(found: Estimate, prediction: FitPrediction | None) -> Estimate:
    """The estimate with the prediction among its notes, where it matters."""
    if prediction is None or not prediction.matters or found.rejected is not None:
        return found
    return replace(found, notes=(*found.notes, prediction.text))


def with_missing(found: Estimate, model: ModelFile, plan: Plan, budgets: Sequence[Budget], **given: Any) -> Estimate:
    """The estimate with what is missing for all layers on the GPUs among its notes."""
    text = missing_for_all_layers(model, plan, budgets, found, **given).text
    return found if text is None else replace(found, notes=(*found.notes, text))


def ceilings(paths: DataPaths, model: ModelFile, plan: Plan, budgets: Sequence[Budget], found: Estimate,
             engine: Engine | None = None) -> tuple[Ceiling | None, Ceiling | None]:
    """The speed ceiling with an empty context and with a full one; None where nothing can be said.

    `engine`: what earlier sessions of the model with it reached on these devices is the basis, where there were some.
    """
    if found.rejected is not None or found.verdict is Verdict.CANT_TELL or not found.devices:
        return None, None
    known = bandwidths(budgets, ram_speed(paths, measure=False))
    past = reached(model, plan, budgets, known, _past(paths, model, engine)) if engine is not None else None
    full = found.context_per_slot or 0
    return (ceiling(model, plan, budgets, known, 0, past), ceiling(model, plan, budgets, known, full, past))


_PAST: OrderedDict[tuple[Any, ...], tuple[Past, ...]] = OrderedDict()


def _past(paths: DataPaths, model: ModelFile, engine: Engine) -> tuple[Past, ...]:
    """The earlier sessions of this model with this engine, read again when the database has changed."""
    key = str(paths.database), stamp_of(paths.database), model.identity, str(engine.path)
    if key not in _PAST:
        _PAST[key] = tuple(
            Past(one.plan.with_("model", str(model.path)), tuple(_as_then(d) for d in one.devices), one.tokens_per_s,
                 one.context) for one in speeds.read(paths.database, model.identity, str(engine.path)))
        while len(_PAST) > _KEPT:
            _PAST.popitem(last=False)
    return _PAST[key]


def _as_then(device: PastDevice) -> Budget:
    kind = EngineDevice(device.name, device.description, None, None).kind
    return Budget(device.name, kind, device.total_bytes, device.free_bytes, description=device.description)


def ceiling_text(empty: Ceiling | None, full: Ceiling | None) -> Text | None:
    """One line; None where there is nothing to say."""
    if empty is None:
        return None
    if empty.low is None or empty.high is None:
        return empty.basis
    if full is None or full.low is None or full.high is None:
        return Text("Speed ceiling: {low} to {high} t/s. {basis}", low=number_text(empty.low),
                    high=number_text(empty.high), basis=empty.basis)
    return Text("Speed ceiling: {low} to {high} t/s at first, {full_low} to {full_high} t/s at {depth} tokens. {basis}",
                low=number_text(empty.low), high=number_text(empty.high), full_low=number_text(full.low),
                full_high=number_text(full.high), depth=count_text(full.depth), basis=empty.basis)


def ram_speed(paths: DataPaths, *, measure: bool) -> float | None:
    """Bytes per second of this machine's RAM: what was measured before, else, if asked, measured now and kept.

    Measuring keeps all cores busy for about a third of a second: never on the GUI thread. None: not measured yet, or
    no memory for it.
    """
    file = paths.cache / _FILE
    try:
        found = float(json.loads(file.read_text("utf-8"))["bytes_per_s"])
        if found > 0:
            return found
    except (OSError, ValueError, KeyError, TypeError):
        pass
    if not measure:
        return None
    try:
        found = measure_ram_speed()
    except MemoryError:
        return None
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"bytes_per_s": found}), "utf-8")
    return found
