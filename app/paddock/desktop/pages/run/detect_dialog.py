"""Quick diagnosis of a running server: ten requests, and the answer in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialog, QProgressBar, QScrollArea, QWidget

from paddock.desktop import bridge
from paddock.desktop.bridge import Job
from paddock.desktop.parts.basic import IconLabel, Label, button, column, row, rule
from paddock.desktop.parts.scrolling import scrolling
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.units import missing, number_text, rate_text, seconds_text
from paddock.work.diagnosing import REQUESTS, diagnose_run

if TYPE_CHECKING:
    from paddock.work.diagnosing import Diagnosed

_WIDTH, _HEIGHT = 620, 320
_SIGNS = {"ok": ("circle-check", "ok"), "hint": ("lightbulb", "text2"), "warning": ("triangle-alert", "warn"),
          "error": ("circle-x", "bad")}


class DiagnoseDialog(QDialog):
    """Begins at once; closing it ends the requests. The server serves on either way.

    `diagnose(progress, cancelled)` is called in a worker thread.
    """

    def __init__(self, diagnose: Callable[[Callable[[int, int, str], object], Callable[[], bool]], Diagnosed],
                 label: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._diagnose = diagnose
        self.answer: Diagnosed | None = None
        self.setWindowTitle(tr("Quick diagnosis"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(theme().px(_WIDTH))
        self.headline = Label(tr("{count} requests of one 512-token prompt go to this server.", count=REQUESTS),
                              weight=600, wrap=True)
        self.note = Label(label, "note", "text2", elide="middle")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, REQUESTS)
        self.bar.setAccessibleName(tr("Progress"))
        self._list = column(gap=10, margins=(0, 0, 8, 0))
        self.found = self._scrolled()
        self.copy = button(tr("Copy as text"), "copy", self._copy)
        self.close_button = button(tr("Cancel"), None, self.reject)
        below = row(None, self.copy, self.close_button, gap=8)
        self.setLayout(column(self.headline, self.note, self.bar, self.found, rule(), below, gap=12,
                              margins=(16, 16, 16, 12)))
        for hidden in (self.found, self.copy):
            hidden.hide()
        self.job = Job("diagnose")
        self.job.progress.connect(self._progress)
        QApplication.instance().aboutToQuit.connect(self.job.cancel)  # type: ignore[union-attr]

    def _scrolled(self) -> QScrollArea:
        inner = QWidget()
        inner.setLayout(self._list)
        scroll = scrolling(inner)
        scroll.setMinimumHeight(theme().px(_HEIGHT))
        return scroll

    def ask(self) -> None:
        """Show it and begin."""
        self.open()
        job, diagnose = self.job, self._diagnose
        bridge.run(lambda: diagnose(job.report, job.cancelled), self._answered, self._failed, self, name=job.name,
                   job=job)

    def done(self, result: int) -> None:
        """Closed, by whatever way: no further request is sent."""
        self.job.cancel()
        super().done(result)

    @Slot(int, object, str)
    def _progress(self, done: int, total: int | None, _what: str) -> None:
        self.bar.setValue(done)
        if total:
            self.headline.setText(tr("Request {number} of {total}", number=str(min(done + 1, total)),
                                     total=str(total)))

    def _failed(self, error: AppError) -> None:
        self.headline.setText(str(error.what))
        self.note.setText(error.after_what())
        self.bar.hide()
        self.close_button.setText(tr("Close"))

    def _answered(self, answer: Diagnosed) -> None:
        self.answer = answer
        self.headline.setText(str(answer.headline))
        self.note.setText(figures_words(answer))
        self.bar.hide()
        for severity, text, fix in lines_of(answer):
            self._add(severity, text, fix)
        self._list.addStretch(1)
        self.found.show()
        self.copy.show()
        self.close_button.setText(tr("Close"))
        self.close_button.setFocus()

    def _add(self, severity: str, text: str, fix: str) -> None:
        name, role = _SIGNS[severity]
        words = [Label(text, wrap=True)]
        if fix:
            words.append(Label(fix, "note", "text2", wrap=True))
        says = {"ok": tr("fine"), "hint": tr("hint"), "warning": tr("warning"), "error": tr("error")}[severity]
        sign = IconLabel(name, 16, role, says)
        line = row(column(sign, None), column(*words, gap=2), gap=10)
        line.setStretch(1, 1)
        self._list.addLayout(line)

    def _copy(self) -> None:
        if self.answer is not None:
            QGuiApplication.clipboard().setText(as_text(self.answer))


def diagnose_of(workspace: Any, run: Any) -> Callable[[Callable[[int, int, str], object], Callable[[], bool]], Any]:
    """What the dialog calls for a run of this workspace."""
    return lambda progress, cancelled: diagnose_run(workspace, run, progress=progress, cancelled=cancelled)


def lines_of(answer: Diagnosed) -> list[tuple[str, str, str]]:
    """(severity, text, what to do), what stands out first."""
    found = [(c.severity, str(c.text), str(c.fix) if c.fix is not None else "") for c in answer.conclusions]
    found += [("warning", f"{f['text']} {f['proof']}", f["fix"]) for f in answer.findings]
    order = ("error", "warning", "hint", "ok")
    return sorted(found, key=lambda one: order.index(one[0]))


def figures_words(answer: Diagnosed) -> str:
    """The figures in one line; the first request is not in them."""
    f = answer.figures
    if f.rest_generation_per_s is None:
        return ""
    return tr("Generation {generation}, prompt {prompt}, first token after {first}", generation=rate_text(
        f.rest_generation_per_s), prompt=rate_text(f.rest_prompt_per_s), first=seconds_text(f.rest_ttft_s))


def as_text(answer: Diagnosed) -> str:
    """Everything, for a message to somebody who helps."""
    engine, machine, before = answer.engine, answer.machine, answer.before
    out = [str(answer.headline), figures_words(answer), ""]
    out += [" ".join(part for part in (f"[{severity}]", text, fix) if part)
            for severity, text, fix in lines_of(answer)]
    out += ["", " ".join(str(p) for p in (engine.get("name"), engine.get("version")) if p),
            " · ".join(str(p) for p in (machine.get("system"), machine.get("cpu")) if p)]
    out += [" ".join(str(p) for p in (g["name"], g["driver"], g["cuda"]) if p) for g in machine.get("gpus", ())]
    if not missing(before.load_1min):
        out.append(tr("Load before: {load}", load=number_text(before.load_1min)))
    out += [f"{r.number}: {rate_text(r.prompt_per_s)}, {rate_text(r.generation_per_s)}, {seconds_text(r.ttft_s)}, "
            f"{r.why or r.state}" for r in answer.rows]
    return "\n".join(out)
