"""Control vectors in the estimate against what the real engine asks of an RPC server, to the byte."""

from __future__ import annotations

import re
import time
from pathlib import Path

import ggufmake
import pytest
from rpc_servers import rpc_servers

from paddock.engine import Engine
from paddock.launch.parsing import parse_argv
from paddock.server import State
from paddock.work import Workspace

EMBEDDING = 640
"""Of the sample model, which has 18 layers."""


@pytest.mark.parametrize(("layers", "vectors"), [("99", 17), ("5", 4)])
def test_the_engine_allocates_what_was_counted(layers: str, vectors: int, engine: Engine, sample_model: Path,
                                               tmp_path: Path) -> None:
    steering = ggufmake.write(tmp_path / "steer.gguf", {"general.architecture": "controlvector"},
                              [ggufmake.Tensor(f"direction.{layer}", (EMBEDDING,)) for layer in (1, 2)])
    log = tmp_path / "rpc.log"
    workspace = Workspace(tmp_path / "data")
    with rpc_servers(engine, 1, log) as (address,):
        plan = parse_argv(["--rpc", address, "-m", str(sample_model), "-t", "1", "-c", "512", "-ngl", layers, "-nr",
                           "-lm", "none", "--no-warmup", "--control-vector", str(steering)])
        try:
            run = workspace.launch(plan)
            until = time.monotonic() + 60
            while run.state is not State.READY and not run.join(0.05):
                assert time.monotonic() < until
            assert run.state is State.READY, run.exit
            estimate = run.preview.estimate
        finally:
            workspace.close()
    assert estimate is not None
    counted = sum(t.bytes for t in estimate.devices[0].terms if "Control vectors" in str(t.note))
    allocated = [int(size) for size in re.findall(r"alloc_buffer.*?size: (\d+) ->", log.read_text(errors="replace"))]
    assert counted == vectors * EMBEDDING * 4
    assert counted in allocated
