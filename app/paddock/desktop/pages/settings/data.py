"""Where everything is kept, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from paddock.desktop.pages.launch.fields import spin
from paddock.desktop.pages.settings.parts import LABELS, line
from paddock.desktop.parts.basic import Label, button, column, row
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.units import bytes_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


class DataSection(QWidget):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        settings = desk.workspace.settings
        self.days = spin(tr("Keep sessions, days"), 0, 3650)
        self.days.setSpecialValueText(tr("for ever"))
        self.days.setValue(settings.keep_sessions_days)
        self.days.setMinimumWidth(theme().px(112))
        self.days.valueChanged.connect(self._retained)
        self.room = spin(tr("Most space for sessions, MiB"), 0, 1_000_000)
        self.room.setSpecialValueText(tr("no limit"))
        self.room.setSingleStep(256)
        self.room.setValue(settings.keep_sessions_mib)
        self.room.setMinimumWidth(theme().px(112))
        self.room.valueChanged.connect(self._limited)
        root = desk.workspace.paths.root
        path = Label(str(root), "mono", elide="middle")
        show = button(tr("Show"), "folder", lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(root))),
                      name=tr("Show the data folder"))
        folder = QWidget()
        inner = row(path, show)
        inner.setStretch(0, 1)
        folder.setLayout(inner)
        name = Label(tr("Data folder"))
        name.setFixedWidth(theme().px(LABELS))
        made = QWidget()
        whole = row(name, folder, gap=16, margins=(0, 4, 0, 4))
        whole.setStretch(1, 1)
        made.setLayout(whole)
        promise = tr("Everything that Paddock writes is in there. It sends nothing anywhere.")
        note = Label(promise, "note", "text2", wrap=True)
        note.setContentsMargins(theme().px(LABELS) + 16, 0, 0, 0)
        kept = line(tr("Keep sessions for"), self.days, note=tr("In days; older ones are removed at the start."))
        room = line(tr("Space for sessions"), self.room, note=tr(
            "In MiB, now {size}; the oldest make room at the start. What has a note or a tag always stays.",
            size=bytes_text(self._used(), 0)))
        self.setLayout(column(kept, room, made, note, gap=4))

    def _used(self) -> int | None:
        """The file's size is near enough here, and costs no look into the database."""
        try:
            return self._desk.workspace.paths.database.stat().st_size
        except OSError:
            return None

    @Slot(int)
    def _retained(self, days: int) -> None:
        self._desk.workspace.settings.keep_sessions_days = days
        self._desk.save_settings()

    @Slot(int)
    def _limited(self, mib: int) -> None:
        self._desk.workspace.settings.keep_sessions_mib = mib
        self._desk.save_settings()
