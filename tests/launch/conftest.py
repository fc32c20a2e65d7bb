"""Engines as their recorded help tells them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest

from paddock.engine import Engine, EngineDevice, EngineOption, parse_help

GIB = 1 << 30
RECORDED = Path(__file__).parent.parent / "data" / "engine"


@cache
def _recorded(name: str) -> tuple[EngineOption, ...]:
    options, verified = parse_help((RECORDED / name).read_text(encoding="utf-8"))
    assert verified
    return options


@pytest.fixture(scope="session")
def make_engine() -> Callable[..., Engine]:
    """Makes an engine of the given options (default: all of build 11434) and devices."""

    def make(options: Iterable[EngineOption] | None = None, devices: tuple[str, ...] = (), **more: object) -> Engine:
        found = tuple(EngineDevice(name, name, 24 * GIB, 23 * GIB) for name in devices)
        values: dict[str, object] = {
            "name": "test", "path": Path("/opt/llama/llama-server"), "serve": ("/opt/llama/llama-server",),
            "source": "test", "devices": found, "flags_verified": True,
            "options": _recorded("llama-11434-serve-help.txt") if options is None else tuple(options), **more}
        return Engine(**values)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def engine(make_engine: Callable[..., Engine]) -> Engine:
    """Build 11434 without a GPU."""
    return make_engine()


@pytest.fixture(scope="session")
def older_engine(make_engine: Callable[..., Engine]) -> Engine:
    """Build 10434."""
    return make_engine(_recorded("llama-server-10434-help.txt"))


@pytest.fixture(scope="session")
def ancient_engine(make_engine: Callable[..., Engine]) -> Engine:
    """A help text of the kind that builds of years ago print."""
    return make_engine(_recorded("handwritten-older-help.txt"))
