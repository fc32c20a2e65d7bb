"""The estimate against what was measured, over the last launches."""

from __future__ import annotations

from desk_double import WorkspaceDouble

from paddock.desktop.history import Record, record_of
from paddock.desktop.state import Desk
from paddock.work import ledger

MIB = 1 << 20


def row(shown: int, actual: int) -> list[ledger.LedgerRow]:
    return [ledger.LedgerRow("CUDA0", "cuda", "main", "model", shown, shown, shown, shown, actual)]


def test_it_says_what_the_launches_of_this_plan_used(planned: Desk, workspace: WorkspaceDouble) -> None:
    kept = ledger.record([row(100 * MIB, 102 * MIB), row(100 * MIB, 99 * MIB)])
    workspace.record_for = lambda preview: kept  # type: ignore[method-assign]
    assert planned.preview is not None
    found = record_of(workspace, planned.preview)  # type: ignore[arg-type]
    assert (found.launches, found.low, found.high) == (2, -0.01, 0.02)
    assert found.sentence() == "Last 2 launches: −1.0 % to +2.0 % memory against the estimate."


def test_a_first_launch_is_said_to_be_unchecked() -> None:
    assert "unchecked" in Record("a").sentence()
    assert Record("a", 1, 0.006, 0.006).sentence() == "Last launch: +0.6 % memory against the estimate."
    assert Record("a", 3, -0.0001, 0.0002).sentence() == "Last 3 launches: memory as estimated."


def test_a_launch_of_this_model_is_told_of_in_the_dock(qtbot, planned: Desk, workspace: WorkspaceDouble) -> None:
    assert planned.record == Record(planned.preview.model.identity)
    workspace.record_for = lambda preview: ledger.record([row(MIB, MIB)])  # type: ignore[method-assign]
    with qtbot.waitSignal(planned.recordChanged):
        planned.judge.ask_record()
    assert planned.record.launches == 1
