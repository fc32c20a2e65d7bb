"""paddock profiles defaults, use-cases, suggest: what lies below a profile, and what it can begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals
from paddock.cli.estimate import FLAGS, target_and_flags
from paddock.cli.output import document, line, note, table, told
from paddock.cli.profile_text import (
    change_dict,
    change_name,
    setting_dict,
    setting_words,
    show_settings,
    shown_environment,
    workspace_of,
)
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.launch.model import Plan
    from paddock.launch.use_cases import Suggestion, Wish


_architecture = click.option("--architecture", default=None, metavar="NAME",
                             help="For models of this architecture (as `paddock inspect` names it), before those for "
                                  "all models.")


@click.group("defaults", invoke_without_command=True)
@click.pass_context
def defaults(context: click.Context) -> Any:
    """What holds where a profile says nothing: for all models, and for those of an architecture."""
    if context.invoked_subcommand is None:
        return context.invoke(show)
    return None


def _plan_dict(plan: Plan) -> dict[str, Any]:
    return {"settings": [setting_dict(s) for s in plan.settings], "environment": dict(shown_environment(plan)),
            "prefix": list(plan.prefix), "engine": plan.engine}


@defaults.command("show")
@click.pass_obj
def show(options: Globals) -> int:
    """All of them."""
    from paddock.launch.layers import Layer, keys

    store = workspace_of(options).defaults
    found = [(name, plan) for name in (None, *store.architectures()) if keys(plan := store.load(name))]
    if options.json:
        document([{"architecture": name, **_plan_dict(plan)} for name, plan in found])
        return 0
    if not found:
        note(Text("There are no defaults yet. Set some: paddock profiles defaults set -- FLAGS"))
    for name, plan in found:
        layer = Layer(plan, name)
        show_settings(plan, dict.fromkeys(keys(plan), layer))
    return 0


@defaults.command("set", context_settings=FLAGS)
@_architecture
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def set_(options: Globals, architecture: str | None, flags: tuple[str, ...]) -> int:
    """Add these llama-server flags to the defaults; an option that is there already gets the new value."""
    from dataclasses import replace

    from paddock.launch import parse_argv
    from paddock.launch.layers import joined

    new = parse_argv(list(flags))
    if not flags:
        raise click.UsageError(str(Text("Name flags: paddock profiles defaults set -- FLAGS")))
    store = workspace_of(options).defaults
    store.save(replace(joined(new, store.load(architecture)), extra=new.extra), architecture)
    note(_saved(architecture))
    return 0


def _saved(architecture: str | None) -> Text:
    if architecture is None:
        return Text("Saved for all models.")
    return Text("Saved for {architecture}.", architecture=architecture)


@defaults.command("unset", context_settings=FLAGS)
@_architecture
@click.argument("options_", nargs=-1, metavar="OPTION…")
@click.option("--all", "everything", is_flag=True, help="All of them.")
@click.pass_obj
def unset(options: Globals, architecture: str | None, options_: tuple[str, ...], everything: bool) -> int:
    """Take options (“temp”, “--temp” or a variable's name) out of the defaults again."""
    from paddock.errors import AppError
    from paddock.launch import Plan
    from paddock.launch.catalogue import CATALOGUE
    from paddock.launch.layers import keys, part

    if bool(options_) == everything:
        raise click.UsageError(str(Text("Name options, or give --all.")))
    store = workspace_of(options).defaults
    plan = store.load(architecture)
    gone = {CATALOGUE.canonical(name) for name in options_}
    missing = gone - set(keys(plan))
    if missing:
        raise AppError(Text("There is no default for {names}.", names=", ".join(sorted(missing))))
    store.save(Plan() if everything else part(plan, [key for key in keys(plan) if key not in gone]), architecture)
    note(_saved(architecture))
    return 0


@defaults.command("history")
@_architecture
@click.pass_obj
def history(options: Globals, architecture: str | None) -> int:
    """Every saved state of the defaults, the newest first, with what each changed."""
    from paddock.launch import Plan
    from paddock.launch.comparing import changes

    states = workspace_of(options).defaults.history(architecture)
    before = [plan for _, _, plan in states[1:]] + [Plan()]
    rows = [(number, stamp, changes(old, plan)) for (number, stamp, plan), old in zip(states, before, strict=False)]
    if options.json:
        document([{"state": number, "saved": stamp, "changes": [change_dict(c) for c in made]}
                  for number, stamp, made in rows])
    elif rows:
        table([Text("State"), Text("Saved"), Text("Changed")],
              ((number, stamp, ", ".join(change_name(c) for c in made)) for number, stamp, made in rows), (0,))
    else:
        note(Text("Nothing was saved yet."))
    return 0


@defaults.command("restore")
@_architecture
@click.argument("state", type=int)
@click.pass_obj
def restore(options: Globals, architecture: str | None, state: int) -> int:
    """Make a saved state the current one; what is current now stays in the history."""
    workspace_of(options).defaults.restore(state, architecture)
    note(_saved(architecture))
    return 0


@click.command("use-cases")
@click.pass_obj
def use_cases(options: Globals) -> int:
    """What settings can be suggested for: chat, coding, documents, …"""
    from paddock.launch.use_cases import USE_CASES

    if options.json:
        document([{"id": c.id, "title": str(c.title), "purpose": str(c.purpose)} for c in USE_CASES])
        return 0
    table([Text("Use case"), Text("Title"), Text("For")], ((c.id, c.title, c.purpose) for c in USE_CASES))
    return 0


@click.command("suggest", context_settings=FLAGS)
@click.argument("case", metavar="USE-CASE")
@click.argument("file", metavar="PROFILE|FILE", required=False)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
@click.option("--save", "name", default=None, metavar="NAME", help="Save the plan with them under this name.")
@click.option("--only", multiple=True, metavar="OPTION", help="Take only this one; repeatable.")
@click.pass_obj
def suggest_(options: Globals, case: str, file: str | None, flags: tuple[str, ...], name: str | None,
             only: tuple[str, ...]) -> int:
    """Settings for a use case, each with its reason: only what this engine and this model take."""
    from paddock.errors import AppError
    from paddock.launch.catalogue import CATALOGUE
    from paddock.launch.use_cases import use_case
    from paddock.work.suggesting import suggestion

    chosen = use_case(case)
    workspace = workspace_of(options)
    plan, _ = told(workspace.resolve(*target_and_flags(file, flags)))
    found = suggestion(workspace, chosen, plan)
    wanted = {CATALOGUE.canonical(option) for option in only} or None
    unknown = (wanted or set()) - {wish.option for wish in found.made}
    if unknown:
        raise AppError(Text("Not suggested here: {names}.", names=", ".join(sorted(unknown))))
    saved = workspace.save_profile(name, found.plan(wanted)) if name is not None else None
    if options.json:
        document(_suggestion_dict(found, saved.name if saved is not None else None))
        return 0
    _show(found)
    if saved is not None:
        note(Text("Saved as “{name}”.", name=saved.name))
    return 0


def _suggestion_dict(found: Suggestion, saved: str | None) -> dict[str, Any]:
    def wish(one: Wish) -> dict[str, Any]:
        return {"option": one.option, "values": list(one.values) if one.values is not None else None, "on": one.on,
                "reason": str(one.reason)}

    return {"use_case": found.use_case.id, "set": [wish(w) for w in found.made], "same": [wish(w) for w in found.same],
            "left_out": [{**wish(s.wish), "why": str(s.reason)} for s in found.skipped],
            "notes": [str(n) for n in found.notes], "saved": saved}


def _show(found: Suggestion) -> None:
    from paddock.launch.catalogue import CATALOGUE

    def words(wish: Wish) -> str:
        return setting_words(wish.apply(found.base).find(wish.option))

    line(found.use_case.title)
    line(found.use_case.purpose)
    line("")
    for text in found.notes:
        line(text)
    rows: list[tuple[str, Text | str, Text]] = [(CATALOGUE[w.option].long_name, words(w), w.reason)
                                                for w in found.made]
    rows += [(CATALOGUE[w.option].long_name, words(w), Text("Is so already. {reason}", reason=w.reason))
             for w in found.same]
    rows += [(CATALOGUE[s.wish.option].long_name, Text("left out"), s.reason) for s in found.skipped]
    table([Text("Setting"), Text("Value"), Text("Why")], rows)
