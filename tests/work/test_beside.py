"""A further launch beside servers that run already."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import tinymodel

from paddock.hardware import Machine
from paddock.hardware.model import Device, GpuProcess
from paddock.launch import Plan
from paddock.paths import DataPaths
from paddock.server import ServerSpec
from paddock.server import record as records
from paddock.work import Workspace
from paddock.work.beside import Neighbours


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Processes that stand for servers, each with its record."""
    started: list[subprocess.Popen[bytes]] = []

    def start(label: str) -> subprocess.Popen[bytes]:
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
        started.append(child)
        path = DataPaths.at(tmp_path / "data").runtime / f"{len(started)}.json"
        made = records.new(ServerSpec((), {}, port=9000 + len(started), record_path=path, label=label), child.pid)
        assert made is not None
        made.save()
        return child

    yield start
    for child in started:
        child.communicate()


def machine(*held: GpuProcess) -> Machine:
    device = Device("CUDA0", "cuda", "RTX", 24 << 30, 20 << 30, processes=held)
    return Machine("Linux", None, 8, 16, 64 << 30, 32 << 30, 1, None, (device,))


def test_our_servers_are_called_by_their_model_among_the_others(tmp_path: Path, serve) -> None:
    ours = serve("Gemma 3 270m")
    neighbours = Neighbours(DataPaths.at(tmp_path / "data").runtime)
    there = machine(GpuProcess(ours.pid, "llama-server", 3 << 30), GpuProcess(os.getpid(), "chrome", 1 << 30))
    names = [p.name for p in neighbours.named(there).devices[0].processes or ()]
    assert names == ["Gemma 3 270m, served by Paddock", "chrome"]
    none = replace(there, devices=(replace(there.devices[0], processes=None),))
    assert neighbours.named(none) == none


def test_the_estimate_says_whom_it_counts(tmp_path: Path, serve) -> None:
    model = tinymodel.write(tmp_path / "m.gguf")
    plan = Plan().with_("model", str(model))
    alone = Workspace(tmp_path / "data")
    assert not any("already" in str(n) for n in alone.estimate(plan).notes)
    alone.close()
    serve("one")
    second = serve("two")
    workspace = Workspace(tmp_path / "data")
    preview = workspace.preview(plan)
    assert preview.estimate is not None
    assert "2 servers of Paddock run already; what they hold is counted as used: one, two." in map(
        str, preview.estimate.notes)
    asked = workspace.estimate(plan, budgets=())
    assert not any("already" in str(n) for n in asked.notes), "another machine was asked about"
    before = workspace.preview(plan, machine=preview.machine)
    assert before.estimate is not None
    assert not any("already" in str(n) for n in before.estimate.notes), "as it was before the launch"
    workspace.close()
    second.communicate()
    again = Workspace(tmp_path / "data")
    assert "A server of Paddock runs already; what it holds is counted as used: one." in map(
        str, again.estimate(plan).notes)
    again.close()
