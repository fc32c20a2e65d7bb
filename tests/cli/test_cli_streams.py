"""The streams a program is given may be closed, full, narrow or left: a sentence or silence, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tinymodel

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sh and /dev/full")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tinymodel.write(tmp_path / "a model “b”.gguf")


def _sh(script: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")}
    return subprocess.run(["sh", "-c", f'P="{sys.executable} -m paddock --data-dir {tmp_path}/data"; {script}'],
                          capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
                          env={**clean, **environment})


def test_a_stdout_that_holds_only_ascii_still_carries_valid_json(tmp_path: Path, model: Path) -> None:
    done = _sh(f'$P --json inspect "{model}"', tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "“b”" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_sentences_on_an_ascii_terminal_do_not_fail(tmp_path: Path) -> None:
    done = _sh("$P inspect “nothing”", tmp_path, PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_closed_stdout_is_no_fault(tmp_path: Path, model: Path) -> None:
    done = _sh(f'$P --json inspect "{model}" >&-', tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("form", ["--json", ""])
def test_a_full_disk_under_stdout_is_said(tmp_path: Path, model: Path, form: str) -> None:
    done = _sh(f'$P {form} inspect "{model}" >/dev/full', tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("The answer could not be written.")
    assert "Traceback" not in done.stderr


def test_a_reader_that_left_is_no_fault(tmp_path: Path, model: Path) -> None:
    done = _sh(f'( $P inspect --tensors "{model}"; echo $? >&2 ) | head -1', tmp_path)
    assert done.stderr.strip() == "0"


def test_a_closed_stdin_holds_no_profile(tmp_path: Path) -> None:
    done = _sh("$P profiles import - <&-", tmp_path)
    assert done.returncode == 1
    assert "inside Paddock" not in done.stderr


def test_without_a_screen_the_window_says_so(tmp_path: Path) -> None:
    done = _sh("$P", tmp_path)
    assert done.returncode == 1
    assert "there is no screen here" in done.stderr


@pytest.mark.parametrize("words", ["launch x.gguf --for nan", "watch http://127.0.0.1:1 --for inf",
                                   "sessions show 99999999999999999999999", "fit --engine", "fit --engine="])
def test_values_that_cannot_be_meant_are_wrong_usage(tmp_path: Path, words: str) -> None:
    done = _sh(f"$P {words}", tmp_path)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("device", ["CUDA0=24G:30G", "CUDA0=2G --device CUDA0=3G", "CUDA0=" + "9" * 400 + "G", "24G",
                                    "CUDA0=lots"])
def test_devices_that_cannot_be_are_wrong_usage(tmp_path: Path, model: Path, device: str) -> None:
    done = _sh(f'$P fit "{model}" --device {device}', tmp_path)
    assert done.returncode == 2, done.stderr
    assert "--device" in done.stderr or "is not a device" in done.stderr


def test_host_as_a_device_is_the_ram_of_that_machine(tmp_path: Path, model: Path) -> None:
    done = _sh(f'$P --json fit "{model}" --device Host=3M', tmp_path)
    answer = json.loads(done.stdout)
    assert [d["name"] for d in answer["main"]] == ["Host"]
    assert answer["verdict"] == "wont_fit"


def test_the_version_is_a_document_too(tmp_path: Path) -> None:
    assert set(json.loads(_sh("$P --json --version", tmp_path).stdout)) == {"version"}


@pytest.fixture
def fake_engine(tmp_path: Path) -> Path:
    """A fake server that stands as an engine."""
    path = tmp_path / "llama-server"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).parents[1]}/support/fakeserver.py" "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("form", ["--json launch {} | head -1", "launch {} 2>&1 | head -1",
                                  "--json launch {} 2>&1 | head -3"])
def test_a_launch_whose_reader_left_stops_its_server_in_order(
    tmp_path: Path, model: Path, fake_engine: Path, form: str
) -> None:
    """The news come from the supervisor's thread, which a closed pipe must not end."""
    what, _, reader = form.format(f'--engine "{fake_engine}" --for 50 "{model}"').partition(" | ")
    done = _sh(f"( $P {what}; echo $? >{tmp_path}/code ) | {reader}", tmp_path)
    assert "Traceback" not in done.stdout + done.stderr
    assert (tmp_path / "code").read_text() == "0\n"
    (row,) = json.loads(_sh("$P --json sessions list", tmp_path).stdout)
    assert row["state"] == "stopped"
    assert list((tmp_path / "data" / "runtime").glob("*.json")) == []


def test_names_in_a_foreign_encoding_come_back_as_they_are(tmp_path: Path, model: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 \\udce9.gguf"))
    model.rename(odd)
    for form in ("--json inspect", "--json command --format argv"):
        done = _sh(f'$P {form} "$MODEL"', tmp_path, MODEL=str(odd))
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert str(odd) in (found if isinstance(found, list) else found.values())
