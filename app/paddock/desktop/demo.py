"""`paddock demo`: the sample model launched through the real window, prompted, plotted, photographed, reported."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from paddock.errors import AppError
from paddock.text import Text, use_language
from paddock.units import bytes_text, gib_text, percent_text, rate_text, seconds_text
from paddock.work.sample import NAME, sample_path

if TYPE_CHECKING:
    from paddock.desktop.window import MainWindow
    from paddock.work import Run, Workspace

PROMPTS = (
    "Why is the sky blue? Answer in three sentences.",
    "Write a short story about a horse that finds its way home.",
    "List five things that a good garden needs, and say why for each of them.",
)
_SIZE = (1280, 800)
_ENGINES_S, _PREVIEW_S, _READY_S, _ANSWER_S, _STOP_S, _PAGE_S = 120.0, 60.0, 300.0, 300.0, 30.0, 60.0


def find_sample(workspace: Workspace) -> Path:
    """The sample model's file: $PADDOCK_SAMPLE, models/ in the data folder or the person's own, or any place of the
    library. Raises AppError when it is nowhere."""
    likely = [sample_path(), workspace.paths.root / "models" / NAME, Path.home() / ".cache" / "paddock" / NAME]
    for path in likely:
        if path.is_file():
            return path
    for entry in workspace.scan(lambda _done, _total, _text: None, lambda: False):
        if entry.model is not None and entry.path.name.lower() == NAME:
            return entry.path
    raise AppError(Text("The sample model {name} is not here.", name=NAME),
                   why=Text("It was looked for in {path} and in the places of the library.", path=str(likely[0])),
                   hint=Text("Run scripts/start.py once: it puts the sample together. Or name it in PADDOCK_SAMPLE."))


@dataclass
class Summary:
    """What the demo found; `as_dict` is summary.json."""

    command: list[str] = field(default_factory=list)
    engine: str = ""
    model: str = ""
    url: str = ""
    session: int | None = None
    estimate: dict[str, Any] | None = None
    verdict: str = ""
    actual: dict[str, Any] | None = None
    ready_after_s: float | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    samples: int = 0
    pictures: list[str] = field(default_factory=list)
    exit_code: int | None = None
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def demo(data_dir: str | Path | None = None, engine: str | None = None, seconds: float = 0.0,
         out: Path = Path("demo-out"), as_json: bool = False) -> int:
    """Returns the exit code: 0 when the model was launched, answered every prompt and ended in order.

    `seconds`: keep serving at least this long. Pictures, report.txt and summary.json go into `out`. Raises AppError.
    """
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from paddock.work import Workspace

    app = QApplication.instance() or QApplication(["paddock"])
    out.mkdir(parents=True, exist_ok=True)
    workspace = Workspace(data_dir, engine)
    if workspace.settings.language:
        use_language(workspace.settings.language)
    try:
        sample = find_sample(workspace)
        stage = Stage(app, workspace, out, quiet=as_json)
        try:
            summary = stage.play(sample, seconds)
        finally:
            stage.close()
    finally:
        workspace.close()
    report = report_text(summary)
    (out / "summary.json").write_text(json.dumps(summary.as_dict(), indent=1, default=str), "utf-8")
    (out / "report.txt").write_text(report, "utf-8")
    print(json.dumps(summary.as_dict(), default=str) if as_json else report)  # noqa: T201
    return 0


class Stage:
    """The window and the steps that a person would take in it. It waits by running the event loop."""

    def __init__(self, app: Any, workspace: Workspace, out: Path, quiet: bool = False) -> None:
        from paddock.desktop import drafts
        from paddock.desktop.state import Desk
        from paddock.desktop.theme import theme
        from paddock.desktop.window import MainWindow

        self._app, self._workspace, self._out, self._quiet = app, workspace, out, quiet
        self._theme = theme()
        self._theme.use("light")
        self._draft = drafts.load(workspace.paths)
        self.summary = Summary()
        self.desk = Desk(workspace)
        self.failure: AppError | None = None
        self.desk.failed.connect(self._failed)
        self.window: MainWindow = MainWindow(self.desk)
        self.window.resize(*_SIZE)
        self.window.show()

    def _failed(self, error: AppError) -> None:
        self.failure = error

    def close(self) -> None:
        """Everything that was started ends; the plan that a person had under edit is put back."""
        from paddock.desktop import bridge, drafts

        run = self.desk.run
        if run is not None:
            run.stop()
            run.join(_STOP_S)
        self.window.close_at_once()
        self.desk.close()
        if self._draft is not None:
            drafts.save(self._workspace.paths, self._draft)
        bridge.shutdown()
        self.window.deleteLater()
        self._app.processEvents()

    # -- tools -------------------------------------------------------------------------------------------------------

    def wait(self, until: Callable[[], object], limit_s: float, what: Text) -> None:
        """Run the event loop until the condition holds. Raises AppError when it takes too long or the desk failed."""
        from PySide6.QtCore import QEventLoop, QTimer

        loop, timer, end = QEventLoop(), QTimer(), time.monotonic() + limit_s

        def look() -> None:
            if until() or self.failure is not None or time.monotonic() > end:
                loop.quit()

        timer.timeout.connect(look)
        timer.start(40)
        QTimer.singleShot(0, look)
        loop.exec()
        timer.stop()
        if self.failure is not None:
            raise self.failure
        if not until():
            raise AppError(Text("The demo waited {time} in vain: {what}.", time=seconds_text(limit_s), what=what),
                           hint=Text("The pictures and logs made so far tell more."))

    def pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() >= end, seconds + 5, Text("a pause"))

    def say(self, text: Text) -> None:
        if not self._quiet:
            print(str(text), file=sys.stderr, flush=True)  # noqa: T201

    def photograph(self, name: str) -> None:
        """The window in both themes."""
        for mode in ("light", "dark"):
            self._theme.use(mode)
            self.pause(0.15)
            path = self._out / f"{name}-{mode}.png"
            if not self.window.grab().save(str(path)):
                raise AppError(Text("The picture {path} could not be written.", path=str(path)))
            self.summary.pictures.append(path.name)
        self._theme.use("light")

    # -- the play ------------------------------------------------------------------------------------------------------

    def play(self, sample: Path, seconds: float) -> Summary:
        """All steps in order."""
        self._find()
        self._plan(sample)
        self._launch()
        ready = time.monotonic()
        self._prompt(seconds, ready)
        self._stop()
        self._look_back()
        return self.summary

    def _find(self) -> None:
        self.say(Text("Looking for an engine and models …"))
        self.desk.find_engines()
        self.wait(lambda: self.desk.engines is not None and self.desk.machine is not None, _ENGINES_S,
                  Text("no engine was found"))
        if not any(e.error is None for e in self.desk.engines or []):
            raise AppError(Text("No llama.cpp was found, so the demo cannot launch anything."),
                           hint=Text("Run scripts/start.py, or name an engine with --engine PATH."))
        self.window.show_page("models")
        self.wait(lambda: self.desk.entries is not None, _PAGE_S, Text("the scan for models did not end"))
        self.pause(1.0)
        self.photograph("1-models")

    def _plan(self, sample: Path) -> None:
        self.desk.open_model(sample)
        self.wait(lambda: self.desk.preview is not None and self.desk.preview.estimate is not None
                  and self.desk.preview.plan == self.desk.plan, _PREVIEW_S, Text("no estimate came"))
        self.wait(lambda: self.window.current == "launch", _PAGE_S, Text("the page Launch did not open"))
        self.pause(0.6)
        self.photograph("2-launch")
        preview = self.desk.preview
        assert preview is not None
        assert preview.estimate is not None
        self.summary.model = preview.model.facts.name or sample.name if preview.model is not None else sample.name
        self.summary.engine = preview.engine.name if preview.engine is not None else ""
        self.summary.verdict = preview.estimate.verdict.value
        self.summary.estimate = self._workspace.answer_of(preview.estimate)

    def _launch(self) -> None:
        from paddock.server.model import State

        self.say(Text("Launching {model} with {engine} …", model=self.summary.model, engine=self.summary.engine))
        self.desk.launch()
        self.wait(lambda: self.desk.run is not None, _PAGE_S, Text("nothing was launched"))
        run = cast("Run", self.desk.run)
        assert run is not None
        self.summary.session, self.summary.url = run.session_id, run.url
        command = run.preview.command
        self.summary.command = list(command.argv) if command is not None else []
        ended = (State.FAILED, State.CRASHED, State.STOPPED)
        self.wait(lambda: run.state is State.READY or run.state in ended, _READY_S, Text("the server was not ready"))
        if run.state is not State.READY:
            diagnosis = run.exit.diagnosis if run.exit is not None else None
            why = diagnosis.cause if diagnosis else run.exit.reason if run.exit is not None else None
            raise AppError(Text("The server did not start."), why=why, hint=diagnosis.advice if diagnosis else None)
        self.summary.ready_after_s = run.ready_after_s
        self.window.show_page("run")

    def _prompt(self, seconds: float, ready: float) -> None:
        from paddock.desktop.pages.run import RunPage

        page = self.window.page("run")
        assert isinstance(page, RunPage)
        asked = 0
        while asked < len(PROMPTS) or time.monotonic() - ready < seconds:
            prompt = PROMPTS[asked % len(PROMPTS)]
            self._ask(page, prompt, photograph=asked == 1)
            asked += 1
        self.pause(1.5)
        self.photograph("4-run-answered")
        page.body.requests.ways.select("waterfall")
        page.body.requests.ways.chosen.emit("waterfall")
        self.pause(0.6)
        self.photograph("5-run-waterfall")

    def _ask(self, page: Any, prompt: str, photograph: bool) -> None:
        answers: list[Any] = []
        ask = page.body.ask
        ask.options.most.setValue(160)
        ask.options.seed.setValue(1)
        ask.answered.connect(answers.append)
        self.wait(ask.input.isEnabled, 10, Text("the prompt box stayed locked"))
        ask.input.setText(prompt)
        ask.ask()
        self.say(Text("Prompt: {prompt}", prompt=prompt))
        if photograph:
            self.wait(lambda: ask.text.toPlainText().count(" ") > 30 or answers or not ask.busy, _ANSWER_S,
                      Text("no token came"))
            self.photograph("3-run-writing")
        self.wait(lambda: answers or not ask.busy, _ANSWER_S, Text("a prompt was not answered"))
        ask.answered.disconnect(answers.append)
        if not answers:
            raise AppError(Text("A prompt was not answered."), why=ask.note.full_text())
        answer = answers[0]
        self.summary.requests.append({
            "prompt": prompt, "prompt_tokens": answer.prompt_tokens, "generated_tokens": answer.generated_tokens,
            "prompt_per_s": answer.prompt_per_s, "generation_per_s": answer.generation_per_s, "ttft_s": answer.ttft_s,
            "finish": answer.finish})

    def _stop(self) -> None:
        from paddock.server.model import State

        run = cast("Run", self.desk.run)
        assert run is not None
        self.summary.samples = len(run.recorder.series)
        self.desk.stop()
        self.wait(lambda: run.state in (State.STOPPED, State.FAILED, State.CRASHED) and run.join(0), _STOP_S,
                  Text("the server did not stop"))
        detail = self._workspace.session(run.session_id)
        self.summary.actual = detail.actual or run.actual
        (self._out / "report.html").write_text(self._workspace.report([run.session_id]), "utf-8")
        self.summary.exit_code, self.summary.reason = detail.row.exit_code, detail.row.reason or ""

    def _look_back(self) -> None:
        from paddock.desktop.pages.sessions import SessionsPage

        self.window.show_page("sessions", self.summary.session)
        page = self.window.page("sessions")
        assert isinstance(page, SessionsPage)
        self.wait(lambda: page.open_id == self.summary.session, _PAGE_S, Text("the session did not open"))
        self.pause(0.6)
        self.photograph("6-session")
        page.detail.tabs.setCurrentWidget(page.detail.memory_pages)
        self.pause(0.2)
        self.photograph("7-session-memory")
        for name in self.window.names:
            if name not in ("models", "launch", "run", "sessions"):
                self.window.show_page(name)
                self.pause(0.5)
                self.photograph(f"8-{name}")


def _totals(answer: dict[str, Any] | None) -> dict[str, int]:
    """Bytes by device of an answer in the form of `fit`."""
    out: dict[str, int] = {}
    for row in [*((answer or {}).get("main") or ()), *((answer or {}).get("draft") or ())]:
        out[row["name"]] = out.get(row["name"], 0) + sum(int(row.get(t) or 0) for t in ("model", "context", "compute"))
    return out


def report_text(summary: Summary) -> str:
    """What was found, for people."""
    lines = [str(Text("Paddock demo: {model} with {engine}", model=summary.model, engine=summary.engine)), "",
             str(Text("Command: {command}", command=" ".join(summary.command))),
             str(Text("Session: {id}, ready after {time}", id=summary.session,
                      time=seconds_text(summary.ready_after_s))),
             str(Text("Verdict before the launch: {verdict}", verdict=summary.verdict)), "",
             str(Text("Memory, as the engine allocated it, beside the estimate:"))]
    predicted, measured = _totals(summary.estimate), _totals(summary.actual)
    for name in dict.fromkeys([*predicted, *measured]):
        guess, truth = predicted.get(name), measured.get(name)
        gap = percent_text(truth / guess - 1, 1, signed=True) if guess and truth is not None else "–"
        lines.append(str(Text("  {device}: predicted {guess}, allocated {truth} ({gap})", device=name,
                              guess=bytes_text(guess), truth=bytes_text(truth), gap=gap)))
    for name, reading in ((summary.actual or {}).get("measured") or {}).items():
        if reading.get("process_bytes"):
            lines.append(str(Text("  {device}: the server's processes held {size} GiB at most", device=name,
                                  size=gib_text(reading["process_bytes"]))))
    lines += ["", str(Text("Requests:"))]
    for i, one in enumerate(summary.requests, start=1):
        lines.append(str(Text("  {number}. {tokens} tokens at {rate}, prompt at {prompt}, first after {first}",
                              number=i, tokens=one["generated_tokens"], rate=rate_text(one["generation_per_s"]),
                              prompt=rate_text(one["prompt_per_s"]), first=seconds_text(one["ttft_s"]))))
    lines += ["", str(Text("{count} samples recorded. Ended: {reason}", count=summary.samples, reason=summary.reason)),
              str(Text("Pictures: {names}", names=", ".join(summary.pictures)))]
    return "\n".join(lines) + "\n"
