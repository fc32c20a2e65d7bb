"""Requests, each counted once, out of log facts, /slots polls and /metrics counters."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping

from paddock.session.log import Fact
from paddock.session.model import Request, Sample, SlotSample
from paddock.session.proxy import Exchange

_DONE, _CANCELLED, _FAILED = "done", "cancelled", "failed"


def _known(value: float) -> float | None:
    """A rate as the log prints it: nan, inf and 0.00 (one token, no time) are not known."""
    return value if math.isfinite(value) and value > 0 else None


class RequestTracker:
    """Turns facts and samples into `Request` rows. Not thread-safe; the recorder locks around it.

    While the log tells (`log_tells`), it alone decides which requests there are, and /slots only adds what the log
    does not say. Without it a request is what a slot shows, and /metrics tells its figures, and such as were shorter
    than a poll. Every method returns copies of the rows that changed.
    """

    def __init__(self) -> None:
        self._active: dict[int, Request] = {}
        self._finals: set[int] = set()
        self._cancelled: set[int] = set()
        self._count = 0
        self._seen: dict[int, int | None] = {}
        self._counters: Mapping[str, float] | None = None
        self._ended: list[Request] = []
        self._started = False
        self._encoding: tuple[int | None, float] | None = None
        """The request whose images the projector works on, and since when."""
        self.log_tells = False

    @property
    def active(self) -> int:
        return len(self._active)

    def forget_history(self) -> list[Request]:
        """What was fed so far is the past: only what still runs stays, numbered from 1. Returns that."""
        self._count = 0
        for request in self._active.values():
            self._count += 1
            request.number, request.t_start = self._count, min(request.t_start, 0.0)
        return [copy.copy(request) for request in self._active.values()]

    def feed(self, fact: Fact) -> list[Request]:
        """One fact of the log."""
        if fact.kind == "launch" and fact.task is not None:
            return self._launch(fact)
        if fact.kind == "encoded":
            return self._encoded(fact)
        request = self._active.get(fact.task) if fact.task is not None else None
        if request is None or fact.task is None:
            return []
        return [copy.copy(request)] if self._apply(request, fact, fact.task) else []

    def _encoded(self, fact: Fact) -> list[Request]:
        """The projector is done: its time goes to the request that last began to encode, else to the only one."""
        task, since = self._encoding or (None, fact.t)
        self._encoding = None
        if task is None and len(self._active) == 1:
            task = next(iter(self._active))
        request = self._active.get(task) if task is not None else None
        took = fact.values.get("ms", 1e3 * (fact.t - since))
        if request is None or took <= 0:
            return []
        request.image_ms = (request.image_ms or 0.0) + took
        return [copy.copy(request)]

    def never_ran(self, exchange: Exchange) -> Request:
        """A request that the proxy saw and no slot took, or none that log or counters told of."""
        self._count += 1
        e, start = exchange, exchange.t_start or 0.0
        return Request(
            self._count, None, e.slot, start, t_end=start + (e.total_s or 0.0), prompt_tokens=e.prompt_tokens,
            t_first_token=None if e.first_token_s is None else start + e.first_token_s,
            cached_tokens=e.cached_tokens, evaluated_tokens=e.evaluated_tokens, generated_tokens=e.generated_tokens,
            prompt_per_s=e.prompt_per_s, generation_per_s=e.generation_per_s, ttft_s=e.first_token_s,
            draft_tokens=e.draft_tokens, accepted_tokens=e.accepted_tokens, status=e.outcome, source="proxy",
            error=e.error, exchange=e.id)

    def _launch(self, fact: Fact) -> list[Request]:
        assert fact.task is not None
        if fact.task in self._active:
            return []
        request = self._new(fact.task, fact.slot, fact.t, "log")
        request.is_child = bool(fact.values.get("child"))
        return [copy.copy(request)]

    def _new(self, task: int, slot: int | None, t: float, source: str) -> Request:
        self._count += 1
        request = Request(self._count, task, slot, t, source=source)
        self._active[task] = request
        return request

    def _apply(self, request: Request, fact: Fact, task: int) -> bool:
        values = fact.values
        if fact.kind == "encoding":
            self._encoding = (task, fact.t)
            return False
        if fact.kind == "total":
            request.prompt_tokens = int(values["tokens"])
        elif fact.kind == "cached":
            # Said again before every batch, then with what is done already: only the first is the cache.
            if request.cached_tokens is not None:
                return False
            request.cached_tokens = int(values["tokens"])
        elif fact.kind == "progress":
            request.progress = min(1.0, values["fraction"])
        elif fact.kind == "generating":
            request.generated_tokens, request.generation_per_s = int(values["tokens"]), _known(values["per_s"])
            request.progress = None
        elif fact.kind == "prompt":
            request.evaluated_tokens, request.prompt_per_s = int(values["tokens"]), _known(values["per_s"])
        elif fact.kind == "generated":
            self._finals.add(task)
            request.generated_tokens, request.generation_per_s = int(values["tokens"]), _known(values["per_s"])
            request.t_first_token = max(request.t_start, fact.t - values["ms"] / 1e3)
            request.ttft_s = request.t_first_token - request.t_start
        elif fact.kind == "drafts":
            request.draft_tokens, request.accepted_tokens = int(values["drafted"]), int(values["accepted"])
        elif fact.kind == "cancel":
            self._cancelled.add(task)
            return False
        elif fact.kind == "error":
            request.error = str(values["text"])
        elif fact.kind == "release":
            self._release(request, fact, task)
        else:
            return False
        return True

    def _release(self, request: Request, fact: Fact, task: int) -> None:
        tokens = int(fact.values["tokens"])
        request.context_used, request.truncated = tokens, bool(fact.values["truncated"])
        self._complete(request, tokens, task in self._finals, task in self._cancelled)
        if request.error is not None:
            status = _FAILED
        else:
            # Embeddings print no timings either; a cancelled request is always announced before its release.
            status = _CANCELLED if task in self._cancelled and task not in self._finals else _DONE
        self._end(request, fact.t, status)

    @staticmethod
    def _complete(request: Request, tokens: int, finals: bool, cancelled: bool) -> None:
        """What the log left out follows from the slot's length: prompt + generated - 1 (the last is not stored)."""
        if request.error is not None and not finals:
            return
        if finals and request.prompt_tokens is None and not request.truncated and request.cached_tokens is None:
            rest = tokens - ((request.generated_tokens or 1) - 1) - (request.evaluated_tokens or 0)
            request.cached_tokens = max(0, rest)
        if request.prompt_tokens is None and None not in (request.cached_tokens, request.evaluated_tokens):
            request.prompt_tokens = (request.cached_tokens or 0) + (request.evaluated_tokens or 0)
        if cancelled and not finals and request.prompt_tokens is not None and not request.truncated:
            request.generated_tokens = max(0, tokens - request.prompt_tokens + 1)

    def _end(self, request: Request, t: float, status: str) -> None:
        request.t_end, request.status, request.progress = t, status, None
        if request.task is not None:
            self._active.pop(request.task, None)
            self._finals.discard(request.task)
            self._cancelled.discard(request.task)

    def close(self, t: float, crashed: bool) -> list[Request]:
        """The server ended: what was under way ended with it. A next process counts its tasks from 0 again."""
        out = []
        for request in list(self._active.values()):
            self._end(request, t, _FAILED if crashed else _CANCELLED)
            out.append(copy.copy(request))
        self._seen.clear()
        self._ended.clear()
        self._counters, self._started = None, False
        return out

    def sample(self, sample: Sample) -> list[Request]:
        """One poll: adds to known requests, and without a log finds them."""
        changed: list[Request] = []
        for slot in sample.slots:
            request = self._active.get(slot.task) if slot.task is not None and slot.busy else None
            if request is not None:
                if self._enrich(request, slot, sample.t):
                    changed.append(copy.copy(request))
            elif not self.log_tells:
                changed += self._slot_changed(slot, sample.t)
        if not self.log_tells:
            changed += self._slots_ended(sample)
            if sample.counters is not None:
                changed += self._count_up(sample.counters, sample.t)
        if sample.slots:
            self._started = True
        return changed

    def _enrich(self, request: Request, slot: SlotSample, t: float) -> bool:
        before = (request.generated_tokens, request.cached_tokens, request.t_first_token, request.progress)
        if slot.generated > 0:
            request.generated_tokens = max(request.generated_tokens or 0, int(slot.generated))
            request.progress = None
            if request.prompt_tokens is None and not math.isnan(slot.prompt_done + slot.cached):
                request.prompt_tokens = int(slot.prompt_done + slot.cached)
            if request.t_first_token is None:
                request.t_first_token = t
                request.ttft_s = max(0.0, t - request.t_start)
        if request.cached_tokens is None and slot.prompt_done > 0 and not math.isnan(slot.cached):
            request.cached_tokens = int(slot.cached)
        return before != (request.generated_tokens, request.cached_tokens, request.t_first_token, request.progress)

    def _slot_changed(self, slot: SlotSample, t: float) -> list[Request]:
        """Without a log: a task that we had not seen on this slot, running or over already."""
        known = self._seen.get(slot.id)
        self._seen[slot.id] = slot.task
        if slot.task is None or slot.task == known or (slot.task in self._active):
            return []
        if slot.busy:
            request = self._new(slot.task, slot.id, t, "slots")
            self._enrich(request, slot, t)
            return [copy.copy(request)]
        if not self._started:
            return []
        request = self._new(slot.task, slot.id, t, "slots")
        request.context_used = int(slot.context_used) if not math.isnan(slot.context_used) else None
        self._end(request, t, _DONE)
        self._ended.append(request)
        return [copy.copy(request)]

    def _slots_ended(self, sample: Sample) -> list[Request]:
        if not sample.slots:
            return []
        running = {slot.task for slot in sample.slots if slot.busy}
        lengths = {slot.task: slot.context_used for slot in sample.slots}
        changed = []
        for task, request in list(self._active.items()):
            if task not in running:
                length = lengths.get(task, math.nan)
                request.context_used = int(length) if not math.isnan(length) else None
                # Warnings and errors are in the log also where its information lines are not.
                failed = _FAILED if request.error is not None else _DONE
                self._end(request, sample.t, _CANCELLED if task in self._cancelled else failed)
                self._ended.append(request)
                changed.append(copy.copy(request))
        return changed

    def _count_up(self, counters: Mapping[str, float], t: float) -> list[Request]:
        """Without a log: counters move at the end of a request, and tell the figures of one that ended alone."""
        before, self._counters = self._counters, counters
        ended, self._ended = self._ended, []
        if before is None:
            return []
        delta = {name: value - before.get(name, 0.0) for name, value in counters.items()}
        generated = delta.get("tokens_predicted_total", 0.0)
        if generated < 0:
            return []
        if not ended and generated > 0 and not self._active:
            self._count += 1
            ended = [Request(self._count, None, None, t, t_end=t, status=_DONE, source="counters")]
        if len(ended) != 1:
            return []
        self._fill(ended[0], delta)
        return [copy.copy(ended[0])]

    @staticmethod
    def _fill(request: Request, delta: Mapping[str, float]) -> None:
        request.generated_tokens = int(delta.get("tokens_predicted_total", 0))
        request.evaluated_tokens = int(delta.get("prompt_tokens_total", 0))
        if "prompt_tokens_cached_total" in delta:
            request.cached_tokens = int(delta["prompt_tokens_cached_total"])
            request.prompt_tokens = request.evaluated_tokens + request.cached_tokens
        prompt_s = delta.get("prompt_seconds_total", 0.0)
        generation_s = delta.get("tokens_predicted_seconds_total", 0.0)
        if prompt_s > 0:
            request.prompt_per_s = request.evaluated_tokens / prompt_s
        if generation_s > 0 and request.generated_tokens > 1:
            request.generation_per_s = (request.generated_tokens - 1) / generation_s
        drafted = int(delta.get("spec_decode_num_draft_tokens_total", 0))
        if drafted:
            request.draft_tokens = drafted
            request.accepted_tokens = int(delta.get("spec_decode_num_accepted_tokens_total", 0))
