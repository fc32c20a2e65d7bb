"""A real server of embeddings: its texts, and how full its batches were, as Run shows them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import tinymodel
from hearing import Heard
from real_engine import post

from paddock.desktop.pages.sessions.detail import setup_of
from paddock.launch import Plan
from paddock.work import Workspace


@pytest.mark.parametrize(("option", "path", "body"), [
    ("embedding", "/v1/embeddings", {"input": ["one two three four " * 5, "second text", "third"]}),
    ("rerank", "/v1/rerank", {"query": "what", "documents": ["one two", "three", "four five six"]}),
])
def test_each_text_counts_and_the_batch_is_as_full_as_its_tokens(
    tmp_path: Path, option: str, path: str, body: dict[str, object]
) -> None:
    workspace = Workspace(tmp_path / "data")
    if workspace.engine() is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    model = tinymodel.write(tmp_path / "m.gguf")
    plan = Plan().with_("model", str(model)).with_("threads", 1).with_("ctx-size", 1024).with_("ubatch-size", 256)
    plan = plan.with_(option).with_("pooling", "mean" if option == "embedding" else "rank")
    heard = Heard()
    try:
        run = workspace.launch(plan, listener=heard, anyway=True)
        assert run.answers_texts
        assert heard.ready.wait(60)
        while len(run.recorder.series) < 1:
            assert not run.join(0.05)
        used = 0
        if option == "embedding":
            used = post(run.url + path, body)["usage"]["prompt_tokens"]
        else:
            post(run.url + path, body)
        until = time.monotonic() + 30
        series = run.recorder.series
        while not (filled := [float(v) for v in series.view("batch_fill")[1] if v == v and v > 0]):
            assert not run.join(0.05)
            assert time.monotonic() < until
        snapshot = run.recorder.snapshot()
        assert snapshot.request_count == 3
        assert {r.status for r in snapshot.requests} == {"done"}
        if used:
            assert sum(r.prompt_tokens or 0 for r in snapshot.requests) == used
            assert filled[0] == pytest.approx(used / 256, rel=0.01)
        assert max(float(v) for v in series.view("requests_per_s")[1] if v == v) > 0
        session_id = run.session_id
        run.stop()
        assert run.join(20)
        workspace.database.flush()
        stored = workspace.database.series(session_id)
        assert max(v for v in stored.view("requests_per_s")[1] if v == v) > 0
        assert setup_of(workspace.session(session_id), stored).answers_texts
    finally:
        workspace.close()
