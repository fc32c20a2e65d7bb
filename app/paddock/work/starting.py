"""A plan becomes a running, recorded server."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.hardware import Machine, Readings
from paddock.launch import Plan, effective
from paddock.launch.effective import Effective
from paddock.launch.parsing import parse_argv
from paddock.paths import file_name
from paddock.server import Client, ServerSpec, Supervisor
from paddock.server.record import Leftover
from paddock.session import Recorder, Sampler, SamplerSpec
from paddock.session.batching import BatchRates
from paddock.session.children import Children, RouterPoller
from paddock.store import SessionStart
from paddock.store.locking import locked
from paddock.text import Text
from paddock.work import asking
from paddock.work.conditions import config_ini
from paddock.work.model import Preview
from paddock.work.observing import watch_of
from paddock.work.run import Run, RunListener

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace

_TURN_S = 3.0
_HISTORY_S = 1.0
"""So soon after we came, an adopted server's log has been read to its end: what ended in it is of before."""


def start_run(workspace: Workspace, plan: Plan, *, profile: str | None, anyway: bool, listener: RunListener | None,
              keep_serving: bool, restart_limit: int, additions_off: Collection[str] | None) -> Run:
    """See Workspace.launch."""
    with ExitStack() as turn:
        _take_turn(workspace, turn)
        run = _start(workspace, plan, profile, anyway, listener, keep_serving, restart_limit, additions_off)
        run.turn = turn.pop_all()
        run.supervisor.start()
    return run


def _take_turn(workspace: Workspace, turn: ExitStack) -> None:
    """One launch at a time on a data folder, until its server listens: else two that look for a free port at the same
    moment find the same one. Whoever is slow to listen (a download) is not waited for."""
    with suppress(AppError):
        turn.enter_context(locked(workspace.paths.runtime / "launching", _TURN_S))


def _start(workspace: Workspace, plan: Plan, profile: str | None, anyway: bool, listener: RunListener | None,
           keep_serving: bool, restart_limit: int, additions_off: Collection[str] | None) -> Run:
    preview = workspace.preview(plan, fresh=True, additions_off=additions_off)
    _refuse(preview, anyway)
    command = preview.command
    assert command is not None
    config = config_ini(os.environ)
    address = effective(command, os.environ, config)
    spec = _spec(workspace, preview, address, keep_serving, restart_limit, config)
    start = _session_start(preview, spec, profile)
    run = _run(workspace, preview, spec, start, listener, address=address)
    if preview.model is not None:
        # Not before: a plan that never served must not come back when this model is opened again.
        run.on_ready = partial(_keep_plan, workspace, preview.model.identity, plan)
        # Kept apart from those that served: to be offered, whatever becomes of this launch.
        _keep_plan(workspace, preview.model.identity, plan, served=False)
    return run


def _keep_plan(workspace: Workspace, identity: str, plan: Plan, served: bool = True) -> None:
    try:
        workspace.profiles.save_working(identity, plan, successful=served)
    except (AppError, OSError):
        # The server runs on; without the file the next plan for this model starts from the defaults.
        return


def _refuse(preview: Preview, anyway: bool) -> None:
    """What stops a launch: no engine at all, or errors of the checks that nobody waved through."""
    if preview.engine is None or preview.command is None:
        raise AppError(Text("No llama.cpp was found, so nothing can be launched."),
                       hint=Text("Install one (or run scripts/start.py), or name it with --engine PATH."))
    if preview.command.unresolved:
        raise AppError(Text("The key behind “{reference}” cannot be found.", reference=preview.command.unresolved[0]),
                       hint=Text("Set that variable, write that file or save the key again: without it the server "
                                 "would refuse to start."))
    if preview.errors and not anyway:
        first = preview.errors[0]
        more = len(preview.errors) - 1
        raise AppError(first.text, why=Text("And {count} more error.", plural="And {count} more errors.", count=more)
                       if more else None,
                       hint=first.fix or Text("Put it right, or launch anyway (--anyway)."))


def _spec(workspace: Workspace, preview: Preview, address: Effective, keep_serving: bool,
          restart_limit: int, config: Mapping[str, str]) -> ServerSpec:
    command = preview.command
    assert command is not None
    engine = preview.engine
    env = {k: v for k, v in os.environ.items() if k not in command.unset}
    env.update(engine.environment if engine else {})
    env.update(command.env)
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:6]}"
    return ServerSpec(
        argv=command.argv, env=env, host=address.poll_host or address.socket_path or "127.0.0.1",
        port=address.port or 0, tls=address.scheme == "https",
        api_prefix=address.api_prefix, key=_key(env, address, config), log_path=workspace.paths.logs / f"{name}.log",
        keep_serving=keep_serving, model_bytes=preview.model.size_bytes if preview.model else None,
        record_path=workspace.paths.runtime / f"{name}.json", restart_limit=restart_limit, label=_label(preview))


def _label(preview: Preview) -> str:
    if preview.model is not None:
        return preview.model.facts.name or preview.model.path.stem
    plan = preview.plan
    folder = plan.get("models-dir") or plan.get("models-preset")
    return plan.get("hf-repo") or file_name(plan.get("model") or folder or "") or "llama.cpp"


def _key(env: Mapping[str, str], address: Effective, config: Mapping[str, str]) -> str | None:
    """The key for our own polling, from whichever source the server takes it; of several, the first."""
    given = env.get("LLAMA_API_KEY") or config.get("api-key") or config.get("LLAMA_API_KEY")
    if given:
        return given.split(",")[0].strip()
    if address.key and address.key.startswith("file:"):
        try:
            lines = Path(address.key.removeprefix("file:")).read_text(encoding="utf-8").splitlines()
        except OSError:
            return None
        return next((line.strip() for line in lines if line.strip()), None)
    return None


def _session_start(preview: Preview, spec: ServerSpec, profile: str | None) -> SessionStart:
    command, engine = preview.command, preview.engine
    assert command is not None
    return SessionStart(
        command=command.argv, environment=dict(command.shown_env), plan=preview.plan, profile=profile,
        model=spec.label, model_identity=preview.model.identity if preview.model else None,
        model_facts=_model_facts(preview), engine=engine.name if engine else None,
        engine_facts=_engine_facts(preview), machine=_machine_facts(preview.machine),
        estimate=asking.as_answer(preview.estimate) if preview.estimate else None, label=spec.url())


def _model_facts(preview: Preview) -> dict[str, object]:
    model = preview.model
    if model is None:
        return {}
    f = model.facts
    return {"path": str(model.path), "architecture": model.architecture, "quant": f.quant, "size": model.size_bytes,
            "parameters": f.parameters, "layers": f.layers, "trained_context": f.trained_context,
            "kind": model.kind.value}


def _engine_facts(preview: Preview) -> dict[str, object]:
    engine = preview.engine
    if engine is None:
        return {}
    return {"path": str(engine.path), "version": engine.version, "build": engine.build or engine.package_build,
            "source": engine.source, "devices": [d.name for d in engine.devices]}


def _machine_facts(machine: Machine) -> dict[str, object]:
    return {"system": machine.system, "cpu": machine.cpu_name, "cores": machine.physical_cores,
            "threads": machine.logical_cores, "ram_total": machine.ram_total_bytes,
            "ram_available": machine.ram_available_bytes,
            "devices": [{"name": d.name, "description": d.description, "total": d.total_bytes, "free": d.free_bytes}
                        for d in machine.devices]}


def _run(workspace: Workspace, preview: Preview, spec: ServerSpec, start: SessionStart,
         listener: RunListener | None, *, address: Effective,
         supervisor: Callable[[Run], Supervisor] | None = None) -> Run:
    """Recorder, sampler and supervisor of one session, joined. `supervisor`: of a server that ran before."""
    database = workspace.database
    session_id = database.start_session(start)
    children = Children() if address.router else None
    recorder = Recorder(lambda row: database.row(session_id, row), history_s=_HISTORY_S if supervisor else 0.0,
                        children=children, batching=batching_of(preview.plan, address))
    polling = SamplerSpec(sleeps=address.sleep_idle_s is not None, use_slots=address.slots_endpoint,
                          use_metrics=address.metrics_endpoint or supervisor is not None)

    def sampler(run: Run) -> Sampler:
        def pids() -> list[int]:
            return [run.pid] if run.pid else []

        files = [shard.path for shard in preview.model.shards] if preview.model is not None else []
        client = run.supervisor.client if children is None else partial(_router_client, run, children)
        made = Sampler(client, lambda: Readings(preview.machine, pids, files=files, buses=recorder.buses),
                       run.detectors.on_row if run.detectors else recorder.on_row, t0=recorder.t0, spec=polling,
                       active_hint=lambda: recorder.busy, name=f"sampler-{session_id}")
        recorder.on_launch = made.poke
        return made

    run = Run(session_id=session_id, preview=preview, label=spec.label,
              started_utc=datetime.now(UTC).isoformat(timespec="seconds"), database=database, recorder=recorder,
              make_client=lambda: run.supervisor.client(600), make_sampler=sampler, listener=listener,
              log_path=str(spec.log_path) if spec.log_path else None, estimated=supervisor is None,
              is_router=address.router, answers_texts=address.embedding)
    run.detectors = watch_of(database, session_id, start, preview, recorder, adopted=supervisor is not None)
    run.supervisor = supervisor(run) if supervisor else Supervisor(spec, listener=run)
    return run


def batching_of(plan: Plan, address: Effective) -> BatchRates | None:
    """For a server of embeddings or rankings; its batch is the micro-batch, 512 unless set (llama.cpp's default)."""
    return BatchRates(plan.integer("ubatch-size") or 512) if address.embedding else None


def _router_client(run: Run, children: Children) -> RouterPoller:
    return RouterPoller(run.supervisor.client(), Client, children, time.monotonic, run.on_models)


def adopt_run(workspace: Workspace, leftover: Leftover, listener: RunListener | None) -> Run:
    """See Workspace.adopt: the server goes on, a new session records it from now."""
    record = leftover.record
    spec = record.spec()
    plan = parse_argv(spec.argv)
    preview = replace(workspace.preview(plan), issues=())
    start = SessionStart(command=spec.argv, plan=plan, model=record.label, model_facts=_model_facts(preview),
                         model_identity=preview.model.identity if preview.model else None,
                         machine=_machine_facts(preview.machine), label=record.url)
    run = _run(workspace, preview, spec, start, listener, address=effective(plan),
               supervisor=lambda made: Supervisor.attach(record, listener=made))
    run.supervisor.start()
    return run
