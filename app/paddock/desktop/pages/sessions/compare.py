"""Two sessions beside each other: A is the earlier one. What differed, and which differences are beyond chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paddock.bench.intervals import interval
from paddock.desktop.pages.sessions.memory import Compared, compare, main_device
from paddock.desktop.tr import tr
from paddock.units import GIB, MINUS, count_text, gib_text, missing, number_text, percent_text

if TYPE_CHECKING:
    from paddock.launch.model import Plan
    from paddock.session import Series
    from paddock.session.model import Request
    from paddock.store.rows import SessionDetail

_BETTER_MORE, _BETTER_LESS = 1, -1


@dataclass(frozen=True)
class Line:
    """One row of the table. `tone`: ok (B is better), bad, changed, or None; a heading has only a label."""

    label: str
    a: str = ""
    b: str = ""
    difference: str = ""
    tone: str | None = None
    icon: str = "equal"
    heading: bool = False


@dataclass(frozen=True)
class Side:
    """What a comparison reads of one session."""

    detail: SessionDetail
    series: Series


def _known(values: Sequence[float | None]) -> list[float]:
    return [v for v in values if v is not None and not missing(v)]


def speeds(requests: Sequence[Request]) -> dict[str, list[float]]:
    """generation (t/s), prompt (t/s, full prompts only), first (s): the figures of all requests that tell them."""
    return {"generation": _known([r.generation_per_s for r in requests]),
            "prompt": _known([r.prompt_per_s for r in requests if r.prompt_rate_means_something]),
            "first": _known([r.ttft_s for r in requests])}


def median(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else math.nan


def _figure(value: float, digits: int) -> str:
    return "–" if missing(value) else number_text(value, digits)


def speed_line(label: str, a: Sequence[float], b: Sequence[float], better: int, digits: int = 1) -> Line:
    """Tinted only if the interval leaves zero."""
    left, right = _figure(median(a), digits), _figure(median(b), digits)
    found = interval(a, b)
    if found is None:
        return Line(label, left, right, tr("too few requests"), icon="circle-help")
    share, low, high = found
    if low <= 0 <= high:
        return Line(label, left, right, tr("too close to call"))
    tone, icon = "ok" if share * better > 0 else "bad", "arrow-up" if share > 0 else "arrow-down"
    return Line(label, left, right, percent_text(share, 1, signed=True), tone, icon)


def plan_changes(a: Plan | None, b: Plan | None) -> list[tuple[str, str, str]] | None:
    """(flag, in A, in B) of what differs, "–" for not set; None where a plan was not kept."""
    if a is None or b is None:
        return None
    names = dict.fromkeys([*(s.option for s in a), *(s.option for s in b)])
    out = []
    for name in names:
        left = [(s.values, s.on) for s in a if s.option == name]
        right = [(s.values, s.on) for s in b if s.option == name]
        if left != right:
            out.append((f"--{name}", setting_words(a, name), setting_words(b, name)))
    return out


def setting_words(plan: Plan, name: str) -> str:
    """What a plan says of an option: its last setting, "–" where it is not set."""
    found = [s for s in plan if s.option == name]
    if not found:
        return "–"
    last = found[-1]
    return " ".join(last.values) if last.values else tr("on") if last.on else tr("off")


def _asked(a: Side, b: Side) -> list[Line]:
    lines = [Line(tr("What was asked"), heading=True)]
    for label, left, right in ((tr("Model"), a.detail.row.model, b.detail.row.model),
                               (tr("Engine"), a.detail.row.engine, b.detail.row.engine)):
        same = left == right
        lines.append(Line(label, left or "–", right or "–", tr("same") if same else tr("changed"),
                          None if same else "changed", "equal" if same else "pencil"))
    changes = plan_changes(a.detail.plan, b.detail.plan)
    if changes is None:
        return [*lines, Line(tr("Flags"), "–", "–", tr("not kept"), icon="circle-help")]
    if not changes:
        return [*lines, Line(tr("Flags"), "", "", tr("same"))]
    return lines + [Line(flag, left, right, tr("changed"), "changed", "pencil") for flag, left, right in changes]


def _speed(a: Side, b: Side) -> list[Line]:
    left, right = speeds(a.detail.requests), speeds(b.detail.requests)
    return [Line(tr("Speed, medians"), heading=True),
            speed_line(tr("Generation, t/s"), left["generation"], right["generation"], _BETTER_MORE),
            speed_line(tr("Prompt, t/s"), left["prompt"], right["prompt"], _BETTER_MORE, 0),
            speed_line(tr("First token, s"), left["first"], right["first"], _BETTER_LESS, 2),
            _cache_line(a.detail.requests, b.detail.requests)]


def _cache_line(a: Sequence[Request], b: Sequence[Request]) -> Line:
    def share(requests: Sequence[Request]) -> float:
        known = [r for r in requests if r.cached_tokens is not None and r.prompt_tokens]
        total = sum(r.prompt_tokens or 0 for r in known)
        return sum(r.cached_tokens or 0 for r in known) / total if total else math.nan

    left, right = share(a), share(b)
    label, points = tr("Prompt from cache"), round((right - left) * 100) if not missing(right - left) else None
    if points is None:
        return Line(label, _percent(left), _percent(right), "–", icon="minus")
    if not points:
        return Line(label, _percent(left), _percent(right), tr("same"))
    return Line(label, _percent(left), _percent(right), tr("{points} points", points=_signed(points, 0)),
                icon="arrow-up" if points > 0 else "arrow-down")


def _percent(value: float) -> str:
    return "–" if missing(value) else percent_text(value)


def _signed(value: float, digits: int) -> str:
    """With its sign, "0" without one."""
    text = number_text(abs(value), digits)
    return text if not float(text.replace(",", "")) else f"{'+' if value > 0 else MINUS}{text}"


def _memory(a: Side, b: Side) -> list[Line]:
    lines = [Line(tr("Memory, GiB"), heading=True)]
    left, right = compare(a.detail.estimate, a.detail.actual), compare(b.detail.estimate, b.detail.actual)
    for name in dict.fromkeys(x.device for x in (*left, *right)):
        one, two = _device(left, name), _device(right, name)
        label = tr("RAM") if name == "Host" else name
        for words, i in ((tr("{device} predicted", device=label), 0), (tr("{device} used", device=label), 1)):
            if one[i] is None and two[i] is None:
                continue
            lines.append(_bytes_line(words, one[i], two[i]))
    return lines if len(lines) > 1 else []


def _device(lines: list[Compared], name: str) -> tuple[int | None, int | None]:
    found = main_device([x for x in lines if x.device == name])
    return (None, None) if found is None else found[1:]


def _bytes_line(label: str, a: int | None, b: int | None) -> Line:
    if a is None or b is None:
        return Line(label, _gib(a), _gib(b), "–", icon="minus")
    gap = (b - a) / GIB
    if abs(gap) < 0.05:
        return Line(label, _gib(a), _gib(b), tr("same"))
    icon, tone = ("arrow-up", "bad") if gap > 0 else ("arrow-down", "ok")
    return Line(label, _gib(a), _gib(b), _signed(gap, 1), tone, icon)


def _gib(value: int | None) -> str:
    return "–" if value is None else gib_text(value, 2 if value < 10 * GIB else 1)


def _conditions(a: Side, b: Side) -> list[Line]:
    """Medians over the sessions: clocks and heat of the first card, what others held, the CPU's load."""
    lines = [Line(tr("Conditions"), heading=True)]
    cards = [n.split(".")[0] for n in a.series.names if n.endswith(".used_bytes") and n.count(".") == 1]
    for name in dict.fromkeys(c for c in cards if f"{c}.used_bytes" in b.series.names):
        lines += [_measured(tr("{device} clock, MHz", device=name), a, b, f"{name}.sm_clock_mhz", 0),
                  _measured(tr("{device} temperature, °C", device=name), a, b, f"{name}.temperature_c", 0)]
    lines.append(_measured(tr("CPU load, %"), a, b, "cpu_pct", 0))
    shown = [x for x in lines if x.heading or (x.a, x.b) != ("–", "–")]
    return shown if len(shown) > 1 else []


def _measured(label: str, a: Side, b: Side, column: str, digits: int) -> Line:
    left, right = _column_median(a.series, column), _column_median(b.series, column)
    if missing(left) or missing(right):
        return Line(label, _figure(left, digits), _figure(right, digits), "–", icon="minus")
    if abs(right - left) <= 0.03 * max(abs(left), 1e-9):
        return Line(label, _figure(left, digits), _figure(right, digits), tr("alike"))
    return Line(label, _figure(left, digits), _figure(right, digits), _signed(right - left, digits),
                icon="arrow-up" if right > left else "arrow-down")


def _column_median(series: Series, name: str) -> float:
    if name not in series.names:
        return math.nan
    values = np.asarray(series.view(name)[1], float)
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else math.nan


def lines_of(a: Side, b: Side) -> list[Line]:
    """The whole table."""
    return [*_asked(a, b), *_speed(a, b), *_memory(a, b), *_conditions(a, b)]


def headline(a: Side, b: Side) -> str:
    """In one sentence: what was changed, and what came of it beyond chance."""
    changes = plan_changes(a.detail.plan, b.detail.plan)
    models = [(side.detail.row.model, side.detail.row.model_identity) for side in (a, b)]
    if models[0] != models[1]:
        before = tr("Two models")
    elif changes is None or changes:
        count = len(changes or ())
        before = tr("{count} flag changed", plural="{count} flags changed", count=count) if count else tr(
            "Plans that were not kept")
    elif a.detail.row.engine != b.detail.row.engine:
        before = tr("Same plan, another engine")
    else:
        before = tr("Same plan, same engine")
    return tr("{before}: {after}.", before=before, after=_outcome(a, b))


def _outcome(a: Side, b: Side) -> str:
    left, right = speeds(a.detail.requests), speeds(b.detail.requests)
    clauses, unknown = [], 0
    words = {"generation": (tr("B writes {percent} faster"), tr("B writes {percent} slower")),
             "prompt": (tr("B reads prompts {percent} faster"), tr("B reads prompts {percent} slower"))}
    for key, (faster, slower) in words.items():
        found = interval(left[key], right[key])
        if found is None:
            unknown += 1
        elif not found[1] <= 0 <= found[2]:
            share = found[0]
            clauses.append((faster if share > 0 else slower).format(percent=percent_text(abs(share), 1)))
    if clauses:
        return ", ".join(clauses)
    return tr("too few requests to tell") if unknown == 2 else tr("no difference in speed beyond chance")


def points_of(requests: Sequence[Request]) -> tuple[list[float], list[float]]:
    """Tokens in context at the end of each request, and its generation speed."""
    known = [r for r in requests if r.generation_per_s and (r.generated_tokens or 0) > 1]
    tokens = [r.context_used if r.context_used is not None else (r.prompt_tokens or 0) + (r.generated_tokens or 0)
              for r in known]
    return [float(x) for x in tokens], [float(r.generation_per_s or 0.0) for r in known]


def about(side: Side, when: str, duration: str) -> tuple[str, str]:
    """Heading and note of one side's plot."""
    row: Any = side.detail.row
    return when, ", ".join(p for p in (row.engine or "", duration, tr(
        "{requests} requests", requests=count_text(row.requests))) if p)
