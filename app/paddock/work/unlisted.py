"""An engine that could not list its devices: figures that count the processor alone are no verdict on its cards."""

from __future__ import annotations

from dataclasses import replace

from paddock.engine import Engine
from paddock.fit import Estimate
from paddock.fit.judging import rejudged
from paddock.launch import Plan
from paddock.text import Text


def doubted(found: Estimate, plan: Plan, engine: Engine | None) -> Estimate:
    """The estimate with this doubt, unless the plan keeps to the processor anyway or the engine did list them."""
    if engine is None or engine.devices_error is None or plan.get("device") == "none" or plan.get("gpu-layers") == "0":
        return found
    doubt = Text("This engine could not list its devices, so only the processor is counted: {why}",
                 why=engine.devices_error)
    return rejudged(replace(found, doubt=found.doubt or doubt))
