"""What a launch takes from llama.cpp's own files, and what it says after the computer was suspended."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import psutil
import pytest
import tinymodel
from hearing import Heard

from paddock.launch import Plan
from paddock.server import State
from paddock.work import Run, Workspace

FAKE = Path(__file__).parents[1] / "support" / "fakeserver.py"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a script stands for the engine")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    engine = tmp_path / "llama-server"
    engine.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@" --api-key hush\n')
    engine.chmod(0o755)
    return Workspace(tmp_path / "data", str(engine))


def launched(workspace: Workspace, tmp_path: Path) -> Run:
    plan = Plan(engine=workspace.chosen_engine).with_("model", str(tinymodel.write(tmp_path / "m.gguf")))
    return workspace.launch(plan, listener=Heard(), anyway=True)


def test_the_key_in_llama_cpps_own_config_file_is_polled_with(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "xdg-config" / "llama.cpp"
    folder.mkdir(parents=True)
    (folder / "config.ini").write_text("api-key = hush, other\n")
    try:
        run = launched(workspace, tmp_path)
        while len(run.recorder.series) < 2:
            assert not run.join(0.05)
        snapshot = run.recorder.snapshot()
        assert snapshot.sample is not None
        assert snapshot.sample.answered
        assert [e.data["id"] for e in snapshot.events if e.kind == "issue" and "id" in e.data] == []
    finally:
        workspace.close()


def test_a_crash_soon_after_a_suspend_says_so(tmp_path: Path, workspace: Workspace) -> None:
    try:
        run = launched(workspace, tmp_path)
        while run.state is not State.READY:
            assert not run.join(0.05)
        assert run.after_suspend is None
        run.recorder.event("state", "the computer was suspended", suspended_s=3600.0)
        assert run.after_suspend is None, "it serves on"
        assert run.pid is not None
        psutil.Process(run.pid).send_signal(signal.SIGSEGV)
        assert run.join(20)
        assert run.state is State.CRASHED
        assert run.after_suspend is not None
        workspace.database.flush()
        (row,) = workspace.sessions()
        assert "suspended shortly before" in (row.reason or "")
    finally:
        workspace.close()
