"""The host's own figures, and a machine without any driver."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from paddock.engine import EngineDevice
from paddock.hardware import Readings, host, refresh, survey
from paddock.hardware.drivers import Driver
from paddock.hardware.processes import ProcessTree
from paddock.text import Text

GIB = 1 << 30


def no_driver() -> tuple[list[Driver], list[Text]]:
    return [], [Text("none")]


@pytest.fixture
def without_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.hardware.surveying.open_drivers", no_driver)


@pytest.mark.usefixtures("without_driver")
def test_a_machine_without_a_driver_is_still_a_machine() -> None:
    machine = survey([EngineDevice("Vulkan0", "AMD Radeon RX 7900", 16 * GIB, 15 * GIB),
                      EngineDevice("BLAS", "OpenBLAS", None, None),
                      EngineDevice("RPC0", "10.0.0.2:50052", 8 * GIB, 7 * GIB)])
    assert machine.logical_cores >= 1
    assert 0 < machine.ram_available_bytes <= machine.ram_total_bytes
    assert [(d.name, d.kind, d.total_bytes, d.free_bytes, d.match_note) for d in machine.devices] == [
        ("Vulkan0", "vulkan", 16 * GIB, 15 * GIB, None), ("RPC0", "rpc", 8 * GIB, 7 * GIB, None)]
    assert [str(note) for note in machine.notes] == ["none"]


@pytest.mark.usefixtures("without_driver")
def test_memory_that_nobody_tells_stays_unknown() -> None:
    device = survey([EngineDevice("SYCL0", "Intel Arc", None, None)]).devices[0]
    assert (device.total_bytes, device.free_bytes) == (None, None)


@pytest.mark.usefixtures("without_driver")
@pytest.mark.parametrize(("listed", "integrated"), [
    (EngineDevice("Vulkan0", "AMD Radeon 780M (RADV PHOENIX)", 1 << 60, 1 << 60), True),
    (EngineDevice("ROCm0", "AMD Radeon(TM) 8060S Graphics", 1 << 60, 1 << 60), True),
    (EngineDevice("MTL0", "Apple M3 Max", 1 << 60, 1 << 60, unified=True), True),
    (EngineDevice("Vulkan0", "llvmpipe (LLVM 15.0.6, 256 bits)", 1 << 60, 1 << 60), True),
    (EngineDevice("Vulkan0", "Some Card", 1 << 60, 1 << 60, unified=True), True),
    (EngineDevice("Vulkan0", "AMD Radeon RX 7900 XTX", 1 << 60, 1 << 60), False),
    (EngineDevice("Vulkan0", "AMD Radeon Graphics", 1 << 60, 1 << 60, unified=False), False),
    (EngineDevice("RPC0", "apple m3.local:1", 1 << 60, 1 << 60), False),
])
def test_a_device_that_shares_the_host_s_memory_is_never_larger_than_it(
    listed: EngineDevice, integrated: bool
) -> None:
    machine = survey([listed])
    device = machine.devices[0]
    assert device.integrated is integrated
    assert device.total_bytes == (machine.ram_total_bytes if integrated else 1 << 60)


@pytest.mark.usefixtures("without_driver")
@pytest.mark.parametrize(("free", "assumed"), [(8 * GIB, True), (8 * GIB - 1, False), (0, False), (None, False)])
def test_a_listing_that_calls_all_of_it_free_is_not_believed(free: int | None, assumed: bool) -> None:
    listed = EngineDevice("SYCL0", "Intel(R) Arc(TM) A770", 8 * GIB, free)
    machine = survey([listed])
    assert machine.devices[0].free_assumed is assumed
    assert refresh(machine, [listed]).devices[0].free_assumed is assumed


@pytest.mark.usefixtures("without_driver")
def test_refreshing_takes_the_engine_s_new_figures_where_no_driver_tells() -> None:
    listed = EngineDevice("Vulkan0", "Card", 16 * GIB, 15 * GIB)
    machine = survey([listed])
    assert refresh(machine).devices[0].free_bytes == 15 * GIB
    later = refresh(machine, [EngineDevice("Vulkan0", "Card", 16 * GIB, 3 * GIB)])
    assert later.devices[0].free_bytes == 3 * GIB
    assert later.taken_at >= machine.taken_at


def test_readings_without_a_driver_are_nan_and_the_driver_is_not_even_looked_for(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.hardware.surveying.open_drivers", no_driver)
    machine = survey([EngineDevice("Vulkan0", "Card", 16 * GIB, 15 * GIB)])
    asked: list[int] = []

    def open_with() -> tuple[list[Driver], object]:
        asked.append(1)
        return [], None

    readings = Readings(machine, lambda: [os.getpid()], open_with=open_with)
    reading = readings.read()
    readings.close()
    assert asked == []
    assert [device.device for device in reading.devices] == ["Vulkan0"]
    assert math.isnan(reading.devices[0].used_bytes)
    assert reading.devices[0].throttle is None
    assert reading.ram_used_bytes + reading.ram_available_bytes > 0
    assert reading.process_rss_bytes > 1 << 20


def test_a_dead_or_absurd_pid_is_no_process() -> None:
    readings = Readings(survey([]), lambda: [2**31 - 5, -3])
    reading = readings.read()
    assert math.isnan(reading.process_rss_bytes)
    assert math.isnan(reading.process_cpu_pct)


BUSY = "import sys\nprint('up', flush=True)\nwhile True: pass"


def test_a_tree_is_measured_with_its_children_and_the_first_rate_is_unknown() -> None:
    if sys.platform == "win32":
        pytest.skip("needs a shell")
    child = subprocess.Popen(["/bin/sh", "-c", f'"{sys.executable}" -c "$0"; true', BUSY], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        now = [10.0]
        tree = ProcessTree(lambda: [child.pid], lambda: now[0])
        first = tree.read()
        before = sum(one.cpu_times().user for one in psutil.Process(child.pid).children(recursive=True))
        while sum(one.cpu_times().user for one in psutil.Process(child.pid).children(recursive=True)) < before + 0.1:
            pass
        now[0] += 0.2
        second = tree.read()
        assert len(first.pids) == 2
        assert math.isnan(first.cpu_pct)
        assert second.cpu_pct >= 40
        assert second.rss_bytes > 1 << 20
    finally:
        for one in [*psutil.Process(child.pid).children(recursive=True), child]:
            one.kill()
        child.communicate()
    now[0] += 5
    assert math.isnan(tree.read().rss_bytes)


def test_the_busy_share_of_all_processors_needs_two_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    class Times(tuple[float, ...]):
        idle = property(lambda self: self[1])

    steps = iter([Times((10.0, 90.0)), Times((13.0, 91.0)), Times((13.0, 91.0))])
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(steps))
    load = host.CpuLoad()
    assert math.isnan(load.read())
    assert load.read() == pytest.approx(75.0)
    assert math.isnan(load.read())


def test_memory_nodes_without_a_processor_do_not_count(tmp_path: Path) -> None:
    for name, cpus in (("node0", "0-7\n"), ("node1", "8-15\n"), ("node2", "\n"), ("possible", "0-2\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cpulist").write_text(cpus)
    assert host.numa_nodes(tmp_path) == 2
    assert host.numa_nodes(tmp_path / "absent") == 1


@pytest.mark.parametrize(("text", "name"), [
    ("processor\t: 0\nmodel name\t: AMD Ryzen 9 7950X 16-Core Processor\n", "AMD Ryzen 9 7950X 16-Core Processor"),
    ("processor\t: 0\nHardware\t: BCM2835\nModel\t\t: Raspberry Pi 5\n", "BCM2835"),
    ("nothing\n", None),
])
@pytest.mark.skipif(sys.platform != "linux", reason="cpuinfo is Linux's")
def test_the_processor_s_name(tmp_path: Path, text: str, name: str | None) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert host.cpu_name(tmp_path / "cpuinfo") == name


def test_a_container_s_limit_is_the_memory_that_there_is(tmp_path: Path) -> None:
    for name, value in (("memory.max", f"{GIB}\n"), ("memory.current", f"{GIB // 2}\n"),
                        ("memory.stat", f"anon 5\ninactive_file {GIB // 4}\n")):
        (tmp_path / name).write_text(value)
    assert host.memory(tmp_path) == (GIB, GIB * 3 // 4, True)
    (tmp_path / "memory.max").write_text("max\n")
    assert host.memory(tmp_path)[2] is False
    assert host.memory(tmp_path / "absent")[0] == psutil.virtual_memory().total


@pytest.mark.usefixtures("without_driver")
@pytest.mark.parametrize("name", ["NVIDIA GB10", "NVIDIA Thor", "Orin (nvgpu)", "AMD Radeon(TM) 8060S Graphics"])
def test_one_memory_is_known_by_name_where_no_driver_answers(name: str) -> None:
    total, _, _ = host.memory()
    device = survey([EngineDevice("CUDA0", name, 2 * total, 2 * total)]).devices[0]
    assert device.integrated
    assert device.shares_host
    assert device.total_bytes == total
    assert (device.free_bytes or 0) < total


@pytest.mark.usefixtures("without_driver")
def test_free_memory_of_shared_graphics_rises_again_when_the_host_s_does(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = EngineDevice("Vulkan0", "Intel(R) UHD Graphics 770", 8 * GIB, 8 * GIB)
    monkeypatch.setattr(host, "memory", lambda: (16 * GIB, 2 * GIB, False))
    machine = survey([listed])
    assert machine.devices[0].free_bytes == 2 * GIB
    monkeypatch.setattr(host, "memory", lambda: (16 * GIB, 12 * GIB, False))
    assert refresh(machine).devices[0].free_bytes == 8 * GIB


@pytest.mark.usefixtures("without_driver")
def test_a_device_whose_memory_nobody_tells_stays_usable_without_a_figure() -> None:
    device = survey([EngineDevice("Vulkan0", "AMD Radeon RX 580", None, None)]).devices[0]
    assert (device.total_bytes, device.free_bytes, device.free_assumed, device.memory_note) == (None, None, False, None)
