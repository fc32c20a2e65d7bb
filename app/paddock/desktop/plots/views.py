"""The four plots with curves: tokens/s, context, memory, load. Each draws a frame and says its values at a moment."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PySide6.QtWidgets import QWidget

from paddock.desktop.plots import ink, sizes
from paddock.desktop.plots.area import Area
from paddock.desktop.plots.canvas import Canvas
from paddock.desktop.plots.frame import Frame, Setup
from paddock.desktop.plots.legend import Row
from paddock.desktop.plots.line import Line
from paddock.desktop.plots.scale import Floats, calm_top, hold_lone, peak, power_top
from paddock.desktop.plots.view import Diamond, Item, Level
from paddock.text import Text
from paddock.units import GIB, MINUS, count_text, missing, number_text


@dataclass(frozen=True)
class Window:
    """What is in sight: seconds, how many bins are worth drawing, round moments."""

    start: float
    end: float
    points: int
    ticks: list[float]


def figure(value: float, digits: int = 0) -> str:
    """A legend's figure: an en dash where there is none."""
    if missing(value):
        return "–"
    return count_text(value) if digits == 0 else number_text(value, digits)


def rate(value: float) -> str:
    """Tokens per second; nothing going on is no speed."""
    return "–" if missing(value) or value == 0 else figure(value, 0 if not missing(value) and abs(value) >= 100 else 1)


class Plot(Canvas):
    """What the stack asks of each plot."""

    def configure(self, setup: Setup) -> None:
        """Make the curves for this session's devices and slots; called once a session."""

    def draw(self, frame: Frame, window: Window) -> None:
        """Feed the curves and set the ranges."""

    def legend_rows(self, frame: Frame, moment: float) -> list[Row]:
        """Names and values at a moment (seconds)."""
        return []

    def sentence(self, frame: Frame, moment: float) -> str:
        """For screen readers: the values in words."""
        rows = (f"{row.name} {row.value}".strip() for row in self.legend_rows(frame, moment) if row.value)
        return f"{self.title.text()}: " + ", ".join(rows)

    def _feed(self, curve: Line, frame: Frame, name: str, window: Window, factor: float = 1.0) -> float:
        """Show one column; returns its highest visible figure (NaN: nothing)."""
        x, y = frame.cut(name, window.start, window.end, window.points)
        curve.set_data(x, y * factor if factor != 1.0 else y)
        return peak(y) * factor


class SpeedPlot(Plot):
    """Generation on the left scale, prompt on the right one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(str(Text("Tokens/s")), parent)
        self._generation, self._prompt = self.curve(1), self.curve(2, second=True)
        self._usual = Level("text2", ink.DOTS)
        self.view.add(self._usual)
        self._tops = [0.0, 0.0]
        self._usual_value: float | None = None
        self._texts = False

    def configure(self, setup: Setup) -> None:
        self._tops = [0.0, 0.0]
        self._usual_value = None if setup.answers_texts else setup.usual_per_s
        self._usual.value = self._usual_value
        self._texts = setup.answers_texts
        self.title.setText(str(Text("Texts/s") if self._texts else Text("Tokens/s")))

    def draw(self, frame: Frame, window: Window) -> None:
        high = self._feed(self._generation, frame, self._left_column, window)
        prompt = self._feed_prompt(frame, window)
        wanted = np.fmax(high, self._usual_value if self._usual_value is not None else math.nan)
        self._tops[0] = calm_top(float(wanted), self._tops[0], 10.0)
        self._tops[1] = calm_top(prompt, self._tops[1], 100.0)
        self.set_range(window.start, window.end, self._tops[0], self._tops[1], 2, window.ticks,
                       frame.gaps(window.start, window.end, window.points))
        self.set_note("" if frame.requests or not math.isnan(np.fmax(high, prompt))
                      else str(Text("Waiting for the first request.")))

    @property
    def _left_column(self) -> str:
        return "requests_per_s" if self._texts else "generation_per_s"

    def _feed_prompt(self, frame: Frame, window: Window) -> float:
        """While no prompt is read there is no speed to show: a line at 0 would be noise between the prompts."""
        x, y = frame.cut("prompt_per_s", window.start, window.end, window.points)
        y = hold_lone(np.where(y > 0, y, math.nan))
        self._prompt.set_data(x, y)
        return peak(y)

    def legend_rows(self, frame: Frame, moment: float) -> list[Row]:
        name = Text("Texts") if self._texts else Text("Generation")
        rows = [Row(str(name), 1, "line", rate(frame.at(self._left_column, moment))),
                Row(str(Text("Prompt, right")), 2, "line", rate(frame.at("prompt_per_s", moment)))]
        if self._usual_value is not None:
            rows.append(Row(str(Text("Usual")), 0, "dots", rate(self._usual_value)))
        return rows


_MOST_AREAS = 16
"""More slots than this are one area: their sum."""


class ContextPlot(Plot):
    """The tokens of each slot stacked, under the limit."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(str(Text("Context, tokens")), parent)
        self._areas: list[Area] = []
        self._together = False
        self._limit = Level("bad", ink.LIMIT_DASH)
        self.view.add(self._limit)
        self._limit_value: float | None = None
        self._top = 0.0
        self.left.kilo = 1024.0

    def configure(self, setup: Setup) -> None:
        for area in self._areas:
            self.view.remove(area)
        self._together = setup.slots > _MOST_AREAS
        self._areas = [Area(i % 6 + 1, 0.3) for i in range(1 if self._together else max(setup.slots, 1))]
        for area in self._areas:
            self.view.add(area)
        self._limit_value, self._top = setup.context_limit, 0.0
        self._limit.value = setup.context_limit

    def _say_limit(self, drawn: bool) -> None:
        limit = self._limit_value
        words = "" if limit is None else str(Text("limit {tokens}", tokens=count_text(limit)))
        self.set_remark(words, below=sizes.pad_top() + 1 if drawn else 1)

    def _column(self, frame: Frame, slot: int) -> str:
        if self._together:
            return "context_used"
        name = f"slot.{slot}.context_used"
        return name if frame.has(name) or len(self._areas) > 1 else "context_used"

    def draw(self, frame: Frame, window: Window) -> None:
        base: Floats | None = None
        high = math.nan
        for slot, area in enumerate(self._areas):
            x, y = frame.cut(self._column(frame, slot), window.start, window.end, window.points)
            if base is not None and len(base) != len(y):
                # The sampler wrote between two reads, or this slot was never seen: draw what both have.
                count = min(len(base), len(y))
                x, y, base = x[:count], y[:count], base if not count else base[:count]
            if not len(y):
                area.set_data(x, y, y)
                continue
            # A slot that is not known beside one that is counts as nothing; where all are unknown there is a hole.
            low = np.full_like(y, math.nan) if base is None else base
            floor, alone = np.where(np.isnan(low), 0, low), np.isnan(y)
            upper = np.where(alone, low, floor + y)
            area.set_data(x, np.where(alone, math.nan, floor), np.where(alone, math.nan, upper))
            base = upper
            high = float(np.fmax(high, peak(upper)))
        limit = self._limit_value
        # Little use of a large window would be a line on the floor: the limit is then said, not drawn.
        near = limit is not None and not math.isnan(high) and high > limit * 0.2
        wanted = limit if near and limit is not None else high
        self._top = power_top(wanted, self._top, 512.0)
        if near and limit is not None:
            self._top = max(limit, high)
        gaps = frame.gaps(window.start, window.end, window.points)
        self.set_range(window.start, window.end, self._top, ticks=window.ticks, gaps=gaps)
        self._say_limit(near)
        self.set_note(str(Text("No slot has tokens yet.")) if math.isnan(high) else "")

    def legend_rows(self, frame: Frame, moment: float) -> list[Row]:
        rows = []
        for slot, area in reversed(list(enumerate(self._areas))):
            value = frame.at(self._column(frame, slot), moment)
            name = str(Text("All slots") if self._together else Text("Slot {number}", number=slot))
            rows.append(Row(name, area.colour, "fill", figure(value)))
        return rows


class MemoryPlot(Plot):
    """Used per device; the model's share filled; what was predicted dotted. Without a device: RAM."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(str(Text("Memory, GiB")), parent)
        self._setup = Setup()
        self._used: dict[str, Line] = {}
        self._share: dict[str, Area] = {}
        self._ram, self._ram_area = self.curve(4), Area(4, 0.2)
        self._predicted, self._peak = Level("text", ink.DOTS), Diamond()
        for item in (self._ram_area, self._predicted):
            self.view.add(item)
        self.view.add(self._peak)
        self._top = 0.0

    def configure(self, setup: Setup) -> None:
        old: list[Item] = [*self._used.values(), *self._share.values()]
        for item in old:
            self.view.remove(item)
        self._setup, self._top = setup, 0.0
        self._share = {name: Area(self._number(i), 0.16) for i, name in enumerate(setup.devices)}
        for area in self._share.values():
            self.view.add(area)
        self._used = {name: self.curve(self._number(i)) for i, name in enumerate(setup.devices)}
        self.view.remove(self._peak)  # above all others
        self.view.add(self._peak)

    @staticmethod
    def _number(index: int) -> int:
        """Colour 4 is RAM's; the devices take the others in order."""
        return (1, 2, 3, 5, 6)[index % 5]

    @property
    def _main(self) -> str:
        """The device with the most of the model: its prediction is the one that is drawn."""
        predicted = self._setup.predicted_bytes
        known = [d for d in self._setup.devices if d in predicted]
        best = max(known, key=lambda d: predicted[d], default="Host")
        return best if predicted.get(best, 0) > 0 else "Host"

    def draw(self, frame: Frame, window: Window) -> None:
        highs, shares = [], {}
        for name, curve in self._used.items():
            highs.append(self._feed(curve, frame, f"{name}.used_bytes", window, 1 / GIB))
            shares[name] = self._fill(self._share[name], frame, f"{name}.process_bytes", window)
        highs.append(self._feed(self._ram, frame, "process_rss_bytes", window, 1 / GIB))
        if self._main == "Host":
            shares["Host"] = self._fill(self._ram_area, frame, "process_rss_bytes", window)
        predicted = self._setup.predicted_bytes.get(self._main)
        self._predicted.value = predicted / GIB if predicted else None
        highs.append(predicted / GIB if predicted else math.nan)
        self._top = calm_top(float(np.fmax.reduce(highs)), self._top, 0.5)
        self.set_range(window.start, window.end, self._top, ticks=window.ticks)
        nothing = all(math.isnan(h) for h in highs[:-1])
        self.set_note(str(Text("No reading of memory yet.")) if nothing else "")
        if not self._mark_peak(*shares[self._main]):
            self._mark_peak(*frame.cut(f"{self._main}.used_bytes", window.start, window.end, window.points))

    def _mark_peak(self, t: Floats, held: Floats) -> bool:
        """Where in sight the main device held most, bytes: the model's share, or all of it where nobody tells that.
        False, and no mark, where nothing is known."""
        known = bool(len(held)) and not bool(np.isnan(held).all())
        at = int(np.nanargmax(held)) if known else 0
        found = (float(t[at]), float(held[at]) / GIB) if known else None
        if found != self._peak.at:
            self._peak.at = found
            size = number_text(found[1], 1 if found[1] >= 10 else 2) if found is not None else ""
            self.set_remark(str(Text("peak {size} GiB", size=size)) if found is not None else "")
        return known

    def _fill(self, area: Area, frame: Frame, name: str, window: Window) -> tuple[Floats, Floats]:
        x, y = frame.cut(name, window.start, window.end, window.points)
        area.set_data(x, np.zeros_like(y), y / GIB)
        return x, y

    def legend_rows(self, frame: Frame, moment: float) -> list[Row]:
        def gib(name: str) -> str:
            value = frame.at(name, moment) / GIB
            return figure(value, 1 if value >= 10 else 2)

        main = self._main
        predicted = self._setup.predicted_bytes.get(main)
        row = None
        if predicted:
            size = predicted / GIB
            row = Row(str(Text("predicted")), 0, "dots", figure(size, 1 if size >= 10 else 2), "text")
        rows = []
        for i, name in enumerate(self._used):
            number = self._number(i)
            rows.append(Row(name, number, "line", gib(f"{name}.used_bytes")))
            if name == main or len(self._used) == 1:
                rows.append(Row(str(Text("of it model")), number, "fill", gib(f"{name}.process_bytes")))
            if name == main and row:
                rows.append(row)
        rows.append(Row(str(Text("RAM, model")), 4, "line", gib("process_rss_bytes")))
        if main == "Host" and row:
            rows.append(row)
        return rows


class LoadPlot(Plot):
    """GPU and CPU in percent; power, temperature and clock in words."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(str(Text("Load, %")), parent)
        self._curves: dict[str, Line] = {}
        self._cpu = self.curve(4)

    def configure(self, setup: Setup) -> None:
        for curve in self._curves.values():
            self.view.remove(curve)
        self._curves = {name: self.curve((1, 2, 3, 5, 6)[i % 5]) for i, name in enumerate(setup.devices)}

    def draw(self, frame: Frame, window: Window) -> None:
        highs = [self._feed(curve, frame, f"{name}.utilisation_pct", window) for name, curve in self._curves.items()]
        highs.append(self._feed(self._cpu, frame, "cpu_pct", window))
        self.set_range(window.start, window.end, 100.0, ticks=window.ticks)
        self.set_note(str(Text("No reading of the load yet.")) if all(math.isnan(h) for h in highs) else "")

    def legend_rows(self, frame: Frame, moment: float) -> list[Row]:
        rows = []
        for i, name in enumerate(self._curves):
            number = (1, 2, 3, 5, 6)[i % 5]
            rows.append(Row(name, number, "line", figure(frame.at(f"{name}.utilisation_pct", moment))))
        rows.append(Row(str(Text("CPU")), 4, "line", figure(frame.at("cpu_pct", moment))))
        for name in self._curves:
            power = frame.at(f"{name}.power_w", moment)
            heat = frame.at(f"{name}.temperature_c", moment)
            words = [f"{power:.0f} W" if not missing(power) else "",
                     f"{heat:.0f} °C".replace("-", MINUS) if not missing(heat) else ""]
            if any(words):
                said = ", ".join(w for w in words if w)
                rows.append(Row(f"{name} {said}" if len(self._curves) > 1 else said, 0, "word"))
        return rows


