"""How far a difference of medians is beyond chance."""

from __future__ import annotations

from collections.abc import Sequence

FEWEST = 5
"""Figures on either side that a judgement needs."""
_RESAMPLES = 2000


def interval(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float] | None:
    """(difference, low, high) of B's median against A's as a share of A's; 95 % by the percentile bootstrap.

    None with fewer than five figures on a side. The seed is fixed: the same figures give the same answer.
    """
    import numpy as np

    x, y = np.asarray(a, float), np.asarray(b, float)
    if min(len(x), len(y)) < FEWEST or not np.median(x) > 0:
        return None
    rng = np.random.default_rng(20)
    left = np.median(rng.choice(x, (_RESAMPLES, len(x))), axis=1)
    right = np.median(rng.choice(y, (_RESAMPLES, len(y))), axis=1)
    low, high = np.percentile(right / np.maximum(left, 1e-12) - 1, (2.5, 97.5))
    return float(np.median(y) / np.median(x) - 1), float(low), float(high)
