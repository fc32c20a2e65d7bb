"""A server of an earlier Paddock, taken over as a session of ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hearing import Heard
from waiting import waited

from paddock.paths import DataPaths
from paddock.server import ServerSpec
from paddock.server import record as records
from paddock.server.client import Client
from paddock.work import Workspace
from paddock.work.conditions import free_port

FAKE = Path(__file__).parents[1] / "support" / "fakeserver.py"
GONE = 2**22 + 7
"""No process has this pid."""


@pytest.fixture
def left(tmp_path: Path) -> Iterator[ServerSpec]:
    """A server that has answered three requests and whose Paddock is gone."""
    port, log = free_port(), tmp_path / "server.log"
    argv = (sys.executable, str(FAKE), "serve", "-m", "small.gguf", "-np", "2", "--port", str(port), "--no-slots")
    spec = ServerSpec(argv=argv, env={}, port=port, log_path=log, keep_serving=True, label="small",
                      record_path=DataPaths.at(tmp_path / "data").runtime / "one.json")
    with log.open("ab") as file, subprocess.Popen(argv, stdout=file, stderr=file) as child:
        client = Client.of(spec)
        assert waited(lambda: client.health().ok, 20)
        for _ in range(3):
            client.completion("one two", n_predict=2)
        client.close()
        made = records.new(spec, child.pid)
        assert made is not None
        replace(made, owner_pid=GONE, owner_birth="gone").save()
        yield spec
        child.kill()


def test_what_it_answered_before_is_not_of_this_session_and_its_own_flags_are_followed(
    tmp_path: Path, left: ServerSpec
) -> None:
    workspace = Workspace(tmp_path / "data")
    heard = Heard()
    try:
        (leftover,) = workspace.leftovers()
        run = workspace.adopt(leftover, heard)
        assert heard.ready.wait(20)
        while run.recorder.busy or run.recorder.snapshot().t < 2.0:  # the log of before has been read by then
            assert not run.join(0.05)
        with Client.of(left) as client:
            assert client.completion("one two three", n_predict=5).ok
        while not (seen := run.recorder.snapshot()).requests or seen.active_requests:
            assert not run.join(0.05)
        assert [(r.generated_tokens, r.status) for r in seen.requests] == [(5, "done")]
        assert (run.preview.plan.get("parallel"), run.preview.plan.get("model")) == ("2", "small.gguf")
        assert not any("slots" in e.text.lower() for e in seen.events if e.kind == "issue"), "it has --no-slots"
    finally:
        workspace.close()
