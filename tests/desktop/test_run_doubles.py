"""What the window reads of a run is there on every kind of run, the doubles of these tests included."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import desk_double
import fakedesk
import pytest

import paddock.desktop
from paddock.work import Run
from paddock.work.watching import Watched

ROOMS = Path(paddock.desktop.__file__).parent
OWN_ACTS = {"ask", "open_proxy", "close_proxy", "load_model", "unload_model"}
"""What only a server of ours can be asked to do; the window asks `read_only` before."""


def _is_run(node: ast.expr) -> bool:
    """`run`, `self._run`, `desk.run`: so runs are called all over the window."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in ("run", "_run")


def _read() -> dict[str, str]:
    """Attribute -> a place that reads it."""
    found: dict[str, str] = {}
    for file in sorted(ROOMS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and _is_run(node.value):
                found.setdefault(node.attr, f"{file.name}:{node.lineno}")
            elif (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                    and node.func.id in ("getattr", "hasattr") and _is_run(node.args[0])
                    and isinstance(node.args[1], ast.Constant)):
                found.setdefault(str(node.args[1].value), f"{file.name}:{node.lineno}")
    return found


def _members(kind: type) -> set[str]:
    """What the class defines, and what its methods set on self."""
    tree = ast.parse(inspect.getsource(kind))
    stored = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
              and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self"}
    return stored | set(dir(kind)) | set(getattr(kind, "__dataclass_fields__", ()))


@pytest.mark.parametrize("kind", [Run, Watched, fakedesk.FakeRun, desk_double.RunDouble], ids=lambda k: k.__name__)
def test_everything_that_the_window_reads_of_a_run_is_there(kind: type) -> None:
    read = _read()
    assert {"state", "recorder", "preview", "url"} <= set(read)
    left_out = OWN_ACTS if kind is Watched else set()
    assert {name: place for name, place in read.items() if name not in _members(kind) | left_out} == {}


def test_a_watched_server_has_no_act_of_our_own() -> None:
    assert Watched.read_only
    assert not OWN_ACTS & _members(Watched)
