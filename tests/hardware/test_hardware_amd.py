"""The files of AMD's Linux driver, from a pretend /sys."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from paddock.engine import EngineDevice
from paddock.hardware import Readings, refresh, survey
from paddock.hardware.amd import AmdGpus

GIB = 1 << 30
CARD = {
    "vendor": "0x1002\n", "mem_info_vram_total": f"{24 * GIB}\n", "mem_info_vram_used": f"{6 * GIB}\n",
    "mem_info_gtt_total": f"{16 * GIB}\n", "mem_info_gtt_used": "1048576\n", "gpu_busy_percent": "73\n",
    "max_link_speed": "16.0 GT/s PCIe\n", "max_link_width": "16\n", "hwmon/hwmon3/power1_average": "212000000\n",
    "hwmon/hwmon3/temp1_input": "58000\n", "hwmon/hwmon3/freq1_input": "2450000000\n", "product_name": "\n",
}


def install(root: Path, files: dict[str, str], bus: str = "0000:03:00.0", number: int = 0) -> Path:
    folder = root / "devices" / bus
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    entry = root / "drm" / f"card{number}"
    entry.mkdir(parents=True)
    (entry / "device").symlink_to(folder)
    (root / "drm" / f"card{number}-DP-1").mkdir()
    return folder


@pytest.fixture
def amd(tmp_path: Path) -> AmdGpus:
    return AmdGpus(tmp_path / "drm", tmp_path / "proc")


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
