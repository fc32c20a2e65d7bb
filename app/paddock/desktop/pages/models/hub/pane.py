"""The pane: a search that is sent when it is asked for, what it found, a repository beside it, the downloads below."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QInputDialog, QLineEdit, QMenu, QSplitter, QStackedWidget, QWidget

from paddock.desktop import bridge
from paddock.desktop.icons import icon
from paddock.desktop.pages.models.hub.repository import RepositoryView
from paddock.desktop.pages.models.hub.strip import TransferStrip
from paddock.desktop.pages.models.hub.transfers import Phase, Transfer, Transfers
from paddock.desktop.pages.models.tables import FilteredTable
from paddock.desktop.pages.searching import SearchEdit
from paddock.desktop.parts.basic import Label, button, column, panel, row, rule, tool_button
from paddock.desktop.parts.blocks import Banner, EmptyState, ProgressLine
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.library.hub import Choice, Found, OfflineError, Repository
from paddock.library.hub.download import NOTE, PART, pending
from paddock.units import short_count_text
from paddock.work.hub import HubDesk

if TYPE_CHECKING:
    from paddock.desktop.state import Desk


_STAYS_MS = 200


def board_of(desk: Desk) -> Transfers:
    """The downloads belong to the desk: a page that is built anew finds them again."""
    found = desk.findChild(Transfers)
    return found if isinstance(found, Transfers) else Transfers(desk)


class HubPane(QWidget):
    """Nothing is sent by showing it."""

    left = Signal()
    """back to the list of this machine"""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self.hub = HubDesk(desk.workspace)
        self.board = board_of(desk)
        self.board.arrived.connect(self._arrived)
        self.found: list[Found] = []
        self._job: bridge.Job | None = None
        self._again: Callable[[], object] = self._search
        self._compact = False
        self._build()
        desk.modelsChanged.connect(self._find_unfinished)
        self._find_unfinished()

    # -- how it looks ------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.words = SearchEdit(tr("A model’s name, or OWNER/NAME"), tr("Search Hugging Face"))
        self.words.returnPressed.connect(self._search)
        self.go = button(tr("Search"), "search", self._search, primary=True)
        self._more = tool_button("ellipsis", tr("Token and folder"), self._menu, quiet=False, small=False)
        self.promise = Label("", "note", "text2", wrap=True)
        self.progress = ProgressLine()
        self.back = button(tr("Your models"), "arrow-left", self._go_back)
        bar = row(self.back, self.words, self.go, self._more, gap=8)
        bar.setStretch(1, 1)
        under = row(self.promise, self.progress, gap=12)
        under.setStretch(0, 1)
        self.banner = Banner()
        self._build_sides()
        self.strip = TransferStrip(self.board)
        layout = column(column(bar, under, gap=6, margins=(16, 10, 12, 8)), rule(), self.banner,
                        panel("base", column(self._splitter)), self.strip, gap=0)
        layout.setStretch(3, 1)
        self.setLayout(layout)
        self._say_promise()

    def _build_sides(self) -> None:
        """Results (or why there are none) and a repository."""
        self.results = FilteredTable(tr("Repositories"), [tr("Repository"), tr("Downloads"), tr("Likes"),
                                                          tr("Changed")], frozenset({1, 2}), filterable=False)
        # A person who runs through the list with the arrow keys asks for the one on which he stops.
        self._stays = QTimer(self)
        self._stays.setSingleShot(True)
        self._stays.setInterval(_STAYS_MS)
        self._stays.timeout.connect(self._row_chosen)
        self.results.view.selectionModel().selectionChanged.connect(lambda *_: self._stays.start())
        self.results.view.activated.connect(lambda _i: self._row_chosen())
        self._left = QStackedWidget()
        self._start = EmptyState("cloud", tr("Find a model on Hugging Face"),
                                 tr("Search by name. Each repository then shows its quantisations and whether they "
                                    "fit this machine."))
        self._none = EmptyState("search", tr("No repository matches"), tr("Try fewer or other words."))
        self._offline = EmptyState("cloud-off", tr("Hugging Face cannot be reached"),
                                   tr("Models on this machine work without it."),
                                   [(tr("Try again"), "refresh-cw", self._try_again)])
        for page in (self._start, self.results, self._none, self._offline):
            self._left.addWidget(page)
        self.view = RepositoryView(self.hub)
        self.view.wanted.connect(self._get)
        self.view.folder_wanted.connect(self._choose_folder)
        self._right = QStackedWidget()
        self._nothing = EmptyState("boxes", tr("No repository chosen"),
                                   tr("Choose one on the left to see what it offers."))
        self._right.addWidget(self._nothing)
        self._right.addWidget(self.view)
        self._splitter = QSplitter()
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(1)
        self._splitter.addWidget(self._left)
        self._splitter.addWidget(self._right)
        self._splitter.setSizes([theme().px(640), theme().px(576)])

    def _say_promise(self) -> None:
        """What leaves this machine, and when."""
        words = tr("Nothing is sent before you press Search, choose a repository or download. Then {host} gets your "
                   "words or its name", host=self.hub.hub.host)
        token = self._desk.workspace.settings.hugging_face_token
        self.promise.setText(words + (tr(", and your token.") if token else "."))

    def arrange(self, compact: bool) -> None:
        """Beside each other, or one at a time."""
        self._compact = compact
        self._show_sides()

    def _show_sides(self) -> None:
        inside = self._right.currentWidget() is self.view
        self._left.setVisible(not (self._compact and inside))
        self._right.setVisible(not self._compact or inside)
        self.back.setText(tr("Results") if self._compact and inside else tr("Your models"))

    def _go_back(self) -> None:
        """Where there is room for one side only, first to the results."""
        if self._compact and self._right.currentWidget() is self.view:
            self._right.setCurrentWidget(self._nothing)
            self._show_sides()
            self.results.view.clearSelection()
            self.results.view.setFocus()
        else:
            self.left.emit()

    # -- searching ---------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        words = self.words.text().strip()
        if words:
            self._ask(lambda: self.hub.search(words), self._searched, tr("Searching"), self._search)

    def _ask(self, work: Callable[[], object], done: Callable[..., object], text: str,
             again: Callable[[], object]) -> None:
        """One question at a time; a newer one drops the older one's answer."""
        if self._job is not None:
            self._job.cancel()
        self._again = again
        self.banner.hide()
        job = self._job = bridge.Job("hub")
        self.progress.follow(job, text)
        bridge.run(work, done, self._failed, self, name="hub", job=job)

    def _searched(self, found: list[Found]) -> None:
        self.found = found
        self._right.setCurrentWidget(self._nothing)
        self._show_sides()
        self.results.set_rows([(
            (f.id + (f" · {tr('gated')}" if f.gated else ""), f.id.casefold()),
            (short_count_text(f.downloads), float(f.downloads or 0)), (short_count_text(f.likes), float(f.likes or 0)),
            ((f.updated or "–")[:10], f.updated or "")) for f in found], (0, 90, 70, 100))
        self._left.setCurrentWidget(self.results if found else self._none)
        if found:
            self.results.view.setFocus()

    @Slot()
    def _row_chosen(self) -> None:
        self._stays.stop()
        rows = self.results.view.selectionModel().selectedRows(0)
        shown = str(rows[0].data() or "").split(" · ")[0] if rows else ""
        current = self.view.repository
        if shown and (current is None or current.id != shown or self._right.currentWidget() is not self.view):
            self.open(shown)

    def open(self, repo_id: str) -> None:
        """Show what a repository offers."""
        self.view.fits.cancel()
        self._ask(lambda: self.hub.repository(repo_id), self._opened, tr("Asking for {name}", name=repo_id),
                  partial(self.open, repo_id))

    def _opened(self, repository: Repository) -> None:
        self._right.setCurrentWidget(self.view)
        self._show_sides()
        self.view.show_repository(repository)

    def _failed(self, error: AppError) -> None:
        if isinstance(error, OfflineError):
            self._offline.what.setText(str(error.what))
            self._offline.todo.setText(str(AppError(error.why or "", hint=error.hint)))
            self._left.setCurrentWidget(self._offline)
            self._right.setCurrentWidget(self._nothing)
            self._show_sides()
            return
        gated = (tr("Give a token…"), "key", self.ask_token)
        why = str(AppError(error.why or "", hint=error.hint))
        self.banner.show_text("bad", str(error.what), why, [gated] if "token" in why else [])

    @Slot()
    def _try_again(self) -> None:
        self._left.setCurrentWidget(self.results if self.found else self._start)
        self._again()

    # -- downloads ---------------------------------------------------------------------------------------------------

    @Slot(object, object)
    def _get(self, repository: Repository, choices: list[Choice]) -> None:
        try:
            download = self.hub.download(repository, choices)
        except AppError as error:
            self._failed(error)
            return
        there = set(download.targets)
        first = download.targets[0]  # a projector may go with several
        if any(t.download is not None and first in t.download.targets and t.phase is not Phase.DONE
               for t in self.board.all):
            self.banner.show_text("accent", tr("This download is on the list already."))
            return
        for old in [t for t in self.board.all if t.part is not None and _target(t.part) in there]:
            self.board.all.remove(old)  # begun earlier: this one goes on from there
        name = f"{repository.id.rpartition('/')[2]} {' + '.join(c.label for c in choices)}"
        made = Transfer(name, lambda: download, download.total_bytes, download.here_bytes)
        made.download = download
        self.board.add(made)

    @Slot()
    def _find_unfinished(self) -> None:
        """What an earlier Paddock left is offered to be resumed."""
        known = {t.part for t in self.board.all} | {
            p.with_name(p.name + PART) for t in self.board.all if t.download is not None for p in t.download.targets}
        for entry in self._desk.entries or []:
            part: Path = entry.path
            if part.name.endswith(PART) and part not in known:
                note = pending(_target(part).with_name(_target(part).name + NOTE))
                if note.get("repository") and isinstance(note.get("size"), int):
                    self.board.all.append(Transfer(_target(part).name, partial(self.hub.resume, part), note["size"],
                                                   entry.size_bytes or 0, Phase.PAUSED, part))
        self.board.changed.emit()

    @Slot(object)
    def _arrived(self, _paths: list[Path]) -> None:
        self._desk.scan()

    # -- token and folder --------------------------------------------------------------------------------------------

    def _menu(self) -> None:
        menu = QMenu(self)
        menu.addAction(icon("key", "text2"), tr("Give a token…")).triggered.connect(self.ask_token)
        forget = menu.addAction(icon("x", "text2"), tr("Forget the token"))
        forget.triggered.connect(self._forget_token)
        forget.setEnabled(bool(self._desk.workspace.settings.hugging_face_token))
        menu.addAction(icon("folder", "text2"), tr("Folder for downloads…")).triggered.connect(self._choose_folder)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self._more.mapToGlobal(self._more.rect().bottomLeft()))

    @Slot()
    def ask_token(self) -> None:
        """It goes to the system's keyring."""
        text, given = QInputDialog.getText(self, tr("Token of Hugging Face"), tr(
            "For gated and private repositories. It is kept in the system’s keyring."), QLineEdit.EchoMode.Password)
        if given and text.strip():
            self.take_token(text)

    def take_token(self, text: str) -> None:
        """Keep it, and say where it could not be kept."""
        def done(notice: object) -> None:
            self._say_promise()
            if notice is not None:
                self.banner.show_text("warn", str(notice))
            else:
                self.banner.show_text("ok", tr("The token is kept in the keyring."))

        bridge.run(lambda: self.hub.set_token(text), done, self._failed, self, name="token", in_order=True)

    @Slot()
    def _forget_token(self) -> None:
        bridge.run(self.hub.forget_token, lambda _n: self._say_promise(), self._failed, self, name="token",
                   in_order=True)

    @Slot()
    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, tr("Folder for downloads"), str(self.hub.folder))
        if folder:
            self.set_folder(folder)

    def set_folder(self, folder: str) -> None:
        """Downloads go there from now on."""
        self._desk.workspace.settings.download_folder = folder
        self._desk.save_settings()
        self.view.say_folder()


def _target(part: Path) -> Path:
    return part.with_name(part.name.removesuffix(PART))
