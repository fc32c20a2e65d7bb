"""A real router as one session: its models listed, loaded, asked, unloaded, and gone with it."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
import tinymodel
from hearing import Heard, wait

from paddock.errors import AppError
from paddock.launch import Plan
from paddock.server import LogLine, State
from paddock.server.router import RouterModel
from paddock.work import Workspace
from paddock.work.child_failures import why_failed


def test_why_a_model_could_not_be_loaded_is_told_and_the_router_serves_on(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    if workspace.engine() is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    (tmp_path / "models").mkdir()
    whole = tinymodel.write(tmp_path / "models" / "whole.gguf")
    (tmp_path / "models" / "cut.gguf").write_bytes(whole.read_bytes()[:3000])
    heard = Heard()
    try:
        run = workspace.launch(Plan().with_("models-dir", str(tmp_path / "models")).with_("threads", 1), listener=heard)
        assert heard.ready.wait(60)
        wait(run, lambda: run.models)
        run.load_model("cut")
        wait(run, lambda: run.model_failures)
        (found,) = run.model_failures
        assert (found.id, found.fatal, found.edits) == ("file-truncated", False, ())
        assert "“cut”" in str(found.cause)
        assert found in run.diagnoses
        assert run.state is State.READY
        assert [m.failed for m in run.models if m.id == "cut"] == [True]
    finally:
        workspace.close()


@pytest.mark.parametrize(("lines", "says"), [
    ([], "could not be loaded."), (["[41] 0.01.000.000 E srv load_model: failed to load model"], "could not be loaded"),
    (["[41] 0.00.100.000 E gguf_init_from_file: failed to open GGUF file 'x' (No such file or directory)",
      "0.02.000.000 I srv the router's own line"], "loaded: ")])
def test_a_failure_without_a_telling_line_is_still_said(lines: list[str], says: str) -> None:
    found = why_failed("m", [LogLine(0.0, text, "E", n) for n, text in enumerate(lines)], 1)
    assert says in str(found.cause)
    assert not found.fatal


def test_a_router_is_one_session_with_the_figures_of_its_models(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    if workspace.engine() is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    (tmp_path / "models").mkdir()
    for name, seed in (("a", 1), ("b", 2)):
        tinymodel.write(tmp_path / "models" / f"{name}.gguf", seed=seed)
    plan = Plan().with_("models-dir", str(tmp_path / "models")).with_("threads", 1).with_("ctx-size", 512)
    heard = Heard()

    def states() -> dict[str, str]:
        return {m.id: m.state for m in run.models}

    try:
        run = workspace.launch(plan, listener=heard)
        assert run.is_router
        assert run.label == "models"
        assert heard.ready.wait(60)
        wait(run, lambda: states() == {"a": "unloaded", "b": "unloaded"})
        with pytest.raises(AppError, match="did not take"):
            run.load_model("nothing like it")
        for name in ("a", "b"):
            run.load_model(name)
        wait(run, lambda: states() == {"a": "loaded", "b": "loaded"})
        pids = {p.pid for p in psutil.Process(run.pid).children(recursive=True)}
        assert run.ask("hello", max_tokens=12).generated_tokens == 12
        wait(run, lambda: run.recorder.snapshot().requests and not run.recorder.busy)
        (request,) = run.recorder.snapshot().requests
        assert (request.generated_tokens, request.status) == (12, "done")
        sample = run.recorder.snapshot().sample
        assert sample is not None
        assert len({slot.id for slot in sample.slots}) == len(sample.slots) > 1
        run.unload_model("a")
        wait(run, lambda: states() == {"a": "unloaded", "b": "loaded"})
        assert [e.text for e in run.recorder.snapshot().events if e.kind == "model"][-1] == "a: unloaded"
        run.stop()
        assert run.join(20)
        assert not any(psutil.pid_exists(pid) for pid in pids)
    finally:
        workspace.close()
    again = Workspace(tmp_path / "data")
    (row,) = again.sessions()
    assert (row.state, row.model, row.requests, row.generated_tokens) == ("stopped", "models", 1, 12)
    again.close()


def test_a_preset_file_gives_the_models_their_own_settings(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    if workspace.engine() is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    model = tinymodel.write(tmp_path / "m.gguf")
    presets = tmp_path / "presets.ini"
    presets.write_text(f"version = 1\n\n[*]\nthreads = 1\n\n[short]\nmodel = {model}\nctx-size = 256\n\n"
                       f"[long]\nmodel = {model}\nctx-size = 512\n")

    def found(name: str) -> RouterModel | None:
        return next((m for m in run.models if m.id == name), None)

    def is_loaded(name: str) -> bool:
        model = found(name)
        return model is not None and model.state == "loaded" and model.context is not None

    heard = Heard()
    try:
        run = workspace.launch(Plan().with_("models-preset", str(presets)), listener=heard)
        assert run.is_router
        assert run.label == "presets.ini"
        assert heard.ready.wait(60)
        wait(run, lambda: found("short") and found("long"))
        for name, context in (("short", 256), ("long", 512)):
            run.load_model(name)
            wait(run, lambda name=name: is_loaded(name))
            loaded = found(name)
            assert loaded is not None
            assert loaded.context == context
    finally:
        workspace.close()
