"""Every use case's settings start the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest
import tinymodel
from hearing import Heard

from paddock.engine import Engine
from paddock.launch import Plan
from paddock.launch.use_cases import USE_CASES, UseCase
from paddock.server import State
from paddock.work import Workspace
from paddock.work.run import ENDED
from paddock.work.suggesting import suggestion


@pytest.mark.parametrize("case", USE_CASES, ids=lambda case: case.id)
def test_a_use_case_s_settings_start_the_engine(case: UseCase, engine: Engine, port: int, tmp_path: Path) -> None:
    model = tinymodel.write(tmp_path / "tiny.gguf", context=2048)
    workspace = Workspace(tmp_path / "data", str(engine.path))
    try:
        plan = Plan().with_("model", str(model)).with_("threads", 1).with_("port", port)
        found = suggestion(workspace, case, plan)
        assert found.made
        heard = Heard(State.READY, *ENDED)
        run = workspace.launch(found.plan(), listener=heard)
        assert heard.ready.wait(60)
        assert run.state is State.READY
    finally:
        workspace.close()
