"""What of the arguments llama.cpp cannot read, and what the estimate leaves aside: by the checks' own rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import Question
from paddock.launch.checks.values import values
from paddock.launch.model import Conditions, Issue, Plan, Severity
from paddock.text import Text

_ENDS = ("value-missing", "not-a-number", "out-of-range")
_BARE = ("flash-attn",)
"""Took no value once: an older llama.cpp still starts."""
_LONGEST = 40


@dataclass(frozen=True)
class Reading:
    """`refused`: why llama.cpp ends at an argument; `notes`: what it reads otherwise, or what is not known here."""

    refused: Text | None = None
    notes: tuple[Text, ...] = ()


@lru_cache(maxsize=256)
def read(plan: Plan) -> Reading:
    """The plan's arguments as llama.cpp takes them. Pure; a number that has digits at its beginning is read so far."""
    refused: Text | None = None
    notes: list[Text] = []
    for issue in values(Question(plan, None, None, None, Conditions())):
        if issue.severity is not Severity.ERROR or issue.id not in _ENDS or issue.option in _BARE:
            continue
        if _ends(plan, issue):
            refused = refused or issue.text
        else:
            notes.append(issue.text)
    strange = [s.option for s in plan if CATALOGUE.get(s.option) is None and CATALOGUE.of(s.option) is None]
    notes += [Text("{flag} is not known here: what it needs is not counted.", flag=_short(o))
              for o in dict.fromkeys(strange)]
    if plan.extra:
        notes.append(Text("Left out, since it is no option: {words}.", words=_short(" ".join(plan.extra))))
    return Reading(refused, tuple(dict.fromkeys(notes)))


def _ends(plan: Plan, issue: Issue) -> bool:
    """Whether the program stops there: at a value that is missing, that begins with no digit, or that no int holds."""
    if issue.id == "value-missing":
        return True
    value = plan.get(issue.option or "") or ""
    if issue.id == "not-a-number":
        return value.strip().lstrip("+-")[:1] not in set("0123456789.") or not value.strip()
    try:
        return abs(float(value)) >= 2**31
    except (ValueError, OverflowError):
        return True


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
