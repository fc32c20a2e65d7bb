"""RPC hosts with the real engine: probed, lent, and left alone while they serve."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from real_engine import Launched, paddock

from paddock.engine import Engine
from paddock.work.conditions import free_port


def test_a_server_in_use_is_not_asked_and_its_session_lives(engine: Engine, two_devices: str, sample_model: Path,
                                                           tmp_path: Path, port: int,
                                                           launched: Callable[..., Launched]) -> None:
    first, second = two_devices.split(",")
    run = launched("--data-dir", tmp_path, "--for", 8, sample_model, "--", "--rpc", first, "-c", 512, "-t", 1,
                   "--port", port, "--no-warmup")
    run.state("ready")
    busy, idle = paddock("--data-dir", tmp_path, "rpc", "probe", first, second)
    assert (busy["reach"], idle["reach"]) == ("in_use", "answers")
    assert "pid" in busy["text"]
    assert [d["name"] for d in idle["devices"]] == ["RPC0"]
    assert run.end() == 0
    assert run.events[-1]["event"] == "exit"
    assert paddock("--data-dir", tmp_path, "rpc", "probe", first)[0]["reach"] == "answers"


def test_this_computer_is_lent_by_a_command_and_taken_back_with_it(engine: Engine, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "paddock", "--data-dir", str(tmp_path), "rpc", "serve", "-p", str(port), "-t", "1"]
    lending = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert lending.stdout
    assert f"127.0.0.1:{port}" in lending.stdout.readline()
    found = paddock("--data-dir", tmp_path, "rpc", "probe", f"localhost:{port}")[0]
    lending.terminate()
    lending.communicate()
    assert found["reach"] == "answers"
    gone = paddock("--data-dir", tmp_path, "rpc", "probe", f"localhost:{port}", check=False)[0]
    assert gone["reach"] == "silent"
