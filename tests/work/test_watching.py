"""Attaching to a server that somebody else started."""

from __future__ import annotations

import json
import math
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import tinymodel
from real_engine import post

from paddock.errors import AppError
from paddock.hardware.model import DeviceReading, Reading
from paddock.server import Diagnosis, State
from paddock.work import Workspace
from paddock.work.conditions import free_port
from paddock.work.listeners import listening
from paddock.work.watching import normal_url

FAKE = Path(__file__).parents[1] / "support" / "fakeserver.py"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A fake server that has come up, with the key "hush"."""
    port = free_port()
    command = [sys.executable, str(FAKE), "--port", str(port), "--api-key", "hush", "--metrics"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "listening" in line:
                break
        yield f"http://127.0.0.1:{port}"
        child.kill()


@pytest.mark.parametrize(("given", "url"), [
    ("8080", "http://127.0.0.1:8080"), ("host:1", "http://host:1"), ("https://h/p/", "https://h/p"),
    (" http://[::1]:80 ", "http://[::1]:80"),
])
def test_short_addresses_are_understood(given: str, url: str) -> None:
    assert normal_url(given) == url


@pytest.mark.parametrize("given", ["http://exa mple", "http://a\tb", "http://[::1", "http://h:1/a b", "http://h:1/é",
                                   "http://a..b:1", "", "ftp://x", "http://", "http://h:99999"])
def test_what_is_no_address_is_refused_in_words(given: str) -> None:
    with pytest.raises(AppError, match="not the address"):
        normal_url(given)


def test_nobody_there_and_a_missing_key_are_told_apart(tmp_path: Path, address: str) -> None:
    workspace = Workspace(tmp_path / "data")
    with pytest.raises(AppError, match="wants a key"):
        workspace.watch(address)
    with pytest.raises(AppError, match="No llama"):
        workspace.watch("http://127.0.0.1:9")
    workspace.close()


def test_readings_of_a_watched_server_are_kept_where_it_is_recorded(tmp_path: Path, address: str) -> None:
    card = DeviceReading("CUDA0", 1e9, 2e9, *[math.nan] * 9, ())
    machine = [math.nan] * 6
    workspace = Workspace(tmp_path / "data")
    try:
        recorded, seen = (workspace.watch(address, "hush", record=record) for record in (True, False))
        readings = [Reading(recorded.recorder.t0 + 1.5, *machine, (card,))]
        recorded.keep_readings(readings)
        _, rows = workspace.query(f"SELECT t FROM device_sample WHERE session_id = {recorded.session_id} AND t = 1.5")
        assert rows == [(1.5,)]
        with pytest.raises(AppError, match="not recorded"):
            seen.keep_readings(readings)
    finally:
        workspace.close()


def test_a_server_that_falls_silent_is_said_to_and_watched_on(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that is gone, or deep in a prompt: its figures are gaps, and one notice says it."""
    from paddock.work import watching

    monkeypatch.setattr(watching, "_SILENT_S", 0.3)
    heard: list[Diagnosis] = []
    ended: list[State] = []

    class Listener:
        def on_state(self, _run: object, state: State, _exit: object) -> None:
            ended.append(state)

        def on_diagnosis(self, _run: object, diagnosis: Diagnosis) -> None:
            heard.append(diagnosis)

    workspace = Workspace(tmp_path / "data")
    watched = workspace.watch(address, "hush", listener=Listener())
    assert watched.read_only
    assert watched.pid is not None
    while len(watched.recorder.series) < 2:
        assert not watched.join(0.05)
    assert (watched.state, watched.diagnoses) == (State.READY, [])
    psutil.Process(watched.pid).kill()
    while not heard:
        assert not watched.join(0.05)
    assert [d.id for d in watched.diagnoses] == ["no-answer"]
    assert watched.state is State.READY
    workspace.close()
    assert (watched.state, ended) == (State.STOPPED, [State.STOPPED])


def test_a_tunnel_is_not_taken_for_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as here:
        url = f"http://127.0.0.1:{here.getsockname()[1]}"
        found = listening(url)
        assert found is not None
        assert found.pid == os.getpid()
        monkeypatch.setattr(psutil.Process, "name", lambda _self: "ssh")
        assert listening(url) is None


def test_what_our_own_computer_runs_is_shown_with_its_plan_and_estimate(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    engine = workspace.engine()
    if engine is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    model, port = tinymodel.write(tmp_path / "m.gguf"), free_port()
    command = [*engine.serve, "-m", str(model), "-c", "512", "-np", "1", "-t", "1", "--port", str(port)]
    env = {**os.environ, **engine.environment}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env) as child:
        try:
            assert child.stderr is not None
            assert any("listening" in line for line in child.stderr)
            watched = workspace.watch(str(port))
            assert watched.pid == child.pid
            assert watched.preview.plan.get("ctx-size") == "512"
            assert watched.preview.estimate is not None
            while (sample := watched.recorder.snapshot().sample) is None or sample.reading is None:
                assert not watched.join(0.05)
            assert sample.reading.process_rss_bytes > 0
            issues = [e.data["id"] for e in watched.recorder.snapshot().events if e.kind == "issue"]
            assert issues == ["sampler.metrics"], "it was started without --metrics"
        finally:
            workspace.close()
            child.kill()
            child.stderr.close()


def test_a_watched_router_shows_its_models_and_their_figures(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    engine = workspace.engine()
    if engine is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    (tmp_path / "models").mkdir()
    tinymodel.write(tmp_path / "models" / "tiny.gguf")
    port = free_port()
    command = [*engine.serve, "--models-dir", str(tmp_path / "models"), "-c", "512", "-t", "1", "--metrics", "--port",
               str(port)]
    env = {**os.environ, **engine.environment}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env) as child:
        try:
            assert child.stderr is not None
            assert any("listening" in line for line in child.stderr)
            watched = workspace.watch(str(port))
            assert (watched.is_router, watched.label) == (True, "models")
            body = {"model": "tiny", "prompt": "x", "n_predict": 8}
            assert post(f"http://127.0.0.1:{port}/completion", body)["timings"]["predicted_n"] == 8
            while not watched.recorder.snapshot().requests or watched.recorder.busy:
                assert not watched.join(0.05)
            while [m.state for m in watched.models] != ["loaded"]:  # the list is asked for once a second or so
                assert not watched.join(0.05)
        finally:
            workspace.close()
            child.terminate()
            child.communicate(timeout=30)


def test_a_watched_server_is_recorded_and_left_running(tmp_path: Path, address: str) -> None:
    command = [sys.executable, "-m", "paddock", "--data-dir", str(tmp_path / "data"), "--json", "watch", address,
               "--key", "hush", "--record", "--for", "2.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None
        first = json.loads(watcher.stdout.readline())
        body = json.dumps({"prompt": "x", "n_predict": 8}).encode()
        head = {"Content-Type": "application/json", "Authorization": "Bearer hush"}
        with urllib.request.urlopen(urllib.request.Request(f"{address}/completion", body, head), timeout=20) as answer:
            assert json.loads(answer.read())["timings"]["predicted_n"] == 8
        events = [json.loads(line) for line in watcher.stdout]
    assert watcher.returncode == 0
    assert (first["event"], first["state"], first["url"]) == ("state", "watching", address)
    assert events[-1]["event"] == "exit"
    assert any(e["event"] == "sample" for e in events)
    with urllib.request.urlopen(f"{address}/health", timeout=5) as answer:
        assert answer.status == 200
    workspace = Workspace(tmp_path / "data")
    (row,) = workspace.sessions()
    assert (row.id, row.state, row.requests, row.generated_tokens) == (events[-1]["session"], "stopped", 1, 8)
    workspace.close()
