"""paddock profiles rename, duplicate, delete, undelete, history, restore, compare, migrate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.output import document, line, note, table
from paddock.cli.profile_text import change_dict, change_name, profile_dict, show_changes, workspace_of
from paddock.errors import AppError
from paddock.text import Text


@click.command("rename")
@click.argument("name")
@click.argument("new")
@click.pass_obj
def rename(options: Globals, name: str, new: str) -> int:
    """Give a profile another name; its history goes with it."""
    from paddock.work.saving import clean_name

    saved = workspace_of(options).profiles.rename(name, clean_name(new))
    return _done(options, saved, Text("“{old}” is now “{name}”.", old=name, name=saved.name))


@click.command("duplicate")
@click.argument("name")
@click.argument("new", required=False)
@click.pass_obj
def duplicate(options: Globals, name: str, new: str | None) -> int:
    """Copy a profile, under a name of your choice or “… copy”; a name in use gets a number."""
    from paddock.work.saving import clean_name

    saved = workspace_of(options).profiles.duplicate(name, clean_name(new) if new is not None else None)
    return _done(options, saved, Text("Saved as “{name}”.", name=saved.name))


@click.command("delete")
@click.argument("name")
@click.pass_obj
def delete(options: Globals, name: str) -> int:
    """Delete a profile; undelete brings it back."""
    workspace_of(options).profiles.delete(name)
    note(Text("Deleted “{name}”. To have it back: paddock profiles undelete NAME", name=name))
    return 0


@click.command("undelete")
@click.argument("name", required=False)
@click.pass_obj
def undelete(options: Globals, name: str | None) -> int:
    """Bring a deleted profile back; without a name, list those that can be."""
    store = workspace_of(options).profiles
    if name is not None:
        saved = store.undelete(name)
        return _done(options, saved, Text("“{name}” is back.", name=saved.name))
    gone = store.deleted()
    if options.json:
        document([{"name": one.profile.name, "deleted": one.when} for one in gone])
    elif gone:
        table([Text("Profile"), Text("Deleted")], ((one.profile.name, one.when) for one in gone))
    else:
        note(Text("No deleted profile is kept."))
    return 0


@click.command("history")
@click.argument("name")
@click.pass_obj
def history(options: Globals, name: str) -> int:
    """Every saved state of a profile, the newest first, with what each changed."""
    from paddock.launch.comparing import changes

    states = workspace_of(options).profiles.history(name)
    rows = []
    for i, state in enumerate(states):
        before = next((s.profile for s in states[i + 1:] if s.profile is not None), None)
        made = changes(before.plan, state.profile.plan) if before is not None and state.profile is not None else []
        rows.append((state, before, made))
    if options.json:
        document([{"revision": state.number, "saved": state.saved, "readable": state.profile is not None,
                   "name": state.profile.name if state.profile is not None else None,
                   "changes": [change_dict(c) for c in made]} for state, _, made in rows])
        return 0
    if not rows:
        note(Text("“{name}” has no history yet: it begins with the next save.", name=name))
        return 0
    table([Text("State"), Text("Saved"), Text("Changed")], ((state.number, state.saved, _what(state, before, made))
                                                            for state, before, made in rows), (0,))
    return 0


def _what(state: Any, before: Any, made: Any) -> Text | str:
    if state.profile is None:
        return Text("cannot be read any more")
    if before is None:
        return Text("first saved")
    if made:
        return ", ".join(change_name(c) for c in made)
    if before.name != state.profile.name:
        return Text("renamed from “{name}”", name=before.name)
    return Text("details only")


@click.command("restore")
@click.argument("name")
@click.argument("state", type=int)
@click.pass_obj
def restore(options: Globals, name: str, state: int) -> int:
    """Make a saved state of the history the current one; what is current now stays in the history."""
    saved = workspace_of(options).profiles.revert(name, state)
    return _done(options, saved, Text("“{name}” is as it was in state {state}.", name=name, state=state))


@click.command("compare")
@click.argument("name")
@click.argument("other", required=False)
@click.option("--state", type=int, default=None, help="Compare with this state of its own history.")
@click.pass_obj
def compare(options: Globals, name: str, other: str | None, state: int | None) -> int:
    """What differs between two profiles (defaults included), or between a saved state and now: only that."""
    from paddock.launch.comparing import changes

    if (other is None) == (state is None):
        raise click.UsageError(str(Text("Name a second profile, or a state of the first with --state.")))
    workspace = workspace_of(options)
    if other is not None:
        before, after, titles = _finished(workspace, name), _finished(workspace, other), (name, other)
    else:
        profile = workspace.profiles.load(name)
        found = next((s.profile for s in workspace.profiles.history(name) if s.number == state), None)
        if found is None:
            raise AppError(Text("The profile “{name}” has no saved state {number}.", name=name, number=state),
                           hint=Text("`paddock profiles history NAME` lists them."))
        before, after = found.plan, profile.plan
        titles = (str(Text("state {number}", number=state)), str(Text("now")))
    made = changes(before, after)
    if options.json:
        document([change_dict(c) for c in made])
    elif made:
        show_changes(made, *titles)
    else:
        line(Text("They ask for the same."))
    return 0


def _finished(workspace: Any, name: str) -> Any:
    """With defaults, but without looking for files or an engine: what is saved is compared."""
    from paddock.launch.layers import layered
    from paddock.work.opening import layers_for

    profile = workspace.profiles.load(name)
    return layered(layers_for(workspace, profile.plan)[0], profile.plan, profile.left_out)


@click.command("migrate")
@click.argument("names", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All profiles.")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@click.pass_obj
def migrate(options: Globals, names: tuple[str, ...], everything: bool, dry_run: bool) -> int:
    """Save profiles in the words of today's engine: old flags under their new names, moved files under their new paths.
    Says each step; what they were stays in their history."""
    if bool(names) == everything:
        raise click.UsageError(str(Text("Name profiles, or give --all.")))
    workspace = workspace_of(options)
    told: list[dict[str, Any]] = []
    for name in workspace.profiles.names() if everything else names:
        opened = workspace.open_profile(name)
        changed = opened.plan != opened.saved or opened.profile.notices != ()
        if changed and not dry_run:
            workspace.save_profile(name, opened.plan)
        told.append({"name": name, "changed": changed, "saved": changed and not dry_run,
                     "notices": [str(n) for n in opened.notices]})
    if options.json:
        document(told)
        return 0
    for one in told:
        line(Text("“{name}”: changed.", name=one["name"]) if one["saved"] else
             Text("“{name}”: would change.", name=one["name"]) if one["changed"] else
             Text("“{name}”: nothing to change.", name=one["name"]))
        for text in one["notices"]:
            line(f"  {text}")
    return 0


def _done(options: Globals, saved: Any, text: Text) -> int:
    for notice in saved.notices:
        note(notice)
    if options.json:
        document(profile_dict(replace(saved)))
    else:
        note(text)
    return 0
