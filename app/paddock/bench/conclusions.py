"""What the figures of a diagnosis say, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.bench.model import OK, Before, Figures, Measured
from paddock.text import Text
from paddock.units import MIB, bytes_text, number_text, percent_text, rate_text, seconds_text

GOOD, HINT, WARNING, ERROR = "ok", "hint", "warning", "error"
_BUSY_CPU_PCT, _BUSY_GPU_PCT = 20.0, 10.0
_FIRST_TIMES, _FIRST_LEAST_S = 1.5, 0.1
_SPREAD, _DRIFT = 0.25, -0.1
_GROWS_BYTES, _GROWS_SHARE = 4 * MIB, 0.6
_CEILING_LOW, _PAST_LOW = 0.25, 0.7
_OTHERS_BYTES = 128 * MIB


@dataclass(frozen=True)
class Conclusion:
    """`severity`: ok, hint, warning or error. `fix`: what to do about it, where there is something."""

    id: str
    severity: str
    text: Text
    fix: Text | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, as issues have them."""
        return {"id": self.id, "severity": self.severity, "text": str(self.text),
                "fix": str(self.fix) if self.fix is not None else None}


def conclusions_of(before: Before, rows: Sequence[Measured], figures: Figures, ceiling_per_s: float | None = None,
                   usual_per_s: float | None = None, others_after: Mapping[str, float] | None = None,
                   ended: Text | str | None = None) -> list[Conclusion]:
    """`ceiling_per_s`: what memory speed allows at this depth; `usual_per_s`: what this profile reached before;
    `others_after`: memory of other programs by card when it was over; `ended`: why the server ended meanwhile."""
    crashed = Conclusion("ended", ERROR, Text("The server ended while it was asked: {reason}", reason=ended),
                         Text("Look at the end of its log.")) if ended is not None else None
    found = [crashed, _valid(rows), _busy(before), _others(before, others_after or {}), *([] if not figures.valid else [
        _first(figures), _steady(figures), _drift(figures), _memory(figures), _throttled(rows),
        _ceiling(figures, ceiling_per_s), _past(figures, usual_per_s)])]
    return [one for one in found if one is not None]


def headline_of(found: Sequence[Conclusion], besides: int = 0) -> Text:
    """The answer in one sentence. `besides`: what the session's detectors found."""
    bad = sum(one.severity in (WARNING, ERROR) for one in found) + besides
    if not bad:
        return Text("Nothing unusual was found.")
    return Text("One thing stands out.", plural="{count} things stand out.", count=bad)


def _valid(rows: Sequence[Measured]) -> Conclusion | None:
    wrong = [r for r in rows if r.state != OK]
    if not wrong:
        return None
    reasons = "; ".join(dict.fromkeys(r.why for r in wrong if r.why))
    text = Text("{wrong} of {total} requests gave nothing that counts: {reasons}.", wrong=len(wrong), total=len(rows),
                reasons=reasons)
    return Conclusion("invalid", ERROR if len(wrong) == len(rows) else WARNING, text,
                      Text("Look at the server's log."))


def _busy(before: Before) -> Conclusion:
    busy = []
    if before.busy_requests:
        busy.append(str(Text("{count} other request ran", plural="{count} other requests ran",
                             count=before.busy_requests)))
    if before.cpu_pct is not None and before.cpu_pct >= _BUSY_CPU_PCT:
        busy.append(str(Text("the processor was {percent} % busy", percent=number_text(before.cpu_pct, 0))))
    if before.load_1min is not None and before.cores and before.load_1min > before.cores:
        busy.append(str(Text("{load} programs wanted {cores} cores in the last minute",
                             load=number_text(before.load_1min), cores=before.cores)))
    busy += [str(Text("{device} was {percent} % busy", device=name, percent=number_text(load, 0)))
             for name, load in before.gpu_pct.items() if load >= _BUSY_GPU_PCT]
    if not busy:
        return Conclusion("quiet", GOOD, Text("The machine was quiet before it began."))
    return Conclusion("busy", WARNING, Text("The machine was busy before it began: {what}. All figures may be too low.",
                                            what=", ".join(busy)), Text("Close what runs besides and diagnose again."))


def _others(before: Before, after: Mapping[str, float]) -> Conclusion | None:
    """Another program took or gave back memory of a card meanwhile: the figures are of two situations."""
    moved = {name: after[name] - size for name, size in before.other_bytes.items()
             if name in after and abs(after[name] - size) >= _OTHERS_BYTES}
    if not moved:
        return None
    said = ", ".join(f"{name} {_signed(size)}" for name, size in moved.items())
    return Conclusion("others", WARNING, Text("Other programs used the cards meanwhile: {changes} of memory.",
                                              changes=said), Text("Close them and diagnose again."))


def _first(f: Figures) -> Conclusion | None:
    first, rest = f.first_ttft_s, f.rest_ttft_s
    if first is None or rest is None:
        return None
    if first < _FIRST_TIMES * rest or first - rest < _FIRST_LEAST_S:
        return Conclusion("first", GOOD, Text("The first request was as quick as the others: {first} to its first "
                                              "token, the others {rest}.", first=seconds_text(first),
                                              rest=seconds_text(rest)))
    return Conclusion("first", HINT, Text("The first request took {first} to its first token, the others {rest}: what "
                                          "is read from the disk or set up once came first.",
                                          first=seconds_text(first), rest=seconds_text(rest)),
                      Text("Leave the first request out of comparisons; --load-mode none or mlock reads the model "
                           "before the first request instead."))


def _steady(f: Figures) -> Conclusion | None:
    if f.generation_spread is None or f.rest_generation_per_s is None:
        return None
    speed = rate_text(f.rest_generation_per_s)
    if f.generation_spread <= _SPREAD:
        return Conclusion("steady", GOOD, Text("Generation is steady: {speed}, within {spread} from the slowest to the "
                                               "fastest.", speed=speed, spread=percent_text(f.generation_spread)))
    return Conclusion("steady", WARNING, Text("Generation is uneven: {speed} at the median, {spread} between the "
                                              "slowest and the fastest.", speed=speed,
                                              spread=percent_text(f.generation_spread)),
                      Text("Other programs, or clocks that go up and down, share the machine: look at Load on Run."))


def _drift(f: Figures) -> Conclusion | None:
    if f.drift is None or f.drift > _DRIFT:
        return None
    return Conclusion("drift", WARNING, Text("It got slower from request to request: the last three {percent} under "
                                             "the first ones.", percent=percent_text(-f.drift)),
                      Text("Heat and power limits act so: look at the clocks and the temperature."))


def _memory(f: Figures) -> Conclusion | None:
    """Growth that goes on after the warm-up, in most steps."""
    for name, steps in f.memory_steps.items():
        later = steps[1:]
        growing = [s for s in later if s >= _GROWS_BYTES]
        if len(later) >= 3 and len(growing) >= _GROWS_SHARE * len(later):
            return Conclusion("memory", WARNING, Text("Memory grows with every request: {device} by {size} after the "
                                                      "first.", device=_ram(name), size=bytes_text(sum(later))),
                              Text("The prompt cache does so up to --cache-ram; beyond that it would be a leak."))
    if not f.memory_steps:
        return None
    parts = [str(Text("{device} {size} with the first request, {more} with the others", device=_ram(name),
                      size=_signed(steps[0]), more=_signed(sum(steps[1:])))) for name, steps in f.memory_steps.items()]
    return Conclusion("memory", GOOD, Text("Memory: {steps}.", steps="; ".join(parts)))


def _ram(name: str) -> str:
    return str(Text("RAM")) if name == "Host" else name


def _signed(size: float) -> str:
    return bytes_text(size) if size < 0 else f"+{bytes_text(size)}"


def _throttled(rows: Sequence[Measured]) -> Conclusion | None:
    held = [r for r in rows if r.throttle]
    if len(held) * 2 < len(rows):
        return None
    reasons = ", ".join(sorted({reason for r in held for reason in r.throttle}))
    return Conclusion("throttled", WARNING, Text("Clocks were held down in {held} of {total} requests: {reasons}.",
                                                 held=len(held), total=len(rows), reasons=reasons),
                      Text("Cooling, a power limit or the power mode of the system is the cause."))


def _ceiling(f: Figures, ceiling: float | None) -> Conclusion | None:
    if not ceiling or f.rest_generation_per_s is None:
        return None
    share = f.rest_generation_per_s / ceiling
    text = Text("Generation reaches {share} of what memory speed allows ({ceiling}).", share=percent_text(share),
                ceiling=rate_text(ceiling))
    if share >= _CEILING_LOW:
        return Conclusion("ceiling", GOOD, text)
    return Conclusion("ceiling", HINT, text, Text("Threads (-t), the placement of layers, or other programs hold it "
                                                  "back; small models never come near it."))


def _past(f: Figures, usual: float | None) -> Conclusion | None:
    now = f.rest_generation_per_s
    if not usual or now is None:
        return None
    if now < _PAST_LOW * usual:
        return Conclusion("past", WARNING, Text("This profile usually reaches {usual}; now it is {now}.",
                                                usual=rate_text(usual), now=rate_text(now)),
                          Text("Compare with an earlier session under Sessions: engine, settings, driver."))
    return Conclusion("past", GOOD, Text("This profile usually reaches {usual}; now it is {now}.",
                                         usual=rate_text(usual), now=rate_text(now)))
