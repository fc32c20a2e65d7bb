"""What a launch teaches the next estimate, and what it must not teach."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.fit.model import Budget, DeviceEstimate, Estimate, Known, Term, Verdict
from paddock.store.ledger import LedgerKey, LedgerRow
from paddock.text import Text
from paddock.work import ledger
from paddock.work.ledger import Ledger, backends_of, buffer_rows, corrected, overhead_rows, record

MIB = 1 << 20
GIB = 1 << 30


def device(name: str = "Vulkan0", kind: str = "vulkan", compute: int = 100 * MIB,
           free: int = 8 * GIB) -> DeviceEstimate:
    terms = (Term("weights", 4 * GIB, Known.SOURCE, 4 * GIB, 4 * GIB), Term("kv", GIB, Known.SOURCE, GIB, GIB),
             Term("compute", compute, Known.SOURCE, compute * 9 // 10, compute * 11 // 10))
    return DeviceEstimate(name, 4 * GIB, GIB, compute, terms=terms, budget=Budget(name, kind, 8 * GIB, free),
                          margin=GIB, verdict=Verdict.FITS)


def host() -> DeviceEstimate:
    terms = (Term("weights", 0, Known.CHECKED, 0, 0), Term("compute", 20 * MIB, Known.CHECKED, 20 * MIB, 20 * MIB))
    return DeviceEstimate("Host", 0, 0, 20 * MIB, terms=terms, budget=Budget("Host", "host", 32 * GIB, 30 * GIB),
                          margin=GIB, verdict=Verdict.FITS)


def estimate(**more: int) -> Estimate:
    return Estimate((device(**more), host()), Verdict.FITS, Text("fits"))


def actual(compute: int, name: str = "Vulkan0") -> dict[str, object]:
    return {"main": [{"name": name, "model": 4 * GIB, "context": GIB, "compute": compute},
                     {"name": "Host", "model": 0, "context": 0, "compute": 20 * MIB}]}


def test_within_the_band_nothing_is_corrected() -> None:
    before = estimate()
    assert corrected(before, [buffer_rows(before, actual(109 * MIB))]) is before
    assert corrected(before, [buffer_rows(before, actual(91 * MIB))]) is before
    assert corrected(before, []) is before


def test_beyond_the_band_the_next_estimate_says_what_it_changed() -> None:
    before = estimate()
    after = corrected(before, [buffer_rows(before, actual(150 * MIB))])
    found = after.device("Vulkan0")
    assert found is not None
    assert (found.model, found.context, found.compute) == (4 * GIB, GIB, 150 * MIB)
    term = next(t for t in found.terms if t.id == "compute")
    assert (term.bytes, term.known, term.low, term.high) == (150 * MIB, Known.MEASURED, 140 * MIB, 160 * MIB)
    assert str(after.notes[0]) == "Vulkan0: corrected by +50 MiB compute after the last launch."
    assert after.device("Host") is before.device("Host")
    assert after.known is Known.MEASURED


def test_another_plan_is_corrected_in_proportion_and_downwards_too() -> None:
    rows = buffer_rows(estimate(), actual(50 * MIB))
    after = corrected(estimate(compute=300 * MIB), [rows])
    assert after.devices[0].compute == 150 * MIB
    assert "−150 MiB" in str(after.notes[0])


def test_a_correction_is_not_corrected_again() -> None:
    before = estimate()
    first = buffer_rows(before, actual(150 * MIB))
    shown = corrected(before, [first])
    second = buffer_rows(shown, actual(150 * MIB))
    compute = next(r for r in second if r.term == "compute" and r.device == "Vulkan0")
    assert (compute.estimated, compute.shown, compute.actual) == (100 * MIB, 150 * MIB, 150 * MIB)
    assert corrected(before, [second, first]).devices[0].compute == 150 * MIB


def test_a_later_launch_that_was_right_ends_the_correction() -> None:
    before = estimate()
    wrong, right = buffer_rows(before, actual(150 * MIB)), buffer_rows(before, actual(100 * MIB))
    assert corrected(before, [right, wrong]) is before


def test_what_is_forgotten_corrects_nothing() -> None:
    before = estimate()
    rows = [replace(r, forgotten=True) for r in buffer_rows(before, actual(150 * MIB))]
    assert corrected(before, [rows]) is before


def test_another_backend_of_the_same_name_is_not_corrected() -> None:
    rows = buffer_rows(estimate(), actual(150 * MIB))
    other = estimate(kind="cuda")  # type: ignore[arg-type]
    assert corrected(other, [rows]) is other


def test_the_verdict_follows_the_corrected_figures() -> None:
    before = estimate(free=4 * GIB + GIB + 120 * MIB + GIB)
    rows = buffer_rows(before, actual(150 * MIB))
    tight = corrected(before, [rows])
    assert tight.verdict is tight.devices[0].verdict is Verdict.TIGHT
    assert "under the margin" in str(tight.reason)
    over = corrected(estimate(free=5 * GIB + 120 * MIB), [rows])
    assert over.verdict is Verdict.WONT_FIT
    assert "0.03 GiB short" in str(over.reason)


def test_figures_of_devices_that_were_not_estimated_teach_nothing() -> None:
    assert buffer_rows(estimate(), actual(150 * MIB, "CUDA0")) == []
    assert buffer_rows(estimate(), {}) == []


def test_what_the_driver_counts_beyond_the_log_is_overhead() -> None:
    before = estimate()
    told = actual(100 * MIB) | {"measured": {"Vulkan0": {"process_bytes": float(5 * GIB + 400 * MIB)},
                                             "Host": {"process_bytes": 1e9}}}
    (row,) = overhead_rows(before, told)
    assert (row.device, row.term, row.estimated, row.actual) == ("Vulkan0", "overhead", 0, 300 * MIB)
    after = corrected(before, [[row]])
    assert after.devices[0].overhead == 300 * MIB
    assert after.devices[0].total == before.devices[0].total + 300 * MIB
    assert "+300 MiB overhead" in str(after.notes[0])


def test_a_draft_is_corrected_apart_from_the_target() -> None:
    before = Estimate((replace(device(), draft=(GIB, 0, 10 * MIB)), host()), Verdict.FITS, Text("fits"), has_draft=True)
    told = actual(100 * MIB) | {"draft": [{"name": "Vulkan0", "model": GIB, "context": 0, "compute": 40 * MIB}]}
    after = corrected(before, [buffer_rows(before, told)])
    assert after.devices[0].draft == (GIB, 0, 40 * MIB)
    assert after.devices[0].compute == 100 * MIB
    assert "draft compute" in str(after.notes[0])


@pytest.mark.parametrize(("took", "text"), [
    ([], "never launched here"),
    ([1010], "Last launch of this model: +1.0 %"),
    ([996, 1011, 1000], "Last 3 launches of this model: −0.4 … +1.1 %"),
    ([1000, 1000], "Last 2 launches of this model: 0.0 %"),
])
def test_the_record_in_words(took: list[int], text: str) -> None:
    launches = [[LedgerRow("A", "cuda", "main", "model", 1000, 1000, 1000, 1000, t),
                 LedgerRow("A", "cuda", "main", "overhead", 5, 0, 9, 5, 900)] for t in took]
    found = record(launches)
    assert (found.launches, str(found.text)) == (len(took), text)


def test_the_backends_are_those_that_hold_something() -> None:
    assert backends_of(estimate()) == "vulkan"
    empty = DeviceEstimate("RPC0", 0, 0, 0, budget=Budget("RPC0", "rpc", GIB, GIB))
    assert backends_of(Estimate((empty, host()), Verdict.FITS, Text(""))) == "host"


def test_what_was_read_is_kept_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    monkeypatch.setattr(ledger.stored, "read", lambda *a: reads.append(a) or [])
    path = tmp_path / "paddock.db"
    path.write_bytes(b"1")
    book, key = Ledger(path), LedgerKey("m", "e", "v")
    for _ in range(3):
        book.launches(key)
    assert len(reads) == 1
    path.write_bytes(b"22")
    book.launches(key)
    assert len(reads) == 2
