"""All detectors, the gravest first: of several findings the first is shown first."""

from __future__ import annotations

from collections.abc import Callable

from paddock.session.detectors import clocks, host, placement, serving, speed
from paddock.session.detectors.model import Finding, View

Detector = Callable[[View], Finding | None]
DETECTORS: tuple[Detector, ...] = (
    serving.silent, placement.on_the_cpu, placement.fewer_on_a_device, placement.cache_off_device, placement.spilling,
    host.paging, clocks.clocks_dropped, host.threads_fighting, speed.below_own_past, speed.decaying,
    clocks.card_underused, serving.queue_growing, serving.context_nearly_full, serving.drafts_do_not_pay,
    serving.slow_client, serving.bursty)


def findings_of(view: View) -> list[Finding]:
    """Everything that is wrong at this moment."""
    return [found for detector in DETECTORS if (found := detector(view)) is not None]
