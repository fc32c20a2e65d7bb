"""paddock models search, show, get, token: Hugging Face from the command line. Only these talk to it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.estimate import VERDICTS
from paddock.cli.models import workspace_of
from paddock.cli.output import document, line, note, table
from paddock.errors import AppError
from paddock.paths import as_typed
from paddock.text import Text
from paddock.units import bytes_text, count_text, percent_text, seconds_text

if TYPE_CHECKING:
    from paddock.library.hub import Choice, Download, Repository
    from paddock.work.hub import HubDesk

_NOTE_S = 2.0


def _desk(options: Globals) -> HubDesk:
    from paddock.work.hub import HubDesk

    return HubDesk(workspace_of(options))


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True)
@click.pass_obj
def search(options: Globals, words: tuple[str, ...], limit: int) -> int:
    """Search Hugging Face for repositories with GGUF files. Sends the words there, and nothing else."""
    found = _desk(options).search(" ".join(words), limit)
    if options.json:
        document([{"id": f.id, "downloads": f.downloads, "likes": f.likes, "updated": f.updated, "gated": f.gated}
                  for f in found])
        return 0
    if not found:
        note(Text("Hugging Face has no GGUF repository for these words. Try fewer of them."))
        return 0
    table([Text("Repository"), Text("Downloads"), Text("Likes"), Text("Changed"), ""],
          ((f.id, count_text(f.downloads), count_text(f.likes), (f.updated or "")[:10],
            Text("gated") if f.gated else "") for f in found), (1, 2))
    note(Text("Look into one: paddock models show OWNER/NAME"))
    return 0


@click.command()
@click.argument("repository")
@click.option("--fit/--no-fit", default=True, help="Read each header and say whether it fits this machine.")
@click.option("-c", "--context", type=click.IntRange(1), help="The context that the fit is for (default 8192).")
@click.pass_obj
def show(options: Globals, repository: str, fit: bool, context: int | None) -> int:
    """What a repository on Hugging Face offers: quantisations, sizes, and whether each fits here.

    The fit is worked out from the first megabytes of each file; no weights are loaded.
    """
    desk = _desk(options)
    found = desk.repository(repository)
    rows = [_judged(desk, found, c, context) if fit and c in found.choices else _plain(c)
            for c in (*found.choices, *found.others)]
    if options.json:
        document({"id": found.id, "commit": found.commit, "gated": found.gated, "files": rows})
        return 0
    if not rows:
        note(Text("{repository} has no GGUF files.", repository=found.id))
        return 0
    table([Text("Choice"), Text("Kind"), Text("Size"), Text("Fit"), ""],
          ((r["label"], r["kind"], bytes_text(r["size"]), VERDICTS[r["verdict"]]() if r["verdict"] else "",
            r["reason"] or r["error"] or "") for r in rows), (2,))
    if fit and rows[0].get("context"):
        note(Text("Fit is for a context of {tokens} tokens and the memory that is free now.",
                  tokens=count_text(rows[0]["context"])))
        if rows[0]["projector"]:
            note(Text("The projector {name} is counted too.", name=rows[0]["projector"]))
    note(Text("Get one: paddock models get {repository} {label}", repository=found.id, label=rows[0]["label"]))
    return 0


def _plain(choice: Choice) -> dict[str, Any]:
    return {"label": choice.label, "kind": choice.kind.value, "size": choice.size_bytes, "verdict": None,
            "files": [f.path for f in choice.files], "missing": choice.missing, "reason": None, "error": None}


def _judged(desk: HubDesk, repository: Repository, choice: Choice, context: int | None) -> dict[str, Any]:
    """With the verdict. A header that cannot be read costs its own row; no connection ends the command."""
    from paddock.library.hub import OfflineError

    try:
        fitted = desk.fit(repository, choice, context)
    except OfflineError:
        raise
    except AppError as error:
        return {**_plain(choice), "error": str(error)}
    found = fitted.estimate
    told = {"verdict": found.verdict.value, "reason": str(found.rejected or found.reason)} if found else {}
    return {**_plain(choice), "kind": fitted.model.kind.value, "context": fitted.context,
            "trained_context": fitted.model.facts.trained_context, "projector": fitted.projector, **told}


@click.command()
@click.argument("repository")
@click.argument("choice", required=False)
@click.option("--to", "folder", type=click.Path(file_okay=False), help="Another folder than the one of the settings.")
@click.option("--projector", help="Which projector goes with it: its label or file, or none (default: 16 bits).")
@click.pass_obj
def get(options: Globals, repository: str, choice: str | None, folder: str | None, projector: str | None) -> int:
    """Download a quantisation with all its parts and its projector; the hash is checked.

    CHOICE is a label ("Q4_K_M") or a file's name; it may be left out where there is one only. Ctrl-C pauses: the same
    command goes on from there. The files go to FOLDER/OWNER/NAME.
    """
    from paddock.library.hub import Paused

    desk = _desk(options)
    found = desk.repository(repository)
    chosen = [_chosen(found, choice)]
    beside = _projector(found, chosen[0], projector)
    if beside is not None:
        chosen.append(beside)
    download = desk.download(found, chosen, Path(as_typed(folder)).expanduser() if folder else None)
    note(Text("{files} from {repository}, {size}, to {folder}", files=", ".join(c.label for c in chosen),
              repository=found.id, size=bytes_text(download.total_bytes), folder=download.folder))
    teller = _Teller(download, options.json)
    try:
        paths = download.run(teller.tell)
    except (KeyboardInterrupt, Paused):
        note(Text("Paused. The same command goes on from {here}.", here=bytes_text(download.here_bytes)))
        return 130
    if options.json:
        document({"files": [str(p) for p in paths], "model": str(paths[0]), "size": download.total_bytes})
    else:
        for path in paths:
            line(str(path))
    return 0


def _chosen(repository: Repository, wanted: str | None) -> Choice:
    every = (*repository.choices, *repository.others)
    if wanted is None and len(repository.choices) == 1:
        return repository.choices[0]
    found = repository.choice(wanted) if wanted else None
    if found is None:
        labels = ", ".join(c.label for c in every) or "-"
        raise AppError(Text("{repository} has no choice “{wanted}”.", repository=repository.id, wanted=wanted)
                       if wanted else Text("{repository} has several quantisations.", repository=repository.id),
                       hint=Text("Name one of these: {labels}", labels=labels))
    return found


def _projector(repository: Repository, chosen: Choice, wanted: str | None) -> Choice | None:
    if chosen not in repository.choices or (wanted or "").lower() == "none" or not repository.projectors:
        return None
    labels = ", ".join(c.label for c in repository.projectors)
    if wanted is None:
        if repository.projector is None:
            raise AppError(Text("{repository} has several projectors.", repository=repository.id),
                           hint=Text("Choose with --projector: {labels}, or none", labels=labels))
        return repository.projector
    word = wanted.lower()
    found = [c for c in repository.projectors if word in (c.label.lower(), c.files[0].name.lower())]
    if len(found) != 1:
        raise AppError(Text("{repository} has no projector “{wanted}”.", repository=repository.id, wanted=wanted),
                       hint=Text("Name one of these: {labels}", labels=labels))
    return found[0]


class _Teller:
    """Progress on stderr: a line that is written over on a terminal, else one every two seconds."""

    def __init__(self, download: Download, quiet: bool) -> None:
        self._live = sys.stderr.isatty() and not quiet
        self._told = self._started = time.monotonic()
        self._first = download.here_bytes

    def tell(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if now - self._told < (0.2 if self._live else _NOTE_S):
            return
        self._told = now
        words = self._words(done, total, what, now)
        if self._live:
            sys.stderr.write(f"\r{words:<78}")
            sys.stderr.flush()
        else:
            note(words)

    def _words(self, done: int, total: int, what: str, now: float) -> str:
        share = percent_text(done / total) if total else ""
        here = f"{bytes_text(done)} / {bytes_text(total)}  {share}"
        if what == "checking":
            return f"{here}  {Text('checking what came before')}"
        if what == "waiting":
            return f"{here}  {Text('no connection, trying again')}"
        speed = (done - self._first) / max(now - self._started, 0.1)
        left = seconds_text((total - done) / speed) if speed > 0 and total else ""
        return f"{here}  {bytes_text(speed, 1)}/s  {left}"


@click.command()
@click.argument("act", type=click.Choice(["set", "forget", "show"]), default="show")
@click.pass_obj
def token(options: Globals, act: str) -> int:
    """The token for gated and private repositories: kept in the system's keyring, never in a file.

    `set` reads it from a prompt, or from a pipe. Nothing is sent.
    """
    desk = _desk(options)
    if act == "set":
        given = click.prompt(str(Text("Token")), hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.read()
        notice = desk.set_token(given)
        if notice is not None:
            desk.forget_token()
            raise AppError(Text("There is no keyring here, and a token is never written to a file."),
                           hint=Text("Set HF_TOKEN in the environment instead."))
    elif act == "forget":
        desk.forget_token()
    if options.json:
        document({"token": desk.has_token})
    else:
        note(Text("A token is kept in the keyring.") if desk.has_token else Text("No token is kept."))
    return 0
