"""paddock sessions import: sessions that another Paddock recorded."""

from __future__ import annotations

from pathlib import Path

import click

from paddock.cli.arguments import Globals
from paddock.cli.output import document, note
from paddock.text import Text


@click.command("import")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE.paddock…")
@click.pass_obj
def import_(options: Globals, files: tuple[Path, ...]) -> int:
    """Take over sessions recorded elsewhere: files that `sessions export ID -o FILE.paddock` wrote."""

    workspace = options.workspace()
    try:
        made = [(file, number) for file in files for number in workspace.import_sessions(file)]
    finally:
        workspace.close()
    if options.json:
        document([{"file": str(file), "session": number} for file, number in made])
    for file, number in () if options.json else made:
        note(Text("{name} is session {id}.", name=file.name, id=number))
    return 0
