"""The values of use cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from paddock.engine.model import Engine
from paddock.gguf.model import Facts, ModelFile
from paddock.launch.model import Plan
from paddock.text import Text


@dataclass(frozen=True)
class Situation:
    """What a rule looks at; None where it is not known."""

    plan: Plan
    model: ModelFile | None
    engine: Engine | None

    @property
    def facts(self) -> Facts:
        """Of the model; all unknown where there is none."""
        return self.model.facts if self.model is not None else Facts()

    def context(self, wanted: int) -> int:
        """So many tokens, or all that the model was trained for when that is less."""
        trained = self.facts.trained_context
        return min(wanted, trained) if trained else wanted


@dataclass(frozen=True)
class Wish:
    """One setting and why. `values` None takes the option out; a switch has no values and is `on` or not."""

    option: str
    values: tuple[str, ...] | None
    reason: Text
    on: bool = True

    def apply(self, plan: Plan) -> Plan:
        """The plan with it."""
        return plan.without(self.option) if self.values is None else plan.with_(self.option, *self.values, on=self.on)


Rule = Callable[[Situation], Iterator[Wish]]


@dataclass(frozen=True)
class UseCase:
    """A kind of use, by its id on the command line."""

    id: str
    title: Text
    purpose: Text
    """One sentence: what it is for, and at what it aims."""
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class Skipped:
    """A wish that is not set here, and why not: to follow the option's name, no capital, no full stop."""

    wish: Wish
    reason: Text


@dataclass(frozen=True)
class Suggestion:
    """What a use case comes to in one situation."""

    use_case: UseCase
    base: Plan
    made: tuple[Wish, ...]
    """What would change."""
    same: tuple[Wish, ...]
    """What is so already."""
    skipped: tuple[Skipped, ...]
    notes: tuple[Text, ...] = ()
    """What a person should know of this model for this use."""

    def plan(self, options: Collection[str] | None = None) -> Plan:
        """The plan with all that would change, or with these options alone."""
        out = self.base
        for wish in self.made:
            if options is None or wish.option in options:
                out = wish.apply(out)
        return out
