"""paddock devices and doctor, on pretend engines and pretend drivers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pretend_engine import listing, make_server
from sysfstree import install, metrics_of_a_card, metrics_of_a_processor

from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.hardware import host
from paddock.hardware.amd import AmdGpus

GIB = 1 << 30
CARD: dict[str, str | bytes] = {
    "vendor": "0x1002", "mem_info_vram_total": f"{24 * GIB}", "mem_info_vram_used": f"{6 * GIB}",
    "mem_info_gtt_total": f"{16 * GIB}", "mem_info_gtt_used": "0", "gpu_busy_percent": "73",
    "gpu_metrics": metrics_of_a_card(throttle=1), "hwmon/hwmon3/power1_average": "212000000",
}
Command = Callable[..., Any]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command on a pretend engine that lists these devices; as_json: its document, else (out, err)."""
    monkeypatch.setattr("paddock.hardware.surveying.open_nvml", lambda: (None, None))
    monkeypatch.setattr("paddock.hardware.surveying.open_amd", lambda: AmdGpus(tmp_path / "drm", tmp_path / "proc"))

    def answer(name: str, *devices: str, as_json: bool = False, how: str = "") -> Any:
        engine = make_server(tmp_path / "bin", __list_devices=how or listing(*devices))
        code = run([name], Globals(str(tmp_path / "data"), str(engine), as_json))
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return json.loads(shown.out) if as_json else (shown.out, shown.err)

    return answer


def test_a_device_tells_whose_memory_it_has_and_what_its_driver_says_now(tmp_path: Path, command: Command) -> None:
    install(tmp_path, CARD)
    out, _ = command("devices", "ROCm0: AMD Radeon RX 7900 XTX (24560 MiB, 19000 MiB free)")
    for words in ("Engine says", "23.98 GiB, 18.55 GiB free", "24.00 GiB, 18.00 GiB free", "73 %", "212.0 W",
                  "power limit", "4.0 ×16", "memory of its own", "up to 16.00 GiB of the host's",
                  "counts PCIe traffic for a whole second"):
        assert words in out


def test_the_same_in_json_with_a_reason_for_every_gap(tmp_path: Path, command: Command) -> None:
    install(tmp_path, CARD)
    found = command("devices", "ROCm0: AMD Radeon RX 7900 XTX (24560 MiB, 19000 MiB free)", as_json=True)
    device = found["devices"][0]
    assert device["engine"] == {"total": 24560 << 20, "free": 19000 << 20}
    assert device["driver"] == {"total": 24 * GIB, "free": 18 * GIB}
    assert device["shared"] == {"total": 16 * GIB, "free": 16 * GIB}
    assert (device["reading"]["utilisation_pct"], device["reading"]["pcie_rx_bytes_per_s"]) == (73, None)
    assert "whole second" in device["why"]["pcie"]
    assert found["cards"][0]["own"] == 24 * GIB


def test_one_card_of_two_backends_is_described_once(tmp_path: Path, command: Command) -> None:
    install(tmp_path, CARD)
    out, _ = command("devices", "ROCm0: AMD Radeon RX 7900 XTX (24560 MiB, 19000 MiB free)",
                     "Vulkan0: AMD Radeon RX 7900 XTX (RADV NAVI31) (24560 MiB, 24560 MiB free)")
    assert out.count("the same card as ROCm0") == 2
    assert out.count("212.0 W") == 1


def test_a_listing_that_crashes_leaves_the_driver_s_cards(tmp_path: Path, command: Command) -> None:
    install(tmp_path, CARD)
    out, err = command("devices", how="echo 'hip: no kernel image' >&2; kill -SEGV $$")
    assert "Cards that this engine does not list" in out
    assert "24.00 GiB" in out
    assert "SIGSEGV" in err
    assert "no kernel image" in err
    report, _ = command("doctor", how="kill -SEGV $$")
    assert "not listed by the engine" in report
    assert "SIGSEGV" in report


def test_a_card_that_no_driver_knows_is_usable_and_its_free_memory_an_upper_edge(command: Command) -> None:
    out, _ = command("devices", "SYCL0: Intel(R) Arc(TM) A770 Graphics (15473 MiB, 15473 MiB free)",
                     "Vulkan0: Some card (0 MiB, 0 MiB free)")
    assert "≤ 15.11 GiB" in out
    assert "It calls all of it free" in out
    assert "No driver that tells readings knows this device." in out
    assert "n/a" in next(line for line in out.splitlines() if line.startswith("Vulkan0"))


def test_a_processor_s_graphics_say_that_the_memory_is_the_host_s(tmp_path: Path, command: Command) -> None:
    install(tmp_path, CARD | {"mem_info_vram_total": f"{GIB // 2}", "mem_info_vram_used": "0",
                              "gpu_metrics": metrics_of_a_processor(throttle=0)})
    found = command("devices", "ROCm0: AMD Radeon(TM) 8060S Graphics (9999999 MiB, 9999999 MiB free)", as_json=True)
    device = found["devices"][0]
    assert device["integrated"] is True
    assert device["total"] <= max(host.memory()[0], 16 * GIB + GIB // 2)
    assert device["free"] <= found["host"]["free"]
    assert found["cards"][0]["own"] == GIB // 2


def test_the_doctor_names_cards_twins_and_what_does_not_fit(tmp_path: Path, command: Command) -> None:
    install(tmp_path, CARD)
    out, _ = command("doctor", "ROCm0: AMD Radeon RX 7900 XTX (12280 MiB, 9000 MiB free)")
    assert "0000:03:00.0" in out
    assert "The engine says 11.99 GiB, the driver 24.00 GiB" in out


def test_the_doctor_says_what_an_engine_can_do_with_rpc_and_names_no_host(command: Command) -> None:
    out, _ = command("doctor")
    assert "It can use RPC hosts; it has no ggml-rpc-server" in out
    assert "0 RPC hosts kept" in out
    assert command("doctor", as_json=True)["rpc_hosts"] == 0
