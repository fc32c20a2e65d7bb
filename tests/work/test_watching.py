"""Attaching to a server that somebody else started."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.errors import AppError
from paddock.work import Workspace
from paddock.work.watching import normal_url

FAKE = Path(__file__).parents[1] / "support" / "fakeserver.py"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A fake server that has come up, with the key "hush"."""
    from paddock.work.conditions import free_port

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


@pytest.mark.parametrize("given", ["", "ftp://x", "http://", "http://h:99999"])
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
