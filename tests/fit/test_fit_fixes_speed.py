"""A fix says what it costs in tokens per second, as far as memory tells."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paddock.fit import Budget, estimate, fixes
from paddock.fit.ceiling import bandwidths, ceiling
from paddock.fit.fixing import speed_change
from paddock.gguf import ModelFile
from paddock.launch import parse_argv

MIB, GIB, GB = 1 << 20, 1 << 30, 10**9
MakeModel = Callable[..., ModelFile]
CARD = Budget("CUDA0", "cuda", 4 * GIB, 1900 * MIB, description="NVIDIA GeForce RTX 3060")
PLAN = parse_argv(["-c", "65536"])


def test_the_effect_of_layers_on_the_cpu_is_told_in_percent(llama: MakeModel) -> None:
    model, speeds = llama(), bandwidths([CARD], 40 * GB)
    before = estimate(model, PLAN, [CARD], host_free=64 * GIB, host_total=64 * GIB)
    found = fixes(model, PLAN, [CARD], before, speeds=speeds, host_free=64 * GIB, host_total=64 * GIB)
    layers = [f for f in found if f.id == "gpu-layers"]
    assert layers
    for fix in layers:
        change = speed_change(model, PLAN, fix.plan, [CARD], speeds, 65536)
        assert change is not None
        assert change < -0.05
        assert str(fix.effect).endswith(f", −{-change * 100:.0f} % t/s")
    without = fixes(model, PLAN, [CARD], before, host_free=64 * GIB, host_total=64 * GIB)
    assert not any("t/s" in str(f.effect) for f in without)


def test_a_smaller_cache_is_faster_to_read(llama: MakeModel) -> None:
    model, speeds = llama(), bandwidths([CARD], None)
    small = PLAN.with_("cache-type-k", "q8_0").with_("cache-type-v", "q8_0")
    old, new = (ceiling(model, p, [CARD], speeds, 65536) for p in (PLAN, small))
    assert old is not None
    assert new is not None
    change = speed_change(model, PLAN, small, [CARD], speeds, 65536)
    assert change == pytest.approx((new.bound or 0) / (old.bound or 1) - 1)
    assert change is not None
    assert change > 0
    assert speed_change(model, PLAN, small, [CARD], speeds, 0) == 0


def test_nothing_is_said_where_a_bandwidth_is_not_known(llama: MakeModel) -> None:
    model, away = llama(), PLAN.with_("gpu-layers", 1)
    assert speed_change(model, PLAN, away, [CARD], bandwidths([CARD], None), 0) is None
    other = Budget("CUDA0", "cuda", 4 * GIB, 2 * GIB, description="NVIDIA something new")
    assert speed_change(model, PLAN, away, [other], bandwidths([other], 40 * GB), 0) is None
