"""What macOS' own programs tell of Apple's graphics, from outputs of their shape."""

from __future__ import annotations

import json
import math
import plistlib
from collections.abc import Sequence

import pytest

from paddock.engine import EngineDevice
from paddock.hardware import Readings, apple, host, survey
from paddock.hardware.apple import AppleGpus
from paddock.hardware.readings import explain

GIB = 1 << 30
DISPLAYS = json.dumps({"SPDisplaysDataType": [{
    "_name": "Apple M3 Max", "spdisplays_vendor": "sppci_vendor_Apple", "sppci_bus": "spdisplays_builtin",
    "sppci_cores": "40", "sppci_device_type": "spdisplays_gpu", "sppci_model": "Apple M3 Max"}]}).encode()
STATISTICS = plistlib.dumps([{"IOClass": "AGXAcceleratorG15X", "PerformanceStatistics": {
    "Device Utilization %": 87, "Renderer Utilization %": 80, "In use system memory": 9 * GIB,
    "Alloc system memory": 20 * GIB}}])
METAL = EngineDevice("MTL0", "Apple M3 Max", 96 * GIB, 96 * GIB, unified=True)


class Mac:
    """The programs, and how often each was asked."""

    def __init__(self, **answers: bytes | None) -> None:
        self.answers = {"hw.memsize": b"137438953472\n", "iogpu.wired_limit_mb": b"0\n", "SPDisplaysDataType": DISPLAYS,
                        "IOAccelerator": STATISTICS} | answers
        self.asked: list[str] = []

    def __call__(self, argv: Sequence[str]) -> bytes | None:
        name = next(word for word in argv if word in self.answers)
        self.asked.append(name)
        return self.answers[name]


def test_memory_is_one_and_counted_once() -> None:
    mac = AppleGpus(Mac())
    machine = survey([METAL], drivers=[mac])
    device = machine.devices[0]
    assert device.integrated
    assert device.gpu is not None
    assert (device.gpu.maker, device.gpu.name, device.gpu.total_bytes) == ("apple", "Apple M3 Max", 128 * GIB)
    assert device.total_bytes == machine.ram_total_bytes
    assert (device.free_bytes or 0) <= machine.ram_available_bytes
    assert device.memory_note is None


def test_load_and_what_graphics_hold_are_read_and_the_rest_says_why_not() -> None:
    mac = AppleGpus(Mac())
    machine = survey([METAL], drivers=[mac])
    made = Readings(machine, list, open_with=lambda: ([mac], None))
    reading = made.read()
    one = reading.devices[0]
    assert (one.utilisation_pct, one.shared_used_bytes) == (87, 9 * GIB)
    assert one.free_bytes == reading.ram_available_bytes
    assert one.used_bytes == reading.ram_used_bytes
    assert all(math.isnan(value) for value in (one.power_w, one.temperature_c, one.sm_clock_mhz, one.pcie_width))
    why = explain(machine, open_with=lambda: ([mac], None))["MTL0"]
    assert "administrator alone" in str(why["power"])
    assert "no bus" in str(why["pcie"])


def test_programs_are_asked_no_more_than_once_a_second_and_the_slow_one_once() -> None:
    programs, now = Mac(), [100.0]
    mac = AppleGpus(programs, clock=lambda: now[0])
    made = Readings(survey([METAL], drivers=[mac]), list, open_with=lambda: ([mac], None), clock=lambda: now[0])
    for _ in range(30):
        made.read()
        now[0] += 0.1
    assert programs.asked.count("SPDisplaysDataType") == 1
    assert programs.asked.count("IOAccelerator") in (3, 4)


def test_a_limit_that_the_person_set_is_what_graphics_may_take() -> None:
    mac = AppleGpus(Mac(**{"iogpu.wired_limit_mb": b"122880\n"}))
    assert mac.cards()[0].gpu.shared_bytes == 120 * GIB


@pytest.mark.parametrize("answers", [
    {"SPDisplaysDataType": None}, {"SPDisplaysDataType": b"not json"}, {"SPDisplaysDataType": b"[]"},
    {"SPDisplaysDataType": b'{"SPDisplaysDataType": 7}'},
    {"SPDisplaysDataType": b'{"SPDisplaysDataType": [{"_name": "AMD Radeon Pro 5500M"}, 3]}'}])
def test_a_profile_without_an_apple_part_is_no_card(answers: dict[str, bytes | None]) -> None:
    mac = AppleGpus(Mac(**answers))
    assert mac.cards() == []
    device = survey([METAL], drivers=[mac]).devices[0]
    assert device.gpu is None
    assert device.total_bytes == min(96 * GIB, host.memory()[0])


@pytest.mark.parametrize("told", [None, b"", b"junk", b"<plist><array></plist>", plistlib.dumps([]),
                                  plistlib.dumps({"a": 1}), plistlib.dumps([{"PerformanceStatistics": {}}]),
                                  plistlib.dumps([{"PerformanceStatistics": {"Device Utilization %": "x"}}])])
def test_statistics_that_cannot_be_read_are_gaps(told: bytes | None) -> None:
    mac = AppleGpus(Mac(IOAccelerator=told))
    made = Readings(survey([METAL], drivers=[mac]), list, open_with=lambda: ([mac], None))
    one = made.read().devices[0]
    assert math.isnan(one.utilisation_pct)
    assert math.isnan(one.shared_used_bytes)


def test_the_machine_s_description_is_asked_for_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def told(argv: Sequence[str]) -> bytes | None:
        asked.append(tuple(argv))
        return DISPLAYS if "SPDisplaysDataType" in argv else b"1073741824"

    apple._profile.cache_clear()
    monkeypatch.setattr(apple, "_run", told)
    for _ in range(3):
        assert len(AppleGpus().cards()) == 1
    apple._profile.cache_clear()
    assert sum("SPDisplaysDataType" in argv for argv in asked) == 1


def test_a_program_that_is_not_there_tells_nothing() -> None:
    assert apple._run(("/no/such/program",)) is None
