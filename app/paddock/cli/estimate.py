"""paddock fit and check: what a plan will cost, and what is wrong with it."""

from __future__ import annotations

import codecs
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.output import document, in_words, line, note, table, told
from paddock.errors import AppError
from paddock.text import Text
from paddock.units import MIB, MINUS, bytes_text, parse_bytes

if TYPE_CHECKING:
    from paddock.fit.model import Budget, Estimate, Fix
    from paddock.launch import Plan
    from paddock.work import Preview, Workspace
    from paddock.work.engine_fit import EngineFit
    from paddock.work.ledger import Record
    from paddock.work.others import Others

FLAGS = {"ignore_unknown_options": True, "allow_interspersed_args": True}


@click.command(context_settings=FLAGS)
@click.argument("file", required=False, type=click.Path())
@click.option("--device", "devices", multiple=True, metavar="NAME=TOTAL[:FREE]",
              help="A device to reckon with instead of this machine's (24G, 24GiB, 24000MiB or bytes); repeatable.")
@click.option("--batch", type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="REQUESTS.jsonl",
              help="Answer one request a line, as JSON lines.")
@click.option("--ask", is_flag=True, help="Ask llama.cpp too (a dry run of a few seconds), and show both side by side.")
@click.option("--place", is_flag=True, help="Choose which layers and experts go where, and show the flags. Flags that "
                                            "are given stay as they are.")
@click.option("--corrections/--no-corrections", default=None,
              help="Whether what earlier launches showed corrects the figures. By default as the settings say for this "
                   "machine's own devices, and not at all with --device or --batch: those answers depend on what is "
                   "asked alone.")
@click.option("--details", is_flag=True, help="Every part of each device with its band and how it is known.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def fit(options: Globals, file: str | None, devices: tuple[str, ...], batch: str | None, ask: bool,
        place: bool, corrections: bool | None, details: bool, flags: tuple[str, ...]) -> int:
    """What FILE needs on each device with these llama-server flags, and whether it fits."""
    from paddock.work.others import others_for
    from paddock.work.placing import fixes_for

    workspace = options.workspace()
    if batch:
        if file or flags or devices or ask or place or details:
            raise click.UsageError(str(Text("--batch takes everything from its lines: only --corrections may stand "
                                            "beside it.")))
        return _batch(workspace, batch, bool(corrections))
    target, words = target_and_flags(file, flags)
    plan = _plan(workspace, target, words)
    budgets = _budgets(devices)
    if ask and budgets:
        raise click.UsageError(str(Text("--ask asks for this machine's devices: leave --device out.")))
    placement = _placement(workspace, plan, budgets, words, corrections) if place else None
    plan = placement.plan if placement is not None else plan
    estimate = workspace.estimate(plan, budgets=budgets, corrections=corrections)
    record = workspace.record_of(plan, estimate) if budgets is None else None
    others = others_for(workspace, plan, estimate) if budgets is None else None
    found = _Fixes(workspace, plan, fixes_for(workspace, plan, estimate, budgets, corrections))
    asked = workspace.ask_engine(plan) if ask else None
    if options.json:
        document(_document(workspace.answer_of(estimate), record, asked, placement, others)
                 | {"fixes": found.as_list(), "terms": terms_of(estimate)})
        return 0
    if placement is not None:
        line(placement.flags or Text("No flags are needed."))
        line(placement.why)
        line("")
    show(estimate)
    if details:
        show_terms(estimate)
    found.show()
    for text in others.lines() if others is not None else ():
        line(text)
    if record is not None:
        line(record.text if record.launches else Text("This model was never launched here."))
    if asked is not None:
        show_engine(asked)
    return 0


def _plan(workspace: Workspace, target: str | None, words: list[str]) -> Plan:
    """What is asked about; wrong usage where nothing is named."""
    from paddock.launch import parse_argv

    try:
        return told(workspace.resolve(target, words))[0]
    except AppError as error:
        if target is None and parse_argv(words).find("model") is None:
            raise click.UsageError(f"{error.what} {error.hint}") from error
        raise


@dataclass(frozen=True)
class Placement:
    """What --place found."""

    plan: Plan
    flags: str
    why: Text
    gpu_weights: int


@dataclass(frozen=True)
class _Fixes:
    """What would make it fit, with the flags that say so."""

    workspace: Workspace
    plan: Plan
    fixes: tuple[Fix, ...]

    def _flags(self, fix: Fix) -> str:
        from paddock.work.placing import flags_of

        return flags_of(self.workspace, self.plan, fix.plan)

    def show(self) -> None:
        """A line each."""
        for fix in self.fixes:
            after = VERDICTS[fix.verdict.value]() if fix.verdict is not None else ""
            line(Text("→ {after} with {flags} ({sets}; {effect})", flags=self._flags(fix), sets=fix.sets,
                      effect=fix.effect, after=after))

    def as_list(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [{"id": f.id, "flags": self._flags(f), "sets": str(f.sets), "effect": str(f.effect), "device": f.device,
                 "freed": f.freed, "speed_change": f.speed_change, "verdict": f.verdict.value if f.verdict else None}
                for f in self.fixes]


def _placement(workspace: Workspace, plan: Plan, budgets: list[Budget] | None, words: list[str],
               corrections: bool | None) -> Placement:
    from paddock.launch import parse_argv
    from paddock.work.placing import flags_of, place

    found = place(workspace, plan, budgets, pinned={s.option for s in parse_argv(words)}, corrections=corrections)
    return Placement(found.plan, flags_of(workspace, plan, found.plan), found.why, found.gpu_weights)


def _document(answer: dict[str, Any], record: Record | None, asked: EngineFit | None,
              placement: Placement | None, others: Others | None) -> dict[str, Any]:
    """A batch answer, with what was asked for besides."""
    if placement is not None:
        answer["placement"] = {"flags": placement.flags, "why": str(placement.why),
                               "gpu_weights": placement.gpu_weights}
    if others is not None:
        answer["others"] = others.as_list()
        answer["others_untold"] = dict(others.untold)
    if record is not None:
        answer["record"] = {"launches": record.launches, "low_pct": record.low_pct, "high_pct": record.high_pct}
    if asked is not None:
        answer["engine"] = asked.as_dict()
    return answer


def show_engine(asked: EngineFit) -> None:
    """llama.cpp's figures beside ours: MiB, rounded down as it does."""
    line("")
    line(asked.note)
    rows = []
    for row in asked.rows:
        ours, differences = row.ours or (None,) * 3, row.differences or (None,) * 3
        cells: list[str | None] = [row.name if row.role == "main" else f"{row.name} ({row.role})"]
        for theirs, own, difference in zip(row.engine or (None,) * 3, ours, differences, strict=True):
            cells += [_mib(theirs), _mib(own), _signed(difference)]
        rows.append(cells)
    terms = (Text("Weights"), Text("KV cache"), Text("Compute"))
    headers = [Text("Device"), *(h for t in terms for h in (Text("{term}, llama.cpp", term=t), Text("ours"), "±"))]
    table(headers, rows, range(1, 10))
    if asked.agrees:
        line(Text("Both agree to the MiB."))
    if asked.no_fit is not None:
        line(asked.no_fit)
    elif not asked.changes:
        line(Text("--fit would change nothing."))
    for change in asked.changes:
        line(Text("--fit would set {option}: {before} → {after}", option=change.option,
                  before=change.before if change.before is not None else Text("not set"), after=change.after))
    if asked.changes:
        line(asked.fit_note)


def _mib(size: int | None) -> str | None:
    return None if size is None else str(size // MIB)


def _signed(size: int | None) -> str | None:
    return None if size is None else "0" if size == 0 else f"{MINUS if size < 0 else '+'}{abs(size) // MIB}"


def target_and_flags(file: str | None, flags: Iterable[str]) -> tuple[str | None, list[str]]:
    """FILE may be left out where the flags name a model: then click took the first flag for it."""
    words = list(flags)
    if file is not None and file.startswith("-"):
        return None, [file, *words]
    return file, words


def _budgets(texts: Sequence[str]) -> list[Budget] | None:
    """What --device said; None where it was not given. Raises click.UsageError."""
    budgets = [_budget(text) for text in texts]
    names = [b.name for b in budgets]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(str(Text("--device names {name} more than once.", name=name)))
    return budgets or None


def _budget(text: str) -> Budget:
    from paddock.engine.model import EngineDevice
    from paddock.fit.model import Budget

    name, equals, sizes = text.partition("=")
    total_text, colon, free_text = sizes.partition(":")
    if not equals or not name:
        raise click.UsageError(str(Text("“{text}” is not a device. Write NAME=TOTAL or NAME=TOTAL:FREE, for example "
                                        "CUDA0=24G:22G.", text=text)))
    try:
        total = parse_bytes(total_text)
        free = parse_bytes(free_text) if colon else total
    except AppError as error:
        raise click.UsageError(f"--device {text}: {error}") from error
    if max(total, free) >= 1 << 53:
        raise click.UsageError(str(Text("--device {text}: no device is that large.", text=text)))
    if free > total:
        raise click.UsageError(str(Text("--device {text}: more is free than there is.", text=text)))
    return Budget(name, EngineDevice(name, "", None, None).kind, total, free)


def show(estimate: Estimate) -> None:
    """The text form: a row a device, then the verdict."""
    if estimate.rejected:
        line(Text("llama.cpp refuses this plan: {reason}", reason=estimate.rejected))
        return
    rows = []
    for d in estimate.devices:
        free = d.budget.free_bytes if d.budget else None
        rows.append((d.name, bytes_text(d.model), bytes_text(d.context), bytes_text(d.compute),
                     bytes_text(sum(d.draft)) if estimate.has_draft else None, bytes_text(d.overhead + d.projector),
                     bytes_text(d.total), bytes_text(free), bytes_text(d.left), VERDICTS[d.verdict.value]()))
    headers = [Text("Device"), Text("Weights"), Text("KV cache"), Text("Compute"), Text("Draft"), Text("Overhead"),
               Text("Total"), Text("Free now"), Text("Left"), Text("Fit")]
    keep = [i for i in range(len(headers)) if i != 4 or estimate.has_draft]
    table([headers[i] for i in keep], ([r[i] for i in keep] for r in rows), range(1, len(keep) - 1))
    line("")
    line(f"{VERDICTS[estimate.verdict.value]()}. {estimate.reason}")
    for text in estimate.notes:
        line(text)


VERDICTS = {
    "fits": lambda: Text("Fits"),
    "tight": lambda: Text("Tight"),
    "wont_fit": lambda: Text("Won’t fit"),
    "cant_tell": lambda: Text("Can’t tell"),
}


def terms_of(estimate: Estimate) -> list[dict[str, Any]]:
    """Every part of every device: bytes between low and high, how that is known, and what to know of it."""
    return [{"device": d.name, "term": t.id, "bytes": t.bytes, "low": t.low, "high": t.high, "known": t.known.value,
             "note": str(t.note) if t.note is not None else None} for d in estimate.devices for t in d.terms]


def show_terms(estimate: Estimate) -> None:
    """The same as a table."""
    known = {"measured here": Text("measured here"), "checked by running": Text("checked by running"),
             "from the source": Text("from the source"), "from reports": Text("from reports")}
    names = {"weights": Text("Weights"), "kv": Text("KV cache"), "compute": Text("Compute"), "draft": Text("Draft"),
             "projector": Text("Projector"), "overhead": Text("Overhead")}
    rows = [(d.name, names[t.id], bytes_text(t.bytes), bytes_text(t.low), bytes_text(t.high), known[t.known.value])
            for d in estimate.devices for t in d.terms if t.high]
    line("")
    headers = [Text("Device"), Text("Part"), Text("Size"), Text("At least"), Text("At most"), Text("How it is known")]
    table(headers, rows, range(2, 5))
    line("")


def _batch(workspace: Any, path: str, corrections: bool) -> int:
    """One answer a request line, in order; 0 when every line was answered, else 1."""
    wrong = 0
    # Bytes, since one line in another encoding must not take the answers of all others with it.
    with contextlib.nullcontext(sys.stdin.buffer) if path == "-" else Path(path).open("rb") as lines:
        for number, text in _requests(lines):
            answer = _answer(workspace, number, text, corrections)
            wrong += "error" in answer
            document(answer)
    if wrong:
        note(Text("{count} request could not be answered.", plural="{count} requests could not be answered.",
                  count=wrong))
    return 1 if wrong else 0


def _requests(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line_ in enumerate(lines, 1):
        text = line_.removeprefix(codecs.BOM_UTF8) if number == 1 else line_
        if text.strip():
            yield number, text


def _answer(workspace: Any, number: int, text: bytes, corrections: bool) -> dict[str, Any]:
    identifier: Any = number
    try:
        request = _request(number, text)
        identifier = request.get("id", number)
        answer: dict[str, Any] = workspace.answer(request, corrections)
        return answer
    except AppError as error:
        return {"id": identifier, "error": str(error)}


def _request(number: int, text: bytes) -> dict[str, Any]:
    """One line's object. AppError in words for everything else that a line may hold."""
    try:
        found = json.loads(text.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise AppError(Text("Line {number} is not UTF-8 text.", number=number)) from error
    except json.JSONDecodeError as error:
        raise AppError(Text("Line {number} is not JSON: {why}", number=number, why=error.msg)) from error
    except (ValueError, RecursionError) as error:  # NaN, thousands of digits, thousands of brackets
        raise AppError(Text("Line {number} holds a number or a nesting that cannot be read.", number=number)) from error
    if not isinstance(found, dict):
        raise AppError(Text("Line {number} is not a JSON object.", number=number))
    return found


def _no_number(name: str) -> float:
    """NaN and Infinity are no JSON, though Python reads them: they would stand in the answer again."""
    raise ValueError(name)


@click.command(context_settings=FLAGS)
@click.argument("file", required=False)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def check(options: Globals, file: str | None, flags: tuple[str, ...]) -> int:
    """What is wrong with this plan, before it is launched. Exit 1 if something is an error."""

    workspace = options.workspace()
    plan, _ = told(workspace.resolve(*target_and_flags(file, flags)))
    preview = workspace.preview(plan, fresh=True)
    if options.json:
        document([issue_dict(i) for i in preview.issues])
    else:
        show_issues(preview)
    return 1 if preview.errors else 0


def issue_dict(issue: Any) -> dict[str, Any]:
    """The JSON form of an issue."""
    return {"id": issue.id, "severity": issue.severity.value, "option": issue.option, "text": str(issue.text),
            "fix": str(issue.fix) if issue.fix else None}


def show_issues(preview: Preview) -> None:
    """The text form of the issues, errors first."""
    for issue in preview.issues:
        line(f"{in_words(issue.severity.value)}: {issue.text}" + (f" → {issue.fix}" if issue.fix else ""))
    if not preview.issues:
        line(Text("Nothing is wrong with this plan."))


