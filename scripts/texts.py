#!/usr/bin/env python3
"""Extract every text for people and hold the catalogues to it.

A text is the literal first argument of `Text(…)` or `tr(…)`; one that is not a literal (an f-string, a sum, a name)
fails. The help of the commands is one too: docstrings, by paragraph, and the help of options. Without arguments: fail
on a text that cannot be extracted and on a stale catalogue, and say how many texts await their translation. --update
writes resources/translations/paddock.pot, it/…/paddock.po and .mo.
"""

import ast
import io
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
APP = ROOT / "app" / "paddock"
sys.path.insert(0, str(ROOT / "app"))

from paddock.cli.spoken import paragraphs  # noqa: E402 - from this tree

FOLDER = ROOT / "resources" / "translations"
PO = FOLDER / "it" / "LC_MESSAGES" / "paddock.po"
NAMES = {"Text", "tr"}


def literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def called(node: ast.Call) -> str | None:
    function = node.func
    return function.id if isinstance(function, ast.Name) else None


def texts_of(path: Path) -> tuple[list[tuple[str, str | None, int]], list[str]]:
    """(template, plural, line) of every text in a file, and what cannot be extracted."""
    found, wrong = [], []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            found += [(part, None, node.lineno) for part in helps_of(node)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "option":
            found += [(part, None, node.lineno) for k in node.keywords if k.arg == "help"
                      for part in paragraphs(literal(k.value) or "")]
        if not (isinstance(node, ast.Call) and called(node) in NAMES and node.args):
            continue
        first = node.args[0]
        plural = next((literal(k.value) for k in node.keywords if k.arg == "plural"), None)
        branches = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
        for branch in branches:
            template = literal(branch)
            if template is None:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: not a literal text")
            elif template:
                found.append((template, plural, node.lineno))
    return found, wrong


def helps_of(function: ast.FunctionDef) -> list[str]:
    """What the help of a command says of itself, its docstring; empty for what is no command."""
    made = [d for d in function.decorator_list if isinstance(d, ast.Call) and isinstance(d.func, ast.Attribute)]
    names = {d.func.attr for d in made if isinstance(d.func, ast.Attribute)}
    if not names & {"command", "group"}:
        return []
    return paragraphs(ast.get_docstring(function) or "")


def extract() -> tuple[Catalog, list[str]]:
    catalogue = Catalog(project="paddock", charset="utf-8", header_comment="# Paddock's texts.", fuzzy=False)
    problems: list[str] = []
    for path in sorted(APP.rglob("*.py")):
        if path.name in ("text.py", "tr.py") and path.parent in (APP, APP / "desktop"):
            continue
        found, wrong = texts_of(path)
        problems += wrong
        for template, plural, _ in found:
            place = (str(path.relative_to(ROOT)), 0)
            catalogue.add((template, plural) if plural else template, locations=[place])
    return catalogue, problems


def italian() -> Catalog:
    if not PO.exists():
        return Catalog(locale="it", project="paddock", charset="utf-8", fuzzy=False)
    with PO.open("rb") as file:
        return read_po(file, locale="it")


def mo_bytes(catalogue: Catalog) -> bytes:
    out = io.BytesIO()
    write_mo(out, catalogue)
    return out.getvalue()


def update(catalogue: Catalog) -> None:
    PO.parent.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "paddock.pot").open("wb") as file:
        write_po(file, catalogue, sort_output=True, include_lineno=False, omit_header=True, width=110)
    it = italian()
    it.update(catalogue, no_fuzzy_matching=True)
    it.obsolete.clear()
    for message in it:
        # Italian's third form is for whole millions; it reads like the second.
        if isinstance(message.string, tuple) and len(message.string) == 3 and message.string[1]:
            message.string = (message.string[0], message.string[1], message.string[2] or message.string[1])
    with PO.open("wb") as file:
        write_po(file, it, sort_output=True, include_lineno=False, omit_header=False, width=110)
    with PO.open("rb") as file:
        PO.with_suffix(".mo").write_bytes(mo_bytes(read_po(file, locale="it")))


def missing(catalogue: Catalog) -> list[str]:
    it = italian()
    out = []
    for message in catalogue:
        if not message.id:
            continue
        single = message.id[0] if isinstance(message.id, tuple) else message.id
        found = it.get(single)
        string = found.string if found is not None else ""
        if not all(string if isinstance(string, tuple) else (string,)):
            out.append(f"not translated: {single[:90]}")
    return out


def main() -> int:
    catalogue, problems = extract()
    if "--update" in sys.argv:
        update(catalogue)
    else:
        waiting = missing(catalogue)
        print(f"{len(waiting)} texts have no Italian yet (shown in English)")
        mo = PO.with_suffix(".mo")
        if PO.exists() and (not mo.exists() or mo.read_bytes() != mo_bytes(italian())):
            problems.append("the compiled catalogue is stale: run scripts/check.py --update")
    for line in problems[:40]:
        print(line)
    print(f"{len(catalogue)} texts, {len(problems)} problems")
    return bool(problems) and "--update" not in sys.argv


if __name__ == "__main__":
    sys.exit(main())
