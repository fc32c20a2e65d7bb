"""The commands, gathered. Each lives in the file of its subject and imports what it needs when it runs."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence

import click

from paddock import __version__
from paddock.cli import (
    bench,
    carrying,
    devices,
    engines,
    estimate,
    hub,
    inspect,
    launching,
    models,
    profiles,
    router,
    rpc,
    sessions,
)
from paddock.cli.arguments import Globals
from paddock.cli.output import document, fail, note, silence_stdout
from paddock.cli.spoken import spoken, use_environment
from paddock.errors import AppError
from paddock.text import Text


@click.group(invoke_without_command=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="paddock")
def paddock() -> None:
    """Launcher and profiler for llama.cpp. Without arguments, or with one GGUF file: the window.

    Taken before or after any command: --data-dir DIR (everything that is written), --engine PATH|NAME, --json.
    """


for _command in (inspect.inspect, engines.engines, devices.devices, engines.doctor, estimate.fit, estimate.check,
                 launching.command, launching.launch, launching.watch,
                 bench.bench, models.models, profiles.profiles, router.router, rpc.rpc,
                 sessions.sessions, sessions.report, sessions.sql):
    paddock.add_command(_command)
for _command in (hub.search, hub.show, hub.get, hub.token):
    models.models.add_command(_command)

sessions.sessions.add_command(carrying.import_)


def run(args: Sequence[str], options: Globals) -> int:
    """Run one command: 0 done, 1 a problem in what was asked, 2 wrong usage, 130 Ctrl-C. Never a traceback."""
    use_environment()
    if options.json and list(args) == ["--version"]:
        document({"version": __version__})
        return 0
    try:
        return _run(args, options)
    except BrokenPipeError:
        silence_stdout()
        return 0
    except OSError as error:  # stdout itself: everything else is answered in _run
        silence_stdout()
        return fail(AppError(Text("The answer could not be written."), why=error.strerror), as_json=False)


_OF_THE_DISK = frozenset((errno.EACCES, errno.EIO, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOSPC, errno.ENOTDIR,
                          errno.EROFS))
"""What a disk answers and no fault of ours can be: a sentence is enough."""


def _run(args: Sequence[str], options: Globals) -> int:
    """Raises OSError where stdout cannot be written."""
    try:
        result = spoken(paddock).main(list(args), prog_name="paddock", standalone_mode=False, obj=options)
    except click.ClickException as error:
        if options.json:
            document({"error": {"what": error.format_message(), "why": None, "hint": "paddock --help"}})
        error.show(sys.stderr)
        return 2
    except AppError as error:
        return fail(error, options.json)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        raise
    except SystemExit as error:  # click and rich end so when nobody reads stdout any more
        raise BrokenPipeError from error
    except OSError as error:
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO):
            raise  # a stream, not a file that was opened by its name
        if error.filename is not None and error.errno in _OF_THE_DISK:
            return fail(AppError(Text("“{path}” cannot be used.", path=error.filename), why=error.strerror,
                                 hint=Text("Check the path and its permissions, or choose another folder with "
                                           "--data-dir.")), options.json)
        return _unexpected(error, options)
    except Exception as error:  # noqa: BLE001 - the last line: a person sees a sentence, the log file the rest
        return _unexpected(error, options)
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _unexpected(error: Exception, options: Globals) -> int:
    """A fault of ours: keep the traceback in a file, show a sentence."""
    import traceback

    from paddock.paths import DataPaths

    path = DataPaths.at(options.data_dir).logs / "error.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        note("".join(traceback.format_exception_only(error)))
    return fail(AppError(Text("Something went wrong inside Paddock ({kind}).", kind=type(error).__name__),
                         why=str(error) or None, hint=Text("The details are in {path}.", path=path)), options.json)
