"""The real nvidia-ml-py over a pretend driver: order, gaps, sentinels, lost cards, drivers that do not answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Driver = Callable[..., Any]
GIB = 1 << 30

LISTED = """
listed = [EngineDevice("CUDA0", "NVIDIA GeForce GTX 1660 SUPER", int(5.8 * GIB), 4 * GIB),
          EngineDevice("CUDA1", "NVIDIA GeForce RTX 3090", int(23.5 * GIB), 19 * GIB)]
"""
SURVEY = LISTED + "machine = hardware.survey(listed)\n"
DEVICES = SURVEY + """
answer = {d.name: {"uuid": d.gpu and d.gpu.uuid, "free": d.free_bytes, "total": d.total_bytes,
                   "integrated": d.integrated, "note": str(d.match_note) if d.match_note else None,
                   "processes": d.processes and [[p.pid, p.name, p.used_bytes] for p in d.processes]}
          for d in machine.devices} | {"notes": [str(n) for n in machine.notes]}
"""


def test_cards_listed_in_another_order_than_cuda_s_are_told_apart_by_their_bus(with_driver: Driver) -> None:
    answer = with_driver(DEVICES)
    assert answer["CUDA0"]["uuid"].startswith("GPU-bbbb2222")
    assert answer["CUDA1"]["uuid"].startswith("GPU-aaaa1111")
    assert (answer["CUDA0"]["free"], answer["CUDA1"]["free"]) == (5 * GIB, 20 * GIB)
    assert answer["notes"] == []


def test_facts_of_a_card_are_told_and_gaps_stay_gaps(with_driver: Driver) -> None:
    answer = with_driver(SURVEY + "answer = [dataclasses.asdict(gpu) for gpu in machine.gpus]")
    first, second = answer
    assert (first["name"], first["pci_id"], first["driver"], first["cuda"], first["pcie_generation"],
            first["pcie_width"], first["total_bytes"]) == (
        "NVIDIA GeForce RTX 3090", "0000:21:00.0", "570.00", "12.8", 4, 16, 24 * GIB)
    assert (second["pcie_generation"], second["pcie_width"], second["error"]) == (3, None, None)


def test_a_sentinel_is_no_memory_and_a_process_is_named(with_driver: Driver) -> None:
    answer = with_driver(DEVICES, FAKE_NVML_PID=str(os.getpid()))
    on_3090 = {pid: used for pid, _, used in answer["CUDA1"]["processes"]}
    assert on_3090 == {os.getpid(): 3 * GIB, 1: None}
    assert [(pid, used) for pid, _, used in answer["CUDA0"]["processes"]] == [(os.getpid(), None)]
    assert all(name for pid, name, _ in answer["CUDA1"]["processes"] if pid == os.getpid())


@pytest.mark.parametrize(("visible", "expected"), [
    ("0", {"CUDA0": "GPU-bbbb2222"}),
    ("1", {"CUDA0": "GPU-aaaa1111"}),
    ("GPU-aaaa", {"CUDA0": "GPU-aaaa1111"}),
    ("1,0", {"CUDA0": "GPU-aaaa1111", "CUDA1": "GPU-bbbb2222"}),
])
def test_what_is_visible_is_counted_from_what_the_person_left(
    with_driver: Driver, visible: str, expected: dict[str, str]
) -> None:
    listed = """
by_uuid = {"GPU-bbbb2222": ("NVIDIA GeForce GTX 1660 SUPER", 6 * GIB),
           "GPU-aaaa1111": ("NVIDIA GeForce RTX 3090", 24 * GIB)}
listed = [EngineDevice(name, by_uuid[uuid][0], by_uuid[uuid][1], 0) for name, uuid in EXPECTED.items()]
answer = {d.name: d.gpu.uuid[:12] for d in hardware.survey(listed).devices}
""".replace("EXPECTED", repr(expected))
    assert with_driver(listed, CUDA_VISIBLE_DEVICES=visible) == expected


def test_a_name_that_contradicts_the_order_claims_no_card_until_the_log_settles_it(with_driver: Driver) -> None:
    code = """
listed = [EngineDevice("CUDA0", "NVIDIA GeForce RTX 3090", 24 * GIB, 19 * GIB),
          EngineDevice("CUDA1", "NVIDIA GeForce GTX 1660 SUPER", 6 * GIB, 4 * GIB)]
machine = hardware.survey(listed)
before = [[d.gpu, str(d.match_note), d.free_bytes] for d in machine.devices]
line = "0.00.412.331 I llama_prepare_model_devices: using device {} ({}) ({}) - 19456 MiB free"
settled = hardware.confirm_from_log(machine, [
    line.format("CUDA0", "NVIDIA GeForce RTX 3090", "0000:21:00.0"),
    line.format("CUDA1", "NVIDIA GeForce GTX 1660 SUPER", "0000:01:00.0")])
after = [[d.gpu.uuid[:8], d.match_note] for d in settled.devices]
answer = [before, after]
"""
    before, after = with_driver(code)
    assert before == [[None, "can't tell which card", 19 * GIB], [None, "can't tell which card", 4 * GIB]]
    assert after == [["GPU-aaaa", None], ["GPU-bbbb", None]]


def test_twins_are_matched_by_order_alone_only_where_the_order_is_known(with_driver: Driver) -> None:
    code = """
listed = [EngineDevice(f"CUDA{i}", "NVIDIA GeForce RTX 3090", int(23.6 * GIB), 0) for i in (0, 1)]
answer = [d.gpu and d.gpu.uuid[:8] for d in hardware.survey(listed).devices]
"""
    assert with_driver(code, mode="twins") == ["GPU-cccc", "GPU-aaaa"]
    assert with_driver(code, mode="twins", CUDA_DEVICE_ORDER="FASTEST_FIRST") == [None, None]


def test_a_vulkan_twin_is_not_guessed_but_a_card_of_its_own_name_is(with_driver: Driver) -> None:
    code = """
listed = [EngineDevice("Vulkan0", NAME, 24 * GIB, 0)]
answer = [(d.gpu and d.gpu.uuid[:8], d.match_note and str(d.match_note)) for d in hardware.survey(listed).devices]
"""
    name = "'NVIDIA GeForce RTX 3090'"
    assert with_driver(code.replace("NAME", name)) == [["GPU-aaaa", None]]
    assert with_driver(code.replace("NAME", name), mode="twins") == [[None, "can't tell which card"]]
    assert with_driver(code.replace("NAME", "'AMD Radeon RX 7900 XTX'")) == [[None, None]]


def test_where_processor_and_card_share_one_memory_it_is_counted_once(with_driver: Driver) -> None:
    code = """
from paddock.hardware import host
total, available, _ = host.memory()
machine = hardware.survey([EngineDevice("CUDA0", "NVIDIA GB10", total, total)])
device = machine.devices[0]
reading = hardware.Readings(machine, lambda: []).read()
answer = [device.integrated, device.total_bytes == machine.ram_total_bytes,
          device.free_bytes == machine.ram_available_bytes, machine.gpus[0].error,
          reading.devices[0].free_bytes == reading.ram_available_bytes]
"""
    assert with_driver(code, mode="unified") == [True, True, True, None, True]


def test_a_slice_of_a_card_in_a_virtual_machine_is_no_shared_memory_even_where_the_sizes_are_equal(
    with_driver: Driver
) -> None:
    code = """
from paddock.hardware import host
total, available, _ = host.memory()
machine = hardware.survey([EngineDevice("CUDA0", "NVIDIA H100L-2-24C", total, total // 2)])
device = machine.devices[0]
reading = hardware.Readings(machine, lambda: []).read().devices[0]
answer = [device.integrated, device.free_bytes == total // 2, machine.gpus[0].error, math.isnan(reading.used_bytes),
          reading.temperature_c]
"""
    assert with_driver(code, mode="vgpu") == [False, True, None, True, 61]


def test_a_lost_card_is_an_error_and_not_a_shared_memory(with_driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "lost").touch()
    answer = with_driver(DEVICES, FAKE_NVML_LOST=str(tmp_path / "lost"))
    assert answer["CUDA1"]["integrated"] is False
    assert answer["CUDA1"]["free"] == 19 * GIB
    assert answer["CUDA0"]["uuid"].startswith("GPU-bbbb2222")
    assert len(answer["notes"]) == 1
    assert "GPU 0" in answer["notes"][0]


def test_mig_instances_are_listed_in_place_of_their_card(with_driver: Driver) -> None:
    code = """
listed = [EngineDevice("CUDA0", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", int(19.5 * GIB), 17 * GIB)]
machine = hardware.survey(listed)
reading = hardware.Readings(machine, lambda: []).read().devices[0]
answer = [[gpu.name[-11:] for gpu in machine.gpus], machine.devices[0].gpu.uuid, reading.used_bytes,
          math.isnan(reading.utilisation_pct)]
"""
    expected = [["MIG 3g.20gb", "MIG 2g.10gb"], "MIG-1111", 2 * GIB, True]
    assert with_driver(code, mode="mig") == expected
    assert with_driver(code, mode="mig", CUDA_VISIBLE_DEVICES="MIG-1111") == expected


def test_an_instance_tells_its_own_memory_and_the_heat_of_its_card_but_no_load(with_driver: Driver) -> None:
    code = """
listed = [EngineDevice("CUDA0", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", int(19.5 * GIB), 17 * GIB)]
machine = hardware.survey(listed)
from paddock.hardware.readings import explain
reading = hardware.Readings(machine, lambda: []).read().devices[0]
why = explain(machine)["CUDA0"]
answer = [machine.gpus[0].instance_of, reading.power_w, reading.temperature_c, math.isnan(reading.utilisation_pct),
          math.isnan(reading.memory_utilisation_pct), str(why["load"]), str(why["power"])]
"""
    parent, power, heat, *gaps, load, whole = with_driver(code, mode="mig")
    assert (parent, power, heat, gaps) == ("NVIDIA A100-SXM4-40GB", 213.5, 61, [True, True])
    assert "no such figure of its own" in load
    assert "whole card" in whole


def test_a_card_in_mig_mode_without_instances_is_no_target(with_driver: Driver) -> None:
    code = """
machine = hardware.survey([EngineDevice("Vulkan0", "Another card", 8 * GIB, 8 * GIB)])
answer = [[(gpu.name, str(gpu.error)) for gpu in machine.gpus], [str(note) for note in machine.notes]]
"""
    gpus, notes = with_driver(code, mode="migempty")
    assert len(gpus) == 1
    assert "has no instances" in gpus[0][1]
    assert any("has no instances" in note for note in notes)


def test_a_driver_that_names_no_sizes_is_replaced_by_what_the_card_s_use_grew_by_since_the_launch(
    with_driver: Driver
) -> None:
    code = """
import subprocess, sys, time
listed = [EngineDevice("CUDA0", "NVIDIA GeForce GTX 1660 SUPER", 6 * GIB, 5 * GIB)]
machine = hardware.survey(listed, environ={"CUDA_VISIBLE_DEVICES": "0"})
before = dataclasses.replace(machine, devices=tuple(
    dataclasses.replace(d, counted_free_bytes=d.counted_free_bytes + GIB // 2) for d in machine.devices))
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
os.environ["FAKE_NVML_PID"] = str(child.pid)
young = hardware.Readings(before, lambda: [child.pid]).read().devices[0]
old = hardware.Readings(dataclasses.replace(before, taken_at=time.monotonic() + 60), lambda: [os.getpid()])
os.environ["FAKE_NVML_PID"] = str(os.getpid())
attached = old.read().devices[0]
child.communicate(b"x")
answer = [young.process_bytes, young.process_assumed, math.isnan(attached.process_bytes), attached.process_assumed]
"""
    assert with_driver(code) == [GIB // 2, True, True, False]


def test_all_cards_together_are_the_sum_of_the_cards_and_a_twin_counts_once(with_driver: Driver) -> None:
    code = LISTED + """
listed.append(EngineDevice("Vulkan0", "NVIDIA GeForce RTX 3090", 24 * GIB, 20 * GIB))
machine = hardware.survey(listed)
reading = hardware.Readings(machine, lambda: [os.getpid()]).read()
answer = [[d.same_as for d in machine.devices], [d.process_bytes for d in reading.devices],
          reading.process_device_bytes]
"""
    same, each, together = with_driver(code, mode="sized", FAKE_NVML_PID="self")
    assert same == [None, None, "CUDA1"]
    assert each == [GIB, 3 * GIB, 3 * GIB]
    assert together == 4 * GIB


def test_the_words_of_engine_and_driver_are_both_kept_and_the_engine_s_total_counts(with_driver: Driver) -> None:
    code = """
machine = hardware.survey([EngineDevice("CUDA0", "NVIDIA GeForce GTX 1660 SUPER", int(5.9 * GIB), 4 * GIB)],
                          environ={"CUDA_VISIBLE_DEVICES": "0"})
answer = [(d.listed_total_bytes, d.listed_free_bytes, d.counted_total_bytes, d.counted_free_bytes, d.total_bytes,
           d.free_bytes, d.memory_note) for d in machine.devices]
"""
    assert with_driver(code) == [[int(5.9 * GIB), 4 * GIB, 6 * GIB, 5 * GIB, int(5.9 * GIB), 5 * GIB, None]]


@pytest.mark.parametrize(("mode", "words"), [("mismatch", "waits for a restart"), ("notloaded", "not loaded")])
def test_a_driver_that_does_not_answer_is_one_calm_note_and_is_not_asked_again(
    with_driver: Driver, tmp_path: Path, mode: str, words: str
) -> None:
    code = SURVEY + """
readings = hardware.Readings(machine, lambda: [])
for _ in range(20):
    readings.read()
readings.close()
answer = [[str(note) for note in machine.notes], [d.free_bytes for d in machine.devices],
          [d.match_note for d in machine.devices]]
"""
    notes, free, match_notes = with_driver(code, mode=mode)
    assert len(notes) == 1
    assert words in notes[0]
    assert free == [4 * GIB, 19 * GIB]
    assert match_notes == [None, None]
    assert (tmp_path / "nvml.log").read_text().split() == ["init"]


def test_readings_tell_what_the_driver_tells_and_leave_the_rest_nan(with_driver: Driver) -> None:
    code = SURVEY + """
readings = hardware.Readings(machine, lambda: [os.getpid()])
readings.read()
reading = readings.read()
readings.close()
answer = {d.device: {k: v for k, v in dataclasses.asdict(d).items() if v == v} for d in reading.devices}
"""
    answer = with_driver(code, FAKE_NVML_PID=str(os.getpid()))
    assert answer["CUDA1"] == {
        "device": "CUDA1", "used_bytes": 4 * GIB, "free_bytes": 20 * GIB, "process_bytes": 0.0, "utilisation_pct": 42,
        "memory_utilisation_pct": 17, "sm_clock_mhz": 1740, "memory_clock_mhz": 9751, "power_w": 213.5,
        "temperature_c": 61, "pcie_rx_bytes_per_s": 2000 * 1024, "pcie_tx_bytes_per_s": 1000 * 1024,
        "throttle": ["sw_power_cap", "hw_thermal_slowdown"], "pcie_generation": 3, "pcie_width": 8,
        "process_assumed": False, "twin": False}
    assert answer["CUDA0"] == {"device": "CUDA0", "used_bytes": GIB, "free_bytes": 5 * GIB, "process_bytes": 0.0,
                               "temperature_c": 61, "throttle": None, "process_assumed": False, "twin": False}


@pytest.mark.parametrize(("pid", "cuda1"), [("own", 3.0 * GIB), ("4000000", None)])
def test_the_memory_of_our_processes_is_their_own_and_unknown_in_another_pid_world(
    with_driver: Driver, pid: str, cuda1: float | None
) -> None:
    code = SURVEY + f"""
os.environ["FAKE_NVML_PID"] = str(os.getpid()) if {pid!r} == "own" else {pid!r}
readings = hardware.Readings(machine, lambda: [os.getpid()])
reading = readings.read()
readings.close()
answer = [None if d.process_bytes != d.process_bytes else d.process_bytes for d in reading.devices]
"""
    answer = with_driver(code)
    assert answer[1] == cuda1
    assert answer[0] is None


def test_pcie_traffic_is_asked_at_most_once_a_second(with_driver: Driver, tmp_path: Path) -> None:
    code = SURVEY + """
now = [100.0]
readings = hardware.Readings(machine, lambda: [], clock=lambda: now[0])
for _ in range(40):
    readings.read()
    now[0] += 0.1
readings.close()
answer = None
"""
    with_driver(code)
    assert (tmp_path / "nvml.log").read_text().split().count("pcie") in (6, 8)


def test_a_card_that_is_lost_reads_nan_and_is_looked_for_again_not_too_often(
    with_driver: Driver, tmp_path: Path
) -> None:
    code = SURVEY + """
lost, log = Path(os.environ["FAKE_NVML_LOST"]), Path(os.environ["FAKE_NVML_LOG"])
now = [100.0]
readings = hardware.Readings(machine, lambda: [], clock=lambda: now[0])
def used(seconds):
    now[0] += seconds
    return [None if d.used_bytes != d.used_bytes else d.used_bytes for d in readings.read().devices]
steps = [used(0)]
log.write_text("")
lost.touch()
steps += [used(1) for _ in range(20)]
lost.unlink()
back = [used(1) for _ in range(15)]
inits = log.read_text().split().count("init")
readings.close()
readings.close()
balance = log.read_text().split()
answer = [steps[0], steps[-1], back[-1], inits, balance.count("shutdown") - balance.count("init"),
          [d.used_bytes == d.used_bytes for d in readings.read().devices]]
"""
    first, lost, back, inits, surplus, after = with_driver(code, FAKE_NVML_LOST=str(tmp_path / "lost"))
    assert first == [GIB, 4 * GIB]
    assert lost == [GIB, None]
    assert back == [GIB, 4 * GIB]
    assert inits == 1
    assert surplus == 1
    assert after == [False, False]


def test_the_log_of_the_loaded_server_brings_the_readings_of_cards_that_could_not_be_told_apart(
    with_driver: Driver
) -> None:
    code = """
listed = [EngineDevice(f"CUDA{i}", "NVIDIA GeForce RTX 3090", int(23.6 * GIB), 0) for i in (0, 1)]
machine = hardware.survey(listed)
now, told = [100.0], {}
readings = hardware.Readings(machine, lambda: [], clock=lambda: now[0], buses=lambda: told)
def used():
    now[0] += 1
    return [None if d.used_bytes != d.used_bytes else d.used_bytes for d in readings.read().devices]
before = used()
told["CUDA0"] = "0000:21:00.0"
half = used()
told["CUDA1"] = "0000:01:00.0-v1"
whole = used()
readings.close()
told.clear()
answer = [before, half, whole, used()]
"""
    before, half, whole, closed = with_driver(code, mode="twins", CUDA_DEVICE_ORDER="FASTEST_FIRST")
    assert before == [None, None]
    assert half == [4 * GIB, None]
    assert whole == [4 * GIB, 9 * GIB]
    assert closed == [None, None]


def test_after_the_machine_slept_the_driver_is_opened_anew_at_once(with_driver: Driver, tmp_path: Path) -> None:
    code = SURVEY + """
import time
log = Path(os.environ["FAKE_NVML_LOG"])
now, wall = [100.0], [1e9]
time.time = lambda: wall[0]
readings = hardware.Readings(machine, lambda: [], clock=lambda: now[0])
readings.read()
log.write_text("")
counts = []
for seconds in (1, 1, 7200, 1):
    now[0] += 1
    wall[0] += seconds
    readings.read()
    counts.append(log.read_text().split().count("init"))
readings.close()
answer = counts
"""
    assert with_driver(code) == [0, 0, 1, 1]


def test_free_memory_is_read_anew(with_driver: Driver, tmp_path: Path) -> None:
    code = SURVEY + """
stale = dataclasses.replace(machine, devices=tuple(dataclasses.replace(d, free_bytes=1) for d in machine.devices))
answer = [d.free_bytes for d in hardware.refresh(stale).devices]
"""
    assert with_driver(code) == [5 * GIB, 20 * GIB]
    log = (tmp_path / "nvml.log").read_text().split()
    assert log.count("init") == log.count("shutdown") == 2


def test_a_card_that_the_engine_does_not_list_is_pointed_out_unless_it_was_hidden(with_driver: Driver) -> None:
    code = "answer = [str(note) for note in hardware.survey([]).notes]"
    assert "RTX 3090" in with_driver(code)[0]
    assert with_driver(code, CUDA_VISIBLE_DEVICES="") == []
