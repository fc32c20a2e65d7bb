"""What the figures of a diagnosis say, on invented rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from paddock.bench import Before, Conclusion, Measured, conclusions_of, figures_of, headline_of
from paddock.bench.model import FAILED, INVALID, OK

MIB = 1 << 20
QUIET = Before(3.0, {"CUDA0": 0.0}, 0.2, 8, 20e9, {"CUDA0": 0.0}, 900e6, {"CUDA0": 5e9})


def rows(count: int = 10, speeds: Sequence[float] | None = None, first_s: float = 0.4,
         ram: Sequence[float] | None = None, throttle: tuple[str, ...] = ()) -> list[Measured]:
    return [Measured(i + 1, OK, "", 512, 0, 32, 1500.0, speeds[i] if speeds else 50.0, first_s if i == 0 else 0.4, 1.1,
                     ram[i] if ram else 950e6, {"CUDA0": 5.1e9}, throttle) for i in range(count)]


def said(measured: list[Measured], before: Before = QUIET, ceiling: float | None = None,
         usual: float | None = None) -> dict[str, Conclusion]:
    return {c.id: c for c in conclusions_of(before, measured, figures_of(before, measured), ceiling, usual)}


def severities(found: dict[str, Conclusion]) -> set[str]:
    return {c.severity for c in found.values()}


def test_a_healthy_server_is_told_so() -> None:
    found = said(rows(), ceiling=80.0, usual=51.0)
    assert set(found) == {"quiet", "first", "steady", "memory", "ceiling", "past"}
    assert severities(found) == {"ok"}
    assert str(headline_of(list(found.values()))) == "Nothing unusual was found."


def test_the_first_request_is_no_part_of_the_others() -> None:
    figures = figures_of(QUIET, rows(speeds=[5.0] + [50.0] * 9, first_s=4.0))
    assert (figures.first_generation_per_s, figures.rest_generation_per_s) == (5.0, 50.0)
    assert (figures.first_ttft_s, figures.rest_ttft_s) == (4.0, 0.4)
    assert figures.generation_spread == 0.0


def test_a_slow_first_request_is_explained_and_no_fault() -> None:
    first = said(rows(first_s=4.0))["first"]
    assert (first.severity, first.fix is not None) == ("hint", True)
    assert "4.00 s" in str(first.text)
    assert "0.40 s" in str(first.text)


def test_a_request_without_tokens_is_never_the_fastest() -> None:
    bogus = Measured(5, INVALID, "it made no tokens", 512, 0, 0, 2e6, 2e6, 0.0, 0.0)
    measured = [bogus if r.number == 5 else r for r in rows()]
    figures = figures_of(QUIET, measured)
    assert (figures.valid, figures.rest_generation_per_s, figures.generation_spread) == (9, 50.0, 0.0)
    found = said(measured)["invalid"]
    assert (found.severity, "1 of 10" in str(found.text), "no tokens" in str(found.text)) == ("warning", True, True)


def test_where_nothing_answered_that_alone_is_said() -> None:
    found = said([Measured(i, FAILED, "Nobody listens at this address.") for i in (1, 2)])
    assert set(found) == {"invalid", "quiet"}
    assert found["invalid"].severity == "error"


@pytest.mark.parametrize(("before", "part"), [
    (replace(QUIET, cpu_pct=73.0), "73 %"), (replace(QUIET, gpu_pct={"CUDA1": 44.0}), "CUDA1 was 44 %"),
    (replace(QUIET, load_1min=20.0), "20.0 programs wanted 8 cores"),
    (replace(QUIET, busy_requests=2), "2 other requests")])
def test_a_busy_machine_is_flagged(before: Before, part: str) -> None:
    busy = said(rows(), before)["busy"]
    assert busy.severity == "warning"
    assert part in str(busy.text)


def test_what_is_not_told_is_not_busy() -> None:
    assert "quiet" in said(rows(), Before())


def test_uneven_speed_and_a_drift_stand_out() -> None:
    falling = said(rows(speeds=[60, 60, 59, 57, 54, 50, 46, 42, 40, 39]))
    assert falling["drift"].severity == "warning"
    assert falling["steady"].severity == "warning"
    assert str(headline_of(list(falling.values()))) == "2 things stand out."
    assert "drift" not in said(rows(speeds=[39, 40, 42, 46, 50, 54, 57, 59, 60, 60])), "getting faster is none"


def test_memory_that_grows_with_every_request_stands_out_but_the_first_step_does_not() -> None:
    growing = said(rows(ram=[1e9 + i * 30 * MIB for i in range(10)]))["memory"]
    assert (growing.severity, "270 MiB" in str(growing.text)) == ("warning", True)
    once = said(rows(ram=[1.5e9] * 10))["memory"]
    assert (once.severity, "+572 MiB with the first request" in str(once.text)) == ("ok", True)


def test_memory_that_was_not_told_every_time_makes_no_steps() -> None:
    measured = [replace(r, ram_bytes=None, device_bytes={}) if r.number == 4 else r for r in rows()]
    assert figures_of(QUIET, measured).memory_steps == {}
    assert "memory" not in said(measured)


def test_clocks_held_down_in_most_requests_stand_out() -> None:
    assert said(rows(throttle=("CUDA0: sw_thermal_slowdown",)))["throttled"].severity == "warning"
    assert "throttled" not in said(rows())


def test_far_under_the_ceiling_or_the_past() -> None:
    found = said(rows(), ceiling=400.0, usual=120.0)
    assert (found["ceiling"].severity, found["past"].severity) == ("hint", "warning")


def test_memory_that_another_program_took_meanwhile_stands_out() -> None:
    figures = figures_of(QUIET, rows())
    found = {c.id: c for c in conclusions_of(QUIET, rows(), figures, others_after={"CUDA0": 3e9, "CUDA1": 9e9})}
    assert (found["others"].severity, "CUDA0 +2.79 GiB" in str(found["others"].text)) == ("warning", True)
    assert "others" not in {c.id for c in conclusions_of(QUIET, rows(), figures, others_after={"CUDA0": 1e6})}


def test_a_server_that_ended_meanwhile_is_the_first_thing_said() -> None:
    measured = [*rows(3), Measured(4, FAILED, "The answer broke off."), Measured(5, FAILED, "Nobody listens.")]
    found = conclusions_of(QUIET, measured, figures_of(QUIET, measured), ended="killed by signal 9")
    assert (found[0].id, found[0].severity, "signal 9" in str(found[0].text)) == ("ended", "error", True)
    assert found[1].id == "invalid"
