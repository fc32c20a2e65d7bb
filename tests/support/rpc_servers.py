"""Real RPC servers on this machine: started for a test, ended with it."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.engine import Engine
from paddock.work.conditions import free_port, reachable


@contextmanager
def rpc_servers(engine: Engine, count: int, log: Path | None = None) -> Iterator[list[str]]:
    """So many servers of one thread each; their addresses. Skips where this llama.cpp has none.

    `log`: they write there what they are asked for, each allocation included."""
    program = engine.tools.get("rpc-server")
    if program is None:
        pytest.skip("this llama.cpp has no ggml-rpc-server")
    ports = [free_port() for _ in range(count)]
    told = log.open("wb") if log else None
    env = {**os.environ, **({"GGML_RPC_DEBUG": "1"} if log else {})}
    servers = [subprocess.Popen([*program, "-H", "127.0.0.1", "-p", str(p), "-t", "1"], stdin=subprocess.DEVNULL,
                                stdout=told or subprocess.DEVNULL, stderr=told or subprocess.DEVNULL, env=env)
               for p in ports]
    try:
        until = time.monotonic() + 20
        while not all(reachable(f"127.0.0.1:{p}") for p in ports):
            assert time.monotonic() < until, "the RPC servers did not come up"
            threading.Event().wait(0.05)
        yield [f"127.0.0.1:{p}" for p in ports]
    finally:
        for server in servers:
            server.kill()
            server.wait()
        if told:
            told.close()


@pytest.fixture(scope="module")
def two_devices(engine: Engine) -> Iterator[str]:
    """Two devices of the engine that Paddock itself would take: the value of --rpc."""
    with rpc_servers(engine, 2) as addresses:
        yield ",".join(addresses)
