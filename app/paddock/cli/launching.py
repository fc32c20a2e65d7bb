"""paddock command and launch: the exact command, and a run of it supervised and recorded without a window."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals, Seconds, reached, secret
from paddock.cli.estimate import FLAGS, issue_dict, target_and_flags
from paddock.cli.output import document, in_words, line, note, told
from paddock.errors import AppError
from paddock.text import Text
from paddock.units import rate_text, seconds_text

if TYPE_CHECKING:
    from paddock.launch import Plan
    from paddock.server.model import Diagnosis, Exit, State
    from paddock.session.model import Event
    from paddock.work import Run
    from paddock.work.watching import Watched

FORMATS = ["argv", "posix", "powershell", "cmd", "systemd", "preset", "llama-swap", "docker"]


@click.command(context_settings=FLAGS)
@click.argument("target", required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), default="posix", show_default=True)
@click.option("--additions", is_flag=True, help="Include what Paddock adds for its own sake (--metrics, -lv 4, …).")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(options: Globals, target: str | None, form: str, additions: bool, flags: tuple[str, ...]) -> int:
    """The command line of a profile or file, in the format of a shell or another program."""

    workspace = options.workspace()
    plan, _ = told(workspace.resolve(*target_and_flags(target, flags)))
    text = workspace.export(plan, form, additions=additions)
    line(text)
    return 0


@click.command(context_settings=FLAGS)
@click.argument("target", required=False)
@click.option("--for", "seconds", type=Seconds(), metavar="SECONDS", help="Stop so long after it was ready.")
@click.option("--anyway", is_flag=True, help="Launch although a check holds an error.")
@click.option("--proxy", type=click.IntRange(0, 65535), default=None, metavar="PORT",
              help="Put the recording proxy in front of it, on this loopback port (0: any).")
@click.option("--keep-texts", is_flag=True,
              help="With --proxy: keep prompts and answers too, for this session. Without it no text is kept.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def launch(options: Globals, target: str | None, seconds: float | None, anyway: bool, proxy: int | None,
           keep_texts: bool, flags: tuple[str, ...]) -> int:
    """Start the server, watch it and record the session, until Ctrl-C, its end, or --for SECONDS after ready."""

    if keep_texts and proxy is None:
        raise click.UsageError(str(Text("--keep-texts needs --proxy: only the recording proxy sees texts.")))
    workspace = options.workspace()
    plan, profile = told(workspace.resolve(*target_and_flags(target, flags)))
    reporter = Reporter(options.json)
    try:
        if proxy:
            _can_listen(proxy, plan)
        run = workspace.launch(plan, profile=profile.name if profile else None, anyway=anyway, listener=reporter,
                               restart_limit=profile.restart_limit if profile else 0)
        reporter.attach(run)
        reporter.proxy_port, reporter.keep_texts = proxy, keep_texts
        stopped = _wait(run, reporter, seconds)
        return reporter.finish(run, stopped)
    finally:
        workspace.close()


def _can_listen(port: int, plan: Plan) -> None:
    """AppError where the proxy could not have its port: better now than after a long load."""
    from paddock.launch import effective
    from paddock.server import ServerSpec
    from paddock.server.port import check

    what = Text("The recording proxy cannot listen on port {port}.", port=port)
    if port == effective(plan).port:
        raise AppError(what, why=Text("It is the server's own port."),
                       hint=Text("Give the proxy another, or 0 for any free one."))
    if (found := check(ServerSpec((), {}, port=port), lambda _: False)) is not None:
        raise AppError(what, why=found.cause, hint=found.advice)


def _wait(run: Run, reporter: Reporter, seconds: float | None) -> bool:
    """Wait for the end; True when it was we who stopped it. Ctrl-C and SIGTERM stop the server in order."""
    ask = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ask.set())
    while not run.join(timeout=0.1):
        reporter.tick(run)
        reporter.open_proxy(run)
        ready = reporter.ready_at
        if ask.is_set() or (seconds is not None and ready is not None and time.monotonic() - ready >= seconds):
            reporter.interrupted = ask.is_set()
            run.stop()
            run.join(timeout=10)
            reporter.tick(run)
            return True
    reporter.tick(run)
    return False


@click.command()
@click.argument("url")
@reached
@click.option("--record", is_flag=True, help="Keep it as a session.")
@click.option("--for", "seconds", type=Seconds(), metavar="SECONDS", help="Stop watching after so long.")
@click.pass_obj
def watch(options: Globals, url: str, key: str | None, record: bool, insecure: bool, seconds: float | None) -> int:
    """Attach to a server that runs already (http://HOST:PORT): tokens/s, slots, requests; it is never stopped.

    A server on another machine that listens on its own loopback alone is reached through a tunnel:
    `ssh -N -L 8080:127.0.0.1:8080 MACHINE`, then `paddock watch 8080`. The machine's own readings are only taken there:
    `ssh MACHINE paddock launch --json …` records them, `paddock sessions export` and `import` bring them here.
    """
    workspace = options.workspace()
    reporter = Reporter(options.json)
    try:
        watched = workspace.watch(url, secret(key), record,
                                  insecure=insecure)
        reporter.watching(watched)
        try:
            return _watch(watched, reporter, seconds)
        finally:
            watched.close()
    finally:
        workspace.close()


def _watch(watched: Watched, reporter: Reporter, seconds: float | None) -> int:
    ask = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ask.set())
    end = None if seconds is None else time.monotonic() + seconds
    while not ask.wait(0.1) and (end is None or time.monotonic() < end):
        reporter.tick(watched)
    reporter.tick(watched)
    reporter.watched(watched)
    return 130 if ask.is_set() else 0


class Reporter:
    """Tells the run as it goes: JSON lines on stdout, or sentences. Callbacks come from other threads."""

    def __init__(self, as_json: bool) -> None:
        self.json = as_json
        self.ready_at: float | None = None
        self.interrupted = False
        self.proxy_port: int | None = None
        self.keep_texts = False
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._line = 0
        self._told_requests: set[int] = set()
        self._models: dict[str, tuple[str, int | None, bool]] = {}
        self._unheard: OSError | None = None
        """Why nothing can be said any more: the reader left, or the disk is full."""
        self._last_sample = 0.0
        self._last_event = -1.0

    def watching(self, watched: Watched) -> None:
        """Say what is being watched."""
        self._event("state", state="watching", url=watched.url, model=watched.label, session=watched.session_id)
        if not self.json:
            self._note(Text("Watching {model} at {url}. Ctrl-C ends the watching, not the server.", model=watched.label,
                      url=watched.url))

    def attach(self, run: Run) -> None:
        """Say what is being started."""
        command = run.preview.command
        argv = list(command.argv) if command else []
        self._event("command", argv=argv, session=run.session_id, url=run.url,
                    additions=[{"id": a.id, "argv": list(a.argv), "reason": str(a.reason)}
                               for a in (command.additions if command else ())])
        for issue in run.preview.issues:
            self._event("issue", **issue_dict(issue))
        if not self.json:
            self._note(command.own if command else "")
            for issue in run.preview.issues:
                self._note(f"{in_words(issue.severity.value)}: {issue.text}")

    def on_state(self, run: Run, state: State, exit_: Exit | None) -> None:
        """Called by the run."""
        if state.value == "ready":
            self.ready_at = time.monotonic()
            self._fit(run)
        self._event("state", state=state.value)
        if not self.json:
            said = Text("ready at {url}", url=run.url) if state.value == "ready" else in_words(state.value)
            self._note(f"[{seconds_text(time.monotonic() - self._start)}] {said}")

    def _fit(self, run: Run) -> None:
        """What --fit changed, before "ready" is said: from here on the plan is another one."""
        if run.fit_outcome is not None:
            self._event("fit", text=str(run.fit_outcome.text), **run.fit_outcome.as_dict())
            if not self.json:
                self._note(run.fit_outcome.text)

    def on_diagnosis(self, run: Run, diagnosis: Diagnosis) -> None:
        """Called by the run."""
        self._event("issue", id=diagnosis.id, severity="error" if diagnosis.fatal else "warning", option=None,
                    text=str(diagnosis.cause), fix=str(diagnosis.advice), line=diagnosis.line)
        if not self.json:
            self._note(f"{diagnosis.cause} {diagnosis.advice}")

    def tick(self, run: Run | Watched) -> None:
        """Called ten times a second from the main thread: new log lines, samples, finished requests.

        Raises OSError when stdout or stderr cannot be written any more, which the callbacks must not.
        """
        if self._unheard is not None:
            raise self._unheard
        for entry in run.recorder.log(after=self._line):
            missed, self._line = entry.number - self._line - 1, entry.number
            if missed and self.json:
                self._event("log", level=None, missed=missed, text=str(Text(
                    "{count} line is only in the log file.", plural="{count} lines are only in the log file.",
                    count=missed)))
            if self.json:
                self._event("log", level=entry.level, text=entry.text)
        self._tell_models(run)
        snapshot = run.recorder.snapshot()
        for request in snapshot.requests:
            if request.status != "active" and request.number not in self._told_requests:
                self._told_requests.add(request.number)
                self._event("request", **request_dict(request))
                if not self.json:
                    self._note(Text("request {number}: {prompt} prompt, {out} generated, {rate}", number=request.number,
                              prompt=request.prompt_tokens, out=request.generated_tokens,
                              rate=rate_text(request.generation_per_s)))
        self._tell_degraded(snapshot.events)
        sample = snapshot.sample
        if sample is not None and self.json and sample.t - self._last_sample >= 1.0:
            self._last_sample = sample.t
            self._event("sample", generation_per_s=clean(sample.generation_per_s),
                        prompt_per_s=clean(sample.prompt_per_s), context_used=clean(sample.context_used),
                        busy=clean(sample.requests_processing), waiting=clean(sample.requests_waiting))

    def _tell_degraded(self, events: Sequence[Event]) -> None:
        """What the detectors found since the last time: shaped like the plan's issues, with the proof besides."""
        fresh = [e for e in events if e.t > self._last_event]
        self._last_event = events[-1].t if events else self._last_event
        for event in fresh:
            if event.kind in ("issue", "recovered") and str(event.data.get("id", "")).startswith("degraded."):
                self._event(event.kind, text=event.text, **event.data)
                if not self.json:
                    said = Text("Over: {what}", what=event.text) if event.kind == "recovered" else event.text
                    self._note(" ".join((str(said), event.data.get("proof", ""), event.data.get("fix", ""))).strip())
            elif (event.kind in ("issue", "recovered")
                  and str(event.data.get("id", "")).startswith(("sampler.", "proxy.", "database."))):
                self._event(event.kind, id=event.data["id"], severity="warning", option=None, text=event.text, fix=None)
                if not self.json:
                    self._note(event.text)
            elif "suspended_s" in event.data:
                self._event("state", state="resumed", suspended_s=event.data["suspended_s"])
                if not self.json:
                    self._note(event.text)

    def _tell_models(self, run: Run | Watched) -> None:
        """A router's models: all of them once, then each whose state changes."""
        for model in run.models:
            if self._models.get(model.id) == (model.state, model.port, model.failed):
                continue
            self._models[model.id] = (model.state, model.port, model.failed)
            self._event("model", id=model.id, state=model.state, port=model.port, failed=model.failed,
                        exit_code=model.exit_code)
            if not self.json:
                self._note(Text("model {id}: {state}", id=model.id, state=in_words(model.state)))

    def watched(self, watched: Watched) -> None:
        """The last event of a watching."""
        self._event("exit", session=watched.session_id, code=None, reason=str(Text("The watching ended.")))
        if not self.json and watched.session_id is not None:
            self._note(Text("Recorded as session {id}.", id=watched.session_id))

    def open_proxy(self, run: Run) -> None:
        """Once it is ready, if it was asked for."""
        if self.proxy_port is None or self.ready_at is None or run.state.value != "ready":
            return
        port, self.proxy_port = self.proxy_port, None
        url = run.open_proxy(port, keep_texts=self.keep_texts)
        self._event("state", state="proxy", url=url, keeps_texts=self.keep_texts)
        if not self.json:
            self._note(Text("Recording proxy at {url}. Prompts and answers are kept.", url=url) if self.keep_texts
                       else Text("Recording proxy at {url}.", url=url))

    def finish(self, run: Run, stopped: bool) -> int:
        """The last event, and the exit code: 0 in order, 1 a server that failed, 130 after Ctrl-C."""
        exit_ = run.exit
        failed = not stopped and run.state.value in ("failed", "crashed")
        code = exit_.code if exit_ else None
        reason = str(exit_.reason) if exit_ else ""
        self._event("exit", session=run.session_id, code=code, reason=reason)
        if not self.json:
            self._note(reason)
            if run.after_suspend is not None:
                self._note(run.after_suspend)
            self._note(Text("Recorded as session {id}.", id=run.session_id))
        if failed:
            return 1
        return 130 if self.interrupted else 0

    def _event(self, kind: str, **data: Any) -> None:
        if self.json:
            self._try(lambda: document({"t": round(time.monotonic() - self._start, 3), "event": kind, **data}))

    def _note(self, text: Text | str) -> None:
        self._try(lambda: note(text))

    def _try(self, say: Callable[[], None]) -> None:
        """Also from the supervisor's thread, where a closed pipe must not end the supervision."""
        with self._lock:
            if self._unheard is None:
                try:
                    say()
                except OSError as error:
                    self._unheard = error


def request_dict(r: Any) -> dict[str, Any]:
    """A request's JSON form, as `sessions show` has it."""
    return {"number": r.number, "slot": r.slot, "prompt_tokens": r.prompt_tokens, "cached_tokens": r.cached_tokens,
            "generated_tokens": r.generated_tokens, "prompt_per_s": r.prompt_per_s,
            "generation_per_s": r.generation_per_s, "ttft_s": r.ttft_s, "status": r.status}


def clean(value: float) -> float | None:
    """NaN is null in JSON."""
    return None if value != value else value
