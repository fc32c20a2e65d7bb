"""paddock sessions and sql: what happened before."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.output import document, facts, in_words, line, note, table
from paddock.errors import AppError
from paddock.text import Text
from paddock.units import bytes_text, count_text, number_text, seconds_text

if TYPE_CHECKING:
    from paddock.store import Database


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(context: click.Context) -> Any:
    """Recorded sessions: list, show, export, delete."""
    if context.invoked_subcommand is None:
        return context.invoke(list_)
    return None


def _workspace(options: Globals) -> Any:

    return options.workspace()


@sessions.command("list")
@click.argument("search", nargs=-1)
@click.pass_obj
def list_(options: Globals, search: tuple[str, ...] = ()) -> int:
    """All sessions, the newest first; with words, those that hold each of them (model, engine, profile, note, tag)."""
    workspace = _workspace(options)
    try:
        rows = workspace.sessions(" ".join(search))
    finally:
        workspace.close()
    if options.json:
        document([r.as_dict() for r in rows])
        return 0
    if not rows:
        note(Text("No session holds these words.") if search else Text("No session is recorded yet: each launch is."))
        return 0
    table([Text("Session"), Text("Started"), Text("State"), Text("Model"), Text("Requests"), Text("Generated"),
           Text("Tags and note")],
          ((r.id, r.start, in_words(r.state), r.model, count_text(r.requests), count_text(r.generated_tokens),
            " ".join((*(f"#{tag}" for tag in r.tags), r.note or ""))) for r in rows), (4, 5))
    return 0


@sessions.command("show")
@click.argument("session", type=click.IntRange(0, 2**63 - 1))
@click.pass_obj
def show(options: Globals, session: int) -> int:
    """One session: command, estimate and actual, requests."""
    workspace = _workspace(options)
    try:
        detail = workspace.session(session)
    finally:
        workspace.close()
    if options.json:
        document(detail.as_dict())
        return 0
    row = detail.row
    facts([(Text("Session"), row.id), (Text("Model"), row.model), (Text("Engine"), row.engine),
           (Text("Started"), row.start), (Text("End"), row.end), (Text("State"), in_words(row.state)),
           (Text("Reason"), row.reason)])
    line(" ".join(detail.command))
    for device in (detail.actual or {}).get("main", []):
        line(f"{device['name']}: " + ", ".join(f"{k} {bytes_text(v)}" for k, v in device.items() if k != "name"))
    found = [e for e in detail.events if str(e.data.get("id", "")).startswith("degraded.") and e.kind == "issue"]
    notes = [e for e in detail.events if e.kind == "mark"]
    if found or notes:
        line("")
        table([Text("Time"), Text("Event"), Text("Proof"), Text("Remedy")],
              ((seconds_text(e.t), e.text, e.data.get("proof", ""), e.data.get("fix", ""))
               for e in sorted((*found, *notes), key=lambda e: e.t)))
    if detail.requests:
        line("")
        table([Text("Request"), Text("Prompt"), Text("Cached"), Text("Generated"), Text("Prompt t/s"),
               Text("Generation t/s"), Text("First token"), Text("Status")],
              ((r.number, count_text(r.prompt_tokens), count_text(r.cached_tokens), count_text(r.generated_tokens),
                number_text(r.prompt_per_s), number_text(r.generation_per_s), seconds_text(r.ttft_s), r.status)
               for r in detail.requests), range(7))
    return 0


@sessions.command("export")
@click.argument("session", type=click.IntRange(0, 2**63 - 1))
@click.option("--form", type=click.Choice(["json", "jsonl", "csv", "series"]), default=None,
              help="json: everything, samples included; jsonl, csv: one line a request; series: samples as CSV. "
                   "Default: as FILE ends, else json.")
@click.option("-o", "--out", type=click.Path(), default="-", help="A file; default: stdout.")
@click.pass_obj
def export(options: Globals, session: int, form: str | None, out: str) -> int:
    """A session as JSON, JSON lines or CSV. Kept texts of prompts and answers are left out.

    -o FILE.paddock writes what `sessions import` reads, in another data folder or on another machine.
    """
    ending = Path(out).suffix.lower().lstrip(".")
    workspace = _workspace(options)
    try:
        if ending == "paddock":
            workspace.export_session(session, Path(out))
            return _written(options, out, [session])
        text = workspace.report([session], form or (ending if ending in ("csv", "jsonl") else "json"))
    finally:
        workspace.close()
    if out == "-":
        line(text.removesuffix("\n"))
        return 0
    _write(out, text)
    return _written(options, out, [session])


@sessions.command("tag")
@click.argument("session", type=click.IntRange(0, 2**63 - 1))
@click.argument("tags", nargs=-1)
@click.pass_obj
def tag(options: Globals, session: int, tags: tuple[str, ...]) -> int:
    """Set a session's tags; none takes them away. A session with a tag or a note is never deleted by its age."""
    return _marked(options, session, lambda database: database.tag(session, tags))


@sessions.command("note")
@click.argument("session", type=click.IntRange(0, 2**63 - 1))
@click.argument("words", nargs=-1)
@click.pass_obj
def note_(options: Globals, session: int, words: tuple[str, ...]) -> int:
    """Set a session's note; no words take it away."""
    return _marked(options, session, lambda database: database.note(session, " ".join(words)))


def _marked(options: Globals, session: int, change: Callable[[Database], None]) -> int:
    workspace = _workspace(options)
    try:
        change(workspace.database)
        row = workspace.session(session).row
    finally:
        workspace.close()
    if options.json:
        document(row.as_dict())
    else:
        note(Text("Session {id} is marked.", id=session) if row.tags or row.note
             else Text("Session {id} has no tag and no note now.", id=session))
    return 0


def _written(options: Globals, path: str, sessions: Sequence[int]) -> int:
    if options.json:
        document({"path": path, "sessions": list(sessions), "bytes": Path(path).stat().st_size})
    else:
        note(Text("Written to {path}.", path=path))
    return 0


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise AppError(Text("{path} cannot be written.", path=path), why=error.strerror) from error


@sessions.command("trends")
@click.option("--model", default=None, help="Only sessions of this model (its name as in the list).")
@click.option("--profile", default=None, help="Only sessions of this profile.")
@click.pass_obj
def trends(options: Globals, model: str | None, profile: str | None) -> int:
    """Medians of every session, oldest first, and where an engine's update changed them beyond chance."""
    from paddock.work import trends as work
    from paddock.work.trends import change_text

    workspace = _workspace(options)
    try:
        found = work.table(workspace.database, model=model, profile=profile)
    finally:
        workspace.close()
    changes = work.changes(found)
    metrics = ("generation_per_s", "prompt_per_s", "ttft_s", "acceptance")
    rows = [{**asdict(s), "memory_bytes": _known(s.memory_bytes), "requests": int((found.of == s.id).sum()),
             **{m: _median(found.values(m, [s.id]).tolist()) for m in metrics}} for s in found.sittings]
    if options.json:
        document({"sessions": rows, "changes": [asdict(c) for c in changes]})
        return 0
    if not rows:
        note(Text("No session that matches has an answered request."))
        return 0
    table([Text("Session"), Text("Started"), Text("Model"), Text("Profile"), Text("Engine"), Text("Requests"),
           Text("Generation t/s"), Text("Prompt t/s"), Text("First token"), Text("Memory")],
          ((r["id"], r["start"][:16], r["model"], r["profile"] or "–", r["engine"], count_text(r["requests"]),
            number_text(r["generation_per_s"]), number_text(r["prompt_per_s"]), seconds_text(r["ttft_s"]),
            bytes_text(r["memory_bytes"])) for r in rows), range(5, 10))
    for change in changes:
        line(change_text(change))
    return 0


def _median(values: Sequence[float]) -> float | None:
    import statistics

    return statistics.median(values) if len(values) else None


def _known(value: float) -> float | None:
    return None if value != value else value


@sessions.command("delete")
@click.argument("session", type=click.IntRange(0, 2**63 - 1))
@click.pass_obj
def delete(options: Globals, session: int) -> int:
    """Delete a session and everything recorded of it."""
    workspace = _workspace(options)
    try:
        workspace.delete_session(session)
    finally:
        workspace.close()
    note(Text("Deleted session {id}.", id=session))
    return 0


@click.command()
@click.argument("session", type=click.IntRange(0, 2**63 - 1), nargs=-1, required=True)
@click.option("-o", "--out", type=click.Path(dir_okay=False), required=True, metavar="FILE.html",
              help="The page; FILE.csv or FILE.jsonl writes the requests instead, FILE.json everything.")
@click.pass_obj
def report(options: Globals, session: tuple[int, ...], out: str) -> int:
    """One self-contained page of a session, or of several side by side. No key, user name or prompt is in it."""
    if out in ("", "-"):
        raise click.UsageError(str(Text("-o needs the name of a file, for example session.html.")))
    workspace = _workspace(options)
    try:
        form = Path(out).suffix.lower().lstrip(".")
        text = workspace.report(session, form if form in ("csv", "jsonl", "json") else "html")
    finally:
        workspace.close()
    _write(out, text)
    return _written(options, out, session)


@click.command()
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values with a header.")
@click.argument("query")
@click.pass_obj
def sql(options: Globals, as_csv: bool, query: str) -> int:
    """Ask the database, read-only."""
    workspace = _workspace(options)
    try:
        headers, rows = workspace.query(query)
    finally:
        workspace.close()
    if options.json:
        document([dict(zip(headers, row, strict=True)) for row in rows])
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(headers)
        writer.writerows(rows)
    else:
        table(headers, rows)
    return 0
