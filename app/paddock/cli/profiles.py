"""paddock profiles: saved plans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from paddock.cli import defaults, profile_changes
from paddock.cli.arguments import Globals
from paddock.cli.estimate import FLAGS, target_and_flags
from paddock.cli.output import document, facts, line, note, table, told
from paddock.cli.profile_text import profile_dict as profile_dict
from paddock.cli.profile_text import setting_dict, show_settings, workspace_of
from paddock.errors import AppError
from paddock.launch.secret_reference import references
from paddock.paths import as_typed
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.store import Profile

COLOURS = ("blue", "orange", "purple", "teal", "pink", "grey", "none")


@click.group(invoke_without_command=True)
@click.pass_context
def profiles(context: click.Context) -> Any:
    """Saved plans: keep, change, compare, go back, share; and the defaults below them."""
    if context.invoked_subcommand is None:
        return context.invoke(list_)
    return None


for _command in (profile_changes.rename, profile_changes.duplicate, profile_changes.delete, profile_changes.undelete,
                 profile_changes.history, profile_changes.restore, profile_changes.compare, profile_changes.migrate,
                 defaults.defaults, defaults.use_cases, defaults.suggest_):
    profiles.add_command(_command)


@profiles.command("list")
@click.option("--tag", default=None, help="Only those with this tag.")
@click.option("--model", default=None, help="Only those whose model's file name holds this.")
@click.pass_obj
def list_(options: Globals, tag: str | None, model: str | None) -> int:
    """The names, with model and engine."""
    store = workspace_of(options).profiles
    found = [p for p in store.all() if (tag is None or tag in p.tags)
             and (model is None or model.casefold() in (p.plan.get("model") or "").casefold())]
    for _, error in store.problems:
        note(error.what if error.why is None else f"{error.what} {error.why}")
    if options.json:
        document([profile_dict(p) for p in found])
        return 0
    if not found:
        note(Text("No profile is saved yet. Save one: paddock profiles save NAME FILE -- FLAGS") if tag is model is None
             else Text("No profile is like that."))
        return 0
    table([Text("Profile"), Text("Model"), Text("Settings"), Text("Tags"), Text("Notes")],
          ((p.name, p.plan.get("model") or "-", len(p.plan.settings), ", ".join(p.tags), p.notes) for p in found), (2,))
    return 0


@profiles.command("show")
@click.argument("name")
@click.pass_obj
def show(options: Globals, name: str) -> int:
    """One profile: its command line, notes, and where each value comes from."""
    from paddock.launch.layers import origins

    workspace = workspace_of(options)
    opened = workspace.open_profile(name)
    profile: Profile = opened.profile
    found = origins(opened.layers, opened.saved, profile.plan)
    for text in opened.notices:
        note(text)
    if options.json:
        inherited = [setting_dict(s, found[s.option]) for s in opened.saved.settings if s.option in found]
        document({**profile_dict(profile), "notices": [str(n) for n in opened.notices], "inherited": inherited})
        return 0
    line(profile.name)
    if profile.notes:
        line(profile.notes)
    line(workspace.export(opened.plan, "posix"))
    facts(((Text("Tags"), ", ".join(profile.tags) or None), (Text("Colour"), profile.colour or None),
           (Text("Saved"), profile.modified), (Text("With"), profile.saved_with),
           (Text("Not taken from the defaults"), ", ".join(profile.left_out) or None)))
    show_settings(opened.saved, found)
    return 0


def _details(command: Any) -> Any:
    """The options that say what belongs to a profile besides its plan."""
    for made in (
        click.option("--restarts", type=click.IntRange(0, 20), default=None, help="How often to start it again after a "
                                                                                  "crash."),
        click.option("--keep-serving/--no-keep-serving", default=None, help="Whether its server outlives the window."),
        click.option("--colour", type=click.Choice(COLOURS), default=None, help="A mark in the window."),
        click.option("--no-tags", is_flag=True, help="Take all tags off."),
        click.option("--tag", "tags", multiple=True, help="A tag; repeatable; takes the place of those before."),
        click.option("--notes", default=None, help="A few words for later."),
    ):
        command = made(command)
    return command


def _given(notes: str | None, tags: tuple[str, ...], no_tags: bool, colour: str | None, keep_serving: bool | None,
           restarts: int | None) -> dict[str, Any]:
    if tags and no_tags:
        raise click.UsageError(str(Text("--tag and --no-tags: one or the other.")))
    found = {"notes": notes, "tags": tags or (() if no_tags else None), "keep_serving": keep_serving,
             "restart_limit": restarts, "colour": "" if colour == "none" else colour}
    return {key: value for key, value in found.items() if value is not None}


@profiles.command("save", context_settings=FLAGS)
@click.argument("name")
@click.argument("file", required=False)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@_details
@click.pass_obj
def save(options: Globals, /, name: str, file: str | None, flags: tuple[str, ...], **details: Any) -> int:
    """Save FILE (or another profile) with these flags under a name. An existing profile of that name is replaced; what
    it was stays in its history, and notes, tags and colour stay unless given."""
    workspace = workspace_of(options)
    plan, _ = told(workspace.resolve(*target_and_flags(file, flags)))
    _say(options, workspace.save_profile(name, plan, **_given(**details)))
    return 0


@profiles.command("edit")
@click.argument("name")
@_details
@click.pass_obj
def edit(options: Globals, /, name: str, **details: Any) -> int:
    """Change notes, tags, colour and how its server is kept, and nothing of the plan."""
    from dataclasses import replace

    given = _given(**details)
    if not given:
        raise click.UsageError(str(Text("Nothing to change: give --notes, --tag, --no-tags, --colour, --keep-serving "
                                        "or --restarts.")))
    store = workspace_of(options).profiles
    _say(options, store.save(replace(store.load(name), **given)))
    return 0


def _say(options: Globals, profile: Profile) -> None:
    for text in profile.notices:
        note(text)
    if options.json:
        document(profile_dict(profile))
    else:
        note(Text("Saved as “{name}”.", name=profile.name))


@profiles.command("export")
@click.argument("name")
@click.pass_obj
def export(options: Globals, name: str) -> int:
    """The profile as TOML, for another machine; no secret is in it."""
    sys.stdout.write(workspace_of(options).profiles.export(name))
    return 0


@profiles.command("import")
@click.option("--name", default=None, help="The name to save it under.")
@click.argument("file", type=click.Path(allow_dash=True))
@click.pass_obj
def import_(options: Globals, name: str | None, file: str) -> int:
    """Take profiles from a file or stdin (-): our own TOML; a command line or script of any shell, docker run and
    docker compose files (.yaml); a systemd unit; a llama.cpp preset (.ini), llama-swap (.yaml), KoboldCpp settings
    (.kcpps), LM Studio presets (.json), an Ollama Modelfile, text-generation-webui settings (.yaml, CMD_FLAGS.txt),
    llama-server-launcher settings (.json)."""
    workspace, file = workspace_of(options), as_typed(file)
    saved = workspace.import_profiles(_read(file), name, "" if file == "-" else Path(file).name)
    for text in (text for profile in saved for text in profile.notices):
        note(text)
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


def _read(file: str) -> str:
    """The file's text; AppError where it cannot be read, or is none."""
    from paddock.store.files import decoded

    try:
        if file == "-":
            stream = getattr(sys.stdin, "buffer", None)
            if stream is None:
                return sys.stdin.read() if sys.stdin else ""
            data = stream.read()
        else:
            data = Path(file).read_bytes()
    except OSError as error:
        raise AppError(Text("{file} cannot be read.", file=file), why=error.strerror or str(error)) from error
    text = decoded(data)
    if "\0" in text or text.encode("utf-8", "surrogateescape") != text.encode("utf-8", "replace"):
        what = Text("What was piped in is not text.") if file == "-" else Text("{file} is not a text file.", file=file)
        raise AppError(what, why=Text("It holds only zero bytes.") if data and not data.strip(b"\0") else None,
                       hint=Text("Give text in UTF-8: save it anew in that encoding."))
    return text
