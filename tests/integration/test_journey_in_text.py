"""The main job from the command line, on a real model with a real llama.cpp."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from real_engine import Launched, paddock, post

from paddock.engine import Engine

PROMPTS = ("The capital of Italy is", "Write a line about horses:", "One, two, three,")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_launch_prompt_record_and_find_again(engine: Engine, sample_model: Path, data: Path, port: int,
                                             launched: Callable[..., Launched]) -> None:
    run = launched("--data-dir", data, sample_model, "--", "-t", 1, "-c", 2048, "--port", port)
    command = run.wait_for(lambda e: e.get("event") == "command")
    assert str(sample_model) in command["argv"]
    run.state("ready")
    timings = []
    for prompt in PROMPTS:
        answer = post(f"http://127.0.0.1:{port}/completion", {"prompt": prompt, "n_predict": 24, "cache_prompt": False})
        timings.append(answer["timings"])
    for number in range(3):
        run.wait_for(lambda e, n=number: e.get("event") == "request" and e["number"] == n + 1)
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130
    last = run.events[-1]
    assert last["event"] == "exit"

    (row,) = paddock("--data-dir", data, "sessions", "list")
    assert row["id"] == last["session"]
    assert row["requests"] == 3
    assert row["state"] == "stopped"
    detail = paddock("--data-dir", data, "sessions", "show", row["id"])
    assert row["generated_tokens"] == sum(t["predicted_n"] for t in timings)
    for request, timing in zip(detail["requests"], timings, strict=True):
        assert request["generated_tokens"] == timing["predicted_n"]
        assert request["prompt_tokens"] == timing["prompt_n"] + timing["cache_n"]
        assert request["generation_per_s"] == pytest.approx(timing["predicted_per_second"], rel=0.05)
        assert request["prompt_per_s"] == pytest.approx(timing["prompt_per_second"], rel=0.05)
        assert request["status"] == "done"
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))


def test_the_actual_memory_is_kept_beside_the_estimate(engine: Engine, sample_model: Path, data: Path, port: int,
                                                       launched: Callable[..., Launched]) -> None:
    run = launched("--data-dir", data, "--for", 0.5, sample_model, "--", "-t", 1, "-c", 4096, "--port", port, "-nr")
    assert run.end() == 0, "".join(run.errors)
    detail = paddock("--data-dir", data, "sessions", "show", run.events[-1]["session"])
    assert detail["estimate"]["main"][-1]["name"] == "Host"
    host = detail["actual"]["main"][-1]
    mib = 1 << 20
    assert host["context"] == pytest.approx(detail["estimate"]["main"][-1]["context"], abs=0.02 * mib)


def test_the_server_ends_with_paddock_and_the_next_start_shows_it(engine: Engine, sample_model: Path, data: Path,
                                                                  port: int, launched: Callable[..., Launched]) -> None:
    run = launched("--data-dir", data, sample_model, "--", "-t", 1, "-c", 512, "--port", port)
    run.state("ready")
    children = psutil.Process(run.process.pid).children(recursive=True)
    assert children
    os.kill(run.process.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(children, timeout=2)
    assert not alive, alive
    run.end()
    (row,) = paddock("--data-dir", data, "sessions", "list")
    assert row["state"] == "interrupted"
    assert row["end"] is not None or row["start"] is not None


def test_a_check_stops_a_launch_and_anyway_goes_on(engine: Engine, sample_model: Path, data: Path, port: int,
                                                   launched: Callable[..., Launched]) -> None:
    flags = ["--", "-t", 1, "-c", 512, "--port", port, "-ctv", "q8_0", "-fa", "off"]
    refused = launched("--data-dir", data, sample_model, *flags)
    assert refused.end() == 1
    assert "error" in refused.events[-1]
    anyway = launched("--data-dir", data, sample_model, "--anyway", *flags)
    assert anyway.end() == 1
    assert anyway.events[-1]["event"] == "exit"
    said = [e for e in anyway.events if e["event"] == "issue" and e["severity"] == "error"]
    assert said, anyway.events[-5:]
    (row,) = paddock("--data-dir", data, "sessions", "list")
    assert row["state"] == "failed"


def test_for_counts_from_ready_and_ends_with_zero(engine: Engine, sample_model: Path, data: Path, port: int,
                                                  launched: Callable[..., Launched]) -> None:
    run = launched("--data-dir", data, "--for", 1, sample_model, "--", "-t", 1, "-c", 512, "--port", port)
    assert run.end() == 0
    ready = run.state("ready")["t"]
    assert run.events[-1]["t"] - ready >= 1.0


def test_requests_through_the_recording_proxy_are_recorded_once_with_the_servers_figures(
        engine: Engine, sample_model: Path, data: Path, port: int, launched: Callable[..., Launched]) -> None:
    run = launched("--data-dir", data, "--proxy", 0, sample_model, "--", "-t", 1, "-c", 512, "--port", port)
    url = run.state("proxy")["url"]
    assert url != f"http://127.0.0.1:{port}"
    answers = [post(f"{url}/completion", {"prompt": prompt, "n_predict": 8})["timings"] for prompt in PROMPTS]
    run.wait_for(lambda e: e.get("event") == "request" and e["number"] == len(PROMPTS))
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130
    detail = paddock("--data-dir", data, "sessions", "show", run.events[-1]["session"])
    told = detail["exchanges"]
    assert [e["generated_tokens"] for e in told] == [a["predicted_n"] for a in answers]
    assert [e["generation_per_s"] for e in told] == [a["predicted_per_second"] for a in answers]
    assert [r["exchange"] for r in detail["requests"]] == [e["id"] for e in told]
