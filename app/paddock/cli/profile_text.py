"""How a profile, its history and differences are said, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paddock.cli.output import line, table
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.cli.arguments import Globals
    from paddock.launch.comparing import Change
    from paddock.launch.layers import Layer
    from paddock.launch.model import Plan, Setting
    from paddock.store import Profile
    from paddock.work import Workspace


def workspace_of(options: Globals) -> Workspace:
    """The data folder and engine that the command was given."""
    return options.workspace()


def profile_dict(p: Profile) -> dict[str, Any]:
    """A profile's JSON form; keys appear as references only."""
    return {"name": p.name, "notes": p.notes, "tags": list(p.tags), "colour": p.colour or None,
            "model": p.plan.get("model"), "engine": p.plan.engine, "prefix": list(p.plan.prefix),
            "environment": dict(shown_environment(p.plan)), "not_understood": list(p.plan.extra),
            "keep_serving": p.keep_serving, "restart_limit": p.restart_limit, "left_out": list(p.left_out),
            "saved_with": p.saved_with, "created": p.created, "modified": p.modified, "revision": p.revision,
            "notices": [str(n) for n in p.notices], "settings": [setting_dict(s) for s in p.plan.settings]}


def setting_dict(setting: Setting, origin: Layer | None = None) -> dict[str, Any]:
    """A setting's JSON form; `origin` is where it comes from when it is not the profile's own."""
    return {"option": setting.option, "values": list(shown_values(setting)), "on": setting.on,
            **({"from": str(origin.title)} if origin is not None else {})}


def setting_words(setting: Setting | None) -> str:
    """"8192", "on", "off", "not set"; a key that is written out is masked."""
    if setting is None:
        return str(Text("not set"))
    if not setting.values:
        return str(Text("on") if setting.on else Text("off"))
    return " ".join(shown_values(setting))


def shown_values(setting: Setting) -> tuple[str, ...]:
    """The values; a key is shown as its reference or masked."""
    from paddock.launch.catalogue import CATALOGUE
    from paddock.launch.secret_reference import shown

    option = CATALOGUE.get(setting.option)
    secret = option is not None and option.secret
    return tuple(shown(value) for value in setting.values) if secret else setting.values


def change_dict(change: Change) -> dict[str, Any]:
    """A difference's JSON form; before and after are lists, one per repetition."""
    before = change.all_before or ((change.before,) if change.before is not None else ())
    after = change.all_after or ((change.after,) if change.after is not None else ())
    return {"what": change.kind, "option": change.option, "before": [setting_words(s) for s in before],
            "after": [setting_words(s) for s in after]}


def show_changes(changes: Sequence[Change], before: str, after: str) -> None:
    """Only what differs, side by side."""
    rows = []
    for change in changes:
        told = change_dict(change)
        not_set = str(Text("not set"))
        rows.append((change_name(change), "\n".join(told["before"]) or not_set, "\n".join(told["after"]) or not_set))
    table([Text("Setting"), before, after], rows)


def change_name(change: Change) -> str:
    """As it is written on a command line, where it is."""
    from paddock.launch.catalogue import CATALOGUE

    if change.kind == "prefix":
        return str(Text("Program in front"))
    if change.kind == "engine":
        return str(Text("Engine"))
    option = CATALOGUE.get(change.option) if change.kind == "option" else None
    return option.long_name if option is not None else change.option


def show_settings(plan: Plan, origins: Mapping[str, Layer]) -> None:
    """Every setting with where it comes from."""
    from paddock.launch.catalogue import CATALOGUE

    own = Text("this profile")

    def origin(key: str) -> Text:
        return origins[key].title if key in origins else own

    rows: list[tuple[Any, ...]] = []
    for setting in plan.settings:
        option = CATALOGUE.get(setting.option)
        rows.append((option.long_name if option is not None else setting.option, setting_words(setting),
                     origin(setting.option)))
    rows += [(name, value, origin(name)) for name, value in shown_environment(plan)]
    if plan.prefix:
        rows.append((Text("Program in front"), " ".join(plan.prefix), origin("prefix")))
    if plan.engine is not None:
        rows.append((Text("Engine"), plan.engine, origin("engine")))
    if rows:
        line("")
        table([Text("Setting"), Text("Value"), Text("Comes from")], rows)


def shown_environment(plan: Plan) -> list[tuple[str, str]]:
    """Its variables, keys masked."""
    from paddock.store.secret import masked_environment

    return list(masked_environment(dict(plan.environment)).items())
