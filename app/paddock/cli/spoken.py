"""The help of the commands in the language in use.

The docstrings and option helps of the commands are texts of the catalogue, a paragraph each (scripts/texts.py takes
them from the source). What click says by itself it looks up through gettext's text domain; its sentences stand below,
so that they are extracted as well.
"""

from __future__ import annotations

import copy
import gettext
import inspect
import locale
import os
from collections.abc import Mapping
from typing import TypeVar

import click

from paddock import paths, text
from paddock.text import Text

C = TypeVar("C", bound=click.Command)

OF_CLICK: tuple[Text, ...] = (
    Text("Usage:"), Text("Options"), Text("Commands"), Text("Show the version and exit."),
    Text("Show this message and exit."), Text("Try '{command} {option}' for help."), Text("Error: {message}"),
    Text("Missing command."), Text("Missing argument"), Text("Missing option"), Text("Missing {param_type}"),
    Text("No such option {name!r}."), Text("No such command {name!r}."),
    Text("Did you mean {possibility}?", plural="(Did you mean one of: {possibilities}?)"),
    Text("Invalid value: {message}"), Text("Invalid value for {param_hint}: {message}"),
    Text("Got unexpected extra argument ({args})", plural="Got unexpected extra arguments ({args})"),
    Text("Option {name!r} does not take a value."),
    Text("Option {name!r} requires an argument.", plural="Option {name!r} requires {nargs} arguments."),
    Text("{value!r} is not {choice}.", plural="{value!r} is not one of {choices}."),
    Text("{value} is not in the range {range}."), Text("{value!r} is not a valid {number_type}."),
    Text("{name} {filename!r} is a file."), Text("{name} {filename!r} is a directory."),
    Text("{name} {filename!r} is not readable."), Text("{name} {filename!r} is not writable."),
    Text("{name} {filename!r} does not exist."), Text("file"), Text("directory"), Text("path"), Text("Aborted!"),
    Text("default: {default}"))


def use_environment(environment: Mapping[str, str] | None = None) -> str:
    """Speak, and let click speak, what the environment names as the language; returns it."""
    named = os.environ if environment is None else environment
    code = next((named[name] for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG") if named.get(name)), None)
    gettext.bindtextdomain("paddock", str(paths.resource("translations")))
    gettext.textdomain("paddock")
    return text.use_language(code or locale.getlocale()[0] or "en")


def paragraphs(written: str) -> list[str]:
    """A docstring's paragraphs, each in one line."""
    return [" ".join(part.split()) for part in inspect.cleandoc(written).split("\n\n") if part.strip()]


def _told(written: str | None) -> str | None:
    # Named by its module: the catalogue's extraction wants literal texts of `Text`, and finds these where they stand.
    return None if written is None else "\n\n".join(str(text.Text(part)) for part in paragraphs(written))


def _option(option: click.Parameter) -> click.Parameter:
    if not isinstance(option, click.Option) or not option.help:
        return option
    made = copy.copy(option)
    made.help = _told(option.help)
    return made


def spoken(command: C) -> C:
    """A copy of a command, and of all below it, whose help is in the language in use."""
    made = copy.copy(command)
    made.help, made.short_help = _told(command.help), _told(command.short_help)
    made.params = [_option(option) for option in command.params]
    if isinstance(made, click.Group) and isinstance(command, click.Group):
        made.commands = {name: spoken(below) for name, below in command.commands.items()}
    return made
