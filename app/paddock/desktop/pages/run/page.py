"""The page Run: one run at a time, followed as it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QGuiApplication, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QComboBox, QFrame, QStackedWidget, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.run.attachdialog import AttachDialog
from paddock.desktop.pages.run.banner import Act, Message, Messages, edits_words
from paddock.desktop.pages.run.body import RunBody
from paddock.desktop.pages.run.context_model import prompts_left_s
from paddock.desktop.pages.run.detect_dialog import DiagnoseDialog, diagnose_of
from paddock.desktop.pages.run.figures import Shown, allowed_of, figures_of
from paddock.desktop.pages.run.marks import MarkDialog
from paddock.desktop.pages.run.source import LiveSource, setup_of
from paddock.desktop.pages.run.textfigures import text_figures_of
from paddock.desktop.pages.run.usual import Usual, usual_of
from paddock.desktop.pages.sessions.rows import duration_words, state_word, when_words
from paddock.desktop.parts.basic import Label, button, column, tool_button
from paddock.desktop.parts.blocks import Banner, EmptyState, PageHeader
from paddock.desktop.parts.signs import Tag
from paddock.desktop.plots import Frame, Setup
from paddock.desktop.state import LIVE
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.server.model import State
from paddock.units import percent_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

_LOG_BATCH = 4000
"""Lines taken at one pull. What comes faster than five times that a second is only in the file, as the pane says."""
_PULL_MS = 200
"""As often as the server is asked while it works."""
_LABEL_EVERY = 3
"""Of the plots' pulls: figures, requests and counts change less than twice a second."""
_COMPACT_WIDTH, _COMPACT_HEIGHT = 1000, 560


def _run_words(run: Any) -> str:
    """A run in the choice of several. Two servers of one model often start in one minute: those that live tell apart
    by their port."""
    port = urlsplit(run.url).port if run.state in LIVE else None
    label = run.label if port is None else f"{run.label} :{port}"
    return tr("{label}, {time}, {state}", label=label, state=state_word(run.state.value),
              time=when_words(run.started_utc).split(" ")[-1])


class RunPage(QFrame):
    """Shows `desk.run`; what is drawn often is pulled from its recorder, what is rare comes as the desk's signals."""

    title = "Run"
    icon = "activity"

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("panel", "base")
        # Smaller than the wide arrangement needs: `arrange` makes it fit.
        self.setMinimumSize(theme().px(420), theme().px(280))
        self.desk = desk
        self._source: LiveSource | None = None
        self._usual = Usual()
        self._pulls = 0
        self._messages = Messages()
        self._message: Message | None = None
        self._said: tuple[object, ...] = ()
        self._build()
        self._timer = QTimer(self)
        self._timer.setInterval(_PULL_MS)
        self._timer.timeout.connect(self._pull)
        desk.runsChanged.connect(self._runs_changed)
        desk.runStateChanged.connect(self._state_changed)
        desk.runDiagnosed.connect(self._diagnosed)
        self._runs_changed()

    def _build(self) -> None:
        self.header = PageHeader(tr("Run"))
        self.chooser = QComboBox()
        self.chooser.setAccessibleName(tr("Which run"))
        self.chooser.setMinimumWidth(theme().px(220))
        self.chooser.setMaximumWidth(theme().px(420))
        self.chooser.activated.connect(self._chosen)
        self._name = Label("", weight=500, elide="middle")
        self._tag = Tag("")
        self.header.left.addWidget(self._name)
        self.header.left.addWidget(self.chooser)
        self.header.left.addWidget(self._tag)
        self.diagnose = button(tr("Diagnose"), "search", self._diagnose)
        self.diagnose.setToolTip(tr("Ten requests to this server, and what stands out, in words."))
        self.diagnose_small = tool_button("search", tr("Diagnose"), self._diagnose, quiet=False, small=False)
        self.mark = button(tr("Mark event"), "flag", self._mark_event)
        self.mark.setShortcut("Ctrl+M")
        self.address = button(tr("Copy address"), "copy", self._copy_address)
        self.mark_small = tool_button("flag", tr("Mark event"), self._mark_event, quiet=False, small=False)
        self.address_small = tool_button("copy", tr("Copy address"), self._copy_address, quiet=False, small=False)
        self.body = RunBody()
        self.body.plots.page = self
        self.other = tool_button("cable", tr("Attach to a server that runs already"), self.attach, quiet=False,
                                 small=False)
        self.body.models.wanted.connect(self._model_wanted)
        for part in (self.body.choice, self.other, self.diagnose, self.mark, self.address, self.diagnose_small,
                     self.mark_small, self.address_small):
            self.header.right.addWidget(part)
        self.banner = Banner()
        self.banner.closed.connect(self._banner_closed)
        self.body.plots.stack.window_changed.connect(self._window_changed)
        self.body.requests.ways.chosen.connect(self._window_changed)
        self.empty = EmptyState(
            "activity", tr("No server is running"),
            tr("Choose a model, look at what it will cost, and launch it. Its speed, memory and log then appear here."),
            [(tr("Choose a model"), "boxes", lambda: self.desk.pageWanted.emit("models", None)),
             (tr("Go to Launch"), "rocket", lambda: self.desk.pageWanted.emit("launch", None)),
             (tr("Attach to a server…"), "cable", self.attach)])
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.body)
        layout = column(self.header, self.banner, self.pages, gap=0)
        layout.setStretch(2, 1)
        self.setLayout(layout)

    # -- which run -----------------------------------------------------------------------------------------------------

    @property
    def run(self) -> Any:
        return self._source.run if self._source is not None else None

    @Slot()
    def _runs_changed(self) -> None:
        run = self.desk.run
        if run is not self.run:
            self._show_run(run)
        self._fill_chooser()
        self._say_state()

    def _show_run(self, run: Any) -> None:
        self._source = LiveSource(run) if run is not None else None
        self._usual = Usual()
        self.pages.setCurrentWidget(self.body if run is not None else self.empty)
        stack = self.body.plots.stack
        self.body.log.start(run.log_path if run is not None else None, run is not None and run.read_only)
        self.body.models.show_models((), False)
        self.body.requests.show_requests(())
        if self._source is not None:
            workspace, session_id = self.desk.workspace, run.session_id
            if session_id is not None:
                bridge.run(lambda: usual_of(workspace, session_id), lambda found: self._usual_known(run, found), None,
                           self, name="usual")
            stack.configure(setup_of(run))
            stack.set_frame(self._source.frame())
            self._pull(labels=True)

    def _usual_known(self, run: Any, usual: Usual) -> None:
        if run is self.run:
            self._usual = usual
            self._pull(labels=True)

    def _fill_chooser(self) -> None:
        runs = self.desk.runs()
        self.chooser.blockSignals(True)
        self.chooser.clear()
        for run in runs:
            self.chooser.addItem(_run_words(run))
        if self.run in runs:
            self.chooser.setCurrentIndex(runs.index(self.run))
        self.chooser.blockSignals(False)
        several = len(runs) > 1
        self.chooser.setVisible(several)
        self._name.setVisible(not several and self.run is not None)

    @Slot(int)
    def _chosen(self, index: int) -> None:
        runs = self.desk.runs()
        if 0 <= index < len(runs):
            self.desk.choose_run(runs[index])

    # -- state and messages --------------------------------------------------------------------------------------------

    @Slot(object, object, object)
    def _state_changed(self, run: Any, state: State, exit_: Any) -> None:
        self._fill_chooser()
        if run is self.run:
            self._say_state()
            self._pull(labels=True)

    @Slot(object, object)
    def _diagnosed(self, run: Any, diagnosis: Any) -> None:
        if run is self.run:
            self._say_state()

    def _say_state(self) -> None:
        run = self.run
        self._show_acts()
        self._tag.setVisible(run is not None)
        if run is None:
            self.header.note.setText(tr("nothing is running"))
            self.banner.hide()
            self._said = ()
            self.body.ask.show_run(None, False)
            self.body.recording.show_run(None)
            return
        model = run.preview.model
        self._name.setText(run.label)
        self._fit_name()
        quant = model.facts.quant if model is not None else None
        self._tag.setText(quant or "")
        self._tag.setVisible(bool(quant))
        ready = run.state is State.READY
        for part in (self.mark, self.mark_small):
            part.setEnabled(run.state in (State.STARTING, State.LOADING, State.READY))
        for part in (self.diagnose, self.diagnose_small):
            part.setEnabled(ready and not run.read_only)
        self.body.ask.show_run(run, ready)
        self.body.recording.show_run(run)
        self._say_message()
        self._say_time()

    def _say_message(self) -> None:
        """Only where it differs from what stands there: the buttons keep their focus."""
        message, number, count = self._messages.current(self.run)
        said = (id(self.run), message, number, count)
        if said == self._said:
            return
        self._message, self._said = message, said
        if message is None:
            self.banner.hide()
            return
        acts: list[Act] = []
        diagnosis = message.diagnosis
        if diagnosis is not None and diagnosis.edits:
            acts.append((tr("Use {change}", change=edits_words(diagnosis.edits)), "wand-sparkles", self._take_edits))
        if message.line:
            acts.append((tr("Log line"), "text-search", self._show_line))
        if message.tone == "accent" and self.run.session_id is not None:
            acts.append((tr("Open the session"), "history", self._open_session))
        if count > 1:
            acts.append((tr("Next, {number} of {total}", number=str(number), total=str(count)), "chevron-right",
                         self._next_message))
        self.banner.show_text(message.tone, message.what, message.why, acts)

    def _next_message(self) -> None:
        self._messages.step(self.run)
        self._say_message()

    @Slot()
    def _banner_closed(self) -> None:
        if self._message is not None:
            self._messages.close(self.run, self._message)
            self._say_message()

    def _take_edits(self) -> None:
        """The advice goes into the plan, never straight into a launch."""
        if self._message is None or self._message.diagnosis is None:
            return
        plan = self.run.preview.plan
        for option, values in self._message.diagnosis.edits:
            plan = plan.without(option) if values is None else plan.with_(option, *values)
        self.desk.edit(plan)
        self.desk.pageWanted.emit("launch", None)

    def _show_line(self) -> None:
        if self._message is not None and self._message.line:
            self.body.show_log()
            self.body.log.show_line(self._message.line)

    def _open_session(self) -> None:
        self.desk.pageWanted.emit("sessions", self.run.session_id)

    def _say_time(self) -> None:
        run = self.run
        state = run.state
        if state is State.READY and self._source is not None and self._source.snapshot is not None:
            words = tr("up {time}", time=duration_words(self._source.snapshot.t))
            if run.read_only:
                words = tr("watched for {time}", time=duration_words(self._source.snapshot.t))
        elif state in (State.STARTING, State.LOADING):
            progress = run.progress()
            words = tr("loading, {time}", time=duration_words(progress.seconds))
            if progress.fraction is not None:
                words = tr("loading, ≈ {percent}, {time}", percent=percent_text(progress.fraction),
                           time=duration_words(progress.seconds))
        else:
            words = {State.STOPPING: tr("stopping"), State.STOPPED: tr("stopped"), State.FAILED: tr("did not start"),
                     State.CRASHED: tr("crashed")}.get(state, "")
        self.header.note.setText(words)

    # -- what is pulled ------------------------------------------------------------------------------------------------

    @Slot()
    def _pull(self, labels: bool = False) -> None:
        """Plots and log five times a second, figures and requests not quite twice; what is not in sight is not drawn.
        """
        source = self._source
        if source is None:
            return
        stack = self.body.plots.stack
        frame = source.pull()
        if frame is not None:
            stack.take(frame)
        snapshot = source.snapshot
        log = self.body.log
        if snapshot.log_last > log.last:
            log.add(source.run.recorder.log(log.last, _LOG_BATCH))
        self._pulls += 1
        if not labels and self._pulls % _LABEL_EVERY:
            return
        setup = setup_of(source.run, self._usual.generation_per_s)
        ended = source.run.state not in LIVE
        if ended != stack.ended:
            stack.ended = ended
            stack.redraw()
        if setup != stack.setup:
            stack.configure(setup)
            stack.set_frame(source.frame())
        self.body.figures.show_all(self._figures(source, setup))
        self.body.models.show_models(source.run.models, not ended and not source.run.read_only)
        self.body.requests.show_requests(snapshot.requests, prompts_left_s(snapshot))
        self.body.requests.say_count(snapshot.request_count, snapshot.active_requests)
        log.say_count(snapshot.log_last)
        self.body.detail.refresh(source.run, snapshot)
        if stack.isVisible():
            stack.update_labels()
        self._window_changed()
        self._say_message()
        self._say_time()

    def _figures(self, source: LiveSource, setup: Setup) -> list[Shown]:
        run, snapshot = source.run, source.snapshot
        if setup.answers_texts:
            recorder = run.recorder
            return text_figures_of(snapshot, recorder.series, setup, recorder.parser.micro_batch, run.actual)
        estimate = run.preview.estimate
        return figures_of(snapshot, setup, bool(estimate and estimate.has_draft), run.actual, self._usual,
                          allowed_of(run.preview))

    @Slot()
    @Slot(str)
    def _window_changed(self, _way: str = "") -> None:
        stack = self.body.plots.stack
        frame: Frame = stack.frame
        self.body.requests.show_window(frame.requests, *stack.window_s, frame.now)

    # -- acts ----------------------------------------------------------------------------------------------------------

    def _mark_event(self) -> None:
        MarkDialog(self.run, self.window()).open()

    def _diagnose(self) -> None:
        DiagnoseDialog(diagnose_of(self.desk.workspace, self.run), self.run.label, self.window()).ask()

    def attach(self) -> None:
        """Ask for the address of a server that somebody else started."""
        AttachDialog(self.desk, self.window()).open()

    @Slot(str, bool)
    def _model_wanted(self, model_id: str, load: bool) -> None:
        run = self.run
        act = run.load_model if load else run.unload_model
        bridge.run(lambda: act(model_id), None, self.desk.failed.emit, self, name="router model")

    def _copy_address(self) -> None:
        QGuiApplication.clipboard().setText(self.run.url)

    # -- Qt ------------------------------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        self._timer.start()
        self._pull(labels=True)

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        narrow = self.width() < theme().px(_COMPACT_WIDTH)
        self.body.arrange(narrow or self.height() < theme().px(_COMPACT_HEIGHT), narrow)
        self._show_acts()
        self._fit_name()

    def _show_acts(self) -> None:
        """In a small window the acts are icons and the header holds the choice of the part to see."""
        compact, there = self.body.compact, self.run is not None
        self.body.choice.setVisible(compact and there)
        for part in (self.diagnose, self.mark, self.address):
            part.setVisible(there and not compact)
        self.other.setVisible(there)
        for small in (self.diagnose_small, self.mark_small, self.address_small):
            small.setVisible(there and compact)

    def _fit_name(self) -> None:
        wanted = self._name.sizeHint().width() + 4
        self._name.setMinimumWidth(min(wanted, theme().px(120 if self.body.compact else 380)))
