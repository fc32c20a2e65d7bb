"""Ask the engine: what llama.cpp itself reckons for a plan, beside our estimate, and what its --fit would change.

The plan's own server is started: its first `fit_memory_breakdown` record (--log-jsonl; MiB, rounded down), in older
builds the same table as text, comes before anything is allocated, and the server is ended then. A build that prints
neither is asked through its `fit-params -fitp on`, which knows no shared slots and reckons logits for whole batches:
our estimate is made for that same mode. Paddock's figures are those of a dry run (no pins), so that like stands beside
like.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paddock.engine import Engine, parse_help
from paddock.errors import AppError
from paddock.fit import Estimate, estimate
from paddock.fit.model import DeviceEstimate
from paddock.launch import Plan
from paddock.launch.effective import AUTO_SLOTS
from paddock.launch.parsing import parse_argv
from paddock.launch.spelling import expanded, write
from paddock.server.diagnosis import diagnose
from paddock.server.model import LogLine
from paddock.session.log import LogParser
from paddock.session.memory import DeviceUse
from paddock.text import Text
from paddock.units import MIB
from paddock.work import previewing
from paddock.work.conditions import free_port
from paddock.work.dry_run import DryRun, dry_run

if TYPE_CHECKING:
    from paddock.work.model import Preview
    from paddock.work.workspace import Workspace

LIMIT_S = 120.0
_LEFT_OUT = ("port", "host", "api-key", "api-key-file", "ssl-key-file", "ssl-cert-file", "log-file", "log-disable",
             "verbose", "log-prefix", "log-timestamps", "log-colors")
_PRINTED = re.compile(r"^(\S+) (\d+) (\d+) (\d+) ?$")
_FITTED = re.compile(r"^-c \d+ -ngl -?\d+")
_MEASURED = ("projected memory use with initial parameters", "projected to use", "common_fit_params:")


@dataclass(frozen=True)
class FitRow:
    """One device or Host. Bytes; the engine's are whole MiB, each of its `parts` rounded down.

    `engine`, `ours`: (model, context, compute); None where that side has no such row. The engine lists repacked weights
    (CPU_REPACK, AMX) apart from Host; here they belong to it, as memory of the host's that they are.
    """

    name: str
    engine: tuple[int, int, int] | None
    ours: tuple[int, int, int] | None
    role: str = "main"
    total_bytes: int | None = None
    free_bytes: int | None = None
    parts: int = 1

    @property
    def differences(self) -> tuple[int, int, int] | None:
        """The engine's less ours in whole MiB (bytes): 0 where ours, rounded down, is what the engine may mean."""
        if self.engine is None or self.ours is None:
            return None
        one, two, three = (a - _floor(b) for a, b in zip(self.engine, self.ours, strict=True))
        slack = -(self.parts - 1) * MIB
        return (0 if slack <= one <= 0 else one, 0 if slack <= two <= 0 else two, 0 if slack <= three <= 0 else three)


@dataclass(frozen=True)
class Change:
    """One setting that --fit would make: the option's id, what the plan says, what it would say."""

    option: str
    before: str | None
    after: str


@dataclass(frozen=True)
class EngineFit:
    """The answer. `mode`: server or fit-params; `note` says what was compared. `plan`: with the engine's fit taken.

    `changes` is empty where --fit would leave the plan alone; `no_fit` says why it was not, or could not be, asked.
    """

    mode: str
    note: Text
    rows: tuple[FitRow, ...]
    changes: tuple[Change, ...]
    plan: Plan
    no_fit: Text | None
    seconds: float

    @property
    def fit_note(self) -> Text:
        """What to know of `changes`."""
        return Text("From fit-params, which reckons logits for whole batches and slots of their own: the server's own "
                    "--fit may keep more on the devices.")

    @property
    def agrees(self) -> bool:
        """Every figure of every device is the same to the MiB."""
        compared = [r.differences for r in self.rows]
        return all(d is None or not any(d) for d in compared) and any(d is not None for d in compared)

    def as_dict(self) -> dict[str, Any]:
        """For JSON, bytes."""
        def three(value: tuple[int, int, int] | None) -> dict[str, int] | None:
            return None if value is None else dict(zip(("model", "context", "compute"), value, strict=True))

        return {"mode": self.mode, "note": str(self.note), "agrees": self.agrees, "rows": [
            {"name": r.name, "role": r.role, "engine": three(r.engine), "ours": three(r.ours),
             "difference": three(r.differences), "total": r.total_bytes, "free": r.free_bytes} for r in self.rows],
            "changes": [{"option": c.option, "before": c.before, "after": c.after} for c in self.changes],
            "fit_note": str(self.fit_note) if self.changes else None,
            "no_fit": None if self.no_fit is None else str(self.no_fit), "seconds": round(self.seconds, 2)}


def ask(workspace: Workspace, plan: Plan, cancelled: Callable[[], bool]) -> EngineFit:
    """See Workspace.ask_engine. Raises AppError in words: no engine, no model, a refusal (diagnosed), out of time."""
    begun = time.monotonic()
    busy = workspace.busy_endpoints() & set(previewing.endpoints(plan))
    if busy:
        raise AppError(Text("The RPC server {servers} serves a session of yours: it has one client at a time.",
                            servers=", ".join(sorted(busy))), hint=Text("Stop that session first, then ask again."))
    preview = workspace.preview(plan)
    engine = preview.engine
    if engine is None:
        raise AppError(Text("No llama.cpp was found, so it cannot be asked."),
                       hint=Text("Install one (or run scripts/start.py), or name it with --engine PATH."))
    if preview.model is None:
        raise preview.model_error or AppError(Text("No model is named."), hint=Text("Give a GGUF file."))
    rows = _of_server(workspace, preview, engine, cancelled)
    mode, note = "server", Text("Both reckon for this very server, before anything is allocated.")
    if not rows:
        rows = _of_fit_params(preview, engine, cancelled)
        mode = "fit-params"
        note = Text("This llama.cpp’s server prints no figures before it loads: both reckon as its fit-params does, "
                    "for slots of their own, logits of whole batches and weights that are not repacked, which is not "
                    "what the server will use.")
    changes, fitted, no_fit = _changes(preview, engine, cancelled)
    return EngineFit(mode, note, rows, changes, fitted, no_fit, time.monotonic() - begun)


# -- the server's own dry run


def _of_server(workspace: Workspace, preview: Preview, engine: Engine,
               cancelled: Callable[[], bool]) -> tuple[FitRow, ...]:
    """Empty where this build prints no figures before it loads (AppError where it refuses the plan)."""
    plan = preview.plan.without(*_LEFT_OUT, "fit", "verbosity", "log-jsonl")
    plan = plan.with_("host", "127.0.0.1").with_("port", free_port()).with_("fit", "on").with_("verbosity", 4)
    if engine.knows("--log-jsonl"):
        plan = plan.with_("log-jsonl")
    conditions = previewing.conditions_of(plan)
    command = previewing.command_of(workspace, plan, engine, conditions, None)
    env = {k: v for k, v in os.environ.items() if k not in command.unset} | dict(engine.environment) | dict(command.env)
    with dry_run(command.argv, env) as run:
        tables, loading = measured(run.lines(LIMIT_S, cancelled), preview.draft is not None)
        if not tables.get("main"):
            if loading:
                return ()
            raise _refusal(run)
    ours = _ours(preview, preview.plan)
    return tuple(_row(each, role, ours) for role, table in tables.items() for each in _joined(table))


def measured(lines: Iterable[str], has_draft: bool) -> tuple[dict[str, list[dict[str, Any]]], bool]:
    """From a server's lines: (the first measurement's rows by role, whether it began to load).

    Records, or the printed table where there is none.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    printed = LogParser()
    role = "main"
    for line in lines:
        if line.startswith('{"type":"fit_memory_breakdown"'):
            tables.setdefault(role, json.loads(line)["data"]["rows"])
        else:
            printed.feed(LogLine(0.0, line))
        if "getting device memory data" in line:
            role = "draft" if "extra model" in line else "main"
        over = any(part in line for part in _MEASURED)
        if over and not tables:
            tables = {name: [_printed(use) for use in uses] for name, uses in printed.memory.planned.items()}
        if tables.get("main") and (over or not has_draft):
            return tables, False
        if "load_tensors:" in line:
            return tables, True
    return tables, False


def _printed(use: DeviceUse) -> dict[str, Any]:
    """A row of the printed table; the host's repacked weights are in its row already."""
    return {"name": use.name, "model": use.model // MIB, "context": use.context // MIB, "compute": use.compute // MIB,
            "parts": 2 if use.name == "Host" else 1}


def _joined(table: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the host's own buffer types (repacked weights) put to Host."""
    rows = [dict(row) for row in table if row.get("kind") != "buffer_type"]
    host = next((row for row in rows if row.get("kind") == "host"), None)
    for more in table if host is not None else ():
        if more.get("kind") == "buffer_type" and host is not None:
            for key in ("model", "context", "compute"):
                host[key] = int(host[key]) + int(more[key])
            host["parts"] = host.get("parts", 1) + 1
    return rows


def _row(table: Mapping[str, Any], role: str, ours: Estimate) -> FitRow:
    def size(key: str) -> int | None:
        value = table.get(key)
        return None if value is None else int(value) * MIB

    name = str(table.get("name", ""))
    device = ours.device(name)
    three = int(table["model"]) * MIB, int(table["context"]) * MIB, int(table["compute"]) * MIB
    return FitRow(name, three, _three(device, role), role, size("total"), size("free"), table.get("parts", 1))


def _three(device: DeviceEstimate | None, role: str) -> tuple[int, int, int] | None:
    if device is None:
        return None
    return device.draft if role == "draft" else (device.model, device.context, device.compute)


def _refusal(run: DryRun) -> AppError:
    """Why there was no answer, by the rules that explain a failed launch."""
    run.process.poll()
    found = diagnose(run.seen, run.code() if run.process.poll() is not None else None)
    if found is not None and found.fatal:
        return AppError(found.cause, why=found.line, hint=found.advice)
    said = next((line for line in reversed(run.seen) if "fit" in line and ("abort" in line or "failed" in line)), None)
    said = said or (run.seen[-1] if run.seen else None)
    return AppError(Text("llama.cpp gave no memory figures for this plan."), why=said,
                    hint=Text("It measures nothing with -sm tensor, and nothing that it refuses to load."))


def _ours(preview: Preview, plan: Plan) -> Estimate:
    """Our estimate as a dry run has it: no pins."""
    assert preview.model is not None
    machine = preview.machine
    return estimate(preview.model, plan, previewing.budgets_of(machine), draft=preview.draft,
                    projector=preview.projector, host_total=machine.ram_total_bytes,
                    host_free=machine.ram_available_bytes, pins=False)


def _floor(size: int) -> int:
    return size // MIB * MIB


# -- fit-params


def _of_fit_params(preview: Preview, engine: Engine, cancelled: Callable[[], bool]) -> tuple[FitRow, ...]:
    plan = preview.plan
    found: list[tuple[str, tuple[int, int, int]]] = []
    with _fit_params(plan.with_("repack", on=False), engine, ("-fitp", "on")) as run:
        for line in run.lines(LIMIT_S, cancelled):
            if match := _PRINTED.match(line):
                found.append((match[1], (int(match[2]) * MIB, int(match[3]) * MIB, int(match[4]) * MIB)))
        if not found:
            raise _refusal(run)
    ours = _ours(replace(preview, draft=None, projector=None), _as_fit_params(plan))
    return tuple(FitRow(name, three, _three(ours.device(name), "main")) for name, three in found)


def _fit_params(plan: Plan, engine: Engine, more: Sequence[str] = ()) -> Any:
    """Its dry run. What of the plan the tool does not know is for the server only, and left out."""
    tool = engine.tool("fit-params")
    if tool is None:
        raise AppError(Text("This llama.cpp has no fit-params program, so its --fit cannot be asked."),
                       hint=Text("Newer builds have it; paddock engines lists what was found."))
    known = _known_to(tool, engine)
    words: list[str] = []
    for setting in separate_slots(plan).without(*_LEFT_OUT, "fit", "fit-print"):
        written = write(setting, engine)
        if written and written[0] in known:
            words += expanded(written, setting)
    env = {k: v for k, v in os.environ.items() if not k.startswith("LLAMA_ARG_")} | dict(engine.environment)
    env |= {k: v for k, v in plan.environment if v and not k.startswith("LLAMA_ARG_")}
    return dry_run((*tool, *words, *more), env | {"GGML_NO_BACKTRACE": "1"})


def _known_to(tool: Sequence[str], engine: Engine) -> frozenset[str]:
    """The flags of that program, from its own help."""
    with dry_run((*tool, "--help"), {**os.environ, **engine.environment}) as run:
        text = "\n".join(run.lines(20, lambda: False))
    options, _ = parse_help(text)
    return frozenset(name for o in options if not o.removed for name in (*o.names, *o.negations))


def separate_slots(plan: Plan) -> Plan:
    """Slots named, since this tool's own default is one, and not shared, since it cannot share them.

    A context that is not named is multiplied by slots of their own, but not by shared ones: one slot then.
    """
    slots = plan.integer("parallel")
    shared = plan.is_on("kv-unified") or not slots or slots < 0
    if shared and not plan.integer("ctx-size"):
        slots = 1
    return plan.without("kv-unified").with_("parallel", slots if slots and slots > 0 else AUTO_SLOTS)


def _as_fit_params(plan: Plan) -> Plan:
    """For our estimate: slots apart, and a row of logits for each token of a batch, which the drafts' room stands in
    for (an ngram draft reserves nothing but output rows)."""
    rows = max(plan.integer("ubatch-size") or 512, plan.integer("batch-size") or 2048)
    apart = separate_slots(plan).with_("kv-unified", on=False).with_("repack", on=False)
    return apart.without("spec-draft-model").with_("spec-type", "ngram-simple").with_("spec-ngram-simple-size-m", rows)


# -- what --fit would change


def _changes(preview: Preview, engine: Engine,
             cancelled: Callable[[], bool]) -> tuple[tuple[Change, ...], Plan, Text | None]:
    """(changes, the plan with them, why there are none to tell)."""
    plan = preview.plan
    if plan.get("fit") == "off":
        return (), plan, Text("--fit is off in this plan.")
    if engine.tool("fit-params") is None:
        return (), plan, Text("This llama.cpp has no fit-params program, so its --fit cannot be asked.")
    with _fit_params(plan, engine) as run:
        printed = next((line for line in run.lines(LIMIT_S, cancelled) if _FITTED.match(line)), None)
        if printed is None:
            return (), plan, _unfittable(run)
    changes = differences_of(plan, printed, preview.model.facts.trained_context if preview.model else None)
    fitted = plan
    for change in changes:
        fitted = fitted.with_(change.option, *change.after.split("\n"))
    return changes, fitted, None


def differences_of(plan: Plan, line: str, trained: int | None = None) -> tuple[Change, ...]:
    """What a line of fit-params sets anew. -ngl -1 and a context that the plan asks for already are no changes: also
    the trained one, where it asks for 0 or none."""
    printed = parse_argv(shlex.split(line))
    out = []
    context, layers = printed.get("ctx-size"), printed.get("n-gpu-layers")
    asked = plan.get("ctx-size") or "0"
    if context is not None and context not in (asked, str(trained) if asked == "0" else asked):
        out.append(Change("ctx-size", plan.get("ctx-size"), context))
    if layers is not None and layers != "-1" and layers != plan.get("n-gpu-layers"):
        out.append(Change("n-gpu-layers", plan.get("n-gpu-layers"), layers))
    for option in ("tensor-split", "override-tensor"):
        after = printed.get(option)
        if after is not None and after != plan.get(option):
            out.append(Change(option, plan.get(option), after))
    return tuple(out)


def _unfittable(run: DryRun) -> Text:
    for line in reversed(run.seen):
        if "failed to fit params" in line or "while trying to fit params" in line:
            return Text("llama.cpp cannot make it fit: {why}", why=line.rpartition(": ")[2].strip())
    return Text("llama.cpp cannot make it fit.")
