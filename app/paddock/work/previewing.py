"""A plan becomes a Preview: model, engine, machine, estimate, issues, command, in one place for both faces."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paddock.engine import Engine
from paddock.errors import AppError
from paddock.fit import Budget, Estimate, builds, estimate
from paddock.fit.adapters import adapter_paths
from paddock.fit.ceiling import Ceiling
from paddock.fit.prediction import FitPrediction
from paddock.gguf.model import ModelFile
from paddock.hardware import Machine
from paddock.launch import Command, Conditions, Plan, check, command, effective
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.containers import seen_from_here
from paddock.launch.model import Issue, Severity
from paddock.launch.secret_reference import references
from paddock.launch.spelling import engine_option
from paddock.store import resolve_secret
from paddock.text import Text
from paddock.work import foretelling
from paddock.work.conditions import free_port, gather
from paddock.work.model import Preview
from paddock.work.standing import uses_nccl
from paddock.work.unlisted import doubted

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace

PREFERRED_PORT = 8080


def preview(workspace: Workspace, plan: Plan, *, engine: Engine | None, machine: Machine | None, fresh: bool,
            additions_off: Collection[str] | None) -> Preview:
    """See Workspace.preview."""
    engine = engine or engine_of(workspace, plan)
    present = machine is None
    if machine is None:
        machine = workspace.machine(engine, again=fresh, rpc=endpoints(plan))
    model, model_error = _read(workspace, _here(plan, "model"))
    draft, _ = _read(workspace, _here(plan, "spec-draft-model"))
    projector, _ = _read(workspace, _here(plan, "mmproj"))
    off = workspace.settings.additions_off if additions_off is None else additions_off
    if fresh:
        workspace.rpc.ask_before_launch(endpoints(plan))
    conditions = replace(conditions_of(plan), keeps_environment="clean-environment" in off, draft=draft,
                         projector=projector, rpc_hosts=workspace.rpc.told(endpoints(plan)),
                         nccl=uses_nccl(engine) if plan.get("split-mode") == "tensor" else None)
    given = given_for(workspace, model, engine, machine, draft, projector) | adapters_of(workspace, plan)
    read = as_read(plan, engine)
    found = estimate(model, read, budgets_of(machine), **given) if model is not None else None
    told = _foretold(workspace, read, model, engine, machine, found, given)
    if model is not None and found is not None:
        found = doubted(foretelling.with_missing(found, model, read, budgets_of(machine), **given), plan, engine)
        found = workspace.neighbours.noted(found) if present else found
    return Preview(
        plan=plan, engine=engine, machine=machine, model=model, model_error=model_error, draft=draft,
        projector=projector, estimate=foretelling.noted(found, told[0]) if found else None,
        fit_prediction=told[0], ceiling=told[1], ceiling_full=told[2],
        issues=_with_unreadable(model_error, tuple(check(plan, model, engine, machine, conditions))),
        command=command_of(workspace, plan, engine, conditions, off) if engine else None,
    )


def _with_unreadable(problem: AppError | None, issues: tuple[Issue, ...]) -> tuple[Issue, ...]:
    """A file that is no model stops a launch too, if nothing was said of it yet."""
    if problem is None or any(i.id == "missing-file" and i.option == "model" for i in issues):
        return issues
    what = problem.what if isinstance(problem.what, Text) else Text("{problem}", problem=problem.what)
    hint = problem.hint if isinstance(problem.hint, Text) else None
    return (Issue("unreadable-model", Severity.ERROR, "model", what, hint), *issues)


def as_read(plan: Plan, engine: Engine | None) -> Plan:
    """The plan as this engine reads it: older ones take a context of their own where none is set, not the model's."""
    known = engine_option(CATALOGUE["ctx-size"], engine)
    default = known.default if known is not None else None
    if plan.find("ctx-size") is not None or not (default or "").isdigit() or not int(default or 0):
        return plan
    return plan.with_("ctx-size", default or "")


def endpoints(plan: Plan) -> tuple[str, ...]:
    """The RPC servers that the plan names."""
    return tuple(part.strip() for part in (plan.get("rpc") or "").split(",") if part.strip())


def engine_of(workspace: Workspace, plan: Plan) -> Engine | None:
    """The plan's own engine, else the default; a plan's engine that is gone is left to the checks and the default."""
    if plan.engine:
        try:
            return workspace.engine(plan.engine)
        except AppError:
            pass
    return workspace.engine()


def conditions_of(plan: Plan) -> Conditions:
    """The world around this plan."""
    address = effective(plan, os.environ)
    host = address.poll_host or "127.0.0.1"
    if plan.find("port") is None and "LLAMA_ARG_PORT" not in os.environ:
        return replace(gather(plan, host, None), free_port=free_port(host, PREFERRED_PORT))
    found = gather(plan, host, address.port)
    return replace(found, free_port=free_port(host, address.port)) if found.port_free is False else found


def command_of(workspace: Workspace, plan: Plan, engine: Engine, conditions: Conditions,
               additions_off: Collection[str] | None) -> Command:
    """The one command, with secrets resolved."""
    off = workspace.settings.additions_off if additions_off is None else additions_off
    return command(plan, engine, additions=frozenset(off), conditions=conditions, secrets=secrets_of(plan))


def secrets_of(plan: Plan) -> dict[str, str]:
    """Reference → secret, for the references that can be resolved now."""
    found = {}
    for reference in references(plan):
        secret = resolve_secret(reference, os.environ)
        if secret is not None:
            found[reference] = secret
    return found


def _here(plan: Plan, option: str) -> str | None:
    path = plan.get(option)
    return seen_from_here(plan, path) if path else None


def _read(workspace: Workspace, path: str | None) -> tuple[ModelFile | None, AppError | None]:
    if not path:
        return None, None
    try:
        return workspace.read_model(path), None
    except AppError as error:
        return None, error


def budgets_of(machine: Machine) -> tuple[Budget, ...]:
    """The machine's devices as the estimate sees them, in the engine's order."""
    return tuple(Budget(d.name, d.kind, d.total_bytes, d.free_bytes, d.integrated, d.description, d.same_as,
                        d.free_assumed and d.kind != "rpc", d.shares_host)
                 for d in machine.devices)


def given_for(workspace: Workspace, model: ModelFile | None, engine: Engine | None, machine: Machine,
              draft: ModelFile | None, projector: ModelFile | None, corrections: bool | None = None) -> dict[str, Any]:
    """What `fit.estimate` and all that judges by it take besides model, plan and devices, so that all agree."""
    return {"draft": draft, "projector": projector, "host_total": machine.ram_total_bytes,
            "host_free": machine.ram_available_bytes, "corrections": workspace.corrections(model, engine, corrections),
            "spills": machine.system.startswith("Windows"), "rules": _rules(engine)}


def _rules(engine: Engine | None) -> str:
    """By what the engine's own help shows, never by its number: `--log-jsonl` came between the builds that we know, and
    options that the catalogue has not came later."""
    if engine is None or engine.knows("--log-jsonl") is None:
        return builds.KNOWN
    if not engine.knows("--log-jsonl"):
        return builds.OLDER
    unknown = [o for o in engine.options if not o.removed and CATALOGUE.of(o.names[0]) is None]
    return builds.NEWER if unknown else builds.KNOWN


def given_of(workspace: Workspace, preview: Preview) -> dict[str, Any]:
    """The same as the preview was made with."""
    given = given_for(workspace, preview.model, preview.engine, preview.machine, preview.draft, preview.projector)
    return given | adapters_of(workspace, preview.plan)


def adapters_of(workspace: Workspace, plan: Plan) -> dict[str, tuple[ModelFile, ...]]:
    """The plan's LoRA files that can be read, as `fit.estimate` takes them; nothing where it names none."""
    found = tuple(one for path in adapter_paths(plan) if (one := _read(workspace, path)[0]) is not None)
    return {"adapters": found} if found else {}


def _foretold(workspace: Workspace, plan: Plan, model: ModelFile | None, engine: Engine | None, machine: Machine,
              found: Estimate | None, given: dict[str, Any]
              ) -> tuple[FitPrediction | None, Ceiling | None, Ceiling | None]:
    """What --fit will do, and the speed ceilings of an empty and of a full context."""
    if model is None or found is None or not found.devices:
        return None, None, None
    budgets = budgets_of(machine)
    prediction = foretelling.predicted(model, plan, budgets, draft=given["draft"], projector=given["projector"],
                                       host_total=machine.ram_total_bytes)
    return prediction, *foretelling.ceilings(workspace.paths, model, plan, budgets, found, engine)


@dataclass(frozen=True)
class Case:
    """A plan's model, the devices it is judged by, and what the judging functions take besides."""

    plan: Plan
    """As the engine reads it."""
    model: ModelFile
    engine: Engine | None
    machine: Machine
    budgets: tuple[Budget, ...]
    given: dict[str, Any]


def case_of(workspace: Workspace, plan: Plan, budgets: Sequence[Budget] | None = None,
            corrections: bool | None = None, again: bool = True) -> Case:
    """Raises AppError when the model cannot be read. `again`: read the free memory now.

    Given devices (one named Host stands for the RAM) are not this machine's, so what was measured here corrects them
    only where `corrections` asks for it.
    """
    path = _here(plan, "model")
    if not path:
        raise AppError(Text("No model is named."), hint=Text("Give a GGUF file, or -m FILE among the flags."))
    model = workspace.read_model(path)
    draft, _ = _read(workspace, _here(plan, "spec-draft-model"))
    projector, _ = _read(workspace, _here(plan, "mmproj"))
    engine = engine_of(workspace, plan)
    machine = workspace.machine(engine, again=again, rpc=endpoints(plan))
    if budgets is None:
        given = given_for(workspace, model, engine, machine, draft, projector, corrections)
        given |= adapters_of(workspace, plan)
        return Case(as_read(plan, engine), model, engine, machine, budgets_of(machine), given)
    given = given_for(workspace, model, engine, machine, draft, projector, bool(corrections))
    given |= {"spills": False, "rules": builds.KNOWN, **adapters_of(workspace, plan)}
    ram = next((b for b in budgets if b.name == "Host"), None)
    if ram is not None:
        given |= {"host_total": ram.total_bytes, "host_free": ram.free_bytes}
    return Case(plan, model, engine, machine, tuple(b for b in budgets if b.name != "Host"), given)


def estimate_plan(workspace: Workspace, plan: Plan, budgets: Sequence[Budget] | None,
                  corrections: bool | None = None) -> Estimate:
    """See Workspace.estimate. Its notes say what --fit will do and how fast memory lets it be. AppError as `case_of`.
    """
    case = case_of(workspace, plan, budgets, corrections)
    plan, model, there, given = case.plan, case.model, case.budgets, case.given
    found = estimate(model, plan, there, **given)
    if not found.devices:
        return found
    foretelling.ram_speed(workspace.paths, measure=True)
    prediction = foretelling.predicted(model, plan, there, draft=given["draft"], projector=given["projector"],
                                       host_total=given["host_total"])
    here = case.engine if budgets is None else None  # the past is this machine's, not that of devices that are given
    line = foretelling.ceiling_text(*foretelling.ceilings(workspace.paths, model, plan, there, found, here))
    found = foretelling.with_missing(found, model, plan, there, **given)
    found = foretelling.noted(found, prediction)
    if budgets is None:
        found = workspace.neighbours.noted(doubted(found, plan, engine_of(workspace, plan)))
    return found if line is None else replace(found, notes=(*found.notes, line))
