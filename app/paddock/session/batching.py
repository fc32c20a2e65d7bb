"""What an embedding or reranking server is measured by: texts answered in a second, and how full its batches are."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from paddock.session.model import Sample

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Mask = npt.NDArray[np.bool_]

WINDOW_S = 5.0
"""Answers are counted over so long: they come in bursts."""
_NAN = math.nan


class BatchRates:
    """Columns beside those of a sample: `requests_per_s`, and `batch_fill` (0…1, NaN while nothing was decoded).

    Fill: prompt tokens of a decode over the micro-batch (--ubatch-size), which such a server fills in one go; from
    /metrics, d(prompt_tokens_total) / d(n_decode_total) / n_ubatch. `micro_batch`: tokens, as the plan has it; what the
    log says goes before it.
    """

    def __init__(self, micro_batch: int) -> None:
        self.micro_batch = micro_batch
        self._ended: deque[tuple[float, int]] = deque()
        self._last: Mapping[str, float] | None = None

    def feed(self, sample: Sample, ended: int, micro_batch: int | None) -> dict[str, float]:
        """`ended`: how many answers there were so far."""
        self.micro_batch = micro_batch or self.micro_batch
        return {"requests_per_s": self._rate(sample, ended), "batch_fill": self._fill(sample.counters)}

    def _rate(self, sample: Sample, ended: int) -> float:
        points = self._ended
        if points and ended < points[-1][1]:
            points.clear()
        points.append((sample.t, ended))
        while len(points) > 2 and points[1][0] <= sample.t - WINDOW_S:
            points.popleft()
        span = sample.t - points[0][0]
        return (ended - points[0][1]) / span if sample.answered and span > 0 else _NAN

    def _fill(self, counters: Mapping[str, float] | None) -> float:
        if counters is None:
            return _NAN
        last, self._last = self._last, counters
        if last is None:
            return _NAN
        tokens = counters.get("prompt_tokens_total", _NAN) - last.get("prompt_tokens_total", _NAN)
        steps = counters.get("n_decode_total", _NAN) - last.get("n_decode_total", _NAN)
        return tokens / steps / self.micro_batch if steps > 0 and tokens >= 0 and self.micro_batch > 0 else _NAN


def texts_per_s(t: Floats, ended: Floats, answered: Mask) -> Floats:
    """The column `requests_per_s` of a session that is over: answers a second over the last `WINDOW_S`, at times `t`.

    t: [samples], seconds, rising; ended: [texts], when each was answered; answered: [samples], whether the server
    answered the poll.
    """
    import numpy as np

    ends = np.sort(ended)
    since = np.maximum(t - WINDOW_S, t[0]) if len(t) else t
    span = t - since
    count = np.searchsorted(ends, t, "right") - np.searchsorted(ends, since, "right")
    return np.where(answered & (span > 0), count / np.where(span > 0, span, 1.0), np.nan)
