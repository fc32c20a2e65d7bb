"""The files of Intel's Linux drivers, from a pretend /sys: i915 and xe, cards and processors' graphics."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from sysfstree import fdinfo, install

from paddock.engine import EngineDevice
from paddock.hardware import DeviceReading, Readings, survey
from paddock.hardware.intel import IntelGpus
from paddock.hardware.nvml import NO_DRIVER
from paddock.hardware.pci_names import pci_name
from paddock.hardware.readings import explain

GIB = 1 << 30
XE: dict[str, str | bytes] = {
    "vendor": "0x8086\n", "device": "0xe20b\n", "max_link_speed": "16.0 GT/s PCIe\n", "max_link_width": "8\n",
    "current_link_speed": "2.5 GT/s PCIe\n", "current_link_width": "8\n",
    "hwmon/hwmon5/name": "xe\n", "hwmon/hwmon5/energy1_label": "card\n", "hwmon/hwmon5/energy1_input": "1000000\n",
    "hwmon/hwmon5/energy2_label": "pkg\n", "hwmon/hwmon5/energy2_input": "77\n",
    "hwmon/hwmon5/temp2_label": "pkg\n", "hwmon/hwmon5/temp2_input": "54000\n",
    "hwmon/hwmon5/temp3_label": "vram\n", "hwmon/hwmon5/temp3_input": "60000\n",
    "tile0/gt0/freq0/act_freq": "2400\n", "tile0/gt1/freq0/act_freq": "0\n",
    "tile0/gt0/freq0/throttle/status": "1\n", "tile0/gt0/freq0/throttle/reason_pl1": "1\n",
    "tile0/gt0/freq0/throttle/reason_thermal": "0\n", "tile0/gt1/freq0/throttle/reason_vr_tdc": "1\n",
    "tile0/gt0/gtidle/idle_residency_ms": "5000\n", "tile0/gt1/gtidle/idle_residency_ms": "9000\n",
}
I915: dict[str, str | bytes] = {"vendor": "0x8086\n", "device": "0x4680\n"}
I915_CARD = {"gt/gt0/rps_act_freq_mhz": "1300\n", "gt/gt0/rc6_residency_ms": "100\n",
             "gt/gt0/throttle_reason_status": "1\n", "gt/gt0/throttle_reason_prochot": "1\n",
             "gt/gt0/throttle_reason_pl2": "0\n"}
ARC = EngineDevice("SYCL0", "Intel(R) Arc(TM) B580 Graphics", 12 * GIB, 12 * GIB)
UHD = EngineDevice("Vulkan0", "Intel(R) UHD Graphics 770 (ADL-S GT1)", 8 * GIB, 8 * GIB, unified=True)


class Clock:
    """Time that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def intel(tmp_path: Path, clock: Clock) -> IntelGpus:
    return IntelGpus(tmp_path / "drm", tmp_path / "proc", clock=clock)


def readings(intel: IntelGpus, clock: Clock, *devices: EngineDevice) -> Readings:
    return Readings(survey(devices, drivers=[intel]), lambda: [4242], open_with=lambda: ([intel], None), clock=clock)


def second_reading(made: Readings, clock: Clock) -> DeviceReading:
    made.read()
    clock.now += 1.0
    return made.read().devices[0]


def test_a_card_of_xe_is_read_from_its_files(tmp_path: Path, intel: IntelGpus, clock: Clock) -> None:
    folder = install(tmp_path, XE, driver="xe")
    card = intel.cards()[0].gpu
    assert (card.pci_id, card.maker, card.driver, card.integrated, card.pcie_generation, card.pcie_width) == (
        "0000:03:00.0", "intel", "xe", False, 4, 8)
    made = readings(intel, clock, ARC)
    first = made.read().devices[0]
    assert math.isnan(first.power_w)
    assert math.isnan(first.utilisation_pct)
    (folder / "hwmon/hwmon5/energy1_input").write_text("121000000\n")
    (folder / "tile0/gt0/gtidle/idle_residency_ms").write_text("5250\n")
    (folder / "tile0/gt1/gtidle/idle_residency_ms").write_text("10000\n")
    clock.now += 1.0
    second = made.read().devices[0]
    assert (second.power_w, second.utilisation_pct, second.temperature_c, second.sm_clock_mhz) == (120, 75, 54, 2400)
    assert second.throttle == ("power_limit", "current_limit")
    assert (second.pcie_generation, second.pcie_width) == (1, 8)


def test_memory_that_no_file_tells_is_the_engine_s_and_the_reason_is_said(
    tmp_path: Path, intel: IntelGpus, clock: Clock
) -> None:
    install(tmp_path, XE, driver="xe")
    machine = survey([ARC], drivers=[intel])
    device = machine.devices[0]
    assert (device.total_bytes, device.free_bytes, device.free_assumed) == (12 * GIB, 12 * GIB, True)
    reading = readings(intel, clock, ARC).read().devices[0]
    assert math.isnan(reading.used_bytes)
    why = explain(machine, open_with=lambda: ([intel], None))["SYCL0"]
    assert "does not tell how much" in str(why["memory"])
    assert "awake" in str(why["load"])


def test_a_processor_s_graphics_are_shared_memory_and_have_no_bus(
    tmp_path: Path, intel: IntelGpus, clock: Clock
) -> None:
    install(tmp_path, I915, "0000:00:02.0", driver="i915", card_files=I915_CARD)
    machine = survey([UHD], drivers=[intel])
    assert machine.devices[0].integrated
    assert machine.gpus[0].integrated
    assert machine.notes == survey([UHD], drivers=[]).notes
    reading = readings(intel, clock, UHD).read().devices[0]
    assert (reading.sm_clock_mhz, reading.throttle) == (1300, ("prochot",))
    assert math.isnan(reading.pcie_width)
    assert math.isnan(reading.power_w)


def test_a_processor_s_graphics_beside_a_card_are_told_apart(tmp_path: Path, intel: IntelGpus) -> None:
    install(tmp_path, I915, "0000:00:02.0", 0, driver="i915", card_files=I915_CARD)
    install(tmp_path, XE, "0000:03:00.0", 1, driver="xe")
    vulkan_card = EngineDevice("Vulkan1", "Intel(R) Arc(tm) B580 Graphics (BMG G21)", 12 * GIB, 11 * GIB, unified=False)
    devices = survey([ARC, UHD, vulkan_card], drivers=[intel]).devices
    assert [(d.name, d.gpu and d.gpu.pci_id, d.integrated, d.same_as) for d in devices] == [
        ("SYCL0", "0000:03:00.0", False, None), ("Vulkan0", "0000:00:02.0", True, None),
        ("Vulkan1", "0000:03:00.0", False, "SYCL0")]


def test_two_cards_of_one_kind_are_not_guessed(tmp_path: Path, intel: IntelGpus) -> None:
    install(tmp_path, XE, "0000:03:00.0", 0, driver="xe")
    install(tmp_path, XE, "0000:83:00.0", 1, driver="xe")
    twin = EngineDevice("SYCL1", ARC.description, 12 * GIB, 12 * GIB)
    devices = survey([ARC, twin], drivers=[intel]).devices
    assert [(d.gpu, str(d.match_note)) for d in devices] == [(None, "can't tell which card")] * 2


@pytest.mark.parametrize(("bus", "text", "held"), [
    ("0000:03:00.0", "drm-pdev:\t0000:03:00.0\ndrm-client-id:\t3\ndrm-total-vram0:\t9 MiB\n"
     "drm-resident-vram0:\t23992 KiB\ndrm-resident-gtt:\t192 KiB\n", 23992 << 10),
    ("0000:00:02.0", "drm-pdev:\t0000:00:02.0\ndrm-client-id:\t3\ndrm-resident-system0:\t6 MiB\n"
     "drm-resident-stolen-system0:\t0\n", 6 << 20),
])
def test_what_our_processes_hold_is_their_resident_memory(
    tmp_path: Path, intel: IntelGpus, clock: Clock, bus: str, text: str, held: int
) -> None:
    install(tmp_path, XE if bus.startswith("0000:03") else I915, bus, driver="xe", card_files=I915_CARD)
    fdinfo(tmp_path, 4242, text, text, "pos:\t0\n")
    processes = intel.processes(intel.cards()[0], frozenset({4242, 4243}))
    assert [(one.pid, one.used_bytes) for one in processes or ()] == [(4242, held)]


@pytest.mark.parametrize("changed", [{"vendor": "0x1002"}, {"vendor": "junk"}])
def test_what_is_no_card_of_intel_is_passed_over(
    tmp_path: Path, intel: IntelGpus, changed: dict[str, str | bytes]
) -> None:
    install(tmp_path, XE | changed, driver="xe")
    assert intel.cards() == []


@pytest.mark.parametrize("driver", ["vfio-pci", None])
def test_a_card_that_is_given_to_a_virtual_machine_is_not_ours(
    tmp_path: Path, intel: IntelGpus, driver: str | None
) -> None:
    install(tmp_path, XE, driver=driver)
    assert intel.cards() == []


def test_a_counter_that_begins_anew_is_a_gap_and_readings_too_close_repeat_the_last(
    tmp_path: Path, intel: IntelGpus, clock: Clock
) -> None:
    folder = install(tmp_path, XE, driver="xe")
    made = readings(intel, clock, ARC)
    assert second_reading(made, clock).power_w == 0
    (folder / "hwmon/hwmon5/energy1_input").write_text("31000000\n")
    clock.now += 0.1
    assert made.read().devices[0].power_w == 0
    clock.now += 0.9
    assert made.read().devices[0].power_w == 30
    (folder / "hwmon/hwmon5/energy1_input").write_text("5\n")
    clock.now += 1.0
    assert math.isnan(made.read().devices[0].power_w)


def test_files_that_are_missing_are_gaps(tmp_path: Path, intel: IntelGpus, clock: Clock) -> None:
    install(tmp_path, {"vendor": "0x8086"}, driver="xe")
    reading = second_reading(readings(intel, clock, ARC), clock)
    assert all(math.isnan(value) for value in (
        reading.used_bytes, reading.power_w, reading.utilisation_pct, reading.sm_clock_mhz, reading.pcie_width))
    assert reading.throttle is None


def test_a_card_that_sleeps_is_not_woken(tmp_path: Path, intel: IntelGpus, clock: Clock) -> None:
    install(tmp_path, XE | {"power/runtime_status": "suspended"}, driver="xe")
    reading = second_reading(readings(intel, clock, ARC), clock)
    assert math.isnan(reading.sm_clock_mhz)
    assert reading.throttle is None
    why = explain(survey([ARC], drivers=[intel]), open_with=lambda: ([intel], None))["SYCL0"]
    assert "switched off to save power" in str(why["*"])


def test_names_come_from_the_list_of_pci_parts(tmp_path: Path) -> None:
    listed = tmp_path / "pci.ids"
    listed.write_text("# comment\n1002  AMD\n\te20b  wrong maker\n8086  Intel Corporation\n\te20b  Battlemage G21 "
                      "[Arc B580]\n\t\t8086 1100  a board\n\t4680  AlderLake-S GT1\n8087  Intel Corp.\n\t5690  other\n")
    assert pci_name("8086", "0xe20b", (listed,)) == "Arc B580"
    assert pci_name("8086", "0x4680", (listed,)) == "AlderLake-S GT1"
    assert pci_name("8086", "0x5690", (listed,)) is None
    assert pci_name("8086", None, (listed,)) is None
    assert pci_name("8086", "0xe20b", (tmp_path / "absent",)) is None


def test_no_nvidia_driver_is_no_news_where_there_are_other_cards(
    tmp_path: Path, intel: IntelGpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.hardware.surveying.open_drivers", lambda: ([intel], [NO_DRIVER]))
    assert survey([UHD]).notes == (NO_DRIVER, *survey([], drivers=[]).notes)
    install(tmp_path, I915, "0000:00:02.0", driver="i915", card_files=I915_CARD)
    assert NO_DRIVER not in survey([UHD]).notes
