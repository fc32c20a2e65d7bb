"""A session whose database cannot be written: the server runs on, it is said, and its end waits for nobody."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import tinymodel
from hearing import Heard, wait

from paddock.launch import Plan
from paddock.store import schema
from paddock.work import Workspace


def test_the_end_of_a_session_that_cannot_be_written_is_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_S", 0.05)
    workspace = Workspace(tmp_path / "data")
    if workspace.engine() is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    plan = Plan().with_("model", str(tinymodel.write(tmp_path / "m.gguf"))).with_("threads", 1).with_("ctx-size", 512)
    heard = Heard()
    other = sqlite3.connect(workspace.database.path, isolation_level=None)
    try:
        run = workspace.launch(plan.with_("port", 0), listener=heard, anyway=True)
        assert heard.ready.wait(60)
        other.execute("BEGIN IMMEDIATE")
        wait(run, lambda: any(e.data.get("id") == "database.unwritten" for e in run.recorder.snapshot().events), 30)
        run.stop()
        assert run.join(20)
        assert run.state.value == "stopped"
        other.execute("COMMIT")
        workspace.database.flush()
        kinds = [e.kind for e in run.recorder.snapshot().events if e.data.get("id") == "database.unwritten"]
        assert kinds == ["issue", "recovered"]
        assert workspace.session(run.session_id).row.state == "stopped"
    finally:
        other.close()
        workspace.close()
