"""Graphics that take the host's memory: each row may fit alone, and both together not."""

from __future__ import annotations

import pytest

from paddock.fit.judging import rejudged
from paddock.fit.model import Budget, DeviceEstimate, Estimate, Verdict
from paddock.fit.verdicts import _uncounted
from paddock.text import Text

GIB = 1 << 30


def judged(device: int, host: int, *, shares: bool = True, free: int = 120, margin: int = 1, mapped: bool = False,
           host_free: int | None = 120) -> Estimate:
    rows = (DeviceEstimate("CUDA0", device * GIB, 0, 0, margin=margin * GIB,
                           budget=Budget("CUDA0", "cuda", 128 * GIB, free * GIB, True, shares_host=shares)),
            DeviceEstimate("Host", host * GIB, 0, 0, mapped=mapped,
                           budget=Budget("Host", "host", 128 * GIB, host_free and host_free * GIB)))
    return rejudged(Estimate(rows, Verdict.CANT_TELL, Text("")))


@pytest.mark.parametrize(("device", "host", "verdict"), [
    (70, 40, Verdict.FITS), (70, 60, Verdict.WONT_FIT), (119, 1, Verdict.TIGHT), (70, 50, Verdict.TIGHT),
    (121, 0, Verdict.WONT_FIT)])
def test_one_memory_is_spent_once(device: int, host: int, verdict: Verdict) -> None:
    assert judged(device, host).verdict is verdict


def test_the_reason_names_the_one_memory_and_both_needs() -> None:
    assert str(judged(70, 60).reason) == (
        "CUDA0 and the processor share one memory: together they need 130.00 of 120.00 GiB free.")


def test_two_memories_are_two() -> None:
    assert judged(70, 60, shares=False).verdict is Verdict.FITS


def test_mapped_weights_of_the_host_can_be_given_back() -> None:
    assert judged(70, 60, mapped=True).verdict is Verdict.TIGHT


def test_a_host_that_is_not_known_adds_no_verdict() -> None:
    assert judged(70, 60, host_free=None).device("CUDA0") is not None
    assert "share one memory" not in str(judged(70, 60, host_free=None).reason)


def test_free_memory_that_nobody_counts_is_said_in_the_notes() -> None:
    rows = [DeviceEstimate(name, GIB, 0, 0, budget=Budget(name, "sycl", 16 * GIB, 16 * GIB, free_assumed=assumed))
            for name, assumed in (("SYCL0", True), ("CUDA0", False))]
    notes = [str(note) for note in _uncounted(rows)]
    assert len(notes) == 1
    assert "SYCL0" in notes[0]
