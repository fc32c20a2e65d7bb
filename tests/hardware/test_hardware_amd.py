"""The files of AMD's Linux driver, from a pretend /sys."""

from __future__ import annotations

import math
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sysfstree import install, metrics_of_a_card, metrics_of_a_processor

from paddock.engine import EngineDevice
from paddock.hardware import DeviceReading, Readings, amd_metrics, amd_smi, host, refresh, survey
from paddock.hardware.amd import AmdGpus
from paddock.hardware.readings import explain

GIB = 1 << 30
CARD = {
    "vendor": "0x1002\n", "mem_info_vram_total": f"{24 * GIB}\n", "mem_info_vram_used": f"{6 * GIB}\n",
    "mem_info_gtt_total": f"{16 * GIB}\n", "mem_info_gtt_used": "1048576\n", "gpu_busy_percent": "73\n",
    "max_link_speed": "16.0 GT/s PCIe\n", "max_link_width": "16\n", "hwmon/hwmon3/power1_average": "212000000\n",
    "hwmon/hwmon3/temp1_input": "58000\n", "hwmon/hwmon3/freq1_input": "2450000000\n", "product_name": "\n",
}


@pytest.fixture
def amd(tmp_path: Path) -> AmdGpus:
    return AmdGpus(tmp_path / "drm", tmp_path / "proc", ids=(tmp_path / "amdgpu.ids",))


def listed(total: int = 24 * GIB) -> EngineDevice:
    return EngineDevice("ROCm0", "AMD Radeon RX 7900 XTX", total, total - GIB)


def test_a_card_is_read_from_its_files(tmp_path: Path, amd: AmdGpus) -> None:
    install(tmp_path, CARD)
    card = amd.cards()[0]
    assert (card.gpu.pci_id, card.gpu.maker, card.gpu.total_bytes, card.gpu.pcie_generation, card.gpu.pcie_width) == (
        "0000:03:00.0", "amd", 24 * GIB, 4, 16)
    machine = survey([listed()], drivers=[amd])
    assert machine.devices[0].free_bytes == 18 * GIB
    reading = Readings(machine, lambda: [os.getpid()], open_with=lambda: ([amd], None)).read().devices[0]
    assert (reading.used_bytes, reading.utilisation_pct, reading.power_w, reading.temperature_c,
            reading.sm_clock_mhz) == (6 * GIB, 73, 212, 58, 2450)
    assert math.isnan(reading.memory_clock_mhz)
    assert math.isnan(reading.process_bytes)
    assert reading.throttle is None


def test_free_memory_is_read_anew_from_the_files(tmp_path: Path, amd: AmdGpus) -> None:
    folder = install(tmp_path, CARD)
    machine = survey([listed()], drivers=[amd])
    (folder / "mem_info_vram_used").write_text(f"{20 * GIB}\n")
    assert refresh(machine, drivers=[amd]).devices[0].free_bytes == 4 * GIB


def test_a_carve_out_is_counted_with_what_it_may_take_of_the_host_and_never_beyond_it(
    tmp_path: Path, amd: AmdGpus
) -> None:
    install(tmp_path, CARD | {"mem_info_vram_total": f"{GIB // 2}\n", "mem_info_vram_used": f"{GIB // 4}\n"})
    assert amd.cards()[0].gpu.total_bytes == 16 * GIB + GIB // 2
    apu = EngineDevice("ROCm0", "AMD Radeon(TM) 8060S Graphics", 1 << 60, 1 << 60)
    machine = survey([apu], drivers=[amd])
    assert machine.devices[0].integrated
    assert machine.devices[0].total_bytes == machine.ram_total_bytes
    assert (machine.devices[0].free_bytes or 0) <= machine.ram_available_bytes


def test_what_our_processes_hold_is_counted_once_for_each_client(tmp_path: Path, amd: AmdGpus) -> None:
    install(tmp_path, CARD)
    for number, text in enumerate((
        "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\ndrm-memory-vram:\t1024 KiB\n",
        "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\ndrm-memory-vram:\t1024 KiB\n",
        "drm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\ndrm-memory-vram:\t2048 KiB\ndrm-memory-gtt:\t1024 KiB\n",
        "drm-pdev:\t0000:83:00.0\ndrm-client-id:\t3\ndrm-memory-vram:\t9999 KiB\n",
        "pos:\t0\nflags:\t02\n",
    )):
        path = tmp_path / "proc" / "4242" / "fdinfo" / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    processes = amd.processes(amd.cards()[0], frozenset({4242, 4243}))
    assert processes is not None
    assert [(one.pid, one.used_bytes) for one in processes] == [(4242, 4096 << 10)]


@pytest.mark.parametrize("changed", [
    {"vendor": "0x8086\n"}, {"mem_info_vram_total": "0\n"}, {"mem_info_vram_total": "junk\n"}])
def test_what_is_no_card_of_amd_is_passed_over(tmp_path: Path, amd: AmdGpus, changed: dict[str, str]) -> None:
    install(tmp_path, CARD | changed)
    assert amd.cards() == []


def test_files_that_are_missing_are_gaps(tmp_path: Path, amd: AmdGpus) -> None:
    install(tmp_path, {"vendor": "0x1002", "mem_info_vram_total": str(8 * GIB)})
    machine = survey([listed(8 * GIB)], drivers=[amd])
    assert machine.devices[0].free_bytes == 7 * GIB
    reading = Readings(machine, list, open_with=lambda: ([amd], None)).read().devices[0]
    assert all(math.isnan(value) for value in (reading.used_bytes, reading.power_w, reading.utilisation_pct))


def test_no_graphics_at_all_is_no_card(tmp_path: Path) -> None:
    assert AmdGpus(tmp_path / "absent").cards() == []


def reading_of(amd: AmdGpus, device: EngineDevice) -> DeviceReading:
    return Readings(survey([device], drivers=[amd]), list, open_with=lambda: ([amd], None)).read().devices[0]


def test_own_and_borrowed_memory_are_told_apart(tmp_path: Path, amd: AmdGpus) -> None:
    install(tmp_path, CARD)
    card = amd.cards()[0].gpu
    assert (card.vram_bytes, card.shared_bytes) == (24 * GIB, 16 * GIB)
    device = survey([listed()], drivers=[amd]).devices[0]
    assert (device.counted_total_bytes, device.counted_free_bytes, device.shared_total_bytes) == (
        24 * GIB, 18 * GIB, 16 * GIB)
    assert reading_of(amd, listed()).shared_used_bytes == 1 << 20


def test_a_large_carve_out_is_not_bounded_by_what_the_system_was_left(tmp_path: Path, amd: AmdGpus) -> None:
    """96 GiB set aside in the BIOS: the system never sees them, so its own total says nothing about them."""
    ram = host.memory()[0]
    vram = 4 * ram
    install(tmp_path, CARD | {"mem_info_vram_total": f"{vram}", "mem_info_vram_used": f"{GIB}",
                              "mem_info_gtt_total": f"{ram // 2}", "mem_info_gtt_used": "0",
                              "gpu_metrics": metrics_of_a_processor(throttle=0)})
    apu = EngineDevice("ROCm0", "AMD Radeon(TM) 8060S Graphics", vram, vram - GIB)
    machine = survey([apu], drivers=[amd])
    assert machine.devices[0].integrated
    assert (machine.devices[0].total_bytes, machine.devices[0].free_bytes) == (vram, vram - GIB)
    assert refresh(machine, drivers=[amd]).devices[0].free_bytes == vram - GIB
    assert reading_of(amd, apu).free_bytes == vram - GIB


def test_two_backends_that_disagree_about_one_processor_s_graphics_are_both_shown_and_counted_once(
    tmp_path: Path, amd: AmdGpus
) -> None:
    install(tmp_path, CARD | {"mem_info_vram_total": f"{GIB // 2}", "mem_info_vram_used": "0",
                              "gpu_metrics": metrics_of_a_processor(throttle=0)})
    rocm = EngineDevice("ROCm0", "AMD Radeon(TM) 8060S Graphics", 12 * GIB, 12 * GIB)
    vulkan = EngineDevice("Vulkan0", "AMD Radeon 8060S Graphics (RADV GFX1151)", 8 * GIB, 7 * GIB, unified=True)
    devices = survey([rocm, vulkan], drivers=[amd]).devices
    assert [(d.name, d.total_bytes, d.same_as) for d in devices] == [
        ("ROCm0", 12 * GIB, None), ("Vulkan0", 8 * GIB, "ROCm0")]
    assert "16.50 GiB" in str(devices[1].memory_note)


@pytest.mark.parametrize(("bits", "reasons"), [
    (0, ()), (1 << 0, ("power_limit",)), (1 << 16 | 1 << 35, ("current_limit", "thermal_limit")),
    (1 << 36, ()), (1 << 47, ("prochot",)), ((1 << 64) - 1, None)])
def test_why_clocks_are_held_down_is_read_from_the_card_s_own_table(
    tmp_path: Path, amd: AmdGpus, bits: int, reasons: tuple[str, ...] | None
) -> None:
    install(tmp_path, CARD | {"gpu_metrics": metrics_of_a_card(throttle=bits)})
    reading = reading_of(amd, listed())
    assert reading.throttle == reasons
    assert (reading.pcie_generation, reading.pcie_width, reading.memory_utilisation_pct) == (4, 16, 44)


@pytest.mark.parametrize("raw", [b"", b"\x78\x00\x01", b"\x78\x00\x09\x03" + bytes(116), b"\xff\xff\x01\x03",
                                 b"\x08\x00\x01\x03" + bytes(4), b"\x78\x00\x01\x08" + bytes(116)])
def test_a_table_of_an_unknown_form_or_cut_short_tells_nothing(tmp_path: Path, amd: AmdGpus, raw: bytes) -> None:
    install(tmp_path, CARD | {"gpu_metrics": raw, "current_link_speed": "8.0 GT/s PCIe", "current_link_width": "4"})
    reading = reading_of(amd, listed())
    assert reading.throttle is None
    assert (reading.pcie_generation, reading.pcie_width) == (3, 4)
    assert math.isnan(reading.memory_utilisation_pct)


def test_a_card_that_sleeps_is_not_woken_and_says_so(tmp_path: Path, amd: AmdGpus) -> None:
    install(tmp_path, CARD | {"power/runtime_status": "suspended\n"})
    reading = reading_of(amd, listed())
    assert all(math.isnan(value) for value in (
        reading.utilisation_pct, reading.power_w, reading.temperature_c, reading.sm_clock_mhz, reading.pcie_width))
    why = explain(survey([listed()], drivers=[amd]), open_with=lambda: ([amd], None))["ROCm0"]
    assert "switched off to save power" in str(why["*"])


def test_a_processor_s_graphics_beside_a_card_are_told_apart_whatever_their_sizes(tmp_path: Path, amd: AmdGpus) -> None:
    install(tmp_path, CARD | {"gpu_metrics": metrics_of_a_card(throttle=0)}, "0000:03:00.0", 1)
    install(tmp_path, CARD | {"mem_info_vram_total": f"{GIB // 2}", "gpu_metrics": metrics_of_a_processor(throttle=0)},
            "0000:0a:00.0", 0)
    devices = survey([EngineDevice("ROCm0", "AMD Radeon RX 7900 XTX", 24 * GIB, 20 * GIB),
                      EngineDevice("ROCm1", "AMD Radeon(TM) Graphics", 24 * GIB, 10 * GIB)], drivers=[amd]).devices
    assert [(d.gpu and d.gpu.pci_id, d.integrated) for d in devices] == [
        ("0000:03:00.0", False), ("0000:0a:00.0", True)]


def test_a_card_without_a_name_of_its_own_is_named_by_the_table_of_libdrm(tmp_path: Path, amd: AmdGpus) -> None:
    (tmp_path / "amdgpu.ids").write_text("# List\n1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tother\n")
    install(tmp_path, CARD | {"device": "0x744c\n", "revision": "0xc8\n"})
    assert amd.cards()[0].gpu.name == "AMD Radeon RX 7900 XTX"


def test_twins_in_size_are_told_apart_by_their_names(tmp_path: Path, amd: AmdGpus) -> None:
    (tmp_path / "amdgpu.ids").write_text("744C,\tC8,\tAMD Radeon RX 7900 XTX\n7448,\t00,\tAMD Radeon Pro W7900\n")
    install(tmp_path, CARD | {"device": "0x7448", "revision": "0x00"}, "0000:03:00.0", 0)
    install(tmp_path, CARD | {"device": "0x744c", "revision": "0xc8"}, "0000:0b:00.0", 1)
    devices = survey([EngineDevice("ROCm0", "AMD Radeon RX 7900 XTX", 24 * GIB, 20 * GIB),
                      EngineDevice("ROCm1", "AMD Radeon Pro W7900", 24 * GIB, 10 * GIB)], drivers=[amd]).devices
    assert [d.gpu and d.gpu.pci_id for d in devices] == ["0000:0b:00.0", "0000:03:00.0"]


class FakeSmi(ModuleType):
    """What the package of AMD's library offers, with one card."""

    class AmdSmiException(Exception):  # noqa: N818 - the library calls it so
        """As the library's own."""

    failing: frozenset[str] = frozenset()
    closed = 0

    def __getattr__(self, name: str) -> object:
        if not name.startswith("amdsmi_"):
            raise AttributeError(name)
        answers = {"processor_handles": ["handle"], "gpu_device_bdf": "0000:03:00.0",
                   "gpu_asic_info": {"market_name": "Radeon RX 7900 XTX"},
                   "gpu_process_list": [{"pid": 4242, "mem": 3 * GIB}, {"pid": 7, "mem": "N/A"}, {"mem": 1}]}

        def answer(*_: object) -> object:
            if name in self.failing:
                raise self.AmdSmiException(name)
            self.closed += name == "amdsmi_shut_down"
            return answers.get(name.removeprefix("amdsmi_get_"))

        return answer


def test_amd_s_library_names_the_card_and_everybody_on_it_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeSmi("amdsmi")
    monkeypatch.setitem(sys.modules, "amdsmi", library)
    amd_smi._library.cache_clear()
    install(tmp_path, CARD)
    found = amd_smi.open_amd_smi()
    assert found is not None
    amd = AmdGpus(tmp_path / "drm", tmp_path / "proc", library=found)
    card = amd.cards()[0]
    assert card.gpu.name == "Radeon RX 7900 XTX"
    processes = amd.processes(card, frozenset())
    assert [(one.pid, one.used_bytes) for one in processes or ()] == [(4242, 3 * GIB), (7, None)]
    amd.close()
    amd.close()
    assert library.closed == 1
    amd_smi._library.cache_clear()


@pytest.mark.parametrize("failing", ["amdsmi_init", "amdsmi_get_processor_handles", "amdsmi_get_gpu_asic_info"])
def test_a_library_of_amd_that_fails_takes_nothing_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    library = FakeSmi("amdsmi")
    library.failing = frozenset({failing})
    monkeypatch.setitem(sys.modules, "amdsmi", library)
    amd_smi._library.cache_clear()
    install(tmp_path, CARD | {"product_name": ""})
    found = amd_smi.open_amd_smi()
    assert (found is None) == (failing == "amdsmi_init")
    amd = AmdGpus(tmp_path / "drm", tmp_path / "proc", ids=(), library=found)
    assert amd.cards()[0].gpu.name == "AMD GPU 0"
    amd_smi._library.cache_clear()


def test_a_card_that_the_engine_was_not_built_for_is_pointed_out_unless_it_was_hidden(
    tmp_path: Path, amd: AmdGpus
) -> None:
    install(tmp_path, CARD)
    assert "AMD" in str(survey([], drivers=[amd], environ={}).notes[0])
    assert survey([], drivers=[amd], environ={"HIP_VISIBLE_DEVICES": "-1"}).notes == survey([], drivers=[]).notes


def test_a_small_card_beside_much_borrowed_memory_is_its_own_memory_alone(tmp_path: Path, amd: AmdGpus) -> None:
    """An RX 6600: 8 GiB, on a machine that would lend it 16 more."""
    install(tmp_path, CARD | {"mem_info_vram_total": f"{8 * GIB}", "mem_info_vram_used": f"{GIB}"})
    device = survey([EngineDevice("Vulkan0", "AMD Radeon RX 6600 (RADV NAVI23)", 8 * GIB, 7 * GIB)],
                    drivers=[amd]).devices[0]
    assert (device.integrated, device.counted_total_bytes, device.free_bytes) == (False, 8 * GIB, 7 * GIB)


def test_a_card_that_calls_itself_like_a_processor_s_graphics_is_a_card(tmp_path: Path, amd: AmdGpus) -> None:
    install(tmp_path, CARD | {"gpu_metrics": metrics_of_a_card(throttle=0)})
    device = survey([EngineDevice("ROCm0", "AMD Radeon Graphics", 24 * GIB, 20 * GIB)], drivers=[amd]).devices[0]
    assert (device.integrated, device.shares_host, device.free_bytes) == (False, False, 18 * GIB)


@given(st.binary(max_size=200))
def test_no_table_of_a_controller_breaks_the_reading(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gpu_metrics"
        path.write_bytes(raw)
        found = amd_metrics.read(path)
    assert found is None or found.pcie_width is None or 0 < found.pcie_width <= 32
