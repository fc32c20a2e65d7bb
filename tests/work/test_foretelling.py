"""What a preview foretells: --fit's doings, the speed ceiling, and the RAM's speed that is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from fitmodels import LLAMA_KEYS, llama_tensors, make_model

from paddock.fit import Budget, estimate
from paddock.fit.prediction import FitAction
from paddock.gguf import ModelFile
from paddock.launch import parse_argv
from paddock.paths import DataPaths
from paddock.units import GIB, MIB
from paddock.work import foretelling


@pytest.fixture
def model() -> ModelFile:
    return make_model("llama", LLAMA_KEYS, llama_tensors(8, 1024, 2048, 8, 2, 128, 4096))


@pytest.fixture
def paths(tmp_path: Path) -> DataPaths:
    return DataPaths.at(tmp_path)


def test_what_fit_will_change_is_among_the_notes(model: ModelFile) -> None:
    plan, budgets = parse_argv(["-c", "4096"]), [Budget("RPC0", "rpc", GIB + 64 * MIB, GIB + 64 * MIB)]
    found = estimate(model, plan, budgets, host_total=8 * GIB, host_free=8 * GIB)
    prediction = foretelling.predicted(model, plan, budgets, host_total=8 * GIB)
    assert prediction.action is FitAction.PLACEMENT
    assert foretelling.noted(found, prediction).notes == (*found.notes, prediction.text)


def test_a_plan_that_fits_gets_no_note(model: ModelFile) -> None:
    plan, budgets = parse_argv(["-c", "4096"]), [Budget("RPC0", "rpc", 8 * GIB, 8 * GIB)]
    found = estimate(model, plan, budgets, host_total=8 * GIB, host_free=8 * GIB)
    assert foretelling.noted(found, foretelling.predicted(model, plan, budgets)) is found


def test_a_prediction_is_asked_anew_when_the_free_memory_is_another(model: ModelFile) -> None:
    plan = parse_argv(["-c", "4096"])
    small = foretelling.predicted(model, plan, [Budget("RPC0", "rpc", 8 * GIB, GIB)])
    large = foretelling.predicted(model, plan, [Budget("RPC0", "rpc", 8 * GIB, 8 * GIB)])
    assert small.action is not large.action
    assert foretelling.predicted(model, plan, [Budget("RPC0", "rpc", 8 * GIB, GIB)]) is small


def test_the_ceiling_waits_for_the_ram_s_speed_and_falls_with_depth(
        model: ModelFile, paths: DataPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = parse_argv(["-c", "32768"])
    found = estimate(model, plan, [], host_total=8 * GIB, host_free=8 * GIB)
    before, _ = foretelling.ceilings(paths, model, plan, [], found)
    assert before is not None
    assert before.low is None
    monkeypatch.setattr(foretelling, "measure_ram_speed", lambda: 20e9)
    foretelling.ram_speed(paths, measure=True)
    empty, full = foretelling.ceilings(paths, model, plan, [], found)
    assert empty is not None
    assert full is not None
    assert empty.low is not None
    assert full.low is not None
    assert full.low < empty.low
    assert "t/s" in str(foretelling.ceiling_text(empty, full))


def test_the_ram_s_speed_is_measured_once(paths: DataPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = iter([20e9, 30e9])
    monkeypatch.setattr(foretelling, "measure_ram_speed", lambda: next(figures))
    assert foretelling.ram_speed(paths, measure=False) is None
    assert foretelling.ram_speed(paths, measure=True) == 20e9
    assert foretelling.ram_speed(paths, measure=True) == 20e9


@pytest.mark.parametrize("kept", ["", "{}", '{"bytes_per_s": -1}', '{"bytes_per_s": "fast"}', "[1]"])
def test_a_damaged_figure_is_measured_again(paths: DataPaths, monkeypatch: pytest.MonkeyPatch, kept: str) -> None:
    paths.cache.mkdir(parents=True, exist_ok=True)
    (paths.cache / "ram-speed.json").write_text(kept)
    monkeypatch.setattr(foretelling, "measure_ram_speed", lambda: 20e9)
    assert foretelling.ram_speed(paths, measure=True) == 20e9
