"""Several launches at the same moment on one data folder, by windows and commands."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import tinymodel
from test_launch_surroundings import Heard, workspace  # noqa: F401

from paddock.launch import Plan
from paddock.store.locking import locked
from paddock.work import Run, Workspace

COUNT = 3


def test_each_process_finds_a_port_of_its_own(tmp_path: Path, workspace: Workspace) -> None:  # noqa: F811
    model = tinymodel.write(tmp_path / "m.gguf")
    command = [sys.executable, "-m", "paddock", "--data-dir", str(tmp_path / "data"), "--json", "--engine",
               str(workspace.chosen_engine), "launch", "--for", "4", str(model)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(COUNT)]
    outputs = [[json.loads(line) for line in one.communicate(timeout=60)[0].splitlines()] for one in started]
    assert [one.returncode for one in started] == [0] * COUNT, [events[-1] for events in outputs]
    assert len({e["url"] for events in outputs for e in events if e["event"] == "command"}) == COUNT
    rows = workspace.sessions()
    assert [r.state for r in rows] == ["stopped"] * COUNT
    assert workspace.leftovers() == []
    workspace.close()


def test_each_thread_of_one_window_does_too(tmp_path: Path, workspace: Workspace) -> None:  # noqa: F811
    plan = Plan(engine=workspace.chosen_engine).with_("model", str(tinymodel.write(tmp_path / "m.gguf")))
    runs: list[Run] = []
    threads = [threading.Thread(target=lambda: runs.append(workspace.launch(plan, listener=Heard(), anyway=True)))
               for _ in range(COUNT)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len({run.url for run in runs}) == COUNT
        for run in runs:
            while run.state.value not in ("ready", "failed"):
                assert not run.join(0.05)
        assert [run.state.value for run in runs] == ["ready"] * COUNT
        first, *others = runs
        first.stop()
        assert first.join(20)
        assert [run.state.value for run in others] == ["ready"] * (COUNT - 1)
    finally:
        workspace.close()


def test_a_launch_that_is_slow_to_listen_holds_nobody_up_for_long(
    tmp_path: Path, workspace: Workspace, monkeypatch  # noqa: F811
) -> None:
    from paddock.work import starting

    monkeypatch.setattr(starting, "_TURN_S", 0.1)
    plan = Plan(engine=workspace.chosen_engine).with_("model", str(tinymodel.write(tmp_path / "m.gguf")))
    try:
        with locked(workspace.paths.runtime / "launching"):
            run = workspace.launch(plan, listener=Heard(), anyway=True)
            while run.state.value != "ready":
                assert not run.join(0.05)
    finally:
        workspace.close()
