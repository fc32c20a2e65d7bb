"""What each slot does now, and how far it is: out of the newest sample and the requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paddock.desktop.tr import tr
from paddock.session.model import Request, SlotSample
from paddock.units import count_text, missing, percent_text, rate_text, seconds_text

NEARLY, FULL = 0.75, 1.0
"""The marks on a slot's bar."""


@dataclass(frozen=True)
class SlotShown:
    """One slot. `phase`: idle, prompt, generating; `share` of its limit, `progress` of its prompt: NaN = not known."""

    id: int
    phase: str
    words: str
    used: float
    limit: float
    progress: float = math.nan
    cached: float = 0.0
    """Part of the prompt that came from the cache, 0…1."""
    left_s: float = math.nan
    """Until its prompt is read."""

    @property
    def share(self) -> float:
        return self.used / self.limit if self.limit > 0 else math.nan

    @property
    def tone(self) -> str:
        """text, warn from 75 % on, bad where the slot is full."""
        if missing(self.share) or self.share < NEARLY:
            return "text"
        return "bad" if self.share >= FULL - 1e-9 else "warn"

    @property
    def figures(self) -> str:
        """"6,144 of 8,192, 75 %"."""
        if missing(self.used):
            return tr("not told")
        if missing(self.limit) or self.limit <= 0:
            return tr("{used} tokens", used=count_text(self.used))
        return tr("{used} of {limit}, {percent}", used=count_text(self.used), limit=count_text(self.limit),
                  percent=percent_text(self.share))

    @property
    def sentence(self) -> str:
        """For screen readers."""
        return tr("Slot {number}: {doing}. Context {figures}.", number=str(self.id), doing=self.words,
                  figures=self.figures)


def slots_of(snapshot: Any) -> list[SlotShown]:
    """All slots of the newest sample, by number; empty where it tells none."""
    sample = snapshot.sample
    if sample is None:
        return []
    active = {r.task: r for r in snapshot.requests if r.status == "active" and r.task is not None}
    usual = _usual_prompt_speed(snapshot.requests)
    return [_slot(slot, active.get(slot.task) if slot.busy else None, usual)
            for slot in sorted(sample.slots, key=lambda s: s.id)]


def _usual_prompt_speed(requests: Sequence[Request]) -> float:
    known = [r.prompt_per_s for r in requests[-20:] if r.prompt_per_s and r.prompt_rate_means_something]
    return known[-1] if known else math.nan


def _slot(slot: SlotSample, request: Request | None, usual: float) -> SlotShown:
    phase = slot.phase if slot.busy else "idle"
    used, limit = slot.context_used, slot.context_limit
    if phase == "prompt":
        return _reading(slot, request, usual)
    if phase == "generating":
        return SlotShown(slot.id, phase, _writing(slot, request), used, limit)
    return SlotShown(slot.id, "idle", tr("idle"), used, limit)


def _writing(slot: SlotSample, request: Request | None) -> str:
    number = tr("request {number}, ", number=str(request.number)) if request is not None else ""
    parts = [tr("{tokens} tokens", tokens=count_text(slot.generated)) if not missing(slot.generated) else "",
             rate_text(slot.generation_per_s) if slot.generation_per_s > 0 else ""]
    said = ", ".join(part for part in parts if part)
    return f"{number}{tr('writes')}{': ' + said if said else ''}"


def _reading(slot: SlotSample, request: Request | None, usual: float) -> SlotShown:
    """Percent where the prompt's length is known (the log tells it at -lv 4), time left where a speed is."""
    total = float(request.prompt_tokens) if request is not None and request.prompt_tokens else math.nan
    cached = 0.0 if missing(slot.cached) else slot.cached
    done = cached + (0.0 if missing(slot.prompt_done) else slot.prompt_done)
    progress = min(1.0, done / total) if total > 0 else math.nan
    told = request.progress if request is not None and request.progress is not None else math.nan
    # The slot counts whole batches; the log's own figure may be ahead of it, or the only one.
    progress = float(max((p for p in (progress, told) if not missing(p)), default=math.nan))
    speed = slot.prompt_per_s if slot.prompt_per_s > 0 else usual
    left = (1 - progress) * total / speed if total > 0 and speed > 0 and not missing(progress) else math.nan
    words = tr("reads its prompt")
    if request is not None:
        words = tr("request {number}, reads its prompt", number=str(request.number))
    if not missing(progress):
        words = f"{words}: {percent_text(progress)}"
    elif not missing(slot.prompt_done):
        words = f"{words}: {tr('{tokens} tokens so far', tokens=count_text(done))}"
    if not missing(left) and left >= 0.5:
        words = f"{words}, {tr('≈ {time} left', time=seconds_text(left))}"
    if cached and total > 0:
        words = f"{words}, {tr('{tokens} from the cache', tokens=count_text(cached))}"
    return SlotShown(slot.id, "prompt", words, slot.context_used, slot.context_limit, progress,
                     min(1.0, cached / total) if total > 0 else 0.0, left)


def prompts_left_s(snapshot: Any) -> dict[int, float]:
    """Number of each request whose prompt is read now → the seconds that this will take still, whole ones."""
    sample = snapshot.sample
    reading = {r.task: r.number for r in snapshot.requests
               if r.status == "active" and r.task is not None and not r.generated_tokens}
    if sample is None or not reading:
        return {}
    shown = {slot.id: slot.left_s for slot in slots_of(snapshot)}
    return {reading[slot.task]: float(math.ceil(shown[slot.id])) for slot in sample.slots
            if slot.busy and slot.task in reading and not missing(shown[slot.id])}


def waiting_words(snapshot: Any) -> str:
    """How many requests have no slot yet; empty where none has to wait or it is not told."""
    sample = snapshot.sample
    waiting = math.nan if sample is None else sample.requests_waiting
    if missing(waiting) or waiting < 1:
        return ""
    return tr("{count} request waits for a slot", plural="{count} requests wait for a slot", count=int(waiting))
