#!/usr/bin/env python3
"""Every check of a plan as one Markdown table, read from the code: id, severity, what it says, the fix, where it is.

    list_checks.py [--json]

They surface as `paddock check FILE [--json] [-- FLAGS]`, under "Before you launch" and beside the option's row in the
window, and as `issue` events of `paddock launch --json`. An error stops a launch unless it is made with --anyway.
"""

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FunctionType, ModuleType

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT / "app") not in sys.path:
    sys.path.insert(0, str(ROOT / "app"))

from paddock.launch.checks import CHECKS  # noqa: E402

SEVERITIES = ("error", "warning", "hint")


@dataclass(frozen=True)
class Row:
    """One kind of issue. An id may be told by several checks, with several texts."""

    id: str
    severity: str
    text: str
    fix: str
    check: str
    about: str


def rows() -> list[Row]:
    """All kinds of issues, in the order in which the checks are asked."""
    found: dict[tuple[str, str], Row] = {}
    for look in CHECKS:
        assert isinstance(look, FunctionType)
        module = inspect.getmodule(look)
        assert module is not None
        about = " ".join((inspect.getdoc(look) or "").split())
        for row in _told(module, look.__name__, about):
            found.setdefault((row.id, row.severity), row)
    return list(found.values())


def _told(module: ModuleType, name: str, about: str) -> Iterator[Row]:
    """What a function tells, with all that it calls in its own module."""
    tree = ast.parse(inspect.getsource(module))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    place = f"{module.__name__.rpartition('.')[2]}.{name}"
    waiting, seen = [name], {name}
    while waiting:
        node = functions[waiting.pop(0)]
        for call in (n for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)):
            assert isinstance(call.func, ast.Name)
            called = call.func.id
            if called in functions and called not in seen:
                seen.add(called)
                waiting.append(called)
            for severity in _severities(called, node):
                texts = [*(_template(a) for a in call.args[2:4]), "", ""]
                yield Row(_words(call.args[0]), severity, texts[0], texts[1], place, about)
            if called == "Issue":
                yield Row(_words(call.args[0]), "as the file's problem says", "what the reader of files found", "",
                          place, about)


def _severities(called: str, node: ast.FunctionDef) -> tuple[str, ...]:
    if called in SEVERITIES:
        return (called,)
    if called != "make":
        return ()
    chosen = next(n for n in ast.walk(node) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
                  and n.targets[0].id == "make")
    return tuple(n.id for n in ast.walk(chosen.value) if isinstance(n, ast.Name) and n.id in SEVERITIES)


def _words(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values)
    return "…"


def _template(node: ast.expr) -> str:
    """The first text in an expression; "…" where it is put together elsewhere."""
    call = next((n for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
                 and n.func.id == "Text" and n.args), None)
    if call is not None and isinstance(call.args[0], ast.Constant):
        return str(call.args[0].value)
    return "" if isinstance(node, ast.Constant) else "…"


def table() -> str:
    """The rows as Markdown, errors first."""
    lines = ["| id | severity | what it says | what to do | check |", "|---|---|---|---|---|"]
    order = (*SEVERITIES, "as the file's problem says")
    for row in sorted(rows(), key=lambda r: order.index(r.severity)):
        cells = (row.id, row.severity, row.text, row.fix, f"`{row.check}`: {row.about}")
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def main() -> int:
    """Print it."""
    print(json.dumps([asdict(r) for r in rows()], ensure_ascii=False, indent=1) if "--json" in sys.argv else table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
