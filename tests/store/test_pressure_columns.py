"""What the host is short of comes back with the session."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.hardware.model import DeviceReading, Reading
from paddock.hardware.pressure import HostPressure
from paddock.session.columns import sample_columns
from paddock.session.model import Sample
from paddock.store import Database, SessionStart
from paddock.store.schema import migrations, statements

NAN = math.nan
PRESSURE = HostPressure((5.0, 9.0), 1.5, 7.0, 2e6, 1e6, 12.0, 4096.0, 0.75)
CARD = DeviceReading("CUDA0", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, (), 12.0, 4.0, 16.0)


def sample(t: float, pressure: HostPressure | None = PRESSURE) -> Sample:
    reading = Reading(t, 20.0, 1e9, 2e9, 0.0, 50.0, 5e8, (CARD,), pressure)
    return Sample(t, 10.0, NAN, 5.0, 1.0, 0.0, NAN, (), reading, True)


def test_pressure_borrowed_memory_and_link_come_back_as_they_were(tmp_path: Path) -> None:
    with Database(tmp_path / "paddock.db") as database:
        session = database.start_session(SessionStart(("llama",)))
        for t in (1.0, 2.0):
            database.sample(session, sample(t))
        database.flush()
        series = database.series(session)
        live = sample_columns(sample(1.0))
        for name in (*(n for n, v in vars(PRESSURE).items() if isinstance(v, float)), "CUDA0.shared_used_bytes",
                     "CUDA0.pcie_generation", "CUDA0.pcie_width"):
            assert series.last(name) == pytest.approx(live[name]), name


def test_a_reading_without_it_leaves_gaps(tmp_path: Path) -> None:
    with Database(tmp_path / "paddock.db") as database:
        session = database.start_session(SessionStart(("llama",)))
        database.sample(session, sample(1.0, None))
        database.sample(session, sample(2.0, replace(PRESSURE, steal_pct=NAN)))
        database.flush()
        series = database.series(session)
        assert math.isnan(series.last("steal_pct"))
        assert series.last("model_cached") == 0.75
        assert math.isnan(float(series.view("model_cached")[1][0]))


def test_sessions_of_before_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "paddock.db"
    with closing(sqlite3.connect(path)) as old:
        for number, script in migrations():
            if number < 5:
                for statement in statements(script):
                    old.execute(statement)
                old.execute(f"PRAGMA user_version = {number}")
        old.execute("INSERT INTO session (start_utc, state, command, environment) "
                    "VALUES ('2026', 'stopped', '[]', '{}')")
        old.execute("INSERT INTO system_sample (session_id, t, answered, sleeping, cpu_pct) "
                    "VALUES (1, 1.0, 1, 0, 42.0)")
        old.commit()
    with Database(path) as database:
        series = database.series(1)
        assert series.last("cpu_pct") == 42.0
        assert math.isnan(series.last("run_queue"))


def test_a_close_look_that_is_kept_refines_the_cards_and_leaves_the_rest_as_it_was(tmp_path: Path) -> None:
    def read(t: float, load: float) -> Reading:
        return Reading(1000.0 + t, 20.0, 1e9, 2e9, 0.0, 50.0, 5e8, (replace(CARD, utilisation_pct=load),))

    with Database(tmp_path / "paddock.db") as database:
        session, other = (database.start_session(SessionStart(("llama",))) for _ in range(2))
        for t in (1.0, 2.0, 9.0):
            for one in (session, other):
                database.sample(one, replace(sample(t), generation_per_s=10.0 * t))
        database.device_readings(session, 1000.0, [read(1.25, 80.0), read(1.5, 90.0), read(7.0, 70.0)])
        series, plain = database.series(session), database.series(other)
    t, load = series.view("CUDA0.utilisation_pct")
    assert t.tolist() == [1.0, 1.25, 1.5, 2.0, 7.0, 9.0]
    assert load.tolist() == [4.0, 80.0, 90.0, 4.0, 70.0, 4.0]
    speeds = series.view("generation_per_s")[1].tolist()
    assert speeds[:4] == [10.0, 10.0, 10.0, 20.0], "what the server said holds until it is asked again"
    assert math.isnan(speeds[4])
    assert series.view("model_cached")[1].tolist()[:4] == [0.75] * 4
    assert plain.view("generation_per_s")[0].tolist() == [1.0, 2.0, 9.0]
