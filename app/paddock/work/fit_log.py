"""What --fit did in a launch, as the engine's log tells it at -lv 4."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from paddock.text import Text
from paddock.units import count_text

_REDUCED = re.compile(r"context size reduced from (\d+) to (\d+)")
_LAYERS = re.compile(r"fit\w*: +- (\S+) \(.*\): +(\d+) layers(?: \( *\d+ overflowing\))?, +(\d+) MiB used")
_FAILED = re.compile(r"(?:failed to fit params to free device memory|encountered an error while trying to fit params "
                     r"to free device memory): (.*)")
_CONTEXT = re.compile(r"llama_context: n_ctx +=\s+(\d+)")
_OFFLOADED = re.compile(r"load_tensors: offloaded (\d+)/(\d+) layers to GPU")


@dataclass(frozen=True)
class FitOutcome:
    """What it changed, and what runs now. `context`: (from, to) cells; `layers`: device → whole layers given to it."""

    context: tuple[int, int] | None = None
    layers: tuple[tuple[str, int], ...] = ()
    failed: str | None = None
    """Its own words why it could not make the plan fit; the plan then runs as it is."""
    final_context: int | None = None
    offloaded: tuple[int, int] | None = None

    @property
    def changed(self) -> bool:
        """Whether what runs is not what was asked."""
        return self.context is not None or bool(self.layers)

    @property
    def text(self) -> Text:
        """In a sentence."""
        if self.failed is not None:
            return Text("--fit could not make it fit ({why}): the plan runs as it was given.", why=self.failed)
        placed = ", ".join(f"{name} {count}" for name, count in self.layers)
        if self.context is not None and placed:
            return Text("--fit changed the plan: context {before} → {after}, layers {placed}.",
                        before=count_text(self.context[0]), after=count_text(self.context[1]), placed=placed)
        if self.context is not None:
            return Text("--fit changed the plan: context {before} → {after}.", before=count_text(self.context[0]),
                        after=count_text(self.context[1]))
        return Text("--fit changed the plan: layers {placed}.", placed=placed)

    def as_dict(self) -> dict[str, Any]:
        """For JSON and the record."""
        return {"context": list(self.context) if self.context else None, "layers": dict(self.layers),
                "failed": self.failed, "final_context": self.final_context,
                "offloaded": list(self.offloaded) if self.offloaded else None}


def read(lines: Iterable[str]) -> FitOutcome | None:
    """The outcome from one start's lines; None where --fit changed nothing, or the log does not say."""
    context: tuple[int, int] | None = None
    layers: dict[str, int] = {}
    failed: str | None = None
    final: int | None = None
    offloaded: tuple[int, int] | None = None
    for line in lines:
        if "fit" in line:
            if found := _REDUCED.search(line):
                context = int(found[1]), int(found[2])
            elif found := _LAYERS.search(line):
                layers[found[1]] = int(found[2])
            elif found := _FAILED.search(line):
                failed = found[1].strip()
        elif final is None and (found := _CONTEXT.search(line)):
            final = int(found[1])
        elif offloaded is None and (found := _OFFLOADED.search(line)):
            offloaded = int(found[1]), int(found[2])
    if context is None and not layers and failed is None:
        return None
    return FitOutcome(context, tuple(layers.items()), failed, final, offloaded)
