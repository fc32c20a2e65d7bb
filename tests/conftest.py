"""What every test gets: its own data folder, its own environment, and no thread or process left behind."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parent / "support"))

DATA = Path(__file__).parent / "data"
_HIDDEN = ("LLAMA_", "GGML_", "HF_")


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches them: folders under tmp_path, no LLAMA_*."""
    for name in [n for n in os.environ if n.startswith(_HIDDEN)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg-config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg-data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg-cache"))
    monkeypatch.setenv("LANG", "C.UTF-8")


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail on a thread or child process that outlives its test."""
    threads = set(threading.enumerate())
    children = {p.pid for p in psutil.Process().children(recursive=True)}
    yield
    until = time.monotonic() + 5
    while True:
        left = [t.name for t in threading.enumerate() if t not in threads and t.is_alive() and not _of_library(t)]
        kids = [p for p in psutil.Process().children(recursive=True) if p.pid not in children]
        if not left and not kids:
            return
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    names = [f"{p.pid} {p.name()}" for p in kids]
    for process in kids:
        process.kill()
    pytest.fail(f"left behind: threads {left}, processes {names}")


def _of_library(thread: threading.Thread) -> bool:
    """Threads that a library keeps for the life of the process: Qt's own, asyncio's pool."""
    return thread.name.startswith(("Dummy-", "asyncio_", "pydevd"))


@pytest.fixture(scope="session")
def sample_model() -> Path:
    """The real 270M model, where scripts/test.py put it."""
    path = os.environ.get("PADDOCK_SAMPLE")
    if not path or not Path(path).exists():
        pytest.skip("the sample model is not here: run scripts/test.py")
    return Path(path)
