"""Load progress: an estimate from what the process reads of its model."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from serverkit import Kit

from paddock.server import State
from paddock.server.loading import LoadMeter

SIZE = 64 << 20


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    path.write_bytes(os.urandom(1 << 20) * (SIZE >> 20))
    return path


def test_the_fraction_grows_while_it_loads_and_is_one_when_ready(kit: Kit, model: Path) -> None:
    supervisor, recorder = kit.make("-m", str(model), "--load-seconds", "1", model_bytes=SIZE)
    seen = []
    supervisor.start()
    recorder.wait_for(State.LOADING)
    while supervisor.state is State.LOADING:
        fraction = supervisor.progress().fraction
        if fraction is not None and (not seen or fraction != seen[-1]):
            seen.append(fraction)
        time.sleep(0.01)
    assert recorder.wait_for(State.READY, State.FAILED) is State.READY
    assert supervisor.progress().fraction == 1.0
    assert len([f for f in seen if 0 < f < 1]) >= 3
    assert seen == sorted(seen)


def test_without_the_models_size_the_fraction_is_unknown(kit: Kit, model: Path) -> None:
    supervisor, recorder = kit.make("-m", str(model), "--load-seconds", "0.5")
    supervisor.start()
    recorder.wait_for(State.LOADING)
    assert supervisor.progress().fraction is None


def test_pages_of_a_mapped_file_count_as_read(model: Path) -> None:
    code = ("import mmap,sys;f=open(sys.argv[1],'rb');m=mmap.mmap(f.fileno(),0,access=mmap.ACCESS_READ);"
            "print('mapped',flush=True);sys.stdin.readline();sum(m[i] for i in range(0,len(m)//2,4096));"
            "print('half',flush=True);sys.stdin.read()")
    process = subprocess.Popen([sys.executable, "-c", code, str(model)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    ticks = itertools.count(0.0, 0.1)
    meter = LoadMeter(process.pid, SIZE, lambda: next(ticks), 0.0)
    process.stdout.readline()
    before = meter.measure()
    process.stdin.write("\n")
    process.stdin.flush()
    process.stdout.readline()
    after = meter.measure()
    process.communicate("")
    assert before.fraction == 0.0
    assert after.fraction is not None
    assert 0.4 < after.fraction < 0.7


def test_what_is_read_twice_never_makes_more_than_a_whole(model: Path) -> None:
    meter = LoadMeter(os.getpid(), SIZE // 2, lambda: 0.0, 0.0)
    meter.measure()
    for _ in range(2):
        model.read_bytes()
    assert meter.measure().fraction == 0.99


def test_a_process_that_is_gone_is_unknown() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert LoadMeter(process.pid, 1000, lambda: 0.0, 0.0).measure().fraction is None
