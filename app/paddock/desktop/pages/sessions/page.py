"""The page Sessions: the history on the left, the opened session beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QItemSelectionModel, Qt, QTimer, Slot
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QFrame, QMessageBox, QSplitter, QStackedWidget, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.searching import SearchEdit
from paddock.desktop.pages.sessions.compare import Side
from paddock.desktop.pages.sessions.comparepane import ComparePane
from paddock.desktop.pages.sessions.detail import SessionPane
from paddock.desktop.pages.sessions.manypane import ManyPane
from paddock.desktop.pages.sessions.rows import SPEEDS_SQL, SessionsModel
from paddock.desktop.pages.sessions.trendpane import TrendPane
from paddock.desktop.pages.sessions.view import SessionsView
from paddock.desktop.pages.sessions.writing import ask_where, write
from paddock.desktop.parts.basic import Label, button, column, panel, row, rule, tool_button
from paddock.desktop.parts.blocks import EmptyState, PageHeader, ProgressLine
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.session.model import MarkChange

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_COMPACT_WIDTH = 1000
_SEARCH_MS = 120


class SessionsPage(QFrame):
    """Reads the database off the GUI thread, when it is shown and when a run ends."""

    title = "Sessions"
    icon = "history"

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self.setMinimumSize(theme().px(420), theme().px(280))
        self.desk = desk
        self.model = SessionsModel(self)
        self._open_id: int | None = None
        self._compared = self._trending = False
        self._wanted: int | None = None
        self._compact: bool | None = None
        self._list_job: bridge.Job | None = None
        self._open_job: bridge.Job | None = None
        self._build()
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(_SEARCH_MS)
        self._typed.timeout.connect(self.refresh)
        self.search.textChanged.connect(self._typed.start)
        desk.runsChanged.connect(self._refresh_if_shown)
        self.model.choice_changed.connect(self._choice_changed)
        self._choice_changed()

    def _build(self) -> None:
        self._build_header()
        self._build_panes()
        self.progress = ProgressLine()
        self.nothing = EmptyState("search", tr("No session matches"), tr("Search for fewer words."),
                                  [(tr("Show all"), "undo-2", self.search.clear)])
        self.empty = EmptyState(
            "history", tr("No session yet"),
            tr("Each launch is recorded here, for as long as you like: its speed, memory, requests and log."),
            [(tr("Go to Launch"), "rocket", lambda: self.desk.pageWanted.emit("launch", None))])
        self.lists = QStackedWidget()
        for page in (self.view, self.nothing, self.empty):
            self.lists.addWidget(page)
        self._left = QWidget()
        self._build_left()
        self._splitter = QSplitter()
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(1)
        self._splitter.addWidget(self._left)
        self._right = QStackedWidget()
        for shown in (self.detail, self.compare, self.many, self.trends):
            self._right.addWidget(shown)
        self._splitter.addWidget(self._right)
        self._splitter.setStretchFactor(0, 0)
        self._splitter.setStretchFactor(1, 1)
        layout = column(self.header, self._splitter, gap=0)
        layout.setStretch(1, 1)
        self.setLayout(layout)
        self._arrange()

    def _build_header(self) -> None:
        self.header = PageHeader(tr("Sessions"))
        self.search = SearchEdit(tr("Search model, profile, tag, note"), tr("Search the sessions"))
        self.search.setFixedWidth(theme().px(230))
        self.back = tool_button("arrow-left", tr("Back to all sessions"), self.close_session, quiet=False, small=False)
        self._again = tool_button("refresh-cw", tr("Read again"), self.refresh, quiet=False, small=False)
        self.trends_button = button(tr("Trends"), "activity", self.show_trends)
        for part in (self.back, self.search, self.trends_button, self._again):
            self.header.right.addWidget(part)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self._focus_search)

    def _build_panes(self) -> None:
        """The list, and what stands right of it: one session, two, several, or all of them over time."""
        self.view = SessionsView(self.model)
        self.view.opened.connect(self.open_session)
        self.view.delete_asked.connect(self._delete_current)
        self.detail = SessionPane()
        self.detail.closed.connect(self.close_session)
        self.detail.plan_wanted.connect(self._open_plan)
        self.detail.delete_asked.connect(self.ask_delete)
        self.detail.marked.connect(self._mark)
        self.detail.mark_changed.connect(self._change_mark)
        self.compare, self.many = ComparePane(), ManyPane()
        self._beside: ComparePane | ManyPane = self.compare
        for several in (self.compare, self.many):
            several.closed.connect(self.model.clear_choice)
            several.report_asked.connect(self.ask_report)
        self.many.session_wanted.connect(self.open_session)
        self.detail.report_asked.connect(self.ask_report)
        self.trends = TrendPane(self.desk)
        self.trends.closed.connect(self._close_trends)
        self.trends.session_wanted.connect(self.open_session)

    def _build_left(self) -> None:
        """The list, what is being read, and what is chosen for a comparison."""
        self._choice_words = Label("", "note", "text2", elide="end")
        clear = button(tr("Clear"), None, self.model.clear_choice, link=True, small=True)
        chosen = row(self._choice_words, clear, gap=8, margins=(16, 4, 8, 4))
        chosen.setStretch(0, 1)
        self._choice_bar = panel("window", chosen)
        bottom = row(self.progress, margins=(16, 0, 16, 0))
        left = column(self.lists, bottom, rule(), self._choice_bar, gap=0)
        left.setStretch(0, 1)
        self._left.setLayout(left)

    # -- the list ------------------------------------------------------------------------------------------------------

    @Slot()
    def _refresh_if_shown(self) -> None:
        if self.isVisible():
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read the list again."""
        self._typed.stop()
        if self._list_job is not None:
            self._list_job.cancel()
        text, workspace = self.search.text(), self.desk.workspace

        def read() -> tuple[list[Any], dict[int, float]]:
            rows = workspace.sessions(text)
            try:
                _, speeds = workspace.query(SPEEDS_SQL)
            except AppError:
                speeds = []
            return rows, {int(one[0]): float(one[1]) for one in speeds if one[1] is not None}

        self._list_job = bridge.run(read, self._listed, self.desk.failed.emit, self, name="sessions")
        self.progress.follow(self._list_job, tr("Reading the sessions"))

    def _listed(self, found: tuple[list[Any], dict[int, float]]) -> None:
        rows, speeds = found
        self.model.set_rows(rows, speeds)
        searched = bool(self.search.text().strip())
        self.lists.setCurrentIndex(0 if rows else 1 if searched else 2)
        words = tr("{count} session", plural="{count} sessions", count=len(rows))
        interrupted = sum(1 for r in rows if r.state == "interrupted")
        if interrupted:
            words += ", " + tr("{count} interrupted", count=interrupted)
        self.header.note.setText(words if rows or searched else tr("nothing recorded yet"))
        for part in (self.search, self.trends_button):
            part.setVisible(bool(rows) or searched)
        self._select_open()

    def _select_open(self) -> None:
        line = self.model.find(self._open_id) if self._open_id is not None else -1
        if line >= 0:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.view.selectionModel().setCurrentIndex(self.model.index(line, 0), flags)

    # -- several sessions ----------------------------------------------------------------------------------------------

    @Slot()
    def _choice_changed(self) -> None:
        """Two or more chosen: read them and set them beside each other."""
        chosen = self.model.chosen
        self._choice_bar.setVisible(bool(chosen))
        self._choice_words.setText(tr("Choose one more to compare") if len(chosen) == 1 else
                                   tr("{count} chosen to compare", count=len(chosen)))
        if len(chosen) < 2:
            self._compared = False
            self._arrange()
            return
        workspace = self.desk.workspace

        def read() -> list[Side]:
            return [Side(workspace.session(i), workspace.database.series(i)) for i in chosen]

        if self._open_job is not None:
            self._open_job.cancel()
        self._open_job = bridge.run(read, self._sides_read, self.desk.failed.emit, self, name="compare")
        self.progress.follow(self._open_job, tr("Reading the sessions"))

    def _sides_read(self, sides: list[Side]) -> None:
        if [s.detail.row.id for s in sides] == self.model.chosen:
            self._compared, self._trending = True, False
            self._beside = self.compare if len(sides) == 2 else self.many
            self._arrange()
            if len(sides) == 2:
                self.compare.show_sides(sides[0], sides[1])
            else:
                self.many.show_sides(sides)

    # -- one session ---------------------------------------------------------------------------------------------------

    def show_item(self, session_id: object) -> None:
        """Another page points at a session."""
        self.open_session(int(str(session_id)))

    @Slot(int)
    def open_session(self, session_id: int) -> None:
        """Read everything of it, then show it."""
        self._wanted = session_id
        if self._open_job is not None:
            self._open_job.cancel()
        workspace = self.desk.workspace

        def read() -> tuple[Any, Any]:
            return workspace.session(session_id), workspace.database.series(session_id)

        self._open_job = bridge.run(read, self._opened, self._open_failed, self, name="session")
        self.progress.follow(self._open_job, tr("Reading the session"))

    def _opened(self, found: tuple[Any, Any]) -> None:
        detail, series = found
        self._open_id = detail.row.id
        self._compared = self._trending = False
        self._arrange()
        self.detail.show_session(detail, series)
        self._select_open()

    def _open_failed(self, error: AppError) -> None:
        self.close_session()
        self.desk.failed.emit(error)

    @Slot()
    def close_session(self) -> None:
        self._open_id = self._wanted = None
        self._trending = False
        if self._compared:
            self.model.clear_choice()
        self._arrange()
        self.view.setFocus()

    @Slot()
    def show_trends(self) -> None:
        """All sessions in one picture, in the place of the opened one."""
        self._trending = True
        self._arrange()
        self.trends.refresh()

    @Slot()
    def _close_trends(self) -> None:
        self._trending = False
        self._arrange()

    @property
    def open_id(self) -> int | None:
        """The session that is shown."""
        return self._open_id

    def _open_plan(self, plan: Plan) -> None:
        self.desk.edit(plan)
        self.desk.pageWanted.emit("launch", None)

    @Slot(int, list, str)
    def _mark(self, session_id: int, tags: list[str], note: str) -> None:
        """Stored off the GUI thread, then the list is read again: its search finds the new words."""
        workspace = self.desk.workspace

        def store() -> None:
            workspace.database.tag(session_id, tags)
            workspace.database.note(session_id, note)

        bridge.run(store, lambda _: self.refresh(), self.desk.failed.emit, self, name="mark")

    @Slot(int, object)
    def _change_mark(self, session_id: int, change: MarkChange) -> None:
        """Stored, and told to the recorder where the session still runs; then shown as it is stored."""
        database = self.desk.workspace.database
        recorder = next((run.recorder for run in self.desk.runs() if run.session_id == session_id), None)

        def store() -> tuple[Any, Any]:
            if recorder is not None and change.was in recorder.snapshot().events:
                now = change.now
                recorder.change_mark(change.was, now.text if now else None, **(now.data if now else {}))
            else:
                database.change_mark(session_id, change)
            database.flush()
            return self.desk.workspace.session(session_id), database.series(session_id)

        bridge.run(store, self._mark_stored, self.desk.failed.emit, self, name="mark")

    def _mark_stored(self, found: tuple[Any, Any]) -> None:
        if found[0].row.id == self._open_id:
            self.detail.show_session(*found)

    @Slot(list)
    def ask_report(self, ids: list[int]) -> None:
        """Where to write the report; the kind follows from the name's end."""
        path = ask_where(self, ids)
        if path is not None:
            self.write_report(ids, path)

    def write_report(self, ids: list[int], path: Path) -> None:
        """Made and written off the GUI thread; drawing its plots takes a moment."""
        workspace = self.desk.workspace

        def done(written: Path) -> None:
            self.header.note.setText(tr("report written to {path}", path=str(written)))

        job = bridge.run(lambda: write(workspace, ids, path), done, self.desk.failed.emit, self, name="report")
        self.progress.follow(job, tr("Writing the report"), cancellable=False)

    @Slot()
    def _delete_current(self) -> None:
        line = self.view.currentIndex().row()
        if 0 <= line < len(self.model.rows):
            self.ask_delete(self.model.rows[line].row.id)

    @Slot(int)
    def ask_delete(self, session_id: int) -> None:
        """For good, so it asks first."""
        box = QMessageBox(self)
        box.setIcon(QMessageBox.Icon.Question)
        box.setText(tr("Delete this session?"))
        box.setInformativeText(tr("Its requests, plots and log excerpt go with it. This cannot be undone."))
        sure = box.addButton(tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.finished.connect(lambda _code: self.delete(session_id) if box.clickedButton() is sure else None)
        box.open()

    def delete(self, session_id: int) -> None:
        """Without a question."""
        workspace = self.desk.workspace

        def done(_result: object) -> None:
            if self._open_id == session_id:
                self.close_session()
            self.refresh()

        bridge.run(lambda: workspace.delete_session(session_id), done, self.desk.failed.emit, self, name="delete")

    # -- Qt ------------------------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        compact = self.width() < theme().px(_COMPACT_WIDTH)
        if compact != self._compact:
            self._compact = compact
            self._arrange()

    def _arrange(self) -> None:
        """The list alone, list and session, or (in a small window) the session alone."""
        opened = self._open_id is not None or self._compared or self._trending
        compact = bool(self._compact)
        self._left.setVisible(not (compact and opened))
        self._right.setVisible(opened)
        self._right.setCurrentWidget(self.trends if self._trending else self._beside if self._compared else self.detail)
        self.back.setVisible(compact and opened)
        if opened and not compact:
            self._splitter.setSizes([theme().px(350), max(self.width() - theme().px(350), 400)])

    @Slot()
    def _focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()
