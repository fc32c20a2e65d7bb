"""A pretend NVIDIA driver for the real nvidia-ml-py: compiled here, loaded in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_SOURCE = Path(__file__).parent / "fake_nvml.c"
_APP = Path(__file__).parents[2] / "app"

Driver = Callable[..., Any]


@pytest.fixture(scope="session")
def library_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.platform != "linux":
        pytest.skip("the pretend driver is a Linux library")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here to build the pretend driver with")
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(folder / "libnvidia-ml.so.1"),
                    str(_SOURCE)], check=True, timeout=60)
    return folder


@pytest.fixture
def with_driver(library_folder: Path, tmp_path: Path) -> Driver:
    """Run Python that leaves its answer in `answer`; keyword arguments become FAKE_NVML… variables."""

    def run(code: str, mode: str = "two", **settings: str) -> Any:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "FAKE_"))}
        environ |= {"LD_LIBRARY_PATH": str(library_folder), "FAKE_NVML": mode, "PYTHONPATH": str(_APP),
                    "FAKE_NVML_LOG": str(tmp_path / "nvml.log"), "TMP_FOLDER": str(tmp_path)} | settings
        prelude = ("import dataclasses, json, math, os\nfrom pathlib import Path\n"
                   "from paddock import hardware\nfrom paddock.engine import EngineDevice\nGIB = 1 << 30\n")
        ending = "\nprint('ANSWER' + json.dumps(answer, default=str))"
        done = subprocess.run([sys.executable, "-c", prelude + code + ending], env=environ, capture_output=True,
                              text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        assert not done.stderr, done.stderr
        return json.loads(done.stdout.partition("ANSWER")[2])

    return run
