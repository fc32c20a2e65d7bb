"""A server that is watched for real and gets into trouble: found, kept with the session, shown in its report."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.work import Workspace
from paddock.work.conditions import free_port

FAKE = Path(__file__).parents[1] / "support" / "fakeserver.py"


@pytest.fixture
def tight() -> Iterator[str]:
    """A fake server with a context of 100 tokens, ready; ten tokens a second."""
    port = free_port()
    command = [sys.executable, str(FAKE), "serve", "--port", str(port), "-c", "100", "-np", "1", "--token-seconds",
               "0.1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "listening" in line:
                break
        reader = threading.Thread(target=child.stderr.read)
        reader.start()
        yield f"http://127.0.0.1:{port}"
        child.kill()
        reader.join(10)


def test_a_slot_that_fills_up_is_found_told_and_kept(tight: str, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    try:
        watched = workspace.watch(tight, record=True)
        body = json.dumps({"prompt": "word " * 95, "n_predict": 120}).encode()
        asking = threading.Thread(target=lambda: urllib.request.urlopen(f"{tight}/completion", body, 60).read())
        asking.start()
        until = time.monotonic() + 40
        while not watched.findings and time.monotonic() < until and asking.is_alive():
            asking.join(0.1)
        found = watched.findings
        watched.close()
        asking.join(60)
        assert [f.id for f in found] == ["context_full"]
        assert watched.session_id is not None
        workspace.database.flush()
        events = workspace.session(watched.session_id).events
        (event,) = [e for e in events if e.data.get("id") == "degraded.context_full"]
        assert event.kind == "issue"
        assert "of 100 tokens" in event.data["proof"]
        assert event.data["fix"] in workspace.report([watched.session_id]).replace("&#39;", "'")
    finally:
        workspace.close()
