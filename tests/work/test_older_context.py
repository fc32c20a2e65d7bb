"""Where no context is set, an older llama.cpp takes one of its own: the estimate reads the plan as the engine does."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.engine.model import Engine, EngineOption
from paddock.launch import Plan, parse_argv
from paddock.work.previewing import as_read


def engine(default: str | None) -> Engine:
    option = EngineOption(("-c", "--ctx-size"), (), "N", 1, (), default, None, "common", "", False)
    return Engine("llama.cpp", Path("/e"), ("/e",), "PATH", options=(option,), flags_verified=True)


@pytest.mark.parametrize(("default", "flags", "context"), [
    ("4096", "-np 1", "4096"), ("4096", "-c 0", "0"), ("4096", "-c 8192", "8192"), ("0", "-np 1", None),
    (None, "-np 1", None), ("model", "-np 1", None)])
def test_the_engine_s_own_default_counts_where_none_is_set(default: str | None, flags: str,
                                                           context: str | None) -> None:
    plan = parse_argv(flags.split())
    assert as_read(plan, engine(default)).get("ctx-size") == context


def test_without_an_engine_the_plan_is_as_it_is() -> None:
    assert as_read(Plan(), None) == Plan()
