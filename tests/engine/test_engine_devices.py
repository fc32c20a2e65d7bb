"""The lines of --list-devices, and what happens when listing them goes wrong."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock import engine
from paddock.engine import parse_devices
from paddock.errors import AppError
from paddock.units import MIB

DATA = Path(__file__).parent.parent / "data" / "engine"
LISTING = """\
ggml_vulkan: Found 1 Vulkan devices:
load_backend: loaded RPC backend (1 MiB, 1 MiB free)
Available devices:
  CUDA0: NVIDIA GeForce RTX 3090 (24124 MiB, 23871 MiB free)
  CUDA1: NVIDIA GeForce RTX 3090 (24124 MiB, 0 MiB free)
  ROCm0: AMD Radeon(TM) 8060S Graphics (22392 MiB, 22237 MiB free)
  Vulkan0: Intel(R) Arc(tm) A770, Graphics: DG2 (16256 MiB, 14630 MiB free)
  RPC0: 127.0.0.1:50152 (24105 MiB, 24105 MiB free)
  RPC[10.0.0.2:50052]: RPC[10.0.0.2:50052] (11264 MiB, 11000 MiB free)
  MTL0: Apple M3 Max (98304 MiB, 98303 MiB free)
  SYCL0: Intel Arc (0 MiB, 0 MiB free)
  BLAS: OpenBLAS (0 MiB, 0 MiB free)
  something else entirely
"""


def test_lines_are_read_from_their_end_and_chatter_is_passed_over() -> None:
    devices = parse_devices(LISTING)
    assert [(d.name, d.description) for d in devices] == [
        ("CUDA0", "NVIDIA GeForce RTX 3090"),
        ("CUDA1", "NVIDIA GeForce RTX 3090"),
        ("ROCm0", "AMD Radeon(TM) 8060S Graphics"),
        ("Vulkan0", "Intel(R) Arc(tm) A770, Graphics: DG2"),
        ("RPC0", "127.0.0.1:50152"),
        ("RPC[10.0.0.2:50052]", "RPC[10.0.0.2:50052]"),
        ("MTL0", "Apple M3 Max"),
        ("SYCL0", "Intel Arc"),
        ("BLAS", "OpenBLAS"),
    ]
    assert [d.kind for d in devices] == [
        "cuda", "cuda", "rocm", "vulkan", "rpc", "rpc", "metal", "sycl", "blas"]


def test_a_full_card_has_nothing_free_and_an_untold_one_has_no_figure() -> None:
    by_name = {device.name: device for device in parse_devices(LISTING)}
    assert (by_name["CUDA1"].total_bytes, by_name["CUDA1"].free_bytes) == (24124 * MIB, 0)
    assert (by_name["SYCL0"].total_bytes, by_name["SYCL0"].free_bytes) == (None, None)


def test_a_garbled_line_renumbers_nothing_and_its_device_stays_without_memory() -> None:
    devices = parse_devices("Available devices:\n  CUDA0: NVIDIA GeForce RTX 3090 (24124 MiB, 23871 MiB free)\n"
                            "  CUDA1: NVIDIA GeForce RTX 3090 (24124 Mi\n"
                            "  CUDA2: [N/A], [N/A] (N/A MiB, N/A MiB free)\n\n"
                            "  CUDA3: NVIDIA GeForce RTX 4090 (24564 MiB, 100 MiB free)\n  note: 3 of 4\n")
    assert [(d.name, d.total_bytes, d.free_bytes) for d in devices] == [
        ("CUDA0", 24124 * MIB, 23871 * MIB), ("CUDA1", None, None), ("CUDA2", None, None),
        ("CUDA3", 24564 * MIB, 100 * MIB)]


@pytest.mark.parametrize(("memory", "total", "free"), [
    ("(8192 MiB, 17592186044415 MiB free)", 8192 * MIB, None),
    ("(17592186044415 MiB, 17592186044415 MiB free)", None, None),
    ("(8192 MiB, 8193 MiB free)", 8192 * MIB, None), ("(0 MiB, 0 MiB free)", None, None)])
def test_absurd_figures_are_no_memory(memory: str, total: int | None, free: int | None) -> None:
    device = parse_devices(f"Available devices:\r\n  Vulkan0: Intel(R) Arc(TM) A770, (DG2) {memory}\r\n")[0]
    assert (device.description, device.total_bytes, device.free_bytes) == ("Intel(R) Arc(TM) A770, (DG2)", total, free)


def test_cards_of_one_name_stay_two_devices() -> None:
    devices = parse_devices("Available devices:\n" + "".join(
        f"  Vulkan{i}: AMD Radeon(TM) RX 7900 (8 MiB, 8 MiB free)\n" for i in range(2)))
    assert [d.name for d in devices] == ["Vulkan0", "Vulkan1"]


def test_blas_is_kept_but_is_no_gpu() -> None:
    assert [device.name for device in parse_devices(LISTING) if not device.is_gpu] == ["BLAS"]


def test_vulkan_tells_which_devices_share_the_memory_of_the_host() -> None:
    chatter = ("ggml_vulkan: Found 2 Vulkan devices:\n"
               "ggml_vulkan: 0 = AMD Radeon 780M (RADV PHOENIX) (radv) | uma: 1 | fp16: 1 | bf16: 0\n"
               "ggml_vulkan: 1 = AMD Radeon RX 7900 (RADV) (radv) | uma: 0 | fp16: 1 | bf16: 0\n")
    devices = parse_devices("Available devices:\n  Vulkan0: a (8 MiB, 8 MiB free)\n  Vulkan1: b (8 MiB, 8 MiB free)\n"
                            "  Vulkan2: c (8 MiB, 8 MiB free)\n", chatter)
    assert [device.unified for device in devices] == [True, False, None]


@pytest.mark.parametrize("name", ["llama-11434-list-devices.txt", "llama-server-10434-list-devices.txt"])
def test_a_machine_without_a_gpu_lists_none(name: str) -> None:
    assert parse_devices((DATA / name).read_text()) == ()


def test_recorded_lists_of_real_devices() -> None:
    rpc = parse_devices((DATA / "llama-11434-list-devices-rpc.txt").read_text())
    assert [(d.name, d.kind, d.description, d.total_bytes) for d in rpc] == [
        ("RPC0", "rpc", "127.0.0.1:50152", 24105 * MIB), ("RPC1", "rpc", "127.0.0.1:50153", 24105 * MIB)]
    vulkan = parse_devices((DATA / "llama-server-10434-list-devices-llvmpipe.txt").read_text())
    assert [(d.name, d.description, d.free_bytes) for d in vulkan] == [
        ("Vulkan0", "llvmpipe (LLVM 15.0.6, 256 bits)", 2048 * MIB)]


def test_a_crash_while_listing_is_told_and_the_engine_stays_usable(server: Callable[..., Path]) -> None:
    found = engine.probe(server(__list_devices="echo 'vk: device lost' >&2; kill -SEGV $$"), source="test")
    assert found.error is None
    assert found.devices == ()
    assert "SIGSEGV" in str(found.devices_error)
    assert "vk: device lost" in str(found.devices_error)


def test_a_listing_that_hangs_is_ended(server: Callable[..., Path]) -> None:
    found = engine.probe(server(), source="test")
    server(__list_devices="sleep 60")
    with pytest.raises(AppError, match=r"did not answer within 0\.3 s"):
        engine.list_devices(found, timeout_s=0.3)


def test_a_build_without_the_flag_says_so(server: Callable[..., Path]) -> None:
    found = engine.probe(
        server(__list_devices="echo 'error: invalid argument: --list-devices' >&2; exit 1"), source="test")
    assert "too old" in str(found.devices_error)


def test_an_rpc_server_that_does_not_answer_is_named(server: Callable[..., Path]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        found = engine.probe(server(**{f"__rpc {address} __list_devices": "kill -ABRT $$"}), source="test")
        with pytest.raises(AppError, match=re.escape(address)):
            engine.list_devices(found, rpc=[address])


def test_cards_are_numbered_as_the_driver_does_unless_the_person_chose(server: Callable[..., Path]) -> None:
    found = engine.probe(
        server(__list_devices='echo "  X0: $CUDA_DEVICE_ORDER (1 MiB, 1 MiB free)"'), source="test")
    assert [device.description for device in found.devices] == ["PCI_BUS_ID"]
    listed = engine.list_devices(found, environ={"CUDA_DEVICE_ORDER": "FASTEST_FIRST", "PATH": "/usr/bin:/bin"})
    assert [device.description for device in listed] == ["FASTEST_FIRST"]


@given(st.text(max_size=200), st.text(max_size=80))
def test_no_output_breaks_the_list(text: str, chatter: str) -> None:
    for device in parse_devices(f"Available devices:\n{text}", chatter):
        assert device.total_bytes is None or device.total_bytes > 0
        assert device.free_bytes is None or 0 <= device.free_bytes <= (device.total_bytes or 0)
