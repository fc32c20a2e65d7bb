"""One memory bar per device, full size or folded to a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QScrollArea, QWidget

from paddock.desktop.parts.basic import Label, column, empty_layout, row
from paddock.desktop.parts.memory import BarValues, Legend, MemoryBar, bar_of, free_words, measured
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import gib_text

if TYPE_CHECKING:
    from paddock.fit.model import DeviceEstimate
    from paddock.hardware.model import Machine
    from paddock.work import Preview, Run
    from paddock.work.watching import Watched

_FOLDED_MOST = 4


def bars_for(preview: Preview | None, machine: Machine | None,
             run: Run | Watched | None = None) -> list[tuple[BarValues, str]]:
    """(values, what the device is) in the engine's order, the host last; without an estimate only what others hold.

    `run`: the server that runs this plan; its measured figures take the place of the estimate's.
    """
    kinds = {d.name: d.description for d in machine.devices} if machine is not None else {}
    estimate = preview.estimate if preview is not None else None
    if estimate is not None and estimate.devices:
        actual = (run.actual if run is not None else None) or {}
        kinds = {"Host": tr("RAM"), **kinds}
        return [(measured(bar_of(d), actual), _short(kinds.get(d.name, ""))) for d in estimate.devices if not _again(d)]
    if machine is None:
        return []
    found = [(BarValues(d.name, other=_held(d.total_bytes, d.free_bytes), total=d.total_bytes, free=d.free_bytes,
                        unknown="" if d.total_bytes else tr("its memory is not known")), _short(d.description))
             for d in machine.devices if d.same_as is None]
    host = BarValues("Host", other=machine.ram_total_bytes - machine.ram_available_bytes,
                     total=machine.ram_total_bytes, free=machine.ram_available_bytes)
    return [*found, (host, tr("RAM"))]


def _again(device: DeviceEstimate) -> bool:
    """A card that an earlier device is already, and that the plan does not use by this name."""
    return device.budget is not None and device.budget.same_as is not None and not (
        device.model or device.context or device.compute or any(device.draft))


def _held(total: int | None, free: int | None) -> int | None:
    return None if total is None or free is None else total - free


def _short(description: str) -> str:
    """"NVIDIA GeForce RTX 4090" → "RTX 4090": the maker is no news."""
    for word in ("NVIDIA ", "GeForce ", "AMD ", "Radeon ", "Intel(R) ", "(TM)", "(R)"):
        description = description.replace(word, "")
    return description.strip()


class FullBars(QWidget):
    """Name, bar, what stays free: a row a device, the legend below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[tuple[Label, Label, MemoryBar, Label, Label]] = []
        self._inner = QWidget()
        self._grid = QGridLayout(self._inner)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(0)
        self._grid.setVerticalSpacing(theme().px(8))
        self._grid.setColumnStretch(1, 1)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(self._inner)
        self._inner.setAutoFillBackground(False)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.viewport().setAutoFillBackground(False)
        self._empty = Label(tr("Reading what this computer has…"), "note", "text2")
        self.legend = Legend()
        self.setLayout(column(self._empty, self._scroll, self.legend, gap=8))

    def show_bars(self, bars: list[tuple[BarValues, str]]) -> None:
        self._empty.setVisible(not bars)
        if len(bars) != len(self._rows):
            self._build(len(bars))
        for (name, kind, bar, free, total), (values, what) in zip(self._rows, bars, strict=True):
            name.setText(values.name)
            kind.setText(what)
            bar.show_values(values)
            words, of, role = free_words(values)
            free.setText(words)
            free.look(role=role)
            total.setText(of)

    def _build(self, count: int) -> None:
        empty_layout(self._grid)
        self._rows = []
        for index in range(count):
            name, kind = Label("", weight=600), Label("", "note", "text2", elide="end")
            bar, free, total = MemoryBar(), Label("", "note", weight=500), Label("", "note", "text2")
            device = QWidget()
            device.setFixedWidth(theme().px(136))
            line = row(name, kind, gap=6)
            line.setStretch(1, 1)
            device.setLayout(line)
            right = QWidget()
            right.setFixedWidth(theme().px(140))
            right.setLayout(row(None, free, total, gap=4))
            for place, widget in enumerate((device, bar, right)):
                self._grid.addWidget(widget, index, place)
            self._grid.setRowMinimumHeight(index, theme().px(22))
            self._rows.append((name, kind, bar, free, total))
        self._grid.setRowStretch(count, 1)


class _MiniBar(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.name = Label("", "caption", weight=600)
        self.free = Label("", "caption", "text2")
        self.bar = MemoryBar(height=9, labels=False)
        self.setLayout(column(None, row(self.name, None, self.free, gap=4), self.bar, None, gap=3))

    def show_values(self, values: BarValues) -> None:
        self.name.setText(values.name)
        self.bar.show_values(values)
        left = values.left
        if values.unknown or left is None:
            self.free.setText(tr("unknown"))
        elif left < 0:
            self.free.setText(tr("{size} over", size=gib_text(-left, 1)))
        else:
            self.free.setText(tr("{size} free", size=gib_text(left, 1)))
        self.free.look(role=free_words(values)[2] if not values.unknown else "text2")

    def set_least_width(self, least: int) -> None:
        """So wide, or wider where its words need it: a cut figure would say less than there is."""
        words = self.name.sizeHint().width() + self.free.sizeHint().width() + theme().px(4)
        self.setFixedWidth(max(least, words))


class MiniBars(QWidget):
    """The folded form: at most four devices beside each other, the tightest ones first kept."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._box = QHBoxLayout(self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(theme().px(16))
        self._bars: list[_MiniBar] = []
        self._most = _FOLDED_MOST
        self._width = theme().px(124)
        self._all: list[BarValues] = []

    def set_narrow(self, narrow: bool) -> None:
        """Shorter bars where there is little room."""
        self._width = theme().px(104 if narrow else 124)
        for made in self._bars:
            made.set_least_width(self._width)

    def set_most(self, most: int) -> None:
        """How many there is room for."""
        if most != self._most:
            self._most = most
            self.show_bars([(values, "") for values in self._all])

    def show_bars(self, bars: list[tuple[BarValues, str]]) -> None:
        self._all = [values for values, _ in bars]
        shown = self._all
        if len(shown) > self._most:
            kept = sorted(shown, key=lambda v: v.left if v.left is not None else 1 << 62)[:self._most]
            shown = [v for v in shown if v in kept]
        while len(self._bars) < len(shown):
            self._bars.append(_MiniBar())
            self._box.addWidget(self._bars[-1])
        for index, made in enumerate(self._bars):
            made.setVisible(index < len(shown))
            if index < len(shown):
                made.show_values(shown[index])
                made.set_least_width(self._width)


__all__ = ["FullBars", "MiniBars", "bars_for"]
