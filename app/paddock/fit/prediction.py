"""What llama.cpp's --fit will do with a plan, said before the launch.

Rules: common/fit.cpp, b11434 (memory-model 4). When all devices keep their margin it changes nothing; else it shortens
a context that was left open; else it moves layers and experts, unless somebody placed some already: then it gives up,
and the server loads as asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from paddock.fit.levers import Levers
from paddock.fit.model import Budget
from paddock.fit.placement import RefusedError
from paddock.fit.trials import Division, Slices, Trials
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan
from paddock.text import Text
from paddock.units import count_text

FIT_CONTEXT = 4096
"""The least context that --fit chooses by itself (--fit-ctx)."""


class FitAction(StrEnum):
    NOTHING = "nothing"
    OFF = "off"
    CONTEXT = "context"
    PLACEMENT = "placement"
    GIVES_UP = "gives_up"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class FitPrediction:
    """What --fit does. `context`, `gpu_layers`: what the server will then run with, None where --fit leaves them.

    `tensor_split`: layers per device; `overrides`: as in -ot. `plan`: the plan with these written out.
    """

    action: FitAction
    context: int | None
    gpu_layers: int | None
    text: Text
    tensor_split: tuple[int, ...] = ()
    overrides: tuple[str, ...] = ()
    plan: Plan | None = None
    over: str | None = None
    """A device to which --fit itself gives more than is free there."""

    @property
    def matters(self) -> bool:
        """Something else will run than was asked, or help that one may count on will not come."""
        return self.action not in (FitAction.NOTHING, FitAction.UNKNOWN)


def predict_fit(model: ModelFile, plan: Plan, budgets: Sequence[Budget], *, draft: ModelFile | None = None,
                projector: ModelFile | None = None, host_total: int | None = None,
                host_free: int | None = None) -> FitPrediction:
    """The answer for these devices and what is free on them now. Sizes are bytes; never raises for a readable model.

    `host_free` is taken for symmetry with `estimate`: --fit looks at the RAM's total only, and only without devices.
    """
    levers = Levers.of(plan)
    try:
        if levers.problem is not None:
            return _unknown(levers.problem)
        trials = Trials(model, levers, budgets, draft, projector)
        return _Prediction(trials, plan, host_total).made()
    except RefusedError as error:
        return _unknown(error.text)
    except ValueError as error:
        return _unknown(Text("Its metadata does not say enough: {why}.", why=error))


def _unknown(why: Text) -> FitPrediction:
    return FitPrediction(FitAction.UNKNOWN, None, None, Text("What --fit will do cannot be told. {why}", why=why))


class _Prediction:
    def __init__(self, trials: Trials, plan: Plan, host_total: int | None) -> None:
        self.trials, self.plan = trials, plan
        self.levers = trials.levers
        self.free: list[int | None] = list(trials.free) or [host_total]
        self.margins = trials.margins or [(self.levers.fit_target_mib or (1024,))[0] << 20]
        self.trained = trials.first.shape.trained_context
        self.context: int | None = None

    def made(self) -> FitPrediction:
        levers = self.levers
        if any(f is None for f in self.free):
            return _unknown(Text("Not every device's free memory is known."))
        if levers.context == 0 and self.trials.streams > 1:
            levers = replace(levers, context=self.trained * self.trials.streams)
        rows = self.trials.rows(levers) if levers is not self.levers else self.trials.first
        used = self._used(self.trials.used(rows, levers))
        short = any((f or 0) - u < m for f, u, m in zip(self.free, used, self.margins, strict=True))
        if not levers.fit:
            return self._said(FitAction.OFF if short else FitAction.NOTHING, _off(short))
        if levers.split_mode == "tensor":
            return self._said(FitAction.GIVES_UP if short else FitAction.NOTHING, _given_up("-sm tensor", None))
        if not short:
            return self._said(FitAction.NOTHING, Text("--fit will change nothing: every device keeps its margin."))
        if self.levers.context == 0:
            self.context = self._shorter(sum(used), sum(rows.model.get(i, 0) for i in range(len(self.trials.devices))))
            if self.context is not None and len(self.trials.devices) < 2 and self.whole:
                return self._said(FitAction.CONTEXT, Text(
                    "--fit will shorten the context from {before} to {after} tokens, and all of the model fits.",
                    before=count_text(self.trained * self.trials.streams), after=count_text(self.context)))
        return self._placed()

    def _used(self, used: list[int]) -> list[int]:
        """What is compared with the margin: the devices, or the host where there is none."""
        return used[:-1] or used[-1:]

    whole = False
    """The shorter context alone makes it fit."""

    def _shorter(self, used: int, model: int) -> int | None:
        """The context that --fit chooses where none was given; None when it leaves it. Sets `whole`."""
        levers, trials = self.levers, self.trials
        count = len(trials.devices)
        target = sum(f or 0 for f in self.free) - sum(self.margins)
        if target - used >= 0 or levers.context_given:
            return None
        most, least = self.trained * trials.streams, _fit_context(self.plan) * trials.streams
        if most <= least:
            return None
        if count > 1:
            target -= (count + 1) * (model // max(1, trials.layers)) // (6 if trials.first.shape.experts else 2)
        shortest = replace(levers, context=least)
        at_least = sum(self._used(trials.used(trials.rows(shortest), shortest)))
        self.whole = target > at_least and used > at_least
        if not self.whole:
            return least
        context = least + (most - least) * (target - at_least) // (used - at_least)
        return max(context - context % (256 * trials.streams), least)

    def _placed(self) -> FitPrediction:
        levers, count = self.levers, len(self.trials.devices)
        if count == 0:
            return self._said(FitAction.GIVES_UP, Text(
                "--fit gives up: the model is too large for this machine's RAM at any context it may choose."))
        blocker = self._blocker(count)
        if blocker is not None:
            return self._said(FitAction.GIVES_UP, _given_up(blocker, self.context))
        if self.context is not None:
            levers = replace(levers, context=self.context)
        elif levers.context == 0:
            levers = replace(levers, context=self.trained * self.trials.streams)
        division = Division(self.trials, levers)
        return self._with(levers, division.found(), division.over())

    def _blocker(self, count: int) -> str | None:
        """The option because of which --fit moves nothing."""
        levers = self.levers
        if levers.gpu_layers != -1:
            return "-ngl"
        if count > 1 and any(levers.tensor_split[:count]):
            return "-ts"
        if count > 1 and levers.split_mode == "row":
            return "-sm row"
        return _overriding(self.plan) if levers.overrides else None

    def _with(self, levers: Levers, slices: Slices, over: str | None) -> FitPrediction:
        after = self.trials.sliced(levers, slices)
        split = tuple(s.layers for s in slices) if len(slices) > 1 else ()
        overrides = tuple(f"{o.pattern}={o.target}" for o in after.overrides)
        plan = self.plan.with_("gpu-layers", after.gpu_layers)
        if self.context is not None:
            plan = plan.with_("ctx-size", self.context)
        if split:
            plan = plan.with_("tensor-split", ",".join(str(n) for n in split))
        if overrides:
            plan = plan.with_("override-tensor", ",".join(overrides))
        partial = sum(s.partial for s in slices)
        text = _moved(after.gpu_layers, self.trials.layers + 1, partial, self.context)
        if over is not None:
            text = Text("{what} That is more than {device} has free: the load will fail. Place the layers yourself.",
                        what=text, device=over)
        return FitPrediction(FitAction.PLACEMENT, self.context, after.gpu_layers, text, split, overrides, plan, over)

    def _said(self, action: FitAction, text: Text) -> FitPrediction:
        plan = self.plan if self.context is None else self.plan.with_("ctx-size", self.context)
        return FitPrediction(action, self.context, None, text, plan=plan)


def _fit_context(plan: Plan) -> int:
    return plan.integer("fit-ctx") or FIT_CONTEXT


def _off(short: bool) -> Text:
    if short:
        return Text("--fit is off: the server loads as asked, although that does not leave the margin.")
    return Text("--fit is off; it would have changed nothing.")


def _given_up(option: str, context: int | None) -> Text:
    if context is not None:
        return Text("--fit will shorten the context to {tokens} tokens, but moves no layers, because {option} is set.",
                    tokens=count_text(context), option=option)
    return Text("--fit will not help, because {option} is set: the server loads as asked.", option=option)


def _overriding(plan: Plan) -> str:
    for option, short in (("override-tensor", "-ot"), ("cpu-moe", "-cmoe"), ("n-cpu-moe", "-ncmoe")):
        if plan.find(option) is not None:
            return short
    return "-ncffn"


def _moved(on: int, of: int, partial: int, context: int | None) -> Text:
    if context is None and partial:
        return Text("--fit will put {on} of {of} layers on the GPU, {partial} of them without (all) their experts.",
                    on=on, of=of, partial=partial)
    if context is None:
        return Text("--fit will put {on} of {of} layers on the GPU.", on=on, of=of)
    if partial:
        return Text("--fit will shorten the context to {tokens} tokens and put {on} of {of} layers on the GPU, "
                    "{partial} of them without (all) their experts.", tokens=count_text(context), on=on, of=of,
                    partial=partial)
    return Text("--fit will shorten the context to {tokens} tokens and put {on} of {of} layers on the GPU.",
                tokens=count_text(context), on=on, of=of)
