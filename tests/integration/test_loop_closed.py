"""The engine asked, the estimate recorded beside what was used, and corrected by it: real engine, two RPC devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from real_engine import Launched, paddock

from paddock.engine import Engine
from paddock.errors import AppError
from paddock.launch.parsing import parse_argv
from paddock.store import SessionStart
from paddock.store.ledger import LedgerRow, write
from paddock.work import Workspace, engine_fit, ledger

MIB = 1 << 20


def nothing_left() -> bool:
    return not [p for p in psutil.Process().children(recursive=True)
                if p.name() in ("llama", "llama-server") and p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("levers", ["-c 4096", "-c 8192 -ngl 9 -ctk q8_0", "-c 4096 -dev none"])
def test_the_engine_and_paddock_reckon_the_same(levers: str, engine: Engine, two_devices: str, sample_model: Path,
                                                tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    plan = parse_argv(["--rpc", two_devices, "-m", str(sample_model), *levers.split()])
    asked = workspace.ask_engine(plan)
    workspace.close()
    assert asked.mode == "server"
    assert asked.agrees, asked.as_dict()["rows"]
    assert asked.changes == ()
    assert asked.plan == plan
    assert nothing_left()
    assert not (tmp_path / "data" / "paddock.db").exists()


def test_a_build_that_prints_nothing_is_asked_through_fit_params(engine: Engine, two_devices: str, sample_model: Path,
                                                                 tmp_path: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_fit, "measured", lambda lines, has_draft: ({}, True))
    workspace = Workspace(tmp_path)
    asked = workspace.ask_engine(parse_argv(["--rpc", two_devices, "-m", str(sample_model), "-c", "4096"]))
    workspace.close()
    assert asked.mode == "fit-params"
    assert "not what the server will use" in str(asked.note)
    assert [row.name for row in asked.rows] == ["RPC0", "RPC1", "Host"]
    assert asked.agrees, asked.as_dict()["rows"]


def test_what_the_engine_would_fit_can_be_taken(engine: Engine, two_devices: str, sample_model: Path,
                                                tmp_path: Path) -> None:
    shown = paddock("--data-dir", tmp_path, "fit", sample_model, "--ask", "--", "--rpc", two_devices, "-fitt", 23900)
    changes = {c["option"]: c["after"] for c in shown["engine"]["changes"]}
    assert int(changes["ctx-size"]) < 32768
    assert shown["record"]["launches"] == 0
    workspace = Workspace(tmp_path)
    fitted = workspace.ask_engine(parse_argv(["-m", str(sample_model), "--rpc", two_devices, "-fitt", "23900"])).plan
    workspace.close()
    assert fitted.get("ctx-size") == changes["ctx-size"]


def test_a_refusal_is_diagnosed(engine: Engine, sample_model: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    with pytest.raises(AppError, match="Flash Attention") as caught:
        workspace.ask_engine(parse_argv(["-m", str(sample_model), "-c", "512", "-fa", "off", "-ctv", "q8_0"]))
    workspace.close()
    assert caught.value.hint is not None
    assert nothing_left()


def test_asking_can_be_cancelled(engine: Engine, sample_model: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    with pytest.raises(AppError, match="Cancelled"):
        workspace.ask_engine(parse_argv(["-m", str(sample_model)]), cancelled=lambda: True)
    workspace.close()
    assert nothing_left()


def test_a_launch_is_recorded_beside_its_estimate(engine: Engine, two_devices: str, sample_model: Path, tmp_path: Path,
                                                  port: int, launched: Callable[..., Launched]) -> None:
    """Mapped weights, repacked weights and the tied embedding included: nothing is to be corrected."""
    flags = ["--rpc", two_devices, "-t", 1, "-c", 2048, "-ngl", 9]
    run = launched("--data-dir", tmp_path, "--for", 0.2, sample_model, "--", *flags, "--port", port)
    assert run.end() == 0, "".join(run.errors)
    shown = paddock("--data-dir", tmp_path, "fit", sample_model, "--", *flags)
    assert shown["record"]["launches"] == 1
    assert abs(shown["record"]["high_pct"]) < 0.5, shown["record"]
    assert not [n for n in shown["notes"] if "corrected" in n]


def test_what_fit_changed_is_told_and_not_taken_for_a_wrong_estimate(
        engine: Engine, two_devices: str, sample_model: Path, tmp_path: Path, port: int,
        launched: Callable[..., Launched]) -> None:
    run = launched("--data-dir", tmp_path, "--for", 0.2, sample_model, "--", "--rpc", two_devices, "-t", 1, "-fitt",
                   23900, "--port", port)
    told = run.wait_for(lambda e: e.get("event") == "fit")
    assert told["context"][0] > told["context"][1] == told["final_context"]
    assert sum(told["layers"].values()) <= 19
    assert run.end() == 0, "".join(run.errors)
    kept = paddock("--data-dir", tmp_path, "sessions", "show", run.events[-1]["session"])
    assert [e["data"]["context"] for e in kept["events"] if e["kind"] == "fit"] == [told["context"]]
    shown = paddock("--data-dir", tmp_path, "fit", sample_model, "--", "--rpc", two_devices)
    assert shown["record"]["launches"] == 0


def test_a_wrong_estimate_corrects_the_next_one_in_words_until_it_is_forgotten(
        engine: Engine, sample_model: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    plan = parse_argv(["-m", str(sample_model), "-c", "2048"])
    preview = workspace.preview(plan)
    assert preview.estimate is not None
    before = preview.estimate.devices[-1].compute
    key = ledger.key_of(preview.model, engine)
    assert key is not None
    session = workspace.database.start_session(SessionStart(command=("llama",)))
    write(workspace.database, session, key, "host", [
        LedgerRow("Host", "host", "main", "compute", before, before, before, before, before + 12 * MIB)])
    workspace.database.flush()
    again = workspace.preview(plan)
    assert again.estimate is not None
    assert again.estimate.devices[-1].compute == before + 12 * MIB
    assert str(again.estimate.notes[0]) == "Host: corrected by +12 MiB compute after the last launch."
    said = paddock("--data-dir", tmp_path, "fit", sample_model, "--", "-c", 2048)
    assert said["main"][-1]["compute"] == before + 12 * MIB
    plain = paddock("--data-dir", tmp_path, "fit", sample_model, "--no-corrections", "--", "-c", 2048)
    assert plain["main"][-1]["compute"] == before
    assert workspace.record_for(again).launches == 1
    assert workspace.forget_corrections(preview.model, engine) == 1
    assert workspace.estimate(plan).devices[-1].compute == before
    workspace.close()

