"""The command line: always there, editable, what Paddock adds is dimmed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeyEvent, QSyntaxHighlighter, QTextCharFormat
from PySide6.QtWidgets import QInputDialog, QMenu, QPlainTextEdit, QWidget

from paddock.desktop import bridge
from paddock.desktop.asked import command_in_sight
from paddock.desktop.dock.asking import AskDialog
from paddock.desktop.dock.details import DetailsDialog
from paddock.desktop.parts.basic import IconLabel, button, row, tool_button
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.launch.importing import Imported
from paddock.launch.model import Command
from paddock.paths import file_name

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

FORMS = ("posix", "powershell", "cmd", "systemd", "docker", "preset", "llama-swap")


def form_name(form: str) -> str:
    """How a format is called in the menu."""
    return {"posix": tr("For bash or zsh"), "powershell": tr("For PowerShell"), "cmd": tr("For cmd.exe"),
            "systemd": tr("As a systemd unit"), "docker": tr("As a docker command"),
            "preset": tr("As an INI preset"), "llama-swap": tr("For llama-swap")}[form]


def added_text(command: Command) -> str:
    """The additions as they follow the plan's own part."""
    return shlex.join(word for a in command.additions for word in a.argv)


class _Colours(QSyntaxHighlighter):
    """Flags in accent, what Paddock added in text3."""

    def __init__(self, edit: QPlainTextEdit) -> None:
        super().__init__(edit.document())
        self.own_length = 0
        self.edited = False

    def highlightBlock(self, text: str) -> None:
        start = self.currentBlock().position()
        flag, dim = QTextCharFormat(), QTextCharFormat()
        flag.setForeground(theme().color("accent"))
        dim.setForeground(theme().color("text3"))
        at = 0
        for word in text.split(" "):
            if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
                self.setFormat(at, len(word), flag)
            at += len(word) + 1
        if not self.edited and start + len(text) > self.own_length:
            begin = max(0, self.own_length - start)
            self.setFormat(begin, len(text) - begin, dim)


class LineEdit(QPlainTextEdit):
    """Return applies, Escape takes the edit back."""

    applied = Signal(str)
    dirtied = Signal(bool)

    def __init__(self, lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = ""
        self._setting = False
        self.setAccessibleName(tr("Command line"))
        self.setAccessibleDescription(tr("Return applies what you write here, Escape takes it back."))
        self.setPlaceholderText(tr("Write or paste a llama-server command line here"))
        self.setTabChangesFocus(True)
        self.setAcceptDrops(False)  # a model file dropped here is meant for the window
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth if lines > 1 else
                             QPlainTextEdit.LineWrapMode.NoWrap)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if lines == 1:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.colours = _Colours(self)
        self._lines = lines
        theme().changed.connect(self._restyle)
        self.textChanged.connect(self._changed)
        self._restyle()

    @Slot()
    def _restyle(self) -> None:
        self.setFont(theme().font("flag"))
        self.document().setDocumentMargin(1)
        self.setFixedHeight(self.fontMetrics().lineSpacing() * self._lines + theme().px(17 if self._lines > 1 else 12))
        self.colours.rehighlight()

    def show_line(self, own: str, added: str) -> None:
        """Show the command, unless the person is writing or has written what is not applied yet."""
        text = f"{own} {added}".strip()
        if self.dirty() and (self.hasFocus() or text == self._shown):
            self._shown = text
            return
        if text == self.toPlainText() and self.colours.own_length == len(own):
            return
        self._setting = True
        self._shown = text
        self.colours.own_length, self.colours.edited = len(own), False
        self.setPlainText(text)
        self._setting = False

    def dirty(self) -> bool:
        return self.colours.edited

    def apply(self) -> None:
        """Ask for it; what cannot be read stays as it was written."""
        self.applied.emit(self.toPlainText())

    def settle(self) -> None:
        """What was written has become the plan."""
        self.colours.edited = False
        self.dirtied.emit(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers():
            self.apply()
        elif event.key() == Qt.Key.Key_Escape and self.dirty():
            self._setting = True
            self.colours.edited = False
            self.setPlainText(self._shown)
            self._setting = False
            self.dirtied.emit(False)
        else:
            super().keyPressEvent(event)

    def _changed(self) -> None:
        if self._setting or self.toPlainText() == self._shown:
            return
        if not self.colours.edited:
            self.colours.edited = True
            self.dirtied.emit(True)


class CommandLine(QWidget):
    """The line with Copy, Paste and the menu of what Paddock adds."""

    def __init__(self, desk: Desk, full: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self.edit = LineEdit(2 if full else 1)
        self.edit.applied.connect(self._apply)
        self.edit.dirtied.connect(self._dirtied)
        self._apply_button = button(tr("Apply"), "check", self.edit.apply, name=tr("Apply the command line"))
        self._apply_button.hide()
        self._copy = button(tr("Copy"), "copy", self.copy, name=tr("Copy the command line"))
        self._paste = button(tr("Paste"), "clipboard-paste", self.paste,
                             name=tr("Paste a command line: it fills the form"))
        self._more = tool_button("ellipsis", tr("Ask the engine, formats, and what Paddock adds"), self.open_menu,
                                 quiet=False, small=False, role="text")
        mark = IconLabel("terminal", 16, "text2")
        if full:
            line = row(mark, self.edit, self._apply_button, self._copy, self._paste, self._more, gap=8)
            for widget in (mark, self._apply_button, self._copy, self._paste, self._more):
                line.setAlignment(widget, Qt.AlignmentFlag.AlignTop)
        else:
            line = row(mark, self.edit, self._apply_button, gap=8)
        line.setStretch(1, 1)
        self.setLayout(line)

    def refresh(self) -> None:
        """Show the command of the server that runs, or of the preview; before an engine is known, the plan alone."""
        command = command_in_sight(self._desk)
        if command is not None:
            self.edit.show_line(command.own, added_text(command))
        else:
            self.edit.show_line(own_text(self._desk), "")

    def _apply(self, text: str) -> None:
        if self._desk.read_line(text, self._choose):
            self.edit.settle()
            self.refresh()

    def apply_pending(self) -> bool:
        """What is written but not applied becomes the plan; False where it cannot be read."""
        if self.edit.dirty():
            self.edit.apply()
        return not self.edit.dirty()

    def _dirtied(self, dirty: bool) -> None:
        self._apply_button.setVisible(dirty)
        self._paste.setVisible(not dirty)

    @Slot()
    def copy(self, form: str = "posix") -> None:
        """Put the plan's own command on the clipboard."""
        plan = self._desk.plan
        bridge.run(lambda: self._desk.workspace.export(plan, form), QGuiApplication.clipboard().setText,
                   self._desk.failed.emit, self, name="export")

    @Slot()
    def paste(self) -> None:
        """A command line on the clipboard becomes the plan."""
        text = QGuiApplication.clipboard().text().strip()
        if text:
            self._desk.read_line(text, self._choose)

    def _choose(self, found: list[Imported]) -> Imported | None:
        """Which of the models of a file that was pasted; None where the question is left."""
        names = [one.name or file_name(one.plan.get("model") or "") or tr("model {number}", number=str(n))
                 for n, one in enumerate(found, start=1)]
        shown = [name if names.count(name) == 1 else f"{n}. {name}" for n, name in enumerate(names, start=1)]
        question = tr("{count} model is in what was pasted.", plural="{count} models are in what was pasted. Which one "
                      "should become the plan?", count=len(shown))
        name, taken = QInputDialog.getItem(self, tr("Choose a model"), question, shown, 0, False)
        return found[shown.index(name)] if taken else None

    @Slot()
    def ask_engine(self) -> None:
        """llama.cpp's own figures for this plan, in a dialog."""
        AskDialog(self._desk, self.window()).ask()

    @Slot()
    def show_details(self) -> None:
        """Every part of the estimate, how it is known, and who else holds memory."""
        DetailsDialog(self._desk, self.window()).show()

    @Slot()
    def open_menu(self) -> None:
        menu = self.menu()
        menu.popup(self._more.mapToGlobal(self._more.rect().topRight()))

    def menu(self) -> QMenu:
        """What the engine can be asked, formats to copy, then what Paddock adds, each with a check mark and reason."""
        menu = QMenu(self)
        menu.addAction(tr("The estimate in full…")).triggered.connect(self.show_details)
        ask = menu.addAction(tr("Ask the engine: its own memory figures…"))
        ask.setEnabled(self._desk.preview is not None and self._desk.preview.engine is not None
                       and self._desk.preview.model is not None)
        ask.triggered.connect(self.ask_engine)
        menu.addSeparator()
        for form in FORMS:
            action = menu.addAction(tr("Copy: {form}", form=form_name(form)))
            action.triggered.connect(lambda _checked=False, chosen=form: self.copy(chosen))
        menu.addSeparator()
        head = menu.addAction(tr("Paddock adds (shown dimmed, never saved):"))
        head.setEnabled(False)
        command = self._desk.preview.command if self._desk.preview is not None else None
        active = {a.id: a for a in command.additions} if command is not None else {}
        for addition_id in dict.fromkeys([*active, *self._desk.workspace.settings.additions_off]):
            addition = active.get(addition_id)
            words = " ".join([*addition.argv, *(f"{k}={v}" for k, v in addition.environment)]) if addition else ""
            text = f"{words or addition_id}   {addition.reason}" if addition else \
                tr("{name}   switched off", name=addition_id)
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(addition is not None)
            action.toggled.connect(lambda on, chosen=addition_id: self._desk.switch_addition(chosen, on))
        return menu


def own_text(desk: Desk) -> str:
    """The plan in words where there is no engine to spell it."""
    words = ["llama-server"]
    for setting in desk.plan.settings:
        words += [setting.option if setting.option.startswith("-") else f"--{setting.option}", *setting.values]
    return shlex.join(words) if len(words) > 1 else ""
