"""Open the window, keep it open whatever happens, close it in order."""

from __future__ import annotations

import faulthandler
import logging
import logging.handlers
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QMessageLogContext,
    QObject,
    QSocketNotifier,
    Qt,
    QTimer,
    QtMsgType,
    Signal,
    Slot,
    qInstallMessageHandler,
)
from PySide6.QtWidgets import QApplication, QMessageBox

from paddock import text
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr

if TYPE_CHECKING:
    from paddock.desktop.window import MainWindow

LOG = logging.getLogger("paddock.desktop")
_QUIET = ("This plugin does not support", "propagateSizeHints")


class Guard(QObject):
    """Catches what nobody expected: writes it to the log file, and says it once, calmly."""

    _caught = Signal(str, str)

    def __init__(self, log_path: Path) -> None:
        super().__init__()
        self.log_path = log_path
        self._shown = False
        self._box: QMessageBox | None = None
        self._caught.connect(self._show, Qt.ConnectionType.QueuedConnection)
        log_path.parent.mkdir(parents=True, exist_ok=True)
        self._handler = logging.handlers.RotatingFileHandler(log_path, maxBytes=1 << 20, backupCount=3, delay=True,
                                                             encoding="utf-8")
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        self._fault_file = log_path.with_name("faults.log").open("a", encoding="utf-8")

    def install(self) -> None:
        LOG.addHandler(self._handler)
        LOG.setLevel(logging.INFO)
        faulthandler.enable(self._fault_file)
        sys.excepthook = self._exception
        threading.excepthook = self._thread_exception
        qInstallMessageHandler(self._qt_message)

    def remove(self) -> None:
        """As it was before (tests, and the end of main)."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        qInstallMessageHandler(None)
        faulthandler.disable()
        LOG.removeHandler(self._handler)
        self._handler.close()
        self._fault_file.close()

    def _exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QApplication.quit()
            return
        details = "".join(traceback.format_exception(kind, error, trace))
        LOG.error("%s", details)
        self._caught.emit(str(error) or kind.__name__, details)

    def _thread_exception(self, args: Any) -> None:
        if args.exc_value is not None:
            self._exception(args.exc_type, args.exc_value, args.exc_traceback)

    def _qt_message(self, kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        if any(part in message for part in _QUIET):
            return
        calm = kind in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg)
        LOG.log(logging.INFO if calm else logging.WARNING, "Qt: %s", message)

    @Slot(str, str)
    def _show(self, what: str, details: str) -> None:
        if self._shown:
            return
        self._shown = True
        box = QMessageBox()
        box.setIcon(QMessageBox.Icon.Warning)
        box.setWindowTitle("Paddock")
        box.setText(tr("Something went wrong that Paddock did not expect."))
        box.setInformativeText(tr("{what}. Running servers go on. The details are in {path}.", what=what,
                                  path=str(self.log_path)))
        box.setDetailedText(details)
        box.setEscapeButton(box.addButton(tr("Go on"), QMessageBox.ButtonRole.AcceptRole))
        copy = box.addButton(tr("Copy details"), QMessageBox.ButtonRole.ActionRole)
        copy.clicked.connect(lambda: QApplication.clipboard().setText(details))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.finished.connect(self._closed)
        self._box = box
        box.open()

    @Slot()
    def _closed(self) -> None:
        self._shown, self._box = False, None


class Signals(QObject):
    """SIGINT and SIGTERM close the window in order: Qt's loop is woken through a socket."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        import socket

        self._window = window
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._before_fd = signal.set_wakeup_fd(self._write.fileno())
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._woken)

    def _note(self, _number: int, _frame: object) -> None:
        """Python must have a handler for the byte to be written; the work is done in `_woken`."""

    @Slot()
    def _woken(self) -> None:
        self._read.recv(16)
        self._window.close_at_once()
        QApplication.quit()

    def remove(self) -> None:
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._before_fd)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._read.close()
        self._write.close()


def keep_responsive() -> None:
    """Threads that read a flood of log lines hand over after 1 ms, not 5: each of the window's many small calls into Qt
    may wait for that (a gap's 99th percentile fell from 97 to 26 ms in scripts/bench_plots.py)."""
    sys.setswitchinterval(0.001)


def main(argv: Sequence[str] = (), data_dir: str | Path | None = None, engine: str | None = None,
         file: str | Path | None = None) -> int:
    """Open the window and stay until it is closed. Returns the exit code (130 after Ctrl-C is left to the caller)."""
    keep_responsive()
    app = QApplication.instance() or QApplication(["paddock", *argv])
    assert isinstance(app, QApplication)
    app.setApplicationName("Paddock")
    app.setApplicationDisplayName("Paddock")
    app.setDesktopFileName("paddock")
    from paddock.work import Workspace

    workspace = Workspace(data_dir, engine)
    text.use_language(workspace.settings.language or _system_language())
    try:
        _try_to_write(workspace.paths.root)
        guard = Guard(workspace.paths.logs / "paddock.log")
    except OSError as error:
        workspace.close()
        return _cannot_write(workspace.paths.root, error)
    guard.install()
    try:
        return _show(app, workspace, Path(file).expanduser().absolute() if file is not None else None)
    finally:
        workspace.close()
        guard.remove()


def _try_to_write(folder: Path) -> None:
    """OSError where settings and sessions could not be kept."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"paddock")


def _cannot_write(folder: Path, error: OSError) -> int:
    """Without a place for settings and sessions there is no window; said there, and on stderr."""
    what = tr("Paddock cannot write to its data folder: {path}", path=str(folder))
    hint = tr("Check free space and permissions, or choose another folder with --data-dir.")
    why = f"{error.strerror}." if error.strerror else ""
    sys.stderr.write(f"{what}. {why} {hint}\n")
    theme()
    box = QMessageBox(QMessageBox.Icon.Critical, "Paddock", what)
    box.setInformativeText(f"{why} {hint}".strip())
    box.exec()
    return 1


def _show(app: QApplication, workspace: Any, file: Path | None) -> int:
    from paddock.desktop import bridge
    from paddock.desktop.icons import icon
    from paddock.desktop.state import Desk
    from paddock.desktop.window import MainWindow

    settings = workspace.settings
    theme().use(settings.theme or "system", settings.font_scale or 1.0, cache=workspace.paths.cache / "look")
    app.setWindowIcon(icon("paddock"))
    desk = Desk(workspace)
    window = MainWindow(desk)
    window.show_notices(list(workspace.notices))
    window.fit_screen()
    window.show()
    signals = Signals(window)
    # After the first paint: finding engines starts processes and reading a model touches the disk.
    QTimer.singleShot(0, desk, lambda: desk.start(file))
    code = app.exec()
    signals.remove()
    desk.close()
    bridge.shutdown()
    return int(code)


def _system_language() -> str:
    from PySide6.QtCore import QLocale

    return QLocale.system().name()
