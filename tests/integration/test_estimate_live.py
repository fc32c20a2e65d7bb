"""The estimate against a running server: two RPC devices, the real model, fifteen sets of levers, to the 0.01 MiB."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from paddock.engine import Engine
from paddock.launch.parsing import parse_argv
from paddock.work import Workspace

MIB = 1 << 20
LEVERS = {
    "both devices": "-c 4096",
    "one device": "-c 4096 -dev RPC0",
    "one slot": "-c 4096 -np 1",
    "two slots apart": "-c 4096 -np 2 --no-kv-unified",
    "a partial offload": "-c 4096 -ngl 10",
    "an uneven split": "-c 8192 -ts 3,1",
    "a quantised cache": "-c 8192 -ctk q8_0 -ctv q8_0",
    "no flash attention": "-c 2048 -fa off",
    "the cache on the host": "-c 4096 -nkvo",
    "a small micro-batch": "-c 4096 -ub 128",
    "the whole window": "-c 4096 --swa-full -dev RPC1",
    "embeddings": "-c 2048 --embeddings -dev RPC0",
    "weights moved by a pattern": "-c 4096 -ot blk\\.[0-3]\\.ffn=CPU",
    "the processor alone": "-c 4096 -dev none",
    "an open context, two slots apart": "-np 2 --no-kv-unified -ub 128",
}


@pytest.mark.parametrize("name", LEVERS)
def test_what_was_predicted_is_what_the_server_allocates(name: str, engine: Engine, two_devices: str,
                                                         sample_model: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    flags = ["--rpc", two_devices, "-m", str(sample_model), "-t", "1", "-nr", "-lm", "none", "--no-warmup"]
    plan = parse_argv([*flags, *LEVERS[name].split()])
    try:
        run = workspace.launch(plan, anyway=True)
        until = time.monotonic() + 60
        while run.actual is None and not run.join(0.05):
            assert time.monotonic() < until
        estimate = run.preview.estimate
        assert run.actual, run.exit
        assert estimate is not None
        assert [d.name for d in estimate.devices] == ["RPC0", "RPC1", "Host"]
        actual = {row["name"]: row for row in run.actual["main"]}
    finally:
        workspace.close()
    off = []
    for device in estimate.devices:
        row = actual.get(device.name, {})
        for term in ("model", "context", "compute"):
            predicted, allocated = getattr(device, term), row.get(term, 0)
            if abs(predicted - allocated) > 0.0101 * MIB:
                off.append(f"{device.name} {term}: {predicted / MIB:.3f} predicted, {allocated / MIB:.2f} allocated")
    assert not off, off
