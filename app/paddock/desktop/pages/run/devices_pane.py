"""The machine now: each card's memory and readings, the host's, and steps of memory with their requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QCheckBox, QFrame, QGridLayout, QSizePolicy, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.run.devices_model import DeviceShown, devices_of, jump_words
from paddock.desktop.pages.run.devices_spark import Spark
from paddock.desktop.parts.basic import Label, button, column, row
from paddock.desktop.parts.memory import MemoryBar
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.plots import ink
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.hardware.model import Reading
from paddock.hardware.readings import Explained, explain
from paddock.session.detectors.jumps import jumps_of
from paddock.units import missing, number_text, seconds_text
from paddock.work.close_look import CloseLook

_FAST_MS = 100
_JUMPS_S = 3600.0


class CoreBars(QWidget):
    """The load of each logical core: one upright a core, wrapped into rows of 32."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._loads: tuple[float, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def show_loads(self, loads: tuple[float, ...]) -> None:
        self.setVisible(bool(loads))
        if loads == self._loads:
            return
        rows_before, self._loads = self._rows(), loads
        said = ", ".join(number_text(load, 0) for load in loads)
        self.setAccessibleName(tr("Load of each core, percent: {loads}", loads=said))
        self.setToolTip(tr("Load of each core, percent: {loads}", loads=said))
        if self._rows() != rows_before:
            self.updateGeometry()
        self.update()

    def _rows(self) -> int:
        return max(1, -(-len(self._loads) // 32))

    def sizeHint(self) -> QSize:
        return QSize(theme().px(120), self._rows() * theme().px(22))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        columns = min(len(self._loads), 32)
        if not columns:
            return
        wide, high = min(self.width() / columns, 24.0), self.height() / self._rows()
        for i, load in enumerate(self._loads):
            box = QRectF(i % 32 * wide, i // 32 * high + 1, wide - 2, high - 3)
            painter.fillRect(box, ink.role("alt"))
            painter.setPen(ink.pen(ink.role("line")))
            painter.drawRect(box)
            if not missing(load):
                part = box.height() * load / 100
                painter.fillRect(QRectF(box.left(), box.bottom() - part, box.width(), part), ink.data(4))


class DeviceBlock(QWidget):
    """One card or the host."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = Label("", weight=600)
        self.title = Label("", "note", "text2", elide="middle")
        self.bar = MemoryBar(16, labels=False)
        self.memory = Label("", "note", "text2", wrap=True)
        self.cores = CoreBars()
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(theme().px(12))
        self._grid.setVerticalSpacing(theme().px(2))
        for i in (0, 2):
            self._grid.setColumnStretch(i, 1)
        self._cells: list[tuple[Label, Label]] = []
        self.untold = Label("", "caption", "text2", wrap=True)
        self.untold.hide()
        head = row(self.name, self.title, gap=8)
        head.setStretch(1, 1)
        self.setLayout(column(head, self.bar, self.memory, self.cores, self._grid, self.untold, gap=4))

    def show_device(self, device: DeviceShown) -> None:
        """Labels change only where the text differs."""
        self.name.setText(device.name)
        self.title.setText(device.title)
        self.bar.show_values(device.bar)
        self.memory.setText(device.memory)
        self.cores.show_loads(device.cores)
        while len(self._cells) < len(device.facts):
            at = len(self._cells)
            pair = Label("", "note", "text2", elide="end"), Label("", "note")
            pair[1].setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            for i, cell in enumerate(pair):
                self._grid.addWidget(cell, at // 2, at % 2 * 2 + i)
            self._cells.append(pair)
        for i, pair in enumerate(self._cells):
            name, value = device.facts[i] if i < len(device.facts) else ("", "")
            pair[0].setText(name)
            pair[1].setText(value)
            pair[1].setToolTip(device.reasons.get(name, ""))
        self.untold.setText(device.untold)
        self.untold.setVisible(bool(device.untold))


class KeepOffer(QWidget):
    """After a close look: how much was read, and a button that stores it with the session. Hidden without any."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: Any = None
        self._readings: list[Reading] = []
        self.words = Label("", "note", "text2", wrap=True)
        self.keep = button(tr("Keep them"), "save", self._keep, small=True,
                           name=tr("Keep these readings with the session"))
        line = row(self.words, self.keep, gap=8)
        line.setStretch(0, 1)
        self.setLayout(line)
        self.hide()

    def show_readings(self, run: Any, readings: list[Reading]) -> None:
        """Offer them, where there is a card to have been read and a session to keep them with."""
        self._run = run
        self._readings = [one for one in readings
                          if not all(missing(d.used_bytes) and missing(d.utilisation_pct) for d in one.devices)]
        self.setVisible(bool(self._readings) and run.session_id is not None)
        self.keep.show()
        if self._readings:
            seconds = self._readings[-1].t - self._readings[0].t
            self.words.setText(tr("{count} reading of the cards in {time}.",
                                  plural="{count} readings of the cards in {time}.", count=len(self._readings),
                                  time=seconds_text(seconds)))

    def _keep(self) -> None:
        run, readings, self._readings = self._run, self._readings, []
        self.keep.hide()
        self.words.setText(tr("Keeping them…"))
        bridge.run(lambda: run.keep_readings(readings), lambda _: self.words.setText(tr("Kept with the session.")),
                   lambda error: self.words.setText(str(error.what)), self, name="keep readings")


class DevicesPane(QFrame):
    """`start` for a run, then `show_run` twice a second; ten times a second by itself when the person asks for it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: Any = None
        self._look: CloseLook | None = None
        self._why: Explained | None = None
        self.blocks: list[DeviceBlock] = []
        self.fast = QCheckBox(tr("10 readings a second"))
        self.fast.setToolTip(tr("Reads the cards ten times a second while this is in sight. Afterwards you may keep "
                                "the readings with the session."))
        self.fast.toggled.connect(self._fast_toggled)
        self.spark = Spark()
        self.spark.hide()
        self.offer = KeepOffer()
        self.note = Label(tr("No reading yet."), "note", "text2", wrap=True)
        self.jumps_title = Label(tr("Steps of memory"), weight=600)
        self.jumps = Label("", "note", "text2", wrap=True)
        self._list = column(gap=12)
        inner = QWidget()
        inner.setLayout(column(self.fast, self.spark, self.offer, self.note, self._list, self.jumps_title, self.jumps,
                               None, gap=8, margins=(12, 4, 12, 8)))
        self.setLayout(column(scrolling(inner, tr("Devices")), gap=0))
        self._timer = QTimer(self)
        self._timer.setInterval(_FAST_MS)
        self._timer.timeout.connect(self._pull)
        QApplication.instance().aboutToQuit.connect(self._stop_look)  # type: ignore[union-attr]

    def start(self, run: Any) -> None:
        """Another run: its own readings."""
        self.fast.setChecked(False)
        self._run, self._why = run, None
        self.offer.hide()
        machine = run.preview.machine
        bridge.run(lambda: explain(machine), partial(self._explained, run), None, self, name="why readings are missing")
        self.fast.setEnabled(run.pid is not None)

    def _explained(self, run: Any, why: Explained) -> None:
        if run is self._run:
            self._why = why

    def show_run(self, run: Any, snapshot: Any) -> None:
        """The newest reading of the recorder, or of the close look where that is on."""
        self._run = run
        if run.pid is None and self._look is not None:
            self.fast.setChecked(False)
        self.fast.setEnabled(run.pid is not None)
        sample = snapshot.sample
        if self._look is None:
            self._show_reading(sample.reading if sample is not None else None, snapshot.peaks)
        found = jumps_of(run.recorder.series, [d.name for d in run.preview.machine.devices], snapshot.requests,
                         max(0.0, snapshot.t - _JUMPS_S), snapshot.t)
        self.jumps.setText(jump_words(found) or tr("None of 32 MiB or more in the last hour."))

    def _show_reading(self, reading: Reading | None, peaks: Any) -> None:
        self.note.setVisible(reading is None)
        shown: Sequence[DeviceShown] = devices_of(self._run, reading, peaks, self._why)
        while len(self.blocks) < len(shown):
            made = DeviceBlock()
            self.blocks.append(made)
            self._list.addWidget(made)
        for i, block in enumerate(self.blocks):
            block.setVisible(i < len(shown))
            if i < len(shown):
                block.show_device(shown[i])

    # -- ten times a second

    @Slot(bool)
    def _fast_toggled(self, on: bool) -> None:
        self._stop_look()
        if not on or self._run is None:
            return
        run = self._run
        self.offer.hide()
        model = run.preview.model
        files = [shard.path for shard in model.shards] if model is not None else []
        self._look = CloseLook(run.preview.machine, lambda: [run.pid] if run.pid else [], files)
        self._look.start()
        self.spark.follow(self._look.series, [d.name for d in run.preview.machine.devices])
        self.spark.show()
        self._timer.start()

    @Slot()
    def _pull(self) -> None:
        look = self._look
        if look is None or look.latest is None:
            return
        self.spark.update()
        self._show_reading(look.latest, self._run.recorder.snapshot().peaks)

    @Slot()
    def _stop_look(self) -> None:
        look, self._look = self._look, None
        self._timer.stop()
        self.spark.hide()
        if look is not None:
            look.stop()
            self.offer.show_readings(self._run, list(look.readings))

    def hideEvent(self, event: QHideEvent) -> None:
        self.fast.setChecked(False)
        super().hideEvent(event)
