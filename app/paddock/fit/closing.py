"""What closing another program would buy: the plan judged again with the memory free that it holds now.

Judged by the estimate itself, since where layers go by default follows what is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from paddock.fit.judging import ORDER
from paddock.fit.model import Budget, Estimate, Verdict
from paddock.fit.verdicts import estimate
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import MIB, bytes_text

MOST = 8
LEAST = 16 * MIB
"""A program that holds less is not worth closing."""
VERDICT_WORDS = {Verdict.FITS: Text("fits"), Verdict.TIGHT: Text("tight"), Verdict.WONT_FIT: Text("won’t fit"),
                 Verdict.CANT_TELL: Text("can’t tell")}


@dataclass(frozen=True)
class Holder:
    """A program that holds memory. `held`: (device, bytes), "Host" for RAM, the most first; `pids`: its processes."""

    name: str
    held: tuple[tuple[str, int], ...]
    pids: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.held)

    @property
    def words(self) -> str:
        """"1.2 GiB on CUDA0, 300 MiB on CUDA1"."""
        return ", ".join(str(Text("{size} of RAM", size=bytes_text(size, 1)) if device == "Host" else
                             Text("{size} on {device}", size=bytes_text(size, 1), device=device))
                         for device, size in self.held)


@dataclass(frozen=True)
class Closing:
    """The verdict with these programs closed: one, or several where one alone is not enough."""

    holders: tuple[Holder, ...]
    before: Verdict
    after: Verdict
    reason: Text
    """Of the verdict afterwards."""

    @property
    def helps(self) -> bool:
        return ORDER.index(self.after) > ORDER.index(self.before)

    @property
    def names(self) -> str:
        return ", ".join(h.name for h in self.holders)

    @property
    def outcome(self) -> Text:
        """"tight instead of won't fit"."""
        if self.after is self.before:
            return Text("still {verdict}", verdict=VERDICT_WORDS[self.after])
        return Text("{after} instead of {before}", after=VERDICT_WORDS[self.after], before=VERDICT_WORDS[self.before])

    @property
    def text(self) -> Text:
        """In a line: "Closing chrome (1.2 GiB on CUDA0): tight instead of won't fit."""
        if len(self.holders) == 1:
            return Text("Closing {name} ({held}): {outcome}.", name=self.names, held=self.holders[0].words,
                        outcome=self.outcome)
        return Text("Closing {names} together ({size}): {outcome}.", names=self.names,
                    size=bytes_text(sum(h.bytes for h in self.holders), 1), outcome=self.outcome)


def closings(model: ModelFile, plan: Plan, budgets: Sequence[Budget], before: Estimate, holders: Sequence[Holder],
             **given: Any) -> tuple[Closing, ...]:
    """One for each of the largest holders, in their order; then of several together, where only that helps.

    `given`: as for `estimate`. Empty where nothing can be told of the plan. A holder of a device that the plan does
    not use changes nothing, and is told so.
    """
    there = {b.name for b in budgets if b.free_bytes is not None}
    there |= {"Host"} if given.get("host_free") is not None else set()
    if before.rejected is not None or not before.devices or not there:
        return ()
    found = []
    some = [h for h in sorted(holders, key=lambda h: -h.bytes) if h.bytes >= LEAST and there & {d for d, _ in h.held}]
    for holder in some[:MOST]:
        found.append(_closing(model, plan, budgets, before, (holder,), given))
    best = max((ORDER.index(c.after) for c in found), default=len(ORDER))
    if before.verdict is Verdict.FITS or best == ORDER.index(Verdict.FITS):
        return tuple(found)
    together = _together(model, plan, budgets, before, some[:MOST], given)
    if together is not None and ORDER.index(together.after) > max(best, ORDER.index(before.verdict)):
        found.append(together)
    return tuple(found)


def _together(model: ModelFile, plan: Plan, budgets: Sequence[Budget], before: Estimate, holders: Sequence[Holder],
              given: dict[str, Any]) -> Closing | None:
    """The fewest of the largest that make as good a verdict as all of them."""
    if len(holders) < 2:
        return None
    every = _closing(model, plan, budgets, before, tuple(holders), given)
    for count in range(2, len(holders)):
        some = _closing(model, plan, budgets, before, tuple(holders[:count]), given)
        if some.after is every.after:
            return some
    return every


def _closing(model: ModelFile, plan: Plan, budgets: Sequence[Budget], before: Estimate, holders: tuple[Holder, ...],
             given: dict[str, Any]) -> Closing:
    back = sum(size for holder in holders for device, size in holder.held if device == "Host")
    if back:
        free, total = given["host_free"] + back, given.get("host_total")
        given = {**given, "host_free": free if total is None else min(total, free)}
    after = estimate(model, plan, freed(budgets, holders), **given)
    return Closing(holders, before.verdict, after.verdict, after.reason)


def freed(budgets: Sequence[Budget], holders: Sequence[Holder]) -> tuple[Budget, ...]:
    """The devices with what these programs hold free; never more than there is."""
    back: dict[str, int] = {}
    for holder in holders:
        for device, size in holder.held:
            back[device] = back.get(device, 0) + size
    out = []
    for one in budgets:
        more = back.get(one.name, 0)
        if more and one.free_bytes is not None:
            free = one.free_bytes + more
            one = replace(one, free_bytes=free if one.total_bytes is None else min(one.total_bytes, free))
        out.append(one)
    return tuple(out)


def untold_text(devices: Sequence[tuple[str, int]]) -> Text | None:
    """Of devices whose driver does not tell who holds memory, (name, bytes held); None where there are none."""
    held = [(name, size) for name, size in devices if size >= LEAST]
    if not held:
        return None
    parts = ", ".join(str(Text("{size} on {device}", size=bytes_text(size, 1), device=name)) for name, size in held)
    return Text("Other programs hold {parts}; this driver does not tell which.", parts=parts)
