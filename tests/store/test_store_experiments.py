from __future__ import annotations

import math

import pytest

from paddock.errors import AppError
from paddock.store import Database
from paddock.store.experiments import Experiments, RunRow


def test_an_experiment_comes_back_with_its_runs(database: Database) -> None:
    experiments = Experiments(database)
    number = experiments.start("sweep", "batch sizes", model_identity="id", plan={"option": "ubatch-size"})
    experiments.run(number, 1, {"ubatch-size": "256"}, None, "failed", 1.0)
    experiments.run(number, 2, {"ubatch-size": "512"}, {"tg": 20.5, "low": math.nan}, "done", 2.0)
    experiments.run(number, 1, {"ubatch-size": "256"}, {"tg": 18.0}, "done", 3.0)
    experiments.finish(number, "done", {"best": 2})
    row, runs = experiments.experiment(number)
    assert (row.kind, row.name, row.state, row.runs, row.summary) == ("sweep", "batch sizes", "done", 2, {"best": 2})
    assert row.end is not None
    assert runs == [RunRow(1, 3.0, {"ubatch-size": "256"}, {"tg": 18.0}, "done"),
                    RunRow(2, 2.0, {"ubatch-size": "512"}, {"tg": 20.5, "low": None}, "done")]


def test_experiments_are_listed_newest_first_and_by_kind(database: Database) -> None:
    experiments = Experiments(database)
    for kind in ("sweep", "load", "sweep"):
        experiments.start(kind)
    assert [e.id for e in experiments.rows()] == [3, 2, 1]
    assert [e.id for e in experiments.rows("sweep", limit=1)] == [3]
    experiments.delete(3)
    with pytest.raises(AppError, match="no experiment"):
        experiments.experiment(3)


def test_an_experiment_whose_paddock_is_gone_is_interrupted(database: Database) -> None:
    experiments = Experiments(database)
    mine, gone = experiments.start("sweep"), experiments.start("sweep")
    database.write(lambda c: c.execute("UPDATE experiment SET owner_started = 1.0 WHERE id = ?", (gone,)))
    database.mark_interrupted()
    assert {e.id: e.state for e in experiments.rows()} == {mine: "running", gone: "interrupted"}
