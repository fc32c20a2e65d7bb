#!/usr/bin/env python3
"""Compare the catalogue of options with what engines say in their --help: what is new, gone, changed.

    update_options.py [ENGINE|HELP.txt]…   programs, or texts that their --help printed; default: all engines found
    update_options.py --table              all options and where each lives, as a Markdown table
    update_options.py --retired            options of older builds and what took their place

Exit 1 where an engine has an option or a spelling that the catalogue lacks; the rest is only told.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT / "app") not in sys.path:
    sys.path.insert(0, str(ROOT / "app"))

from paddock.engine import EngineOption, find, parse_help, probe  # noqa: E402
from paddock.launch.catalogue import CATALOGUE, GROUP_NAMES, Group, Kind, Option  # noqa: E402
from paddock.launch.catalogue.advice import ADVICE  # noqa: E402
from paddock.launch.variables import VARIABLES  # noqa: E402

WORDS = {"enabled": "on", "true": "on", "disabled": "off", "false": "off"}


def found_by(theirs: EngineOption) -> Option | None:
    """The catalogue's option behind any of the spellings."""
    for name in (*theirs.names, *theirs.negations):
        found = CATALOGUE.of(name)
        if found is not None:
            return found.option
    return None


def new(options: Sequence[EngineOption]) -> Iterator[str]:
    """Options and spellings that the catalogue lacks."""
    for theirs in options:
        if theirs.removed:
            continue
        ours = found_by(theirs)
        if ours is None:
            hint = f" {theirs.hint}" if theirs.hint else ""
            text = re.sub(r"\s+", " ", theirs.help)[:100]
            yield f"new      {', '.join((*theirs.names, *theirs.negations))}{hint}: {text}"
            continue
        lacking = [n for n in theirs.names if n not in ours.names] + [
            n for n in theirs.negations if n not in ours.negations]
        if lacking:
            yield f"new      {ours.id}: spelling {', '.join(lacking)}"


def gone(options: Sequence[EngineOption]) -> Iterator[str]:
    """Options and spellings of the catalogue that this engine has not."""
    live = {name for o in options if not o.removed for name in (*o.names, *o.negations)}
    for ours in CATALOGUE:
        if not live.intersection(ours.names):
            yield f"gone     {', '.join(ours.names)}"
            continue
        lost = [name for name in (*ours.names, *ours.negations) if name not in live]
        if lost:
            yield f"gone     {ours.id}: spelling {', '.join(lost)}"


def changed(options: Sequence[EngineOption]) -> Iterator[str]:
    """Choices, defaults and numbers of values that differ."""
    for theirs in options:
        ours = None if theirs.removed else found_by(theirs)
        if ours is None or ours.retired:
            continue
        if theirs.value_count != ours.value_count:
            yield f"changed  {ours.id}: takes {theirs.value_count} values, the catalogue says {ours.value_count}"
        more = [c for c in theirs.choices if c not in ours.choices]
        if more and ours.kind in (Kind.ENUM, Kind.LIST):
            yield f"changed  {ours.id}: also takes {', '.join(more)}"
        if theirs.choices and ours.kind is Kind.ENUM:
            less = [c for c in ours.choices if c not in theirs.choices]
            if less:
                yield f"changed  {ours.id}: does not list {', '.join(less)}"
        if not same_default(ours.default, theirs.default):
            yield f"changed  {ours.id}: default {theirs.default}, the catalogue says {ours.default}"
        if theirs.env not in (None, ours.env):
            yield f"changed  {ours.id}: variable {theirs.env}, the catalogue says {ours.env}"


def same_default(ours: str | None, theirs: str | None) -> bool:
    """Whether they mean the same, as far as both say anything."""
    if ours is None or theirs is None:
        return True
    said = theirs.strip("'").removeprefix("prefill ")
    if WORDS.get(said, said) == ours:
        return True
    try:
        return float(ours) == float(said)
    except ValueError:
        return False


def report(name: str, options: Sequence[EngineOption]) -> bool:
    """Print it; whether the catalogue lacks nothing."""
    lacking = list(new(options))
    others = [*gone(options), *changed(options)]
    print(f"{name}: {len(options)} options, {len(lacking)} new, "
          f"{sum(line.startswith('gone') for line in others)} gone, "
          f"{sum(line.startswith('changed') for line in others)} changed")
    for line in (*lacking, *others):
        print(f"  {line}")
    return not lacking


def read(path: Path) -> tuple[str, Sequence[EngineOption], bool]:
    """Name, options and whether the help was understood, of a program or of a help text."""
    if path.suffix == ".txt":
        options, verified = parse_help(path.read_text(encoding="utf-8"))
        return path.name, options, verified
    engine = probe(path, source="given")
    if engine.error is not None:
        print(f"{path}: {engine.error}", file=sys.stderr)
    return engine.name, engine.options, engine.flags_verified


PAGES = ROOT / "app" / "paddock" / "desktop" / "pages" / "launch"


def places() -> dict[str, list[str]]:
    """Option id -> the parts of the page Launch that have a control of its own for it, read from their sources."""
    found: dict[str, list[str]] = {}
    for name, files in (("Basic", PAGES.glob("*.py")), ("Placement", (PAGES / "placement").glob("*.py"))):
        text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(files))
        for option in CATALOGUE:
            word = rf"\"{re.escape(option.id)}\""
            # A word alone may mean something else there: it counts where a plan is asked or edited with it.
            if re.search(word if "-" in option.id else rf"(?:find|get|with_|without|is_on|integer)\([^)]*{word}", text):
                found.setdefault(option.id, []).append(name)
    return found


def takes(option: Option) -> str:
    """What follows it: the choices, or the kind with its range and unit."""
    if option.is_switch:
        return "on, off" if option.negations else "on"
    if option.choices:
        return " ".join(option.choices)
    low, high = (None if bound is None else f"{bound:g}" for bound in (option.low, option.high))
    span = f" {low or '…'} to {high or '…'}" if low is not None or high is not None else ""
    return f"{option.kind}{span}{f' {option.unit}' if option.unit is not None else ''}"


def table() -> str:
    """Every option with where it lives, what it takes and what it is for; then the variables."""
    lines = ["| group in All options | also on | option | flags | takes | default | variable | what it does | when |",
             "|---|---|---|---|---|---|---|---|---|"]
    also = places()
    for group, heading in GROUP_NAMES.items():
        for option in CATALOGUE:
            if option.group is group:
                off = f" / `{', '.join(option.negations)}`" if option.negations else ""
                where = str(heading) if group is not Group.PROGRAM else "none: it prints something and ends"
                lines.append(row(where, ", ".join(also.get(option.id, ())), str(option.label),
                                 f"`{', '.join(option.names)}`{off}", takes(option), option.default or "",
                                 option.env or "", str(option.help), str(ADVICE.get(option.id, ""))))
    for variable in VARIABLES:
        lines.append(row("Environment", "", str(variable.label), f"`{variable.name}`",
                         " ".join(variable.choices) or "text", variable.default or "", variable.name,
                         str(variable.help), str(variable.danger or "")))
    return "\n".join(lines)


def retired() -> str:
    """What older builds had, and what says the same today. Some engines still list a few, only to refuse them."""
    lines = ["| option | flags | takes | variable | what became of it |", "|---|---|---|---|---|"]
    for option in CATALOGUE.options:
        if option.retired:
            moved = ", ".join(f"{CATALOGUE[name].names[0]} {value or ''}".strip() for name, value in option.moved)
            lines.append(row(str(option.label), f"`{', '.join(option.names)}`", takes(option), option.env or "",
                             f"Use {moved}." if moved else str(option.help)))
    return "\n".join(lines)


def row(*cells: str) -> str:
    """One line of the table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(arguments: Sequence[str]) -> int:
    if "--table" in arguments or "--retired" in arguments:
        print(table() if "--table" in arguments else retired())
        return 0
    paths = [Path(a) for a in arguments] or [candidate.path for candidate in find()]
    if not paths:
        print("no engine was found: name one", file=sys.stderr)
        return 1
    complete = True
    for path in paths:
        name, options, verified = read(path)
        if not verified:
            print(f"{name}: its help could not be read", file=sys.stderr)
            complete = False
            continue
        complete = report(name, options) and complete
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
