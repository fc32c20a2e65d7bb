"""Every use case's settings start the real engine."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import tinymodel

from paddock.engine import Engine
from paddock.launch import Plan
from paddock.launch.use_cases import USE_CASES, UseCase
from paddock.server import State
from paddock.work import Run, Workspace
from paddock.work.suggesting import suggestion


class Waiter:
    """Hears when the server is ready or gone."""

    def __init__(self) -> None:
        self.done = threading.Event()

    def on_state(self, _run: Run, state: State, _exit: object) -> None:
        if state in (State.READY, State.FAILED, State.CRASHED, State.STOPPED):
            self.done.set()

    def on_diagnosis(self, _run: Run, _diagnosis: object) -> None:
        return


@pytest.mark.parametrize("case", USE_CASES, ids=lambda case: case.id)
def test_a_use_case_s_settings_start_the_engine(case: UseCase, engine: Engine, port: int, tmp_path: Path) -> None:
    model = tinymodel.write(tmp_path / "tiny.gguf", context=2048)
    workspace = Workspace(tmp_path / "data", str(engine.path))
    try:
        plan = Plan().with_("model", str(model)).with_("threads", 1).with_("port", port)
        found = suggestion(workspace, case, plan)
        assert found.made
        heard = Waiter()
        run = workspace.launch(found.plan(), listener=heard)
        assert heard.done.wait(60)
        assert run.state is State.READY
    finally:
        workspace.close()
