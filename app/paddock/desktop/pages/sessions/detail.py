"""One session: figures, plots, requests, memory, command, events, log."""

from __future__ import annotations

import shlex
import statistics
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from paddock.desktop.pages.marklist import MarkList, mark_text
from paddock.desktop.pages.models.tables import FilteredTable
from paddock.desktop.pages.run.figures import FigureRow, Shown
from paddock.desktop.pages.run.logpane import LogPane
from paddock.desktop.pages.run.plotpane import PlotPane
from paddock.desktop.pages.run.requestpane import RequestPane
from paddock.desktop.pages.sessions.clients import ClientsPane
from paddock.desktop.pages.sessions.marking import MarksLine
from paddock.desktop.pages.sessions.memory import compare, main_device, table_rows
from paddock.desktop.pages.sessions.rows import SIGNS, duration_s, duration_words, state_word, when_words
from paddock.desktop.parts.basic import Label, button, column, row, rule, tool_button
from paddock.desktop.parts.blocks import EmptyState
from paddock.desktop.parts.signs import Chip
from paddock.desktop.plots import Frame, Setup
from paddock.desktop.plots.scale import clock_text
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.report.words import in_words
from paddock.server.model import LogLine
from paddock.session.model import Event, MarkChange
from paddock.units import GIB, count_text, gib_text, missing, number_text, percent_text

if TYPE_CHECKING:
    from paddock.session import Series
    from paddock.store.rows import SessionDetail

_MARGIN = 16


def setup_of(detail: SessionDetail, series: Series) -> Setup:
    """Devices and slots from the columns that were stored, predictions from the estimate."""
    names = series.names
    devices = tuple(dict.fromkeys(n.split(".")[0] for n in names if n.endswith(".used_bytes") and "." in n))
    slots = {int(n.split(".")[1]) for n in names if n.startswith("slot.") and n.split(".")[1].isdigit()}
    actual = detail.actual or {}
    count = int(actual.get("n_slots") or (max(slots) + 1 if slots else 1))
    per_slot = actual.get("n_ctx_slot")
    limit = None
    if per_slot:
        limit = float(per_slot) * (1 if actual.get("kv_unified") else count)
    lines = compare(detail.estimate, None)
    predicted: dict[str, float] = {}
    for line in lines:
        if line.term in ("model", "context", "compute", "draft", "overhead") and line.predicted:
            predicted[line.device] = predicted.get(line.device, 0.0) + line.predicted
    return Setup(devices, count, limit, predicted, answers_texts="requests_per_s" in names)


def _median(values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None and not missing(v)]
    return statistics.median(known) if known else None


def figures_of(detail: SessionDetail) -> list[Shown]:
    """Six figures of what was: medians over the requests, and memory beside its prediction."""
    requests = detail.requests
    speed = _median([r.generation_per_s for r in requests])
    prompts = _median([r.prompt_per_s for r in requests if r.prompt_rate_means_something])
    first = _median([r.ttft_s for r in requests])
    failed = sum(1 for r in requests if r.status in ("failed", "cancelled"))
    counted = [r for r in requests if not r.is_child]
    none = tr("no request")
    note = tr("median of {count}", count=len(requests)) if requests else none
    no_speed = tr("prompts too short") if requests else none
    return [
        Shown(tr("Generation"), _rate(speed), tr("t/s"), note),
        Shown(tr("Prompt"), _rate(prompts), tr("t/s"),
              tr("full prompts only") if prompts is not None else no_speed),
        Shown(tr("Time to first token"), "–" if first is None else number_text(first, 2 if first < 10 else 1), tr("s"),
              note),
        Shown(tr("Requests"), count_text(len(counted)), "",
              tr("{count} failed or left", count=failed) if failed else tr("all answered") if counted else ""),
        Shown(tr("Generated"), count_text(detail.row.generated_tokens), tr("tokens"), _drafts(detail)),
        _memory(detail)]


def _rate(value: float | None) -> str:
    return "–" if value is None else number_text(value, 0 if value >= 100 else 1)


def _drafts(detail: SessionDetail) -> str:
    drafted = sum(r.draft_tokens or 0 for r in detail.requests)
    accepted = sum(r.accepted_tokens or 0 for r in detail.requests)
    if not drafted:
        return tr("no drafts")
    return tr("{percent} of the drafts accepted", percent=percent_text(accepted / drafted))


def _memory(detail: SessionDetail) -> Shown:
    found = main_device(compare(detail.estimate, detail.actual))
    if found is None:
        return Shown(tr("Memory"), "–", tr("GiB"), tr("nothing was measured"))
    name, predicted, measured = found
    title = tr("Memory, RAM") if name == "Host" else tr("Memory, {device}", device=name)
    if measured is None:
        return Shown(title, "–", tr("GiB"), tr("predicted {size}", size=_gib(predicted)))
    if not predicted:
        return Shown(title, _gib(measured), tr("GiB"), tr("nothing was predicted"))
    gap = measured / predicted - 1
    note = tr("as predicted") if abs(gap) < 0.005 else tr(
        "predicted {size}, {percent}", size=_gib(predicted), percent=percent_text(gap, 0, signed=True))
    return Shown(title, _gib(measured), tr("GiB"), note)


def _gib(value: int | None) -> str:
    return gib_text(value, 1 if value is not None and value >= 10 * GIB else 2)


class SessionPane(QFrame):
    """`show_session` shows one; the page acts on the signals."""

    closed = Signal()
    plan_wanted = Signal(object)
    """launch.Plan"""
    delete_asked = Signal(int)
    report_asked = Signal(list)
    """ids of sessions"""
    marked = Signal(int, list, str)
    """id, tags, note"""
    mark_changed = Signal(int, object)
    """id, session.model.MarkChange"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        self.detail: SessionDetail | None = None
        self._build_head()
        self.figures = FigureRow()
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        for named in (self.tabs, self.tabs.tabBar()):
            named.setAccessibleName(tr("What was recorded"))
        self.plots = PlotPane(live=False)
        self.plots.page = self
        self.plots.stack.window_changed.connect(self._window_changed)
        self.plots.stack.ended = True
        self.requests = RequestPane(tr("This session had no request."))
        self.requests.ways.chosen.connect(self._window_changed)
        self.command = QPlainTextEdit()
        self.command.setReadOnly(True)
        self.command.setAccessibleName(tr("Command"))
        self.events = FilteredTable(tr("Events"), [tr("Time"), tr("Kind"), tr("Text")], stretch=2)
        self.mark_list = MarkList()
        self.mark_list.changed.connect(self._change_mark)
        self.log = LogPane()
        self.clients = ClientsPane()
        for part, name in ((self.plots, tr("Plots")), (self.requests, tr("Requests")), (self.clients, tr("Clients")),
                           (self._memory_tab(), tr("Memory")), (self._command_tab(), tr("Command")),
                           (self._events_tab(), tr("Events")), (self.log, tr("Log"))):
            self.tabs.addTab(part, name)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in (self._head, rule(), self.figures, rule()):
            layout.addWidget(part)
        layout.addWidget(self.tabs, 1)

    def _build_head(self) -> None:
        self._name = Label("", "title", weight=600, elide="middle")
        self._chip = Chip("")
        self._about = Label("", "note", "text2", elide="end")
        self._why = Label("", "note", "bad", wrap=True)
        self.marks = MarksLine()
        self.marks.changed.connect(self._marked)
        self._plan = button(tr("Open as plan"), "rocket", self._open_plan)
        self._report = tool_button("file", tr("Report…"), self._ask_report, quiet=False, small=False)
        self._copy = tool_button("copy", tr("Copy the command"), self._copy_command, quiet=False, small=False)
        self._delete = tool_button("trash-2", tr("Delete this session"), self._ask_delete, quiet=False, small=False)
        self._close = tool_button("x", tr("Close"), self.closed.emit, quiet=True, small=False)
        top = row(self._name, self._chip, self._plan, self._report, self._copy, self._delete, self._close, gap=8)
        top.setStretch(0, 1)
        self._head = QWidget()
        self._head.setLayout(column(top, self._about, self.marks, self._why, gap=4, margins=(_MARGIN, 8, 8, 8)))

    def _memory_tab(self) -> QWidget:
        self.memory = FilteredTable(tr("Predicted and measured"), [tr("Device"), tr("Part"), tr("Predicted"),
                                                                   tr("Measured"), tr("Difference")],
                                    frozenset({2, 3, 4}), stretch=1, filterable=False)
        self.memory_none = EmptyState("scale", tr("No memory was recorded"), tr(
            "The server ended before it had told how much it took, or its log was too quiet (-lv 4 tells it)."))
        self.memory_pages = QStackedWidget()
        self.memory_pages.addWidget(self.memory)
        self.memory_pages.addWidget(self.memory_none)
        return self.memory_pages

    def _events_tab(self) -> QWidget:
        holder = QWidget()
        self.mark_list.setContentsMargins(_MARGIN, 8, _MARGIN, 8)
        layout = column(self.events, self.mark_list, gap=0)
        layout.setStretch(0, 1)
        holder.setLayout(layout)
        return holder

    def _command_tab(self) -> QWidget:
        holder = QWidget()
        copy = button(tr("Copy the command"), "copy", self._copy_command)
        holder.setLayout(column(self.command, row(copy, None), gap=8, margins=(_MARGIN, 12, _MARGIN, 12)))
        return holder

    # -- what is shown -----------------------------------------------------------------------------------------------

    def show_session(self, detail: SessionDetail, series: Series) -> None:
        """Everything of one session at once; reading it from the database was somebody else's work."""
        self.detail = detail
        self._say_head(detail)
        self.figures.show_all(figures_of(detail))
        stack = self.plots.stack
        stack.configure(setup_of(detail, series))
        span = series.span()
        ends = [span[1] if span else 0.0, *(r.t_end or r.t_start for r in detail.requests),
                *(e.t for e in detail.events)]
        self.plots.spans.select("all")
        stack.set_span(None)
        stack.set_frame(Frame(series, detail.requests, detail.events, max(ends)))
        self.requests.show_requests(detail.requests)
        self.requests.say_count(len(detail.requests), 0)
        self.clients.show_exchanges(detail.exchanges)
        lines = compare(detail.estimate, detail.actual)
        self.memory.set_rows(table_rows(lines), (90, 0, 110, 110, 150))
        self.memory_pages.setCurrentIndex(0 if lines else 1)
        self.command.setFont(theme().font("mono"))
        self.command.setPlainText(self.command_text())
        events: list[tuple[tuple[str, Any], ...]] = [
            ((clock_text(e.t), e.t), (in_words(e.kind), e.kind), _told(e)) for e in detail.events]
        self.events.set_rows(events, (80, 80, 0))
        self.mark_list.show_marks(detail.events)
        self._show_log(detail.log_excerpt or "")

    def _say_head(self, detail: SessionDetail) -> None:
        session = detail.row
        self._name.setText(session.model or tr("no model named"))
        name, tone = SIGNS.get(session.state, ("circle-help", "unk"))
        self._chip.show_tone(state_word(session.state), name, tone)
        seconds = duration_s(session)
        parts = [when_words(session.start), tr("still running") if missing(seconds) else duration_words(seconds),
                 tr("profile {name}", name=session.profile) if session.profile else "", session.engine or ""]
        self.marks.show_marks(session.tags, session.note or "")
        self._about.setText(", ".join(p for p in parts if p))
        bad = session.state in ("failed", "crashed")
        self._why.setText(session.reason or "")
        self._why.setVisible(bad and bool(session.reason))
        self._plan.setEnabled(detail.plan is not None)
        self._plan.setToolTip("" if detail.plan is not None else tr("No plan was kept with this session."))
        running = session.end is None and session.state not in ("interrupted",)
        self._delete.setEnabled(not running)

    def _show_log(self, text: str) -> None:
        self.log.start(None)
        lines = [LogLine(0.0, one, _level(one), i) for i, one in enumerate(text.splitlines(), start=1)]
        self.log.level.setCurrentIndex(0)
        self.log.add(lines)
        self.log.say_count(len(lines))

    def command_text(self) -> str:
        """The command as a shell takes it, the variables that were set for it in front."""
        if self.detail is None:
            return ""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.detail.environment.items()]
        return " ".join([*variables, shlex.join(self.detail.command)])

    def _window_changed(self, _way: str = "") -> None:
        stack = self.plots.stack
        self.requests.show_window(stack.frame.requests, *stack.window_s, stack.frame.now)

    def arrange(self, narrow: bool) -> None:
        """Figures in one row or two."""
        self.figures.arrange(3 if narrow else 6)

    def resizeEvent(self, event: Any) -> None:
        self.arrange(self.width() < theme().px(880))

    # -- acts --------------------------------------------------------------------------------------------------------

    def _open_plan(self) -> None:
        if self.detail is not None and self.detail.plan is not None:
            self.plan_wanted.emit(self.detail.plan)

    def _copy_command(self) -> None:
        QGuiApplication.clipboard().setText(self.command_text())

    def _marked(self, tags: list[str], note: str) -> None:
        if self.detail is not None:
            self.marks.show_marks(tuple(tags), note)
            self.marked.emit(self.detail.row.id, tags, note)

    def _change_mark(self, mark: Event, note: str | None) -> None:
        now = Event(mark.t, "mark", mark_text(note), {"note": note}) if note is not None else None
        if self.detail is not None:
            self.mark_changed.emit(self.detail.row.id, MarkChange(mark, now))

    def _ask_report(self) -> None:
        if self.detail is not None:
            self.report_asked.emit([self.detail.row.id])

    def _ask_delete(self) -> None:
        if self.detail is not None:
            self.delete_asked.emit(self.detail.row.id)


def _told(event: Event) -> tuple[str, str]:
    """The cell of what happened: a state's name in words, all else as it was recorded."""
    words = in_words(event.in_full) if event.kind == "state" else event.in_full
    return words, words


def _level(text: str) -> str | None:
    """The level letter of a line as llama.cpp prints it ("0.02.118.531 I load_tensors: …")."""
    words = text.split(None, 2)
    for word in words[:2]:
        if word in ("I", "W", "E", "D"):
            return word
    return None
