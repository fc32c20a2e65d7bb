"""One server that we started or adopted, with everything that is recorded of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from paddock.errors import AppError
from paddock.server import Client, Diagnosis, Exit, LogLine, Progress, State, Supervisor, router
from paddock.server.router import RouterModel
from paddock.session.proxy import Exchange, RecordingProxy
from paddock.text import Text
from paddock.work import fit_log, ledger, trying
from paddock.work.child_failures import why_failed
from paddock.work.fit_log import FitOutcome
from paddock.work.model import Preview
from paddock.work.trying import Answer, Question

if TYPE_CHECKING:
    from paddock.hardware import Reading
    from paddock.session import Recorder, Sampler
    from paddock.session.detectors import DetectorWatch, Finding
    from paddock.store import Database

_SUSPEND_S = 300.0
ENDED = (State.STOPPED, State.FAILED, State.CRASHED)


class RunListener(Protocol):
    """Called from other threads; must return at once."""

    def on_state(self, run: Run, state: State, exit_: Exit | None) -> None: ...

    def on_diagnosis(self, run: Run, diagnosis: Diagnosis) -> None: ...


class Run:
    """A session in progress (or ended, until the workspace forgets it). Made by Workspace.launch and .adopt.

    It is the supervisor's listener: state changes start and stop the sampler, and are written to the database.
    """

    read_only = False

    def __init__(self, *, session_id: int, preview: Preview, label: str, started_utc: str,
                 database: Database, recorder: Recorder, make_client: Callable[[], Client],
                 make_sampler: Callable[[Run], Sampler], listener: RunListener | None, log_path: str | None,
                 estimated: bool = False, is_router: bool = False, answers_texts: bool = False) -> None:
        self.session_id = session_id
        self.preview = preview
        self.label = label
        self.started_utc = started_utc
        self.recorder = recorder
        self.log_path = log_path
        self.actual: dict[str, Any] | None = None
        self.fit_outcome: FitOutcome | None = None
        """What --fit changed in this launch; None while not known, or where it changed nothing."""
        self.detectors: DetectorWatch | None = None
        """What looks for signs that the run is degraded."""
        self.is_router, self.answers_texts = is_router, answers_texts
        self.models: tuple[RouterModel, ...] = ()
        """Of a router, the newest list; empty before the first and for any other server."""
        self.model_failures: tuple[Diagnosis, ...] = ()
        """Models that a router could not load, the newest last."""
        self.ended_at: float | None = None
        """Monotonic seconds."""
        self.listener = listener
        self.started = time.monotonic()
        self.ready_after_s: float | None = None
        self.on_ready: Callable[[], None] | None = None
        """Called once the server is ready, from the supervisor's thread."""
        self.turn = ExitStack()
        """What is given back once the server listens, or has ended: see starting."""
        self.supervisor: Supervisor
        self.proxy: RecordingProxy | None = None
        self._next_exchange = 1
        """A proxy that is opened again goes on counting: an exchange's number names it within the session."""
        self._database = database
        self._make_client = make_client
        self._make_sampler = make_sampler
        self._told = 0
        self._estimated = estimated
        self._in_ledger = False
        self._life_from = 0
        """Number of the last log line before the present start."""
        self._sampler: Sampler | None = None
        self._finished = threading.Event()
        self._lock = threading.Lock()

    # -- what it is

    @property
    def state(self) -> State:
        return self.supervisor.state

    @property
    def exit(self) -> Exit | None:
        return self.supervisor.exit

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """What the log told so far that it serves on in spite of, then why it ended."""
        ended = self.exit
        why = [ended.diagnosis] if ended and ended.diagnosis else []
        return [*self.supervisor.notices, *self.model_failures, *why]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Why it is degraded now, the gravest first; each with proof and remedy."""
        return self.detectors.findings if self.detectors is not None else ()

    @property
    def url(self) -> str:
        """Where to reach it, API prefix included."""
        return self.supervisor.url

    @property
    def pid(self) -> int | None:
        return self.supervisor.pid

    @property
    def keeps_serving(self) -> bool:
        """Whether it outlives this Paddock."""
        return self.supervisor.spec.keep_serving

    @property
    def after_suspend(self) -> Text | None:
        """That it ended soon after the computer was suspended, where it did: the driver is the usual cause then."""
        ended = self.ended_at or time.monotonic()
        slept = [e.t for e in self.recorder.snapshot().events if "suspended_s" in e.data]
        if self.state not in (State.FAILED, State.CRASHED) or not slept:
            return None
        if ended - self.recorder.t0 - slept[-1] > _SUSPEND_S:
            return None
        return Text("The computer was suspended shortly before: restart the device's driver, or the computer, and look "
                    "whether the engine still finds its devices.")

    def progress(self) -> Progress:
        """Load progress, an estimate."""
        return self.supervisor.progress()

    # -- what it does

    def stop(self) -> None:
        """Ask the server to stop; returns at once; idempotent."""
        self.supervisor.stop()

    def keep_readings(self, readings: Sequence[Reading]) -> None:
        """Store what a close look has read of the cards with the session. Blocks a moment. AppError when closed."""
        self._database.device_readings(self.session_id, self.recorder.t0, readings)

    def load_model(self, model_id: str) -> None:
        """Have the router load a model; it shows in `models` a moment later. Blocks a moment. AppError if refused."""
        with self._make_client() as client:
            router.load(client, model_id)

    def unload_model(self, model_id: str) -> None:
        """Have the router end a model's server. Blocks a moment. AppError where it refuses."""
        with self._make_client() as client:
            router.unload(client, model_id)

    def on_models(self, models: tuple[RouterModel, ...]) -> None:
        """The router's list has changed; from the sampler's thread."""
        before = {m.id: m for m in self.models}
        self.models = models
        for model in models:
            known = before.get(model.id)
            if model.failed and known is not None and not known.failed:
                self._model_failed(model)
            elif known is not None and known.state != model.state:
                self.recorder.event("model", f"{model.id}: {model.state}", id=model.id, state=model.state,
                                    failed=model.failed, exit_code=model.exit_code)

    def _model_failed(self, model: RouterModel) -> None:
        found = why_failed(model.id, self.recorder.log(), model.exit_code)
        self.model_failures = (*self.model_failures[-4:], found)
        self.recorder.event("issue", str(found.cause), id="model-failed", model=model.id, diagnosis=found.id,
                            line=found.line)
        if self.listener is not None:
            self.listener.on_diagnosis(self, found)

    def open_proxy(self, port: int = 0, *, keep_texts: bool = False) -> str:
        """Put the recording proxy in front (0: any free port); returns the address for clients. Blocks for a moment.

        Each exchange is recorded with the session, and with `keep_texts` what was asked and answered too: the person's
        own word, for this session. AppError where the port cannot be had.
        """
        if self.proxy is None:
            proxy = RecordingProxy(self.url, self._exchanged, port, keep_texts=keep_texts, first=self._next_exchange,
                                   on_lost=self._proxy_lost)
            proxy.start()
            self.proxy = proxy
        return self.proxy.url

    def _exchanged(self, exchange: Exchange) -> None:
        self.recorder.exchange(exchange)
        if self.detectors is not None:
            self.detectors.on_exchange(exchange)

    def close_proxy(self) -> None:
        """End the proxy; streams that are open through it are cut."""
        proxy, self.proxy = self.proxy, None
        if proxy is not None:
            proxy.stop()
            self._next_exchange = proxy.next_id

    def _proxy_lost(self, text: Text, gone: bool) -> None:
        """It ended by itself; from its reader's thread. What it took up until then is recorded."""
        self.recorder.event("issue", str(text), id="proxy.lost")
        if gone:
            lost, self.proxy = self.proxy, None
            if lost is not None:
                self._next_exchange = lost.next_id

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end, with everything recorded; False when the time was over first."""
        if not self._finished.wait(timeout):
            return False
        self.supervisor.join(5)
        self._join_sampler()
        self.close_proxy()
        return True

    def close(self) -> None:
        """End it: stop, unless it keeps serving; then let go of all threads."""
        self.close_proxy()
        if self.supervisor.spec.keep_serving and self.state not in ENDED:
            self.supervisor.detach()
            self._stop_sampler()
            self._finish("detached", None)
        else:
            self.stop()
            self._finished.wait(15)
        self.supervisor.join(5)
        self._join_sampler()

    def ask(self, prompt: str, *, on_text: Callable[[str], None] | None = None,
            cancelled: Callable[[], bool] = lambda: False, **values: Any) -> Answer:
        """Send one prompt, with the values of a `Question`, and stream the answer. Blocks. Raises AppError in words.

        A router is asked for a model that is loaded, else for its first one, which it then loads. A server of
        embeddings answers with its vector in words; a reranker takes a question and, in lines below, texts to rank.
        """
        if self.state is not State.READY:
            raise AppError(Text("The server is not ready."), hint=Text("Wait until it has loaded the model."))
        chosen = next((m for m in self.models if m.running), next(iter(self.models), None))
        named = {"model": chosen.id} if chosen is not None else {}
        with self._make_client() as client:
            if self.answers_texts:
                lines = prompt.splitlines()
                return trying.ranked(client, lines) if self.ranks else trying.embedded(client, prompt)
            return trying.generated(client, Question(prompt, **values), on_text, cancelled, **named)

    @property
    def ranks(self) -> bool:
        """Whether it was started to rank texts."""
        plan = self.preview.plan
        return any(plan.find(name) is not None for name in ("rerank", "reranking")) or plan.get("pooling") == "rank"

    @property
    def takes_images(self) -> bool:
        """Whether it was started with a projector that could be told from the plan."""
        plan = self.preview.plan
        return any(plan.get(name) for name in ("mmproj", "mmproj-url", "hf-repo"))

    # -- server.Listener

    def on_state(self, state: State, t: float, exit_: Exit | None) -> None:
        """A change, from the supervisor's thread."""
        self.recorder.on_state(state, t, exit_)
        if state is not State.STARTING:
            self.turn.close()
        if state is State.STARTING:
            self._life_from = self.recorder.snapshot().log_last
        if state not in ENDED:
            self._database.state(self.session_id, state.value)
        if state is State.READY:
            self.ready_after_s = time.monotonic() - self.started
            self._keep_actual()
            self._keep_fit()
            self._keep_in_ledger()
            self._start_sampler()
            if self.on_ready is not None:
                self.on_ready()
        elif state in (*ENDED, State.STOPPING):
            self._stop_sampler()
        if exit_ is not None and exit_.diagnosis is not None and self.listener:
            self.listener.on_diagnosis(self, exit_.diagnosis)
        if self.listener:
            self.listener.on_state(self, state, exit_)
        if state in ENDED:
            self._finish(state.value, exit_)

    def on_line(self, line: LogLine) -> None:
        """A log line, from the reader's thread."""
        self.recorder.on_line(line)
        if self.detectors is not None:
            self.detectors.on_line(line)
        notices = self.supervisor.notices
        if len(notices) > self._told:
            fresh, self._told = notices[self._told:], len(notices)
            for notice in fresh if self.listener else ():
                self.listener.on_diagnosis(self, notice)  # type: ignore[union-attr]

    # -- recording

    def _start_sampler(self) -> None:
        with self._lock:
            if self._sampler is None:
                self._sampler = self._make_sampler(self)
                self._sampler.start()

    def _stop_sampler(self) -> None:
        with self._lock:
            if self._sampler is not None:
                self._sampler.stop()

    def _join_sampler(self) -> None:
        with self._lock:
            sampler, self._sampler = self._sampler, None
        if sampler is not None:
            sampler.stop()
            sampler.join(5)

    def _keep_actual(self) -> None:
        """The buffer lines are printed before the server is ready: what was really reserved."""
        self.actual = self.recorder.actual()
        self._database.actual(self.session_id, self.actual)

    def _keep_fit(self) -> None:
        """What --fit changed stands in the log by now."""
        self.fit_outcome = fit_log.read(line.text for line in self.recorder.log(after=self._life_from))
        if self.fit_outcome is not None:
            self.recorder.event("fit", str(self.fit_outcome.text), **self.fit_outcome.as_dict())

    def _keep_in_ledger(self, ended: bool = False) -> None:
        """The estimate beside what it took: only of a plan that ran as it was estimated, from a log read to its end."""
        changed = self.fit_outcome is not None and self.fit_outcome.changed
        if not self._estimated or changed or self.actual is None or self.recorder.parser.slots is None:
            return
        if not self._in_ledger:
            self._in_ledger = True
            ledger.keep(self._database, self.session_id, self.preview, self.actual, ended=False)
        if ended:
            ledger.keep(self._database, self.session_id, self.preview, self.actual, ended=True)

    def _finish(self, state: str, exit_: Exit | None) -> None:
        if self._finished.is_set():
            return
        self.ended_at = time.monotonic()
        if self.recorder.snapshot().memory.known:
            self._keep_actual()
            if self.ready_after_s is not None:
                self._keep_in_ledger(ended=True)
        try:
            self._database.finish_session(
                self.session_id, state=state, exit_code=exit_.code if exit_ else None,
                reason=" ".join(str(t) for t in (exit_.reason, self.after_suspend) if t) if exit_ else None,
                log_excerpt=self.recorder.excerpt())
        except AppError:
            return  # the disk is full: the session's events tell it, and the next start marks the session interrupted
        finally:
            self._finished.set()
