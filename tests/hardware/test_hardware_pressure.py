"""What the host is short of, out of a /proc written for the test, and the page cache of a real file."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import pytest

from paddock.hardware.pressure import PressureReader, cached_share

STAT = "cpu  1 2 3\nprocs_running {}\nprocs_blocked 0\n"


def write(proc: Path, pid: int, *, read: int = 0, faults: int = 0, swap_kb: int = 0, running: int = 3) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (proc / "stat").write_text(STAT.format(running))
    (folder / "io").write_text(f"rchar: 99999999\nread_bytes: {read}\nwrite_bytes: 7\n")
    (folder / "stat").write_text(f"{pid} (a (strange) name) S 1 1 1 0 -1 4194560 500 0 {faults} 0 10 10 0 0 20 0 1\n")
    (folder / "status").write_text(f"Name:\tllama\nVmSwap:\t  {swap_kb} kB\n")


def test_rates_are_means_between_two_readings(tmp_path: Path) -> None:
    reader = PressureReader(proc=tmp_path)
    write(tmp_path, 7, read=1000, faults=10)
    first = reader.read(100.0, [7])
    write(tmp_path, 7, read=21_000, faults=110, swap_kb=2048, running=9)
    second = reader.read(102.0, [7])
    assert math.isnan(first.process_read_bytes_per_s)
    assert math.isnan(first.process_faults_per_s)
    assert (second.process_read_bytes_per_s, second.process_faults_per_s) == (10_000.0, 50.0)
    assert (second.process_swap_bytes, second.run_queue) == (2048 * 1024, 9.0)


def test_several_processes_are_added_up(tmp_path: Path) -> None:
    reader = PressureReader(proc=tmp_path)
    for pid, amount in ((7, 0), (8, 0)):
        write(tmp_path, pid, read=amount, swap_kb=1)
    reader.read(1.0, [7, 8])
    for pid, amount in ((7, 300), (8, 700)):
        write(tmp_path, pid, read=amount, swap_kb=1)
    now = reader.read(2.0, [7, 8])
    assert (now.process_read_bytes_per_s, now.process_swap_bytes) == (1000.0, 2048.0)


def test_another_process_begins_anew(tmp_path: Path) -> None:
    reader = PressureReader(proc=tmp_path)
    write(tmp_path, 7, read=100)
    reader.read(1.0, [7])
    write(tmp_path, 8, read=900_000)
    assert math.isnan(reader.read(2.0, [8]).process_read_bytes_per_s)


def test_what_nobody_tells_is_unknown(tmp_path: Path) -> None:
    reader = PressureReader(proc=tmp_path / "none")
    reader.read(1.0, [7])
    now = reader.read(2.0, [7])
    assert all(math.isnan(v) for v in (now.run_queue, now.process_read_bytes_per_s, now.process_faults_per_s,
                                       now.process_swap_bytes, now.model_cached))


def test_each_core_has_its_load(tmp_path: Path) -> None:
    reader = PressureReader(proc=tmp_path)
    assert reader.read(1.0, []).cores_pct == ()
    cores = reader.read(2.0, []).cores_pct
    assert len(cores) == os.cpu_count()
    assert all(math.isnan(c) or 0 <= c <= 100 for c in cores)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mincore of Linux")
def test_a_file_just_written_is_in_the_page_cache(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"x" * 3_000_001)
    assert cached_share([file]) == 1.0


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="needs posix_fadvise")
def test_a_file_that_was_dropped_from_the_cache_is_not_in_it(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(os.urandom(8 << 20))
    with file.open("rb") as handle:
        os.fsync(handle.fileno())
        os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    share = cached_share([file])
    if share == 1.0:
        pytest.skip("this file system keeps everything in memory")
    assert share < 0.1


def test_an_empty_or_missing_file_has_no_share(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert math.isnan(cached_share([tmp_path / "empty"]))
    assert math.isnan(cached_share([tmp_path / "missing"]))
    assert math.isnan(cached_share([]))
