"""paddock sessions and sql: what happened before."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.output import document, facts, line, note, table
from paddock.errors import AppError
from paddock.text import Text
from paddock.units import bytes_text, count_text, number_text, seconds_text


@click.group(invoke_without_command=True)
@click.pass_context
def sessions(context: click.Context) -> Any:
    """Recorded sessions: list, show, export, delete."""
    if context.invoked_subcommand is None:
        return context.invoke(list_)
    return None


def _workspace(options: Globals) -> Any:
    from paddock.work import Workspace

    return Workspace(options.data_dir, options.engine)


@sessions.command("list")
@click.pass_obj
def list_(options: Globals) -> int:
    """All sessions, the newest first."""
    workspace = _workspace(options)
    try:
        rows = workspace.sessions()
    finally:
        workspace.close()
    if options.json:
        document([r.as_dict() for r in rows])
        return 0
    if not rows:
        note(Text("No session is recorded yet: each launch is."))
        return 0
    table([Text("Session"), Text("Start"), Text("State"), Text("Model"), Text("Requests"), Text("Generated")],
          ((r.id, r.start, r.state, r.model, count_text(r.requests), count_text(r.generated_tokens)) for r in rows),
          (4, 5))
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
           (Text("Start"), row.start), (Text("End"), row.end), (Text("State"), row.state),
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
@click.option("-o", "--out", type=click.Path(), default="-", help="A file; default: stdout.")
@click.pass_obj
def export(options: Globals, session: int, out: str) -> int:
    """Everything of a session as JSON, samples included."""
    import json

    workspace = _workspace(options)
    try:
        whole = {**workspace.session(session).as_dict(), "series": workspace.series_dict(session)}
    finally:
        workspace.close()
    text = json.dumps(whole, ensure_ascii=False)
    if out == "-":
        line(text)
    else:
        Path(out).write_text(text + "\n", encoding="utf-8")
        note(Text("Written to {path}.", path=out))
    return 0


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
              help="The page; FILE.csv writes the requests instead.")
@click.pass_obj
def report(options: Globals, session: tuple[int, ...], out: str) -> int:
    """One self-contained page of a session, or of several side by side. No key, user name or prompt is in it."""
    workspace = _workspace(options)
    try:
        text = workspace.report(session, requests_only=out.lower().endswith(".csv"))
    finally:
        workspace.close()
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise AppError(Text("{path} cannot be written.", path=out), why=error.strerror) from error
    if options.json:
        document({"path": out, "sessions": list(session), "bytes": len(text.encode())})
    else:
        note(Text("Written to {path}.", path=out))
    return 0


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
