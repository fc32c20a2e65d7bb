"""Try a prompt: one question, streamed through the running server, with the server's timings under the answer."""

from __future__ import annotations

import threading
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from paddock.desktop import bridge
from paddock.desktop.pages.run.askoptions import AskOptions, PromptEdit
from paddock.desktop.parts.basic import Label, button, row, tool_button
from paddock.desktop.plots import ink
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.units import rate_text, seconds_text

_PULL_MS = 100


class _Stream:
    """What the worker thread brought and the GUI has not shown yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: list[str] = []

    def put(self, text: str) -> None:
        with self._lock:
            self._parts.append(text)

    def take(self) -> str:
        with self._lock:
            parts, self._parts = self._parts, []
        return "".join(parts)


class AskPane(QWidget):
    """`run` is the server that is asked; None disables it with the reason."""

    answered = Signal(object)
    """work.Answer"""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: Any = None
        self._job: bridge.Job | None = None
        self._stream = _Stream()
        self._questions: list[tuple[int, int]] = []
        self._build()
        self._timer = QTimer(self)
        self._timer.setInterval(_PULL_MS)
        self._timer.timeout.connect(self._pull)
        self.input.sent.connect(self.ask)
        self.options.changed.connect(self._summarise)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Cancel), self, self.cancel,
                  context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
        theme().changed.connect(self.restyle)
        self.show_run(None, False)

    def _build(self) -> None:
        self.options = AskOptions()
        self.options.hide()
        self._summary = Label(self.options.words(), "note", "text2", elide="end")
        self.more = tool_button("sliders-horizontal", tr("Way of asking, system prompt, temperature, seed, picture"),
                                self._toggle)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        self.text.setMinimumHeight(48)
        self.text.setAccessibleName(tr("Questions and answers"))
        self.text.setPlaceholderText(tr("Ask something to see how fast it answers. Nothing is kept but the timings."))
        self.note = Label("", "note", "text2", wrap=True)
        self.input = PromptEdit()
        self.input.setPlaceholderText(tr("Ask this server something"))
        self.input.setAccessibleName(tr("Prompt"))
        self.send = button(tr("Send"), "send", self.ask)
        self.stop = button(tr("Stop"), "square", self.cancel)
        self.stop.hide()
        title = row(Label(tr("Try a prompt"), weight=600), self._summary, self.more, gap=8)
        title.setStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 10)
        layout.setSpacing(6)
        layout.addLayout(title)
        layout.addWidget(self.options)
        layout.addWidget(self.text, 1)
        layout.addWidget(self.note)
        bottom = row(self.input, self.send, self.stop, gap=8)
        for part in (self.send, self.stop):
            bottom.setAlignment(part, Qt.AlignmentFlag.AlignBottom)
        layout.addLayout(bottom)

    def show_run(self, run: Any, ready: bool) -> None:
        """Whom to ask, and whether it can answer now."""
        if run is not self._run:
            self.cancel()
            self._run = run
            self.text.clear()
            self._questions.clear()
            self.note.setText("")
        ready = ready and not run.read_only
        texts = run is not None and run.answers_texts
        self.input.setEnabled(ready)
        self.send.setEnabled(ready and self._job is None)
        self.options.allow_images(bool(run is not None and not texts and run.takes_images))
        self.more.setVisible(not texts)
        self._summary.setVisible(not texts)
        if texts:
            self.options.hide()
        self.input.setPlaceholderText(self._invitation(run, ready))

    @staticmethod
    def _invitation(run: Any, ready: bool) -> str:
        if run is not None and run.read_only:
            return tr("Only watched, not asked")
        if not ready:
            return tr("The server answers once it is ready")
        if run.answers_texts:
            return tr("A question, and the texts to rank in lines below (Shift+Enter)") if run.ranks else tr(
                "A text to make a vector of")
        return tr("Ask this server something")

    @property
    def busy(self) -> bool:
        """Whether an answer is on its way."""
        return self._job is not None

    @Slot()
    def ask(self) -> None:
        """Send what stands in the box."""
        prompt, run = self.input.text().strip(), self._run
        if not prompt or run is None or self._job is not None or not self.input.isEnabled():
            return
        self.input.clear()
        self._write_question(prompt)
        self.note.setText(tr("Waiting for the first token …"))
        stream = self._stream = _Stream()
        job = bridge.Job("ask")
        values = self.options.values()
        self._job = job
        self._swap(self.send, self.stop)
        self._timer.start()
        job.ended.connect(self._ended)
        bridge.run(lambda: run.ask(prompt, **values, on_text=stream.put, cancelled=job.cancelled),
                   self._done, self._failed, self, name="ask", job=job)

    @Slot()
    def cancel(self) -> None:
        """Stop the answer; what has come so far stays."""
        if self._job is not None:
            self._job.cancel()
            self.note.setText(tr("Stopped."))
            self._release()

    def _done(self, answer: Any) -> None:
        self._pull()
        if self._run is not None and self._run.answers_texts:
            self._write(answer.text)  # it does not come in pieces
        parts = []
        if answer.generated_tokens is not None:
            parts.append(tr("{count} token", plural="{count} tokens", count=answer.generated_tokens))
        if answer.generation_per_s is not None:
            parts.append(rate_text(answer.generation_per_s))
        if answer.ttft_s is not None:
            parts.append(tr("first after {time}", time=seconds_text(answer.ttft_s)))
        if answer.generated_tokens is None and answer.total_s is not None:
            if answer.prompt_tokens is not None:
                parts.append(tr("{count} token read", plural="{count} tokens read", count=answer.prompt_tokens))
            parts.append(tr("after {time}", time=seconds_text(answer.total_s)))
        if answer.prompt_per_s is not None and answer.prompt_tokens is not None:
            parts.append(tr("prompt {tokens} at {rate}", tokens=answer.prompt_tokens,
                            rate=rate_text(answer.prompt_per_s)))
        if answer.finish == "length":
            parts.append(tr("cut at the limit"))
        self.note.setText(", ".join(parts))
        self._release()
        self.answered.emit(answer)

    def _failed(self, error: AppError) -> None:
        self._pull()
        self.note.setText(str(error))
        self._release()

    @Slot()
    def _ended(self) -> None:
        self._pull()

    def _release(self) -> None:
        self._pull()
        self._timer.stop()
        self._job = None
        self.send.setEnabled(self.input.isEnabled())
        self._swap(self.stop, self.send)

    @staticmethod
    def _swap(gone: QPushButton, comes: QPushButton) -> None:
        """One button in the other's place; the focus stays there: Qt would send it to the next page's button."""
        focused = gone.hasFocus()
        comes.show()
        if focused:
            comes.setFocus(Qt.FocusReason.OtherFocusReason)
        gone.hide()

    @Slot()
    def _pull(self) -> None:
        text = self._stream.take()
        if text:
            if self.note.full_text() == tr("Waiting for the first token …"):
                self.note.setText(tr("Answering …"))
            self._write(text)

    def _write_question(self, prompt: str) -> None:
        before = "\n\n" if self.text.document().characterCount() > 1 else ""
        start = self.text.document().characterCount() - 1 + len(before)
        self._write(before + prompt + "\n")
        self._questions.append((start, start + len(prompt)))
        self.restyle()

    @Slot()
    def restyle(self) -> None:
        """Questions are quieter than answers, in the colours of the theme in force."""
        form = QTextCharFormat()
        form.setForeground(ink.role("text2"))
        cursor = QTextCursor(self.text.document())
        last = self.text.document().characterCount() - 1
        for start, end in self._questions:
            if end <= last:
                cursor.setPosition(start)
                cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
                cursor.setCharFormat(form)

    def _write(self, text: str) -> None:
        bar = self.text.verticalScrollBar()
        at_bottom = bar.value() >= bar.maximum() - 4
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(text, QTextCharFormat())
        if at_bottom:
            bar.setValue(bar.maximum())

    def _toggle(self) -> None:
        self.options.setVisible(self.options.isHidden())

    @Slot()
    def _summarise(self) -> None:
        self._summary.setText(self.options.words())

