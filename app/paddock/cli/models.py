"""paddock models: the model files of this machine, and what goes with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.output import document, in_words, line, note, table
from paddock.text import Text
from paddock.units import bytes_text, count_text

if TYPE_CHECKING:
    from paddock.library import Entry, Pairing
    from paddock.work import Workspace


@click.group(invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> Any:
    """Model files: those of this machine (list), and those on Hugging Face (search, show, get, token)."""
    if context.invoked_subcommand is None:
        return context.invoke(list_)
    return None


def workspace_of(options: Globals) -> Workspace:
    return options.workspace()


@models.command("list")
@click.argument("words", nargs=-1)
@click.option("--problems", is_flag=True, help="Only files with a problem, each with its reason.")
@click.pass_obj
def list_(options: Globals, words: tuple[str, ...], problems: bool) -> int:
    """Every model file of the folders and caches; WORDS narrow it by name, quantisation, architecture and path."""
    found = [e for e in scanned(workspace_of(options)) if _matches(e, words) and (not problems or _problems(e))]
    if options.json:
        document([as_dict(e) for e in found])
        return 0
    if not found:
        note(Text("No model file was found. Add a folder in the window, or get one: paddock models search WORDS"))
        return 0
    if problems:
        for entry in found:
            line(str(entry.path))
            for severity, text in _problems(entry):
                line(f"  {in_words(severity)}: {text}")
        return 0
    headers = [Text("Model"), Text("Kind"), Text("Quant"), Text("Size"), Text("Context"), Text("Place"), Text("Check")]
    table(headers, (_row(e) for e in found), (3, 4, 6))
    note(Text("{count} file, {size}.", plural="{count} files, {size}.", count=len(found),
              size=bytes_text(sum(e.size_bytes or 0 for e in found))))
    return 0


def scanned(workspace: Workspace) -> list[Entry]:
    """The whole library. Ctrl-C ends it."""
    return workspace.scan(lambda done, total, name: None, lambda: False)


def _row(entry: Entry) -> Sequence[Any]:
    facts = entry.model.facts if entry.model is not None else None
    context = facts.trained_context if facts is not None else None
    return (entry.name, entry.kind.value if entry.kind is not None else "-", (facts.quant if facts else None) or "-",
            bytes_text(entry.size_bytes), count_text(context) if context else "-", entry.place,
            len(_problems(entry)) or "")


def _problems(entry: Entry) -> list[tuple[str, str]]:
    if entry.model is None:
        return [("error", str(entry.error))]
    return [(p.severity, str(p.text)) for p in entry.model.problems if p.severity != "hint"]


def _matches(entry: Entry, words: Sequence[str]) -> bool:
    facts = entry.model.facts if entry.model is not None else None
    text = " ".join((entry.name, (facts.quant if facts else None) or "", str(entry.path),
                     (entry.model.architecture if entry.model else None) or "")).casefold()
    return all(word.casefold() in text for word in words)


def as_dict(entry: Entry) -> dict[str, Any]:
    """The JSON form of one file. Sizes in bytes; null is "not known"."""
    model = entry.model
    facts = model.facts if model is not None else None
    return {"path": str(entry.path), "name": entry.name, "place": entry.place,
            "kind": entry.kind.value if entry.kind is not None else None,
            "architecture": model.architecture if model else None, "quant": facts.quant if facts else None,
            "size": entry.size_bytes, "trained_context": facts.trained_context if facts else None,
            "complete": model.complete if model else None, "identity": model.identity if model else None,
            "duplicates": [str(p) for p in entry.duplicates],
            "problems": [{"severity": severity, "text": text} for severity, text in _problems(entry)]}


@models.command()
@click.argument("file", type=click.Path())
@click.option("--projector", help="A projector's file, none, or auto (decide by the files).")
@click.option("--draft", help="A draft model's file, mtp (the model's own prediction layers), or none.")
@click.pass_obj
def pair(options: Globals, file: str, projector: str | None, draft: str | None) -> int:
    """What goes with a model. Without options: what was found; with them: your word, remembered for that model."""
    from paddock.library import Entry
    from paddock.work import companions

    workspace = workspace_of(options)
    model = workspace.read_model(file)
    for kind, word in (("projector", projector), ("draft", draft)):
        if word is not None:
            companions.choose(workspace, model, kind, _word(workspace, word))
    entry = Entry(model.path, "", model, size_bytes=model.size_bytes)
    others = [e for e in scanned(workspace) if e.path != model.path]
    found = companions.companions(workspace, entry, [entry, *others])
    told = {"projector": _paired(found.projector), "draft": _paired(found.draft)}
    if options.json:
        document({"model": str(model.path), **told})
        return 0
    for kind, pairing in (("projector", found.projector), ("draft", found.draft)):
        chosen = pairing.chosen.path if pairing.chosen is not None else Text("none")
        chosen = Text("its own prediction layers (MTP)") if pairing.own_chosen else chosen
        line(f"{kind}: {chosen}" + (f" ({Text('your choice')})" if pairing.by_person else ""))
        for option in pairing.options:
            line(f"  {option.path}")
    return 0


def _word(workspace: Workspace, word: str) -> str | None:
    """A path that can be read; "" for none; None for auto."""
    if word.lower() in ("auto", "none", "mtp"):
        return {"auto": None, "none": "", "mtp": "mtp"}[word.lower()]
    return str(workspace.read_model(word).path)


def _paired(pairing: Pairing) -> dict[str, Any]:
    return {"chosen": str(pairing.chosen.path) if pairing.chosen is not None else None, "by_person": pairing.by_person,
            "options": [str(e.path) for e in pairing.options], "own_layers": pairing.own_layers,
            "own_chosen": pairing.own_chosen}
