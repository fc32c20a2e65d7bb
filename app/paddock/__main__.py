"""Pick the face: the window for no argument or one existing file, else the command line. Nothing heavy before that."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from paddock.cli.arguments import Globals, Seconds, split_globals
from paddock.cli.output import document, fail, note, prepare_streams
from paddock.cli.spoken import use_environment
from paddock.errors import AppError
from paddock.text import Text


def main(argv: Sequence[str] | None = None) -> int:
    """The `paddock` command. Returns the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    use_environment()
    try:
        rest, options = split_globals(args)
    except click.UsageError as error:
        if "--json" in args:
            document({"error": {"what": error.format_message(), "why": None, "hint": "paddock --help"}})
        note(error.format_message())
        return 2
    if not options.json and (not rest or (len(rest) == 1 and _is_file(rest[0]))):
        return _window(rest[0] if rest else None, options)
    from paddock.cli.main import paddock, run

    paddock.add_command(demo)
    return run(rest, options)


def _is_file(word: str) -> bool:
    """One existing file opens the window; a command's name wins over a file of the same name."""
    from paddock.cli.main import paddock

    return word not in paddock.commands and not word.startswith("-") and Path(word).is_file()


def _window(file: str | None, options: Globals) -> int:
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in (
            "DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        return fail(AppError(Text("The window cannot open: there is no screen here."),
                             why=Text("Neither DISPLAY nor WAYLAND_DISPLAY is set."),
                             hint=Text("Use the command line: paddock --help. Or see it at work in pictures: "
                                       "paddock demo.")), options.json)
    try:
        from paddock.desktop.app import main as window
    except ImportError as error:
        return fail(AppError(Text("The window cannot open: Qt does not start here."), why=str(error),
                             hint=Text("Run scripts/start.py, which installs the libraries Qt needs, or use the "
                                       "command line: paddock --help.")), options.json)
    return window(data_dir=options.data_dir, engine=options.engine, file=file)


@click.command()
@click.option("--seconds", type=Seconds(3600), default=0.0, help="Keep it running at least this long.")
@click.option("--out", type=click.Path(file_okay=False), default="demo-out", help="Folder for pictures and report.")
@click.pass_obj
def demo(options: Globals, seconds: float, out: str) -> int:
    """The sample model: launched, prompted, plotted, reported."""
    from paddock.desktop.demo import demo as show

    return show(data_dir=options.data_dir, engine=options.engine, seconds=seconds, out=Path(out), as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
