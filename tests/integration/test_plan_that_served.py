"""Which plan comes back when a model is opened again."""

from __future__ import annotations

from pathlib import Path

from waiting import waited

from paddock.engine import Engine
from paddock.launch import Plan
from paddock.server import State
from paddock.work import Run, Workspace

_ENDS = (State.FAILED, State.CRASHED, State.STOPPED)


def wait_until(run: Run, *states: State) -> State:
    waited(lambda: run.state in states)
    return run.state


def test_the_plan_that_served_comes_back_and_one_that_failed_does_not(engine: Engine, sample_model: Path, port: int,
                                                                     tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, str(engine.path))
    try:
        plan = Plan().with_("model", str(sample_model)).with_("ctx-size", 1024).with_("port", port)
        bad = workspace.launch(plan.with_("--no-such-flag"), anyway=True)
        assert wait_until(bad, *_ENDS) is State.FAILED
        assert workspace.plan_for(sample_model).find("--no-such-flag") is None
        good = workspace.launch(plan)
        assert wait_until(good, State.READY, *_ENDS) is State.READY
        good.stop()
        wait_until(good, *_ENDS)
        assert workspace.plan_for(sample_model).get("ctx-size") == "1024"
    finally:
        workspace.close()
