"""The window: rail, pages, dock."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any, Protocol, cast

from PySide6.QtCore import QByteArray, QEvent, QSettings, Qt, QTimer, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QCloseEvent,
    QDragEnterEvent,
    QDropEvent,
    QHideEvent,
    QKeySequence,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import QMainWindow, QStackedWidget, QWidget

from paddock.desktop import bridge, questions
from paddock.desktop.degraded import FindingsWatch
from paddock.desktop.dock import Dock
from paddock.desktop.dock.control import blocked, state_words
from paddock.desktop.icons import icon
from paddock.desktop.opening import open_path, opens
from paddock.desktop.parts.basic import column, row, rule
from paddock.desktop.parts.blocks import Banner
from paddock.desktop.parts.signs import STATES
from paddock.desktop.rail import Rail
from paddock.desktop.state import LIVE, Desk
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.server.model import State

NARROW = 1000
LOW = 640
_FIRST_PAGE_MS = 40
_TITLE_BAR = 40
_PAGES = (("models", "ModelsPage"), ("launch", "LaunchPage"), ("run", "RunPage"), ("sessions", "SessionsPage"),
          ("bench", "BenchPage"), ("settings", "SettingsPage"))


class Page(Protocol):
    """What a page has besides being a QWidget."""

    title: str
    icon: str


class MainWindow(QMainWindow):
    """Pages are made when they are first shown, so that the window is there at once."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.desk = desk
        self.setWindowTitle("Paddock")
        self.setWindowIcon(icon("paddock"))
        self.setAcceptDrops(True)
        self.setMinimumSize(760, 480)
        self._pages: dict[str, QWidget] = {}
        self._current = ""
        self._closing = False
        self._announced = ""
        self._dock_wish: dict[str, bool] = {}
        self._build()
        self._shortcuts()
        desk.lookChanged.connect(self.rebuild, Qt.ConnectionType.QueuedConnection)
        desk.pageWanted.connect(self.show_page)
        desk.failed.connect(self.show_error)
        desk.runsChanged.connect(self._mark_run)
        desk.runStateChanged.connect(self._mark_run)
        desk.runDiagnosed.connect(self._mark_run)
        self._findings = FindingsWatch(desk, self)
        desk.leftoversFound.connect(self.show_leftovers)
        self._restore()
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocus()

    # -- building ------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._stack = QStackedWidget()
        self.banner = Banner()
        self.dock = Dock(self.desk)
        self.dock.folded.connect(self._fold)
        self.dock.stopPressed.connect(self.stop)
        self._rail = Rail(name for name, _ in _PAGES if _page_exists(name))
        self._rail.chosen.connect(self.show_page)
        self.setCentralWidget(self._body())

    def _show_first(self) -> None:
        if self._current not in self._pages:
            self.show_page(self._current)

    @Slot()
    def rebuild(self) -> None:
        """In another language or text size: everything is made anew, the desk and its plan stay."""
        self._pages.clear()
        self._build()
        self._mark_run()
        self.show_page(self._current)

    def _body(self) -> QWidget:
        right = column(self.banner, self._stack, self.dock, gap=0)
        right.setStretch(1, 1)
        whole = QWidget()
        line = row(self._rail, rule(vertical=True), right, gap=0)
        line.setStretch(2, 1)
        whole.setLayout(line)
        return whole

    def _shortcuts(self) -> None:
        for number, name in enumerate(self._rail.buttons, 1):
            self._shortcut(f"Ctrl+{number}", lambda chosen=name: self.show_page(chosen))
        self._shortcut("Ctrl+Return", self._launch_or_nothing)
        self._shortcut("Ctrl+Shift+Return", self._launch_beside)
        self._shortcut("Ctrl+.", self.stop)
        self._shortcut("Ctrl+O", self.open_file)
        self._shortcut("Ctrl+S", self._save)
        self._shortcut("Ctrl+Z", self.desk.undo)
        self._shortcut("Ctrl+L", self._focus_line)
        self._shortcut("Ctrl+Q", self.close)

    def _shortcut(self, keys: str, function: Any) -> None:
        made = QShortcut(QKeySequence(keys), self)
        made.activated.connect(function)

    # -- pages ---------------------------------------------------------------------------------------------------

    @Slot(str, object)
    def show_page(self, name: str, what: object = None) -> None:
        """Bring a page to the front, made if it was not there yet; pages with `show_item` get `what`."""
        if name not in self._rail.buttons:
            return
        page = self._pages.get(name)
        if page is None:
            page = _make_page(name, self.desk)
            self._pages[name] = page
            self._stack.addWidget(page)
        self._current = name
        self._rail.buttons[name].setChecked(True)
        self._stack.setCurrentWidget(page)
        self.setWindowTitle(tr("{page} – Paddock", page=cast(Page, page).title))
        self._arrange()
        if what is not None and hasattr(page, "show_item"):
            page.show_item(what)

    def page(self, name: str) -> QWidget | None:
        return self._pages.get(name)

    @property
    def current(self) -> str:
        """The name of the page in front."""
        return self._current

    @property
    def names(self) -> tuple[str, ...]:
        """The pages there are, in the rail's order."""
        return tuple(self._rail.buttons)

    @Slot(bool)
    def _fold(self, folded: bool) -> None:
        self._dock_wish[self._dock_key()] = folded
        self._arrange()

    def _dock_key(self) -> str:
        """What a wish to fold is remembered under: a low window folds by itself, whatever was wished in a high one."""
        return f"{self._current} low" if self.height() < theme().px(LOW) else self._current

    def _arrange(self) -> None:
        self._rail.set_narrow(self.width() < theme().px(NARROW))
        low = self.height() < theme().px(LOW)
        self.dock.set_folded(self._dock_wish.get(self._dock_key(), low or self._current != "launch"))
        self.dock.show_line_when_folded(self._current == "run")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self.desk.set_visible(self.isVisible() and not self.isMinimized())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.desk.set_visible(True)
        if self._current not in self._pages:
            # After the first paint: rail and dock are there while the page's libraries are read.
            QTimer.singleShot(_FIRST_PAGE_MS, self, self._show_first)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.desk.set_visible(False)

    # -- news ----------------------------------------------------------------------------------------------------

    @Slot(object)
    def show_error(self, error: AppError) -> None:
        """A problem in words, above the page."""
        self.banner.show_text("bad", str(error.what), error.after_what())

    @Slot(object)
    def show_leftovers(self, found: list[Any]) -> None:
        """A server of a Paddock that is gone: take it over or stop it."""
        first = found[0]

        def stop() -> None:
            self.banner.hide()
            bridge.run(first.stop, None, self.desk.failed.emit, self.desk, name="stop leftover")

        def adopt() -> None:
            self.banner.hide()
            self.desk.adopt(first)
        self.banner.show_text(
            "accent", tr("A server of an earlier Paddock is still running: {name}.", name=first.label or first.url),
            tr("It answers at {address}.", address=first.url),
            [(tr("Watch it here"), "activity", adopt), (tr("Stop it"), "square", stop)])

    def show_notices(self, notices: list[Any]) -> None:
        """Once, at the start: what was set aside or could not be read."""
        if notices:
            self.banner.show_text("warn", str(notices[0]), " ".join(str(n) for n in notices[1:]))

    @Slot()
    def _mark_run(self) -> None:
        made = self._rail.buttons.get("run")
        if made is None:
            return
        state, words, tone = state_words(self.desk)
        made.set_dot((tone or STATES[state][1]) if state not in (None, State.STOPPED) else None, words)
        if words != self._announced:
            self._announced = words
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    # -- acts ----------------------------------------------------------------------------------------------------

    def _launch_or_nothing(self) -> None:
        if not self.desk.live() and not blocked(self.desk):
            self.dock.launch()

    def _launch_beside(self) -> None:
        if not blocked(self.desk):
            self.dock.launch()

    @Slot()
    def stop(self) -> None:
        """Stop the chosen server, after a question while it is answering."""
        run = self.desk.run
        if run is None or not self.desk.live():
            return
        ours = run.state is State.READY and not run.read_only
        active = run.recorder.snapshot().active_requests if ours else 0
        if not active or not self.desk.workspace.settings.confirm_stop or self.ask_to_stop(active):
            self.desk.stop()

    def ask_to_stop(self, active: int) -> bool:
        """Whether to cut off requests that are being answered."""
        return questions.stop_while_answering(self, active)

    def _save(self) -> None:
        page = self._pages.get("launch")
        if page is not None and self._current == "launch":
            cast(Any, page).save()

    def _focus_line(self) -> None:
        if self.dock.is_folded():
            self._fold(False)
        self.dock.line.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def open_file(self) -> None:
        """Ask for a model, which opens on Launch, or for a session that another Paddock recorded."""
        from PySide6.QtWidgets import QFileDialog

        kinds = tr("Models and sessions (*.gguf *.paddock);;All files (*)")
        path, _ = QFileDialog.getOpenFileName(self, tr("Open a model or a session"), "", kinds)
        if path:
            open_path(self.desk, Path(path))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _dropped(event) is not None:
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        path = _dropped(event)
        if path is not None:
            event.acceptProposedAction()
            open_path(self.desk, path)

    # -- closing -------------------------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        live = [run for run in self.desk.runs() if run.state in LIVE and not run.read_only]
        if live and not self._closing:
            lasting = all(run.keeps_serving for run in live)
            choice = self.ask_to_close(len(live), lasting)
            if choice == "cancel":
                event.ignore()
                return
            if choice == "stop":
                for run in live:
                    run.stop()
        self._closing = True
        self._store()
        event.accept()

    def close_at_once(self) -> None:
        """Without a question (a signal asked): servers are stopped."""
        self._closing = True
        self.close()

    def ask_to_close(self, count: int, lasting: bool) -> str:
        """stop, keep or cancel. Only a server that was launched to keep serving can outlive us (`lasting`)."""
        return questions.quit_while_serving(self, count, lasting)

    def _settings(self) -> QSettings:
        path = self.desk.workspace.paths.root / "window.ini"
        return QSettings(str(path), QSettings.Format.IniFormat)

    def _store(self) -> None:
        settings = self._settings()
        settings.setValue("geometry", self.saveGeometry())
        settings.setValue("page", self._current)
        settings.sync()
        if self.desk.workspace.settings.dock_folded != self._dock_wish:
            self.desk.workspace.settings.dock_folded = dict(self._dock_wish)
            self.desk.save_settings()

    def fit_screen(self) -> None:
        """Nothing of the window may lie outside the screen: where its frame would not fit, it fills the screen."""
        room = self.screen().availableGeometry()
        if self.width() > room.width() or self.height() + theme().px(_TITLE_BAR) > room.height():
            self.resize(min(self.width(), room.width()), min(self.height(), room.height()))
            self.setWindowState(self.windowState() | Qt.WindowState.WindowMaximized)

    def _restore(self) -> None:
        settings = self._settings()
        geometry = settings.value("geometry")
        if not (isinstance(geometry, QByteArray) and self.restoreGeometry(geometry)):
            self.resize(1280, 800)
        self._dock_wish.update(self.desk.workspace.settings.dock_folded)
        page = settings.value("page")
        self._current = page if isinstance(page, str) and page in self._rail.buttons else next(iter(self._rail.buttons))
        self._rail.buttons[self._current].setChecked(True)
        self._arrange()


def _page_exists(name: str) -> bool:
    """Whether this version has the page; a page that is not there is left out of the rail."""
    try:
        found = importlib.util.find_spec(f"paddock.desktop.pages.{name}")
    except ModuleNotFoundError:
        return False
    return found is not None and found.origin is not None


def _make_page(name: str, desk: Desk) -> QWidget:
    module = importlib.import_module(f"paddock.desktop.pages.{name}")
    made = getattr(module, dict(_PAGES)[name])(desk)
    return cast(QWidget, made)


def _dropped(event: QDropEvent) -> Path | None:
    """The model, folder of models or session file that is being dropped, if there is one."""
    for url in event.mimeData().urls():
        path = Path(url.toLocalFile())
        if url.isLocalFile() and opens(path):
            return path
    return None
