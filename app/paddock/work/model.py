"""What the faces get back."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.engine.model import Engine
from paddock.errors import AppError
from paddock.fit.ceiling import Ceiling
from paddock.fit.model import Estimate
from paddock.fit.prediction import FitPrediction
from paddock.gguf.model import ModelFile
from paddock.hardware.model import Machine
from paddock.launch.model import Command, Issue, Plan, Severity


@dataclass(frozen=True)
class Preview:
    """Everything that is known of a plan before it is launched. Recomputed on every edit, off no file but caches.

    `model_error`: why the model file could not be read. `command` is None without an engine.
    """

    plan: Plan
    engine: Engine | None
    machine: Machine
    model: ModelFile | None
    model_error: AppError | None
    draft: ModelFile | None
    projector: ModelFile | None
    estimate: Estimate | None
    issues: tuple[Issue, ...]
    command: Command | None
    fit_prediction: FitPrediction | None = None
    """What llama.cpp's --fit will do with this plan."""
    ceiling: Ceiling | None = None
    ceiling_full: Ceiling | None = None
    """The speed that memory allows, with an empty context and with a slot's full one."""

    @property
    def errors(self) -> tuple[Issue, ...]:
        return tuple(i for i in self.issues if i.severity is Severity.ERROR)
