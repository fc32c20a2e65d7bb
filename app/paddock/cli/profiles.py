"""paddock profiles: saved plans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.estimate import FLAGS, target_and_flags
from paddock.cli.output import document, line, note, table
from paddock.errors import AppError
from paddock.launch.secret_reference import references
from paddock.text import Text


@click.group(invoke_without_command=True)
@click.pass_context
def profiles(context: click.Context) -> Any:
    """Saved plans: list, show, save, export, import, delete."""
    if context.invoked_subcommand is None:
        return context.invoke(list_)
    return None


def _workspace(options: Globals) -> Any:
    from paddock.work import Workspace

    return Workspace(options.data_dir, options.engine)


@profiles.command("list")
@click.pass_obj
def list_(options: Globals) -> int:
    """The names, with model and engine."""
    store = _workspace(options).profiles
    found = [store.load(name) for name in store.names()]
    if options.json:
        document([profile_dict(p) for p in found])
        return 0
    if not found:
        note(Text("No profile is saved yet. Save one: paddock profiles save NAME FILE -- FLAGS"))
        return 0
    table([Text("Profile"), Text("Model"), Text("Settings"), Text("Notes")],
          ((p.name, p.plan.get("model") or "-", len(p.plan.settings), p.notes) for p in found), (2,))
    return 0


def profile_dict(p: Any) -> dict[str, Any]:
    """A profile's JSON form; keys appear as references only."""
    return {"name": p.name, "notes": p.notes, "tags": list(p.tags), "model": p.plan.get("model"),
            "engine": p.plan.engine, "prefix": list(p.plan.prefix), "environment": dict(p.plan.environment),
            "not_understood": list(p.plan.extra),
            "settings": [{"option": s.option, "values": list(s.values), "on": s.on} for s in p.plan.settings]}


@profiles.command("show")
@click.argument("name")
@click.pass_obj
def show(options: Globals, name: str) -> int:
    """One profile: its command line and notes."""
    workspace = _workspace(options)
    profile = workspace.profiles.load(name)
    if options.json:
        document(profile_dict(profile))
        return 0
    line(profile.name)
    if profile.notes:
        line(profile.notes)
    line(workspace.export(profile.plan, "posix"))
    return 0


@profiles.command("save", context_settings=FLAGS)
@click.argument("name")
@click.argument("file", required=False)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.option("--notes", default="", help="A few words for later.")
@click.pass_obj
def save(options: Globals, name: str, file: str | None, flags: tuple[str, ...], notes: str) -> int:
    """Save FILE with these flags under a name; an existing profile of that name is replaced."""
    workspace = _workspace(options)
    plan, _ = workspace.resolve(*target_and_flags(file, flags))
    workspace.save_profile(name, plan, notes=notes)
    note(Text("Saved as “{name}”.", name=name))
    return 0


@profiles.command("export")
@click.argument("name")
@click.pass_obj
def export(options: Globals, name: str) -> int:
    """The profile as TOML, for another machine; no secret is in it."""
    sys.stdout.write(_workspace(options).profiles.export(name))
    return 0


@profiles.command("import")
@click.option("--name", default=None, help="The name to save it under.")
@click.argument("file", type=click.Path(allow_dash=True))
@click.pass_obj
def import_(options: Globals, name: str | None, file: str) -> int:
    """Take profiles from a file or stdin (-): our own TOML, a command line or launch script, KoboldCpp settings
    (.kcpps), a llama.cpp preset (.ini), a llama-swap file (.yaml), a systemd unit."""
    workspace = _workspace(options)
    try:
        text = (sys.stdin.read() if sys.stdin else "") if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(Text("{file} cannot be read.", file=file), why=str(error)) from error
    saved = workspace.import_profiles(text, name, "" if file == "-" else Path(file).name)
    if options.json:
        document(profile_dict(saved[0]) if len(saved) == 1 else [profile_dict(p) for p in saved])
        return 0
    for profile in saved:
        note(Text("Saved as “{name}”.", name=profile.name))
        for reference in references(profile.plan):
            note(Text("Its key is not in the profile, but read from {reference} at the launch.", reference=reference))
        for word in profile.plan.extra:
            note(Text("Not understood, kept as a note: {word}", word=word))
    return 0


@profiles.command("delete")
@click.argument("name")
@click.pass_obj
def delete(options: Globals, name: str) -> int:
    """Delete a profile."""
    _workspace(options).profiles.delete(name)
    note(Text("Deleted “{name}”.", name=name))
    return 0
