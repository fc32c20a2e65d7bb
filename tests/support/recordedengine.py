"""Build 11434 as its recorded help tells it: an engine that nobody has to ask."""

from __future__ import annotations

from pathlib import Path

from paddock.engine import Engine, parse_help
from paddock.errors import AppError

HELP = Path(__file__).parent.parent / "data" / "engine" / "llama-11434-serve-help.txt"


def recorded_engine() -> Engine:
    """Without a GPU."""
    options, verified = parse_help(HELP.read_text(encoding="utf-8"))
    return Engine("llama.cpp 11434", Path("/opt/llama"), ("/opt/llama",), "test", options=options,
                  flags_verified=verified)


class Choosing:
    """Stands in for `Workspace.engine`: only this engine is there."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __call__(self, selector: str | None = None) -> Engine:
        if selector and selector not in self.engine.name:
            raise AppError("none of that name")
        return self.engine
