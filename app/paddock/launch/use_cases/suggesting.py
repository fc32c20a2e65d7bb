"""A use case in a situation: what is set, what is so already, what is left out and why."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.engine.model import Engine
from paddock.gguf.model import Kind, ModelFile
from paddock.hardware.model import Machine
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.catalogue import Kind as OptionKind
from paddock.launch.locking import locked, locked_choices
from paddock.launch.model import Conditions, Plan
from paddock.launch.spelling import engine_option, known_to
from paddock.launch.use_cases.model import Situation, Skipped, Suggestion, UseCase, Wish
from paddock.text import Text


def suggest(case: UseCase, plan: Plan, model: ModelFile | None, engine: Engine | None, machine: Machine | None,
            conditions: Conditions | None = None) -> Suggestion:
    """`model`, `engine` and `machine` may be None: what depends on them is then not looked at."""
    situation = Situation(plan, model, engine)
    wishes = [wish for rule in case.rules for wish in rule(situation)]
    skipped = [Skipped(wish, reason) for wish in wishes if (reason := _not_taken(wish, engine)) is not None]
    left = {id(one.wish) for one in skipped}
    wishes = [wish for wish in wishes if id(wish) not in left]
    whole = plan
    for wish in wishes:
        whole = wish.apply(whole)
    made: list[Wish] = []
    same: list[Wish] = []
    for wish in wishes:
        reason = _no_effect(wish, whole, model, engine, machine, conditions)
        if reason is not None:
            skipped.append(Skipped(wish, reason))
        elif _is_so(wish, plan, engine):
            same.append(wish)
        else:
            made.append(wish)
    return Suggestion(case, plan, tuple(made), tuple(same), tuple(skipped), tuple(_notes(case, model)))


def _not_taken(wish: Wish, engine: Engine | None) -> Text | None:
    """Why this engine would refuse it."""
    option = CATALOGUE[wish.option]
    if engine is None or wish.values is None:
        return None
    if not known_to(option, engine, wish.on):
        return Text("this engine does not have it")
    found = engine_option(option, engine)
    choices = found.choices if found is not None else ()
    wrong = next((value for value in wish.values if choices and value not in choices), None)
    if wrong is not None and option.kind in (OptionKind.ENUM, OptionKind.LIST):
        return Text("this engine does not know {value}", value=wrong)
    return None


def _no_effect(wish: Wish, whole: Plan, model: ModelFile | None, engine: Engine | None, machine: Machine | None,
               conditions: Conditions | None) -> Text | None:
    if wish.values is None:
        return None
    rest = whole.without(wish.option)
    reason = locked(rest, model, engine, machine, conditions).get(wish.option)
    if reason is None and wish.values:
        reason = locked_choices(rest, conditions).get(wish.option, {}).get(wish.values[0])
    return reason


def _is_so(wish: Wish, plan: Plan, engine: Engine | None) -> bool:
    """Whether the plan says it already, or it is what this engine does when nothing is said."""
    setting = plan.find(wish.option)
    if wish.values is None:
        return setting is None
    if setting is not None:
        return setting.values == wish.values and (bool(setting.values) or setting.on == wish.on)
    option = CATALOGUE[wish.option]
    if option.kind is not OptionKind.PAIR or engine is None:
        return False
    found = engine_option(option, engine)
    # Only what this engine's own help says: the default of --jinja was another one in older builds.
    return found is not None and found.default in (("enabled", "on", "true") if wish.on else ("disabled", "off"))


def _notes(case: UseCase, model: ModelFile | None) -> Iterator[Text]:
    if model is None:
        return
    name = model.facts.name or model.path.name
    wanted = {"embedding": Kind.EMBEDDING, "reranking": Kind.RERANKER}.get(case.id)
    if wanted is not None and model.kind is not wanted:
        if case.id == "embedding":
            yield Text("“{name}” was not made for embeddings: its vectors may be of little use.", name=name)
        else:
            yield Text("“{name}” was not made for reranking: its figures may mean nothing.", name=name)
    if wanted is None and model.kind in (Kind.EMBEDDING, Kind.RERANKER):
        yield Text("“{name}” answers with numbers, not with text.", name=name)
    if case.id == "tools" and not model.facts.template_has_tools:
        yield Text("The template of “{name}” does not speak of tools: calls may come as plain text.", name=name)
    if case.id == "embedding" and model.kind is Kind.EMBEDDING and model.facts.pooling is None:
        yield Text("The file does not say how the tokens become one vector (--pooling): its maker does.")
