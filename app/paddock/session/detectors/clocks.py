"""Cards that are held down, or that wait."""

from __future__ import annotations

import math

import numpy as np

from paddock.session.detectors.model import Finding, View
from paddock.text import Text
from paddock.units import number_text

_SPAN_S, _LEAST_READINGS = 20.0, 5
_HELD = 0.6
"""Part of the readings with a reason that makes it a state and no moment."""
_DROP = 0.85
"""Cards lower their clock a little under any full load: only this much less than their own best counts."""
_DROP_UNTOLD = 0.7
HEAT = frozenset({"sw_thermal_slowdown", "hw_thermal_slowdown", "thermal_limit", "prochot"})
POWER = frozenset({"sw_power_cap", "hw_power_brake", "board_limit", "power_limit", "current_limit"})
_EITHER = frozenset({"hw_slowdown"})
_UNDERUSED_PCT, _UNDERUSED_S = 40.0, 15.0
_MOSTLY = 0.85


def clocks_dropped(view: View) -> Finding | None:
    """The clock of a card that works is well under its own best, because of heat, power, or untold."""
    if not view.working(_SPAN_S):
        return None
    for name in view.cards:
        now, best = _clock(view, name)
        if math.isnan(now) or best <= 0:
            continue
        reasons, told = _reasons(view, name)
        busy = view.mean(f"{name}.utilisation_pct", _SPAN_S)
        if reasons & HEAT and now < _DROP * best:
            return _finding("heat", name, now, best, _heat(view, name))
        if reasons & (POWER | _EITHER) and now < _DROP * best:
            return _finding("power", name, now, best, _power(view, name))
        if not told and now < _DROP_UNTOLD * best and busy >= 80:
            return _finding("clocks", name, now, best, Text("The driver does not tell why."))
    return None


def _clock(view: View, name: str) -> tuple[float, float]:
    """MHz: the mean now, and the best that it held in this session while it worked."""
    _, mhz = view.column(f"{name}.sm_clock_mhz", view.ready_t, 2000)
    known = mhz[~np.isnan(mhz)]
    if len(known) < 2 * _LEAST_READINGS:
        return math.nan, math.nan
    return view.mean(f"{name}.sm_clock_mhz", _SPAN_S), float(np.percentile(known, 95))


def _reasons(view: View, name: str) -> tuple[frozenset[str], bool]:
    """The reasons that hold most of the time now, and whether this driver tells any."""
    rows = [reasons for t, reasons in view.throttles.get(name, ()) if t >= view.now - _SPAN_S]
    if len(rows) < _LEAST_READINGS:
        return frozenset(), bool(rows)
    count: dict[str, int] = {}
    for reasons in rows:
        for reason in set(reasons):
            count[reason] = count.get(reason, 0) + 1
    return frozenset(r for r, n in count.items() if n >= _HELD * len(rows)), True


def _heat(view: View, name: str) -> Text:
    degrees = view.mean(f"{name}.temperature_c", _SPAN_S)
    if math.isnan(degrees):
        return Text("The driver says: heat.")
    return Text("The driver says: heat, at {degrees} °C.", degrees=number_text(degrees, 0))


def _power(view: View, name: str) -> Text:
    watts = view.mean(f"{name}.power_w", _SPAN_S)
    if math.isnan(watts):
        return Text("The driver says: power limit.")
    return Text("The driver says: power limit, at {watts} W.", watts=number_text(watts, 0))


def _finding(why: str, name: str, now: float, best: float, reason: Text) -> Finding:
    remedies = {
        "heat": Text("Give the card air, a higher fan speed, or less power; it will stay slow while it is hot."),
        "power": Text("Raise the card's power limit (nvidia-smi -pl) if its cooling and supply allow it, or leave it: "
                      "slower, but cooler."),
        "clocks": Text("Look at the card's temperature, its power limit and the power mode of the system.")}
    return Finding(f"clocks_{why}", Text("You are degraded: {device} has lowered its clock.", device=name),
                   Text("{now} MHz over the last seconds, {best} MHz at its best in this session. {reason}",
                        now=number_text(now, 0), best=number_text(best, 0), reason=reason), remedies[why])


def card_underused(view: View) -> Finding | None:
    """A card that holds nearly all of the model waits while tokens are made."""
    weights = view.plan.model_bytes
    total = sum(weights.values())
    cards = [n for n in view.cards if weights.get(n, 0)]
    # With weights in RAM by plan the card waits for the processor, as it must.
    if not total or not cards or sum(weights.get(n, 0) for n in cards) < _MOSTLY * total:
        return None
    if not view.generating(_UNDERUSED_S):
        return None
    loads = {n: view.mean(f"{n}.utilisation_pct", _UNDERUSED_S) for n in cards}
    # Layers on several cards work one after the other: together they should be busy.
    together = sum(loads.values())
    if math.isnan(together) or together >= _UNDERUSED_PCT:
        return None
    names = ", ".join(f"{n} {number_text(load, 0)} %" for n, load in loads.items())
    processor = view.mean("process_cpu_pct", _UNDERUSED_S)
    proof = (Text("While tokens are made the load is: {loads}.", loads=names) if math.isnan(processor) else
             Text("While tokens are made the load is: {loads}. The server uses {cores} processor cores.", loads=names,
                  cores=number_text(processor / 100)))
    return Finding("gpu_underused", Text("You are degraded: the GPU waits while tokens are made."), proof,
                   Text("Something else is the brake: tensors kept in RAM (-ot, -ncmoe, -nkvo), sampling or a grammar "
                        "on the processor, a slow PCIe link, or a client that takes the text slowly."))
