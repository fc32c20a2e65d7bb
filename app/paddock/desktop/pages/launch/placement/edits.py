"""Patterns as edits of a plan: written by the builder or by hand, moved, taken out. No Qt here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from paddock.fit.overrides import compiled, strip_endpoint
from paddock.launch.expressions import endless
from paddock.launch.model import Plan, Setting
from paddock.text import Text

OPTIONS = ("override-tensor", "cpu-moe", "n-cpu-moe", "n-cpu-ffn")
KINDS = ("experts", "ffn", "attention", "all")
_NAMES = {"experts": r"ffn_.*exps", "ffn": r"ffn_(up|down|gate)(_shexp|)\.", "attention": "attn_", "all": ""}
_COUNTED = re.compile(r"\{\d*,\d*\}")
_FOREIGN = re.compile(r"\(\?(?![:=!])|\\[AZ]")
_WRONG = {
    "missing )": Text("a ( is never closed"),
    "unbalanced parenthesis": Text("a ) has no ( before it"),
    "unterminated character set": Text("a [ is never closed"),
    "nothing to repeat": Text("a *, + or ? has nothing before it to repeat"),
    "multiple repeat": Text("two repeats follow each other"),
    "bad character range": Text("a range in [ ] runs backwards"),
    "bad escape": Text("what follows a \\ means nothing"),
}


def items(plan: Plan) -> list[Setting]:
    """One setting per pattern, in llama.cpp's order: number n of the list is pattern n."""
    return [item for setting in plan.settings for item in _parts(setting)]


def _parts(setting: Setting) -> Iterator[Setting]:
    if setting.option not in OPTIONS or not setting.on:
        return
    if setting.option == "override-tensor":
        for part in ",".join(setting.values).split(","):
            yield Setting("override-tensor", (part,))
    else:
        yield setting


def with_items(plan: Plan, wanted: Sequence[Setting]) -> Plan:
    """The plan with these patterns in this order, where the first one stood; neighbouring -ot become one."""
    joined: list[Setting] = []
    for item in wanted:
        last = joined[-1] if joined else None
        if last is not None and last.option == item.option == "override-tensor":
            joined[-1] = Setting("override-tensor", (f"{last.value},{item.value}",))
        else:
            joined.append(item)
    is_pattern = [s.option in OPTIONS and s.on for s in plan.settings]
    at = is_pattern.index(True) if True in is_pattern else len(plan.settings)
    before = [s for s, own in zip(plan.settings[:at], is_pattern, strict=False) if not own]
    after = [s for s, own in zip(plan.settings[at:], is_pattern[at:], strict=True) if not own]
    return replace(plan, settings=(*before, *joined, *after))


def added(plan: Plan, text: str) -> Plan:
    """With one more -ot at the end of the list."""
    return with_items(plan, [*items(plan), Setting("override-tensor", (text,))])


def replaced(plan: Plan, number: int, text: str) -> Plan:
    """With pattern `number` (from 1) being this -ot."""
    listed = items(plan)
    listed[number - 1] = Setting("override-tensor", (text,))
    return with_items(plan, listed)


def removed(plan: Plan, number: int) -> Plan:
    listed = items(plan)
    del listed[number - 1]
    return with_items(plan, listed)


def moved(plan: Plan, number: int, by: int) -> Plan:
    """With pattern `number` so many places further down; the plan itself where there is no such place."""
    listed = items(plan)
    target = number - 1 + by
    if not 0 <= target < len(listed):
        return plan
    listed.insert(target, listed.pop(number - 1))
    return with_items(plan, listed)


def expression_for(low: int, high: int, kind: str, last: int) -> str:
    """The regular expression of the builder: layers low to high (of 0 to last), one of KINDS."""
    layers = r"\d+" if low <= 0 and high >= last else number_range(low, high)
    return rf"blk\.{layers}\.{_NAMES[kind]}"


def number_range(low: int, high: int) -> str:
    """An expression for the whole numbers low to high: 0, 14 -> "([0-9]|1[0-4])"."""
    found = _spans(low, high)
    return found[0] if len(found) == 1 else f"({'|'.join(found)})"


def _spans(low: int, high: int) -> list[str]:
    if low > high:
        return []
    if len(str(low)) < len(str(high)):
        edge = 10 ** len(str(low))
        return _spans(low, edge - 1) + _spans(edge, high)
    if low == high:
        return [str(low)]
    prefix = str(low // 10) if low >= 10 else ""
    if low // 10 == high // 10:
        return [f"{prefix}[{low % 10}-{high % 10}]"]
    head = _spans(low, low // 10 * 10 + 9) if low % 10 else []
    tail = _spans(high // 10 * 10, high) if high % 10 != 9 else []
    first, last = (low // 10 + (1 if head else 0)), (high // 10 - (1 if tail else 0))
    return [*head, *(f"{p}[0-9]" for p in _spans(first, last)), *tail]


def problem_of(text: str, targets: Sequence[str]) -> Text | None:
    """What is wrong with "expression=TARGET" as a person wrote it; None when llama.cpp takes it."""
    expression, equals, target = text.partition("=")
    if not expression or not equals or not target:
        return Text("Write an expression, “=” and a device: exps=CPU.")
    if "," in text:
        if _COUNTED.search(text):
            return Text("A comma ends a pattern, so a repeat with two counts cannot be used: write it out.")
        return Text("A comma ends a pattern: add the second one as a pattern of its own.")
    if "=" in target:
        return Text("The first “=” ends the expression, so none can stand in it.")
    if strip_endpoint(target) not in targets:
        return Text("There is no device “{device}” here: {known}.", device=target, known=", ".join(targets))
    if _FOREIGN.search(expression):
        return Text("llama.cpp's expressions have no look-behind, no flags, no named groups, no \\A and \\Z.")
    if endless(expression):
        return Text("A repetition is repeated here, as in (a+)+: llama.cpp may never finish with it.")
    if compiled(expression) is None:
        return _unclear(expression)
    return None


def _unclear(expression: str) -> Text:
    try:
        re.compile(expression)
    except re.error as error:
        why = next((words for start, words in _WRONG.items() if str(error.msg).startswith(start)), None)
        at = (error.pos or 0) + 1
        if why is not None:
            return Text("This is not a valid expression: {why} (character {at}).", why=why, at=at)
        return Text("This is not a valid expression: see character {at}.", at=at)
    return Text("This is not a valid expression.")


def shares_problem(text: str) -> Text | None:
    """What is wrong with a -ts; None for an empty one."""
    parts = re.split(r"[,/]", text.strip()) if text.strip() else []
    if len(parts) > 15:
        return Text("-ts takes at most 15 shares.")
    if any(not re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*", p) for p in parts):
        return Text("Write one number a device, with commas: 3,1.")
    return None
