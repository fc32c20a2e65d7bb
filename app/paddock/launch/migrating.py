"""A plan that was made for another engine, said in the words of this one.

What an engine calls otherwise is carried over, each step told. What it lacks, and what was never a flag, stays in the
plan for the person to decide: the checks name it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from paddock.engine.model import Engine
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.flags import unknown_flags
from paddock.launch.checks.question import Question
from paddock.launch.model import Conditions, Issue, Plan, Setting
from paddock.launch.spelling import takes_no_value, write
from paddock.text import Text

_CARRIED = ("removed-flag", "flag-too-new", "flag-never-existed", "flag-with-equals")
_MOST = 100


@dataclass(frozen=True)
class Migrated:
    """The plan as this engine takes it, what was carried over, and what could not be."""

    plan: Plan
    steps: tuple[Text, ...] = ()
    left: tuple[Issue, ...] = ()


def migrated(plan: Plan, engine: Engine) -> Migrated:
    """Unchanged, without steps, where the engine takes every flag or its flags are not known."""
    plan, steps = _with_values(plan, engine)
    for _ in range(_MOST):
        found = list(_issues(plan, engine))
        next_one = next((issue for issue in found if _carries(issue)), None)
        if next_one is None:
            return Migrated(plan, tuple(steps), tuple(found))
        new = _apply(plan, next_one)
        if new == plan:
            return Migrated(plan, tuple(steps), tuple(found))
        steps.append(_told(plan, new, next_one, engine))
        plan = new
    return Migrated(plan, tuple(steps), tuple(_issues(plan, engine)))


def _with_values(plan: Plan, engine: Engine) -> tuple[Plan, list[Text]]:
    """What used to stand alone and takes on or off today (`-fa`) gets its value."""
    settings, steps = [], []
    for setting in plan:
        option = CATALOGUE.get(setting.option)
        if option is not None and not setting.values and "on" in option.choices and not takes_no_value(option, engine):
            new = Setting(setting.option, ("on" if setting.on else "off",))
            steps.append(Text("{old} became {new}.", old=option.names[0], new=_words(new, engine)))
            setting = new
        settings.append(setting)
    return (replace(plan, settings=tuple(settings)), steps) if steps else (plan, steps)


def _issues(plan: Plan, engine: Engine) -> list[Issue]:
    return list(unknown_flags(Question(plan, None, engine, None, Conditions())))


def _carries(issue: Issue) -> bool:
    """Whether its fix says the same with other words: something is taken out and something set."""
    return issue.id in _CARRIED and any(values is not None for _, values in issue.edits)


def _apply(plan: Plan, issue: Issue) -> Plan:
    """The fix, but nothing that the plan says itself is overwritten by what an old flag stood for."""
    new = issue.apply(plan)
    for option, values in issue.edits:
        kept = plan.find(option)
        if values is not None and kept is not None and option != issue.option:
            new = new.with_(option, *kept.values, on=kept.on)
    return new


def _told(before: Plan, after: Plan, issue: Issue, engine: Engine) -> Text:
    old = before.find(issue.option or "")
    new = [s for option, values in issue.edits if values is not None and (s := after.find(option)) is not None]
    return Text("{old} became {new}.", old=_words(old, None), new=" ".join(_words(s, engine) for s in new))


def _words(setting: Setting | None, engine: Engine | None) -> str:
    return " ".join(write(setting, engine)) if setting is not None else "?"
