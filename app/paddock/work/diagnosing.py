"""The quick diagnosis: ten requests of one 512-token prompt, what surrounds them, and the answer in words."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paddock import bench
from paddock.bench.measuring import memory_of
from paddock.bench.model import FAILED, Before, Figures, Measured
from paddock.errors import AppError
from paddock.hardware import Readings
from paddock.server import State
from paddock.store.experiments import Experiments
from paddock.store.secret import masked_argv
from paddock.text import Text
from paddock.units import missing
from paddock.work.run import ENDED

if TYPE_CHECKING:
    from paddock.hardware import Reading
    from paddock.launch import Plan
    from paddock.server import Client
    from paddock.work.run import Run
    from paddock.work.workspace import Workspace

REQUESTS = 10
KIND = "diagnose"
_END_S = 2.0
_LOOK_S = 1.0
"""Loads are means over a span: so long the machine is looked at before the first request."""
Progress = Callable[[int, int, str], object]


def _silent(_done: int, _total: int, _what: str) -> None:
    """Nobody wants to know how far it is."""


@dataclass(frozen=True)
class Diagnosed:
    """The answer. `findings`: what the detectors said of the session meanwhile."""

    engine: dict[str, Any]
    machine: dict[str, Any]
    before: Before
    rows: tuple[Measured, ...]
    figures: Figures
    conclusions: tuple[bench.Conclusion, ...]
    findings: tuple[dict[str, Any], ...] = ()
    session_id: int | None = None
    prompt_tokens: int = 0
    headline: Text = field(default_factory=lambda: Text(""))

    def as_dict(self) -> dict[str, Any]:
        """The form of `bench diagnose --json`."""
        return {"headline": str(self.headline), "engine": self.engine, "machine": self.machine,
                "before": self.before.as_dict(), "prompt_tokens": self.prompt_tokens,
                "requests": [r.as_dict() for r in self.rows], "figures": self.figures.as_dict(),
                "conclusions": [c.as_dict() for c in self.conclusions], "findings": list(self.findings),
                "session": self.session_id}


def diagnose_plan(workspace: Workspace, plan: Plan, *, profile: str | None = None, anyway: bool = False,
                  count: int = REQUESTS, progress: Progress = _silent,
                  cancelled: Callable[[], bool] = lambda: False) -> Diagnosed:
    """Launch it in a process of its own, diagnose, and stop it whatever happens. Blocks.

    AppError where it cannot be launched, does not become ready, cannot be asked, or was cancelled.
    """
    run = workspace.launch(plan, profile=profile, anyway=anyway)
    try:
        _wait_ready(run, progress, cancelled)
        return diagnose_run(workspace, run, count=count, progress=progress, cancelled=cancelled)
    finally:
        run.stop()
        run.join(15)


def _wait_ready(run: Run, progress: Progress, cancelled: Callable[[], bool]) -> None:
    progress(0, 0, str(Text("The model is loaded")))
    while run.state is not State.READY:
        if cancelled():
            raise _cancelled()
        if run.state in ENDED:
            exit_ = run.exit
            found = exit_.diagnosis if exit_ is not None else None
            raise AppError(Text("The server did not start."),
                           why=found.cause if found else exit_.reason if exit_ else None,
                           hint=found.advice if found else Text("The session's log tells more."))
        run.join(0.05)


def _cancelled() -> AppError:
    return AppError(Text("The diagnosis was cancelled."))


def diagnose_run(workspace: Workspace, run: Run, *, count: int = REQUESTS, progress: Progress = _silent,
                 cancelled: Callable[[], bool] = lambda: False) -> Diagnosed:
    """Diagnose a server of ours that is ready; it serves on. Blocks; AppError as above."""
    if run.state is not State.READY:
        raise AppError(Text("The server is not ready."), hint=Text("Wait until it has loaded the model."))
    machine = workspace.machine(run.preview.engine, again=True)
    readings = Readings(machine, lambda: [run.pid] if run.pid else [])
    with closing(readings), run.supervisor.client(120) as client:
        before = _before(run, readings, machine.load_1min, machine.logical_cores, cancelled)
        prompt = bench.prompt_of(client, run.recorder.parser.context_per_slot)
        # Not afterwards: who cancels because the server hangs must not wait for one more answer of it.
        props = client.props().data or {}
        rows = _rows(client, prompt, count, readings.read, progress, cancelled)
        after = _others(readings.read())
    if cancelled():
        raise _cancelled()
    if rows and rows[-1].state == FAILED:
        run.join(_END_S)  # a broken connection is seen before the process is known to be gone
    answer = _answer(run, before, after, rows, len(prompt), _told(props))
    _keep(workspace, run, answer)
    return answer


def _before(run: Run, readings: Readings, load: float | None, cores: int, cancelled: Callable[[], bool]) -> Before:
    """Two readings a second apart, since a load is a mean over time."""
    readings.read()
    until = time.monotonic() + _LOOK_S
    while time.monotonic() < until and not cancelled():
        time.sleep(0.05)
    reading = readings.read()
    ram, devices = memory_of(reading)
    others = _others(reading)
    gpu = {d.device: d.utilisation_pct for d in reading.devices if not missing(d.utilisation_pct)}
    sample = run.recorder.snapshot().sample
    busy = 0 if sample is None or missing(sample.requests_processing) else int(sample.requests_processing)
    return Before(None if missing(reading.cpu_pct) else reading.cpu_pct, gpu, load, cores, reading.ram_available_bytes,
                  others, ram, devices, busy)


def _others(reading: Reading) -> dict[str, float]:
    """What other programs hold, by card, as far as it is told."""
    return {d.device: max(0.0, d.used_bytes - d.process_bytes) for d in reading.devices
            if not math.isnan(d.used_bytes - d.process_bytes)}


def _told(props: Mapping[str, Any]) -> dict[str, Any]:
    """What the server itself says that it runs with: the settings that were meant may not be those that ran."""
    settings = props.get("default_generation_settings") or {}
    return {"model_path": props.get("model_path"), "slots": props.get("total_slots"),
            "context_per_slot": settings.get("n_ctx"), "build": props.get("build_info")}


def _rows(client: Client, prompt: list[int], count: int, read: Callable[[], Reading], progress: Progress,
          cancelled: Callable[[], bool]) -> tuple[Measured, ...]:
    rows: list[Measured] = []
    for number in range(1, count + 1):
        if cancelled():
            break
        progress(number - 1, count, str(Text("Requests")))
        rows.append(bench.measure(client, prompt, number, read, cancelled))
        # A server that is gone or refuses will not answer the next one either.
        if len(rows) >= 2 and all(r.state == FAILED for r in rows[-2:]):
            break
    progress(len(rows), count, str(Text("Requests")))
    return tuple(rows)


def _answer(run: Run, before: Before, others_after: Mapping[str, float], rows: Sequence[Measured], prompt_tokens: int,
            told: dict[str, Any]) -> Diagnosed:
    figures = bench.figures_of(before, rows)
    ceiling = run.preview.ceiling.bound if run.preview.ceiling is not None else None
    expectation = run.detectors.expectation if run.detectors is not None else None
    past = expectation.past if expectation is not None else ()
    near = [speed for depth, speed in past if depth <= 2 * max(prompt_tokens, 1024)]
    usual = sorted(near)[len(near) // 2] if len(near) >= 5 else None
    drafted = run.preview.estimate is not None and run.preview.estimate.has_draft
    over = run.exit if run.state in ENDED else None
    ended = (over.diagnosis.cause if over.diagnosis is not None else over.reason) if over is not None else None
    found = bench.conclusions_of(before, rows, figures, None if drafted else ceiling, usual, others_after, ended)
    argv = run.preview.command.argv if run.preview.command is not None else ()
    engine = _engine(run) | {"argv": list(masked_argv(argv)), "props": told}
    return Diagnosed(engine, _machine(run), before, tuple(rows), figures, tuple(found),
                     tuple(f.as_dict() for f in run.findings), run.session_id, prompt_tokens,
                     bench.headline_of(found, len(run.findings)))


def _engine(run: Run) -> dict[str, Any]:
    engine = run.preview.engine
    if engine is None:
        return {}
    return {"name": engine.name, "version": engine.version, "build": engine.build or engine.package_build,
            "path": str(engine.path)}


def _machine(run: Run) -> dict[str, Any]:
    machine = run.preview.machine
    return {"system": machine.system, "cpu": machine.cpu_name, "cores": machine.physical_cores,
            "threads": machine.logical_cores, "load_1min": machine.load_1min,
            "gpus": [{"name": g.name, "driver": g.driver, "cuda": g.cuda} for g in machine.gpus]}


def _keep(workspace: Workspace, run: Run, answer: Diagnosed) -> None:
    """As an experiment of kind "diagnose": one run a request."""
    experiments = Experiments(workspace.database)
    identity = run.preview.model.identity if run.preview.model is not None else None
    number = experiments.start(KIND, run.label, model_identity=identity, plan=answer.engine)
    for row in answer.rows:
        experiments.run(number, row.number, {"prompt_tokens": answer.prompt_tokens, "session": run.session_id},
                        row.as_dict(), row.state)
    experiments.finish(number, "done", {"headline": str(answer.headline), "figures": answer.figures.as_dict(),
                                        "conclusions": [c.as_dict() for c in answer.conclusions]})
