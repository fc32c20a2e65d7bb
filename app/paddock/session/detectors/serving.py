"""How the server serves: drafts, the queue, the context, streams, silence."""

from __future__ import annotations

import statistics

import numpy as np

from paddock.session.detectors.model import Edits, Finding, View
from paddock.session.proxy.record import Exchange
from paddock.text import Text
from paddock.units import count_text, number_text, percent_text, seconds_text

_ENOUGH_DRAFTED, _RECENT_DRAFTED = 200, 8
_PAYS = 1.05
_LOW_ACCEPTANCE = 0.25
_QUEUE_S, _QUEUE_LEAST = 30.0, 3.0
_NEARLY_FULL = 0.9
_STREAMS, _LONG_STREAM_S, _SLOW_SHARE = 5, 2.0, 0.3
_BURST_GAP_S, _BURST_TIMES = 1.0, 20.0
_SILENT_S, _STUCK_S = 10.0, 20.0


def drafts_do_not_pay(view: View) -> Finding | None:
    """Speculation costs more than it gains: too few of the drafted tokens are accepted.

    A step makes 1 + accepted tokens and costs 1 + drafted × (bytes of the draft / bytes of the model), as both are
    bound by reading their weights. Where that share is not known only a very low acceptance counts.
    """
    rows = [r for r in view.requests if r.draft_tokens and r.accepted_tokens is not None][-_RECENT_DRAFTED:]
    drafted = sum(r.draft_tokens or 0 for r in rows)
    if not view.ready or drafted < _ENOUGH_DRAFTED:
        return None
    acceptance = sum(r.accepted_tokens or 0 for r in rows) / drafted
    share, each = view.plan.draft_share, max(1, view.plan.draft_tokens)
    gain = None if share is None else (1 + acceptance * each) / (1 + share * each)
    if (gain is not None and gain >= _PAYS) or (gain is None and acceptance >= _LOW_ACCEPTANCE):
        return None
    proof = Text("{percent} of {drafted} drafted tokens were accepted in the last {count} requests.",
                 percent=percent_text(acceptance), drafted=count_text(drafted), count=len(rows))
    return Finding("acceptance", Text("The draft costs more than it saves."), proof,
                   Text("Draft fewer tokens (--spec-draft-n-max 1 or 2), take a draft of the same family, or switch "
                        "speculation off for this kind of text."))


def queue_growing(view: View) -> Finding | None:
    """More and more requests wait for a slot."""
    t, waiting = view.column("requests_waiting", view.now - _QUEUE_S)
    known = ~np.isnan(waiting)
    if known.sum() < 9 or t[known][0] > view.now - _QUEUE_S * 2 / 3:
        return None
    waiting = waiting[known]
    third = len(waiting) // 3
    before, now = float(waiting[:third].mean()), float(waiting[-third:].mean())
    if now < _QUEUE_LEAST or now < before + 1 or waiting[-third:].min() < 1:
        return None
    slots = view.plan.slots
    edits: Edits = (("parallel", (str(slots * 2),)),) if slots else ()
    return Finding("queue", Text("Requests wait longer and longer for a slot."),
                   Text("{now} requests wait now, {before} half a minute ago.", now=number_text(now, 0),
                        before=number_text(before, 0)),
                   Text("More slots (-np) serve more at once and share the context; else send fewer requests at once."),
                   edits=edits)


def context_nearly_full(view: View) -> Finding | None:
    """A slot that works is close to its limit: what follows is refused, cut or shifted."""
    if not view.ready or view.sample is None:
        return None
    for slot in view.sample.slots:
        if not slot.busy or not slot.context_limit > 0 or not slot.context_used >= _NEARLY_FULL * slot.context_limit:
            continue
        size = view.plan.context_size
        edits: Edits = (("ctx-size", (str(size * 2),)),) if size else ()
        return Finding(
            "context_full", Text("Slot {slot} has nearly used up its context.", slot=slot.id),
            Text("{used} of {limit} tokens, {percent}.", used=count_text(slot.context_used),
                 limit=count_text(slot.context_limit), percent=percent_text(slot.context_used / slot.context_limit)),
            Text("Longer answers will be cut off. Give it more context (-c), fewer slots (-np), or begin a new "
                 "conversation."), edits=edits)
    return None


def _streams(view: View) -> list[Exchange]:
    """The newest exchanges of the recording proxy that took long enough to tell something."""
    return [e for e in view.exchanges if (e.total_s or 0.0) >= _LONG_STREAM_S][-_STREAMS:]


def slow_client(view: View) -> Finding | None:
    """A client takes the text more slowly than the server gives it (seen by the recording proxy)."""
    rows = _streams(view)
    slow = [e for e in rows if e.client_wait_s >= _SLOW_SHARE * (e.total_s or 0.0)]
    if len(slow) < 2 or len(slow) * 2 < len(rows):
        return None
    waited = sum(e.client_wait_s for e in slow)
    total = sum(e.total_s or 0.0 for e in slow)
    return Finding("slow_client", Text("A client takes the text more slowly than it comes."),
                   Text("In {count} of the last {all} streams the server waited {waited} of {total} for {client}.",
                        count=len(slow), all=len(rows), waited=seconds_text(waited), total=seconds_text(total),
                        client=slow[-1].user_agent or slow[-1].client),
                   Text("Look at the client and the network between: the server is not the brake."))


def bursty(view: View) -> Finding | None:
    """Tokens come in bursts with long holes between (seen by the recording proxy)."""
    rows = _streams(view)
    holes = [e for e in rows if (e.gap_longest_s or 0.0) >= max(_BURST_GAP_S, _BURST_TIMES * (e.gap_median_s or 0.0))]
    if len(holes) < 3:
        return None
    longest = max(e.gap_longest_s or 0.0 for e in holes)
    median = statistics.median(e.gap_median_s or 0.0 for e in holes)
    return Finding("bursty", Text("The text comes in bursts."),
                   Text("In {count} of the last {all} streams the text stood still for up to {longest}; the usual time "
                        "between two pieces is {median}.", count=len(holes), all=len(rows),
                        longest=seconds_text(longest), median=seconds_text(median)),
                   Text("Long prompts of other requests hold up the answers: a smaller batch (-b 512) shortens the "
                        "holes, and fewer slots avoid them."), edits=(("batch-size", ("512",)),))


def silent(view: View) -> Finding | None:
    """The process lives but answers nothing, or a slot works without a token."""
    if not view.ready or (view.sample is not None and view.sample.sleeping):
        return None
    t, answers = view.column("requests_processing", view.ready_t, 2000)
    if len(t) < 5 or np.isnan(answers).all():
        return None
    last = float(t[~np.isnan(answers)][-1])
    after = t[t > last]
    if len(after) >= 3 and view.now - last >= _SILENT_S:
        return Finding("silent", Text("You are degraded: the server runs, but does not answer."),
                       Text("It has not answered for {time}; its process lives.", time=seconds_text(view.now - last)),
                       Text("It may hang in the driver. Read the end of the log; stop it and launch again."))
    return _stuck(view)


def _stuck(view: View) -> Finding | None:
    for slot in view.sample.slots if view.sample is not None else ():
        if not slot.busy or slot.phase != "generating":
            continue
        rates = view.last(f"slot.{slot.id}.generation_per_s", _STUCK_S)
        whole = view.mean(f"slot.{slot.id}.generation_per_s", _STUCK_S, least=10)
        reading = any(s.busy and s.phase == "prompt" for s in view.sample.slots) if view.sample else False
        if len(rates) >= 10 and whole == 0 and not reading:
            return Finding("stuck", Text("You are degraded: slot {slot} works, but no token comes.", slot=slot.id),
                           Text("Not one token in the last {time}.", time=seconds_text(_STUCK_S)),
                           Text("It may hang in the driver, or its client does not read. Read the end of the log; "
                                "cancel the request or launch again."))
    return None
