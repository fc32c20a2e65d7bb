"""Values that llama.cpp cannot read, or reads as something else."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from paddock.launch.catalogue import CATALOGUE, Kind, Option
from paddock.launch.checks.question import AUTO, OFF, ON, Question, error, warning
from paddock.launch.expressions import endless
from paddock.launch.model import Issue, Setting
from paddock.launch.parsing import looks_like_flag
from paddock.launch.spelling import engine_option, takes_no_value
from paddock.text import Text

_INT = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
"""Stricter than Python, which takes digits of other scripts and "1_0": llama.cpp does not."""
_MOST_PARTS = 15
_LARGEST = 2**31 - 1


def values(q: Question) -> Iterator[Issue]:
    """Each value against its option: present, a number, in range, among the choices."""
    for setting in q.plan:
        option = CATALOGUE.get(setting.option)
        if option is None or option.is_switch or takes_no_value(option, q.engine):
            continue
        if len(setting.values) != option.value_count:
            yield _wrong_count(option, setting)
            continue
        yield from _of_kind(q, option, setting)


def _wrong_count(option: Option, setting: Setting) -> Issue:
    if len(setting.values) > option.value_count:
        return error("too-many-values", option.id,
                     Text("{flag} takes {count} value.", plural="{flag} takes {count} values.",
                          count=option.value_count, flag=option.names[0]), Text("Take the others out."))
    return error("value-missing", option.id, Text("{flag} needs a value.", flag=option.names[0]),
                 Text("Give it one or take it out."), ((option.id, None),))


def _of_kind(q: Question, option: Option, setting: Setting) -> Iterator[Issue]:
    for value in setting.values:
        if option.kind in (Kind.INT, Kind.RANGE):
            if value not in option.choices:
                yield from _whole(option, value)
        elif option.kind is Kind.FLOAT:
            yield from _number(option, value)
        elif option.kind is Kind.ENUM:
            yield from _choice(q, option, value)
        elif option.kind is Kind.LIST and option.choices:
            for item in value.split(","):
                yield from _choice(q, option, item)
        elif option.kind is Kind.JSON:
            yield from _json(option, value)
        elif option.kind in (Kind.PATH, Kind.FOLDER) and not value:
            yield error("value-missing", option.id, Text("{flag} needs a path.", flag=option.names[0]),
                        Text("Give it one or take it out."), ((option.id, None),))


def _whole(option: Option, value: str) -> Iterator[Issue]:
    if not _INT.fullmatch(value.strip()):
        if looks_like_flag(value) and CATALOGUE.of(value) is not None:
            yield error("value-missing", option.id,
                        Text("{flag} needs a value; llama.cpp would take {next} for it.", flag=option.names[0],
                             next=value), Text("Give it one or take it out."), ((option.id, None),))
            return
        yield _not_whole(option, value)
        return
    yield from _bounds(option, value, int(value))


def _not_whole(option: Option, value: str) -> Issue:
    """llama.cpp reads the digits at the beginning and drops the rest: "4k" would be 4."""
    flag = option.names[0]
    start = _INT.match(value)
    thousands = re.fullmatch(r"([0-9]+)[kK]", value)
    if start is not None:
        text = Text("“{value}” is not a whole number: for {flag} llama.cpp would read {number}.", value=value,
                    flag=flag, number=start[0])
    else:
        text = Text("“{value}” is not a whole number.", value=value)
    if thousands:
        number = str(int(thousands[1]) * 1024)
        return error("not-a-number", option.id, text, Text("Use {number}.", number=number), ((option.id, (number,)),))
    words = " / ".join(option.choices)
    fix = (Text("{flag} takes a whole number or {words}.", flag=flag, words=words) if words
           else Text("{flag} takes a whole number.", flag=flag))
    return error("not-a-number", option.id, text, fix)


def _number(option: Option, value: str) -> Iterator[Issue]:
    number = float(value) if _FLOAT.fullmatch(value.strip()) else math.nan
    if not math.isfinite(number):
        yield error("not-a-number", option.id,
                    Text("“{value}” is not a number: {flag} takes one.", value=value, flag=option.names[0]),
                    Text("Write it like {example}.", example=option.default or "0.5"))
        return
    yield from _bounds(option, value, number)


def _bounds(option: Option, value: str, number: float) -> Iterator[Issue]:
    if option.kind in (Kind.INT, Kind.RANGE) and option.high is None and abs(number) > _LARGEST:
        yield error("out-of-range", option.id, Text("{value} is too large a number for {flag}.", value=value,
                                                    flag=option.names[0]))
        return
    low = option.low is not None and (number <= option.low if option.open_low else number < option.low)
    high = option.high is not None and number > option.high
    if not low and not high:
        return
    make = error if option.strict else warning
    if low:
        text = Text("{flag} {value} is too small.", flag=option.names[0], value=value)
        fix = (Text("It must be more than {low}.", low=_plain(option.low)) if option.open_low
               else Text("The least is {low}.", low=_plain(option.low)))
    else:
        text = Text("{flag} {value} is too large.", flag=option.names[0], value=value)
        fix = Text("The most is {high}.", high=_plain(option.high))
    nearest = option.high if high else option.low
    edits = () if nearest is None or (low and option.open_low) else ((option.id, (_plain(nearest),)),)
    yield make("out-of-range", option.id, text, fix, edits)


def _plain(number: float | None) -> str:
    return "" if number is None else f"{number:g}" if number != int(number) else str(int(number))


def _choice(q: Question, option: Option, value: str) -> Iterator[Issue]:
    known = engine_option(option, q.engine)
    choices = known.choices if known is not None and known.choices else option.choices
    # A default that the help names but does not list is a choice too (--reasoning-format auto).
    if option.id == "split-mode" and value == "row":  # told by itself, with what took its place
        return
    if value in choices or (known is not None and known.default is not None and value == known.default.strip("'")):
        return
    switches = {"on", "off"} <= set(choices)
    if switches and (value in ON or value in OFF or ("auto" in choices and value in AUTO)):
        return
    factor = re.fullmatch(r"factor=([\d.]+)", value) if option.id == "rope-scaling" else None
    if factor is not None:
        yield error("rope-factor", option.id,
                    Text("“{value}” is not a value of {flag}: the factor is an option of its own.", value=value,
                         flag=option.names[0]),
                    Text("Use --rope-scaling yarn --rope-scale {factor}.", factor=factor[1]),
                    ((option.id, ("yarn",)), ("rope-scale", (factor[1],))))
        return
    yield error("not-a-choice", option.id,
                Text("“{value}” is not a value of {flag}.", value=value, flag=option.names[0]),
                Text("Choose one of {choices}.", choices=", ".join(choices)))


def _json(option: Option, value: str) -> Iterator[Issue]:
    try:
        good = isinstance(json.loads(value), dict)
    except ValueError:
        good = False
    if not good:
        yield error("not-json", option.id, Text("The value of {flag} is not a JSON object.", flag=option.names[0]),
                    Text("Write it like {example}.", example='{"key": "value"}'))


def lists(q: Question) -> Iterator[Issue]:
    """Lists whose items have a form of their own."""
    for setting in q.plan:
        if setting.option == "tensor-split":
            yield from _split(setting)
        elif setting.option == "fit-target":
            yield from _numbers(setting, ",")
            yield from _count(setting, ",", _MOST_PARTS)
        elif setting.option == "mmproj-device" and "," in (setting.value or ""):
            yield error("one-device", setting.option, Text("-mmdev takes one device or “none”."),
                        Text("Name one."), ((setting.option, ((setting.value or "").split(",")[0],)),))
        elif setting.option in ("override-tensor", "spec-draft-override-tensor"):
            for item in (setting.value or "").split(","):
                yield from _placement(setting, item)
        elif setting.option in _FORMS:
            yield from _form(setting)
        elif setting.option == "override-kv":
            for item in (setting.value or "").split(","):
                if not re.fullmatch(r"[^=]+=(int|float|bool|str):.*", item, re.DOTALL):
                    yield error("bad-override", "override-kv",
                                Text("“{item}” is not of the form KEY=TYPE:VALUE.", item=item),
                                Text("Types are int, float, bool and str."))


_FORMS = {
    **dict.fromkeys(("cpu-range", "cpu-range-batch", "spec-draft-cpu-range"), (r"\d*-\d*", "0-7")),
    **dict.fromkeys(("cpu-mask", "cpu-mask-batch", "spec-draft-cpu-mask", "spec-draft-cpu-mask-batch"),
                    (r"(0x)?[0-9A-Fa-f]{1,128}", "ff")),
    **dict.fromkeys(("lora-scaled", "control-vector-scaled"),
                    (r"[^:]+:[-+0-9.eE]+(,[^:]+:[-+0-9.eE]+)*", "adapter.gguf:0.5")),
}
"""Options whose text has a form: a pattern and an example."""


def _form(setting: Setting) -> Iterator[Issue]:
    pattern, example = _FORMS[setting.option]
    if setting.value is not None and not re.fullmatch(pattern, setting.value):
        yield error("bad-form", setting.option,
                    Text("“{value}” is not what {flag} takes.", value=setting.value,
                         flag=CATALOGUE[setting.option].names[0]),
                    Text("Write it like {example}.", example=example))


def _split(setting: Setting) -> Iterator[Issue]:
    yield from _numbers(setting, r"[,/]")
    yield from _count(setting, r"[,/]", _MOST_PARTS)


def _count(setting: Setting, separators: str, most: int) -> Iterator[Issue]:
    if len(re.split(separators, setting.value or "")) > most:
        yield error("too-many-parts", setting.option,
                    Text("{flag} takes at most {most} parts.", flag=CATALOGUE[setting.option].names[0], most=most),
                    Text("Take the last ones out."))


def _numbers(setting: Setting, separators: str) -> Iterator[Issue]:
    for item in re.split(separators, setting.value or ""):
        try:
            good = math.isfinite(float(item)) and float(item) >= 0
        except ValueError:
            good = False
        if not good:
            yield error("not-a-number", setting.option,
                        Text("“{value}” is not a number: {flag} takes a list of them.", value=item,
                             flag=CATALOGUE[setting.option].names[0]),
                        Text("Write it like {example}.", example="3,1"))
            return


def _placement(setting: Setting, item: str) -> Iterator[Issue]:
    pattern, sign, buffer = item.partition("=")
    if not sign or not pattern or not buffer:
        yield error("bad-placement", setting.option,
                    Text("“{item}” is not of the form PATTERN=BUFFER.", item=item),
                    Text("A comma always separates placements, even inside a pattern."))
        return
    if endless(pattern):
        yield error("endless-pattern", setting.option,
                    Text("“{pattern}” repeats a repetition: llama.cpp may never finish with it.", pattern=pattern),
                    Text("Write it with one repetition: (a+)+ is a+."))
        return
    try:
        re.compile(pattern)
    except re.error as why:
        yield error("bad-pattern", setting.option,
                    Text("“{pattern}” is not a regular expression: {why}.", pattern=pattern, why=str(why)),
                    Text("Close what is open, or put a backslash before a sign that stands for itself."))
