"""paddock bench diagnose with a real engine and the sample model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from real_engine import engine  # noqa: F401 - a fixture

from paddock.paths import DataPaths
from paddock.store import Database
from paddock.store.experiments import Experiments

RUN = [sys.executable, "-m", "paddock", "bench", "diagnose"]


@pytest.mark.usefixtures("engine")
def test_the_answer_has_every_part_and_every_request_counts(sample_model: Path, tmp_path: Path) -> None:
    done = subprocess.run([*RUN, str(sample_model), "--json", "--requests", "3", "--data-dir", str(tmp_path), "--",
                           "-t", "1", "-c", "2048", "-np", "1"], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    told = [(r["state"], r["prompt_tokens"], r["cached_tokens"], r["generated_tokens"]) for r in answer["requests"]]
    assert told == [("ok", 512, 0, 32)] * 3
    assert all(r["generation_per_s"] > 0 and r["ttft_s"] > 0 and r["ram_bytes"] > 1e8 for r in answer["requests"])
    assert answer["figures"]["valid"] == 3
    assert {"first", "steady"} & {c["id"] for c in answer["conclusions"]}
    assert {"quiet", "busy"} & {c["id"] for c in answer["conclusions"]}
    assert answer["headline"]
    assert answer["engine"]["version"]
    assert answer["engine"]["props"]["model_path"] == str(sample_model)
    assert (answer["engine"]["props"]["slots"], answer["engine"]["props"]["context_per_slot"]) == (1, 2048)
    assert answer["engine"]["argv"][-1]
    assert answer["machine"]["gpus"] == [] or answer["machine"]["gpus"][0]["driver"]
    with Database(DataPaths.at(tmp_path).database) as database:
        (row,) = Experiments(database).rows("diagnose")
        assert (row.state, row.runs) == ("done", 3)
        assert database.session(answer["session"]).row.state == "stopped"


@pytest.mark.usefixtures("engine")
def test_ctrl_c_leaves_no_server_behind(sample_model: Path, tmp_path: Path) -> None:
    child = subprocess.Popen([*RUN, str(sample_model), "--requests", "100", "--data-dir", str(tmp_path), "--",
                              "-t", "1", "-c", "2048"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "LANGUAGE": "en"})
    servers: list[psutil.Process] = []
    until = time.monotonic() + 60
    logs = DataPaths.at(tmp_path).logs
    while time.monotonic() < until and not any("processing task" in f.read_text("utf-8", "replace")
                                               for f in logs.glob("*.log")):
        servers = psutil.Process(child.pid).children(recursive=True)
        assert child.poll() is None, child.communicate()
        time.sleep(0.05)
    assert servers
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 130, said
    assert "cancelled" in said
    assert "Traceback" not in said
    _, alive = psutil.wait_procs(servers, timeout=10)
    assert alive == []


def test_a_model_that_is_missing_is_said_in_words(tmp_path: Path) -> None:
    done = subprocess.run([*RUN, str(tmp_path / "none.gguf"), "--json", "--data-dir", str(tmp_path)],
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["what"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(("hangs", "code"), [(True, 130), (False, 1)])
def test_a_server_that_hangs_can_be_left_and_one_that_dies_is_a_failure(sample_model: Path, tmp_path: Path, hangs: bool,
                                                                         code: int) -> None:
    child = subprocess.Popen([*RUN, str(sample_model), "--requests", "100", "--data-dir", str(tmp_path), "--",
                              "-t", "1", "-c", "2048"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "LANGUAGE": "en"})
    until = time.monotonic() + 60
    logs = DataPaths.at(tmp_path).logs
    # Two, so that one has been answered: it is the end that counts then.
    while sum(f.read_text("utf-8", "replace").count("processing task") for f in logs.glob("*.log")) < 2:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    server = next(c for c in psutil.Process(child.pid).children(recursive=True) if "serve" in c.cmdline())
    if hangs:
        server.suspend()
        child.send_signal(signal.SIGINT)
    else:
        server.kill()
    out, _ = child.communicate(timeout=40)
    assert child.returncode == code
    assert hangs or "ended" in out
    assert not server.is_running()
