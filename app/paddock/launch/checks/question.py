"""What a check looks at, and short ways to say what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from paddock.engine.model import Engine, EngineDevice
from paddock.gguf.model import ModelFile
from paddock.hardware.model import Machine
from paddock.launch.command_line import is_option_variable
from paddock.launch.effective import Effective, Resolved, effective
from paddock.launch.model import Conditions, Issue, Plan, Severity
from paddock.text import Text

Edits = tuple[tuple[str, tuple[str, ...] | None], ...]
Check = Callable[["Question"], Iterator[Issue]]

ON = frozenset(("on", "enabled", "true", "1"))
OFF = frozenset(("off", "disabled", "false", "0"))
AUTO = frozenset(("auto", "-1"))


@dataclass(frozen=True)
class Question:
    """A plan with all that is known around it; None where it is not known, and checks that need it stay silent."""

    plan: Plan
    model: ModelFile | None
    engine: Engine | None
    machine: Machine | None
    conditions: Conditions

    @cached_property
    def environment(self) -> dict[str, str]:
        """What the child will have: inherited option variables are removed by default."""
        kept = self.conditions.keeps_environment
        inherited = {name: value for name, value in self.conditions.environment.items()
                     if kept or not is_option_variable(name)}
        return {**inherited, **dict(self.plan.environment)}

    @cached_property
    def resolved(self) -> Resolved:
        return Resolved(self.plan, self.environment, self.conditions.config_ini)

    @cached_property
    def effective(self) -> Effective:
        return effective(self.plan, self.environment, self.conditions.config_ini)

    def text(self, name: str) -> str | None:
        return self.resolved.text(name)

    def number(self, name: str) -> int | None:
        return self.resolved.number(name)

    def on(self, name: str) -> bool:
        return self.resolved.on(name)

    @property
    def flash_attention_off(self) -> bool:
        return (self.text("flash-attn") or "auto") in OFF

    @cached_property
    def devices(self) -> tuple[EngineDevice, ...] | None:
        """The engine's devices that the plan leaves in use; None where they are not known (or are remote ones)."""
        if self.engine is None or self.engine.devices_error is not None or self.engine.error is not None:
            return None
        if self.text("rpc"):
            return None
        usable = tuple(d for d in self.engine.devices if d.kind != "blas")
        wanted = self.text("device")
        if not wanted:
            return usable
        names = [part.strip() for part in wanted.split(",")]
        return tuple(d for d in usable if d.name in names)


def error(id: str, option: str | None, text: Text, fix: Text | None = None, edits: Edits = ()) -> Issue:
    """llama.cpp refuses it, or serves something else than was asked."""
    return Issue(id, Severity.ERROR, option, text, fix, edits)


def warning(id: str, option: str | None, text: Text, fix: Text | None = None, edits: Edits = ()) -> Issue:
    """It runs, but slower, smaller or riskier."""
    return Issue(id, Severity.WARNING, option, text, fix, edits)


def hint(id: str, option: str | None, text: Text, fix: Text | None = None, edits: Edits = ()) -> Issue:
    """It could be better."""
    return Issue(id, Severity.HINT, option, text, fix, edits)
