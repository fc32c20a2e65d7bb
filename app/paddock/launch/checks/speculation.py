"""Guessing ahead: a draft without a type, a type without a draft."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import Question, error, hint, warning
from paddock.launch.model import Issue
from paddock.text import Text

_NEED_DRAFT = frozenset(("draft-simple", "draft-eagle3", "draft-dflash", "draft-dspark"))
_NO_MTP_GRAPH = frozenset(("bailingmoe2", "exaone4", "glm4", "mistral4", "exaone-moe", "nemotron_h", "dots3note"))
"""Families whose files may have extra prediction layers that llama.cpp cannot use."""
_SEVERAL_MTP_LAYERS = frozenset(("hy_v3", "step35", "mimo2"))
TWINS = {
    "spec-draft-threads": ("spec-draft-cpu-mask", "spec-draft-cpu-range", "spec-draft-cpu-strict", "spec-draft-prio",
                           "spec-draft-poll"),
    "spec-draft-threads-batch": ("spec-draft-cpu-mask-batch", "spec-draft-cpu-strict-batch", "spec-draft-prio-batch",
                                 "spec-draft-poll-batch"),
    "threads-batch": ("cpu-mask-batch", "cpu-range-batch", "cpu-strict-batch", "prio-batch", "poll-batch"),
}
"""Options that are heeded only once the thread count before them is set."""


def chosen_types(q: Question) -> set[str]:
    """The types of speculation that are asked for, "none" left out."""
    named = {item for setting in q.plan.all("spec-type") for item in (setting.value or "").split(",")}
    if not named:
        named = set((q.text("spec-type") or "").split(","))
    return named - {"", "none"}


def draft_option(q: Question) -> str | None:
    """Which option names a draft model, if any does."""
    return next((name for name in ("spec-draft-model", "spec-draft-hf") if q.text(name)), None)


def draft_and_type(q: Question) -> Iterator[Issue]:
    """llama.cpp loads a draft without a type and then drops it in silence; a type without a draft is dropped too."""
    types, draft = chosen_types(q), draft_option(q)
    known = q.engine.knows("--spec-type") if q.engine is not None else None
    if draft is not None and not types and known is not False:
        yield error("draft-without-type", "spec-type",
                    Text("The draft model would be loaded and then not used: no type of speculation is chosen."),
                    Text("Add --spec-type draft-simple, or the type that the draft was made for."),
                    (("spec-type", ("draft-simple",)),))
    missing = sorted(types & _NEED_DRAFT)
    if missing and draft is None:
        yield error("type-without-draft", "spec-draft-model",
                    Text("--spec-type {type} needs a draft model, and none is chosen.", type=", ".join(missing)),
                    Text("Choose one with -md, or take the type out."), (("spec-type", None),))
    if "draft-mtp" in types and draft is None:
        yield from _own_layers(q)


def _own_layers(q: Question) -> Iterator[Issue]:
    """draft-mtp without a draft file uses layers of the model itself."""
    if q.model is None:
        return
    layers, family = q.model.facts.nextn_layers, q.model.architecture or ""
    if not layers:
        text = Text("draft-mtp needs a model with extra prediction layers, and this one has none.")
    elif family in _NO_MTP_GRAPH or (layers != 1 and family not in _SEVERAL_MTP_LAYERS):
        text = Text("llama.cpp cannot draft with the extra prediction layers of this model: it would stop.")
    else:
        return
    yield error("no-mtp-layers", "spec-type", text, Text("Choose another type."), (("spec-type", None),))


def draft_lengths(q: Question) -> Iterator[Issue]:
    """Fewest above most."""
    for low, high in (("spec-draft-n-min", "spec-draft-n-max"), ("spec-ngram-mod-n-min", "spec-ngram-mod-n-max")):
        least, most = q.number(low), q.number(high)
        most = int(CATALOGUE[high].default or 0) if most is None else most
        if least is not None and least > most:
            yield warning("draft-lengths", low,
                          Text("{low} is above {high}: nothing would ever be drafted.", low=CATALOGUE[low].names[0],
                               high=CATALOGUE[high].names[0]),
                          Text("Use {most} or less.", most=most), ((low, (str(most),)),))


def synthetic(q: Question) -> Iterator[Issue]:
    """The synthetic options exclude one another and invent results."""
    length, rates = q.text("spec-synth-len"), q.text("spec-synth-rates")
    if length and rates:
        yield error("synthetic-twice", "spec-synth-rates",
                    Text("--spec-synth-len and --spec-synth-rates exclude one another."), Text("Keep one of them."),
                    (("spec-synth-rates", None),))
    elif problem := _bad_synthesis(q, length, rates):
        yield problem
    elif length or rates:
        yield warning("synthetic", "spec-synth-len" if length else "spec-synth-rates",
                      Text("Acceptance is invented: answers are worthless, only their speed is measured."),
                      Text("Take it out once you have measured."))


def _bad_synthesis(q: Question, length: str | None, rates: str | None) -> Issue | None:
    """A length lies in 1 to n_max + 1; rates are n_max numbers from 0 to 1 that never rise (speculative.cpp)."""
    most = q.number("spec-draft-n-max")
    most = int(CATALOGUE["spec-draft-n-max"].default or 0) if most is None else most
    try:
        numbers = [float(part) for part in (length or rates or "").split(",") if part]
    except ValueError:
        return None
    if length and numbers and not 1 <= numbers[0] <= most + 1:
        return error("synthetic-length", "spec-synth-len",
                     Text("--spec-synth-len {length} is outside of 1 to {most}, which is --spec-draft-n-max and one "
                          "more.", length=length, most=most + 1), Text("Choose a number in that range."))
    falling = all(a >= b for a, b in pairwise(numbers))
    if rates and (len(numbers) != most or not falling or not all(0 <= n <= 1 for n in numbers)):
        return error("synthetic-rates", "spec-synth-rates",
                     Text("--spec-synth-rates takes {count} numbers from 0 to 1 that never rise: one for each token of "
                          "--spec-draft-n-max.", count=most), Text("Write it like {example}.", example="0.9,0.7,0.5"))
    return None


def ignored_twins(q: Question) -> Iterator[Issue]:
    """Thread options of batch and draft are copied wholesale unless their thread count is set."""
    for needed, twins in TWINS.items():
        given = [name for name in twins if q.plan.find(name) is not None]
        if given and (q.number(needed) or -1) < 0:
            flags = ", ".join(CATALOGUE[name].names[0] for name in given)
            yield warning("twin-ignored", given[0],
                          Text("{flags} has no effect unless {needed} is set.", flags=flags,
                               needed=CATALOGUE[needed].names[0]),
                          Text("Set {needed}, or take it out.", needed=CATALOGUE[needed].names[0]))


def draft_options_alone(q: Question) -> Iterator[Issue]:
    """Options of a draft where nothing is drafted."""
    if draft_option(q) is not None or chosen_types(q) or q.on("spec-default"):
        return
    given = [s.option for s in q.plan if s.option.startswith(("spec-draft-", "spec-ngram-"))]
    if given:
        yield hint("draft-options-alone", given[0],
                   Text("{flag} has no effect: nothing is drafted.", flag=CATALOGUE[given[0]].names[0]),
                   Text("Choose a type of speculation, or take it out."), tuple((name, None) for name in given))
