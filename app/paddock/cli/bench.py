"""paddock bench: is it as fast as it should be? So far: diagnose."""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.estimate import FLAGS, target_and_flags
from paddock.cli.output import document, facts, line, note, table
from paddock.errors import AppError
from paddock.text import Text
from paddock.units import bytes_text, count_text, number_text, seconds_text

if TYPE_CHECKING:
    from paddock.bench import Before, Conclusion
    from paddock.work.diagnosing import Diagnosed


@click.group()
def bench() -> None:
    """Measure. Each run is a server process of its own, which ends with it."""


@bench.command(context_settings=FLAGS)
@click.argument("target", required=False)
@click.option("--requests", "count", type=click.IntRange(3, 100), default=10, show_default=True,
              help="How many requests of the same 512-token prompt.")
@click.option("--anyway", is_flag=True, help="Launch although a check holds an error.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def diagnose(options: Globals, target: str | None, count: int, anyway: bool, flags: tuple[str, ...]) -> int:
    """Is it as fast as it should be? Launches FILE or PROFILE, asks it ten times, and says what stands out."""
    from paddock.work.diagnosing import diagnose_plan

    ask = threading.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ask.set())
    workspace = options.workspace()
    try:
        plan, profile = workspace.resolve(*target_and_flags(target, flags))
        answer = diagnose_plan(workspace, plan, profile=profile.name if profile else None, anyway=anyway, count=count,
                               progress=_progress, cancelled=ask.is_set)
    except AppError as error:
        if ask.is_set():
            note(error.what)
            return 130
        raise
    finally:
        workspace.close()
    if options.json:
        document(answer.as_dict())
    else:
        _say(answer)
    ended = any(conclusion.id == "ended" for conclusion in answer.conclusions)
    return 1 if ended or not answer.figures.valid else 0


def _progress(done: int, total: int, what: str) -> None:
    """On a terminal one line that is written over; elsewhere nothing."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{what} {done}/{total}\x1b[K" if total and done < total else "\r\x1b[K" if total else
                         f"\r{what}…\x1b[K")
        sys.stderr.flush()


def _say(answer: Diagnosed) -> None:
    line(answer.headline)
    line("")
    for conclusion in answer.conclusions:
        _say_conclusion(conclusion)
    for finding in answer.findings:
        line(f"! {finding['text']} {finding['proof']} {finding['fix']}")
    line("")
    table([Text("Request"), Text("Prompt"), Text("Prompt t/s"), Text("First token"), Text("Generated"),
           Text("Generation t/s"), Text("RAM"), Text("State")],
          ((r.number, count_text(r.prompt_tokens), number_text(r.prompt_per_s), seconds_text(r.ttft_s),
            count_text(r.generated_tokens), number_text(r.generation_per_s), bytes_text(r.ram_bytes),
            r.why or r.state) for r in answer.rows), range(7))
    line("")
    facts(_facts(answer.engine, answer.machine, answer.before))


def _say_conclusion(conclusion: Conclusion) -> None:
    sign = {"ok": "✓", "hint": "·"}.get(conclusion.severity, "!")
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    sign = sign if unicode else {"✓": "+", "·": "-"}.get(sign, sign)
    line(" ".join(str(part) for part in (sign, conclusion.text, conclusion.fix) if part))


def _facts(engine: dict[str, Any], machine: dict[str, Any], before: Before) -> list[tuple[Text | str, Any]]:
    version = " ".join(str(part) for part in (engine.get("name"), engine.get("version")) if part)
    load = Text("{load} in the last minute, {percent} % now", load=number_text(before.load_1min),
                percent=number_text(before.cpu_pct, 0))
    rows: list[tuple[Text | str, Any]] = [(Text("Engine"), version or None), (Text("System"), machine.get("system")),
                                          ("CPU", machine.get("cpu")), (Text("Load before"), load),
                                          (Text("RAM free before"), bytes_text(before.available_bytes))]
    for gpu in machine["gpus"]:
        driver = Text("{name}, driver {driver}", name=gpu["name"], driver=gpu["driver"] or "n/a")
        rows.append((Text("GPU"), driver))
    if not machine["gpus"]:
        rows.append((Text("GPU"), Text("no driver answers")))
    return rows
