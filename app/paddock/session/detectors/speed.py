"""Slower than this profile was, or slower from token to token than the context explains."""

from __future__ import annotations

import math
import statistics

import numpy as np

from paddock.session.detectors.model import Finding, View
from paddock.session.model import Request
from paddock.text import Text
from paddock.units import count_text, percent_text, rate_text

_SPAN_S = 10.0
_SLOWER = 0.7
_ENOUGH_PAST = 5
_SHALLOW = 1024.0
"""Below so many tokens of context depth does not matter yet."""
_LONG_S = 20.0
_SLOWER_UNEXPLAINED = 0.5
"""Where nothing says what the deeper context costs, only half the speed is a symptom."""


def below_own_past(view: View) -> Finding | None:
    """One answer alone is much slower than this profile's earlier ones at about the same depth of context."""
    if len(view.plan.past) < _ENOUGH_PAST or not view.generating(_SPAN_S) or not view.alone(view.now - _SPAN_S):
        return None
    depth = _depth(view)
    if math.isnan(depth):
        return None
    like = [speed for d, speed in view.plan.past if speed > 0 and _same_depth(d, depth)]
    if len(like) < _ENOUGH_PAST:
        return None
    usual = statistics.median(like)
    now = float(np.median(view.last("generation_per_s", _SPAN_S)))
    if now >= _SLOWER * usual:
        return None
    return Finding(
        "below_past", Text("You are degraded: generation is {percent} slower than usual.",
                           percent=percent_text(1 - now / usual)),
        Text("{now} at {depth} tokens of context; {answers} earlier answers of this profile there reached {usual}.",
             now=rate_text(now), depth=count_text(depth), answers=len(like), usual=rate_text(usual)),
        Text("Compare this session with an earlier one under Sessions: engine, settings and driver; then look for "
             "other programs on the card or the processor."))


def _same_depth(one: float, other: float) -> bool:
    low, high = sorted((max(one, _SHALLOW), max(other, _SHALLOW)))
    return high <= 2 * low


def _depth(view: View) -> float:
    """Tokens in the slot that works; NaN where none or several do."""
    if view.sample is None:
        return math.nan
    busy = [s for s in view.sample.slots if s.busy]
    return busy[0].context_used if len(busy) == 1 else math.nan


def decaying(view: View) -> Finding | None:
    """The speed of one long answer falls by more than its growing context explains."""
    for request in view.requests:
        if request.status == "active" and request.slot is not None and request.t_first_token is not None:
            found = _decay_of(view, request, request.slot, max(request.t_first_token, view.ready_t))
            if found is not None:
                return found
    return None


def _decay_of(view: View, request: Request, slot: int, start: float) -> Finding | None:
    # The first second holds the warm-up of the rate's own window.
    t, speed = view.column(f"slot.{slot}.generation_per_s", start + 1.0)
    known = ~np.isnan(speed)
    if view.now - start < _LONG_S or known.sum() < 20 or not view.alone(start):
        return None
    speed, t = speed[known], t[known]
    quarter = max(5, len(speed) // 4)
    head, tail = float(np.median(speed[:quarter])), float(np.median(speed[-quarter:]))
    if head <= 0 or tail >= head:
        return None
    _, depths = view.column(f"slot.{slot}.context_used", start + 1.0)
    depths = depths[~np.isnan(depths)]
    explained = view.plan.slowdown(float(depths[0]), float(depths[-1])) if len(depths) else None
    limit = _SLOWER * explained if explained is not None else _SLOWER_UNEXPLAINED
    # An interruption at the very end is no decay: it must have gone down on the way, too.
    middle = float(np.median(speed[quarter:-quarter])) if len(speed) > 2 * quarter else tail
    if tail >= limit * head or middle > head * 1.05:
        return None
    because = (Text("The deeper context explains {percent} of it.", percent=percent_text(1 - explained))
               if explained is not None else Text("What the deeper context costs is not known here."))
    return Finding(
        "decaying", Text("You are degraded: this answer gets slower as it goes on."),
        Text("Request {number} began with {head} and writes {tail} now. {because}", number=request.number,
             head=rate_text(head), tail=rate_text(tail), because=because),
        Text("Look at clocks and temperature below, at the memory that is free, and whether the KV cache lies in RAM "
             "(-nkvo, or cards that are full)."))
