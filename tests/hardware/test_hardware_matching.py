"""Which card is which: by order, confirmed by name and memory, and in doubt by nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.engine import EngineDevice
from paddock.hardware import Device, Gpu, Machine, confirm_from_log
from paddock.hardware.matching import match, plain_name, twins, visible
from paddock.hardware.nvml import normal_pci

GIB = 1 << 30
FAST = Gpu(0, "GPU-fast-1", "0000:21:00.0", "NVIDIA GeForce RTX 3090", 24 * GIB)
SLOW = Gpu(1, "GPU-slow-2", "0000:01:00.0", "NVIDIA GeForce GTX 1660 SUPER", 6 * GIB)
TWIN = Gpu(2, "GPU-fast-3", "0000:41:00.0", "NVIDIA GeForce RTX 3090", 24 * GIB)
MIG = Gpu(0, "MIG-1", "0000:07:00.0", "NVIDIA A100 MIG 3g.20gb", 20 * GIB)


def device(name: str, card: Gpu, share: float = 0.98) -> EngineDevice:
    return EngineDevice(name, card.name, int((card.total_bytes or 0) * share), 0)


@pytest.mark.parametrize(("environ", "expected"), [
    ({}, [SLOW, FAST, TWIN]),
    ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [SLOW, FAST, TWIN]),
    ({"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, None),
    ({"CUDA_VISIBLE_DEVICES": ""}, []),
    ({"CUDA_VISIBLE_DEVICES": "-1"}, []),
    ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, []),
    ({"CUDA_VISIBLE_DEVICES": "2, 0"}, [TWIN, SLOW]),
    ({"CUDA_VISIBLE_DEVICES": "1,7,0"}, [FAST]),
    ({"CUDA_VISIBLE_DEVICES": "1,1"}, None),
    ({"CUDA_VISIBLE_DEVICES": "GPU-slow"}, [SLOW]),
    ({"CUDA_VISIBLE_DEVICES": "GPU-fast-3,GPU-fast-1"}, [TWIN, FAST]),
    ({"CUDA_VISIBLE_DEVICES": "GPU-fast"}, None),
    ({"CUDA_VISIBLE_DEVICES": "GPU-none,GPU-slow"}, []),
    ({"CUDA_VISIBLE_DEVICES": "GPU-slow,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, None),
    ({"CUDA_VISIBLE_DEVICES": "GPU-slow-2", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, [SLOW]),
    ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, None),
])
def test_visible_cards_in_cuda_s_order(environ: dict[str, str], expected: list[Gpu] | None) -> None:
    assert visible([FAST, SLOW, TWIN], environ) == expected


def test_the_order_is_unknown_where_a_card_is_lost_or_cut_in_instances() -> None:
    assert visible([FAST, Gpu(1, None, None, "GPU 1", None)], {}) is None
    assert visible([MIG], {}) is None
    assert visible([MIG], {"CUDA_VISIBLE_DEVICES": "MIG-1"}) == [MIG]


def test_mapping_holds_both_ways_whatever_the_driver_s_order() -> None:
    for listed in ([FAST, SLOW, TWIN], [TWIN, SLOW, FAST], [SLOW, FAST, TWIN]):
        found = match([device("CUDA0", SLOW), device("CUDA1", FAST), device("CUDA2", TWIN)], listed, {})
        assert found == {"CUDA0": SLOW, "CUDA1": FAST, "CUDA2": TWIN}


@pytest.mark.parametrize("devices", [
    [device("CUDA0", FAST), device("CUDA1", SLOW)],
    [device("CUDA0", SLOW, share=2.0), device("CUDA1", FAST)],
    [device("CUDA0", SLOW)],
    [device("CUDA0", SLOW), device("CUDA1", FAST), device("CUDA2", FAST)],
])
def test_one_reading_that_disagrees_leaves_every_card_unclaimed(devices: list[EngineDevice]) -> None:
    assert set(match(devices, [FAST, SLOW], {}).values()) == {None}


def test_without_a_known_order_only_a_card_of_its_own_name_is_claimed() -> None:
    found = match([device("CUDA0", FAST), device("CUDA1", SLOW), device("CUDA2", TWIN)], [FAST, SLOW, TWIN],
                  {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
    assert found == {"CUDA0": None, "CUDA1": SLOW, "CUDA2": None}


def test_devices_of_others_are_not_matched_at_all() -> None:
    others = [EngineDevice("ROCm0", "AMD Radeon RX 7900 XTX", 24 * GIB, 0), EngineDevice("RPC0", "h:1", 24 * GIB, 0),
              EngineDevice("Vulkan0", "AMD Radeon RX 7900 XTX", 24 * GIB, 0)]
    assert match(others, [FAST], {}) == {}


@pytest.mark.parametrize(("left", "right"), [
    ("NVIDIA GeForce RTX 3090", "GeForce RTX 3090"),
    ("NVIDIA GB10, compute capability 12.1, VMM: yes", "NVIDIA GB10"),
    ("NVIDIA GeForce RTX 3090 (NVIDIA)", "nvidia geforce rtx  3090"),
    ("Quadro(R) P400", "NVIDIA Quadro P400"),
])
def test_one_card_as_its_drivers_spell_it(left: str, right: str) -> None:
    assert plain_name(left) == plain_name(right)


@pytest.mark.parametrize(("bus", "plain"), [
    ("00000000:01:00.0", "0000:01:00.0"), (b"00000000:0A:00.0", "0000:0a:00.0"), ("0000000F:01:00.0", "000f:01:00.0"),
    ("0000:01:00.0", "0000:01:00.0"), ("01:00.0", "0000:01:00.0"), ("", None), ("unknown id", None),
    ("x:01:00.0", None),
])
def test_bus_addresses_have_one_form(bus: str | bytes, plain: str | None) -> None:
    assert normal_pci(bus) == plain


def machine(*devices: Device) -> Machine:
    return Machine("Linux", None, None, 1, GIB, GIB, 1, None, devices, gpus=(FAST, SLOW))


def test_the_log_wins_over_what_was_matched_before() -> None:
    before = machine(Device("CUDA0", "cuda", FAST.name, None, None, gpu=SLOW))
    after = confirm_from_log(before, ["x: using device CUDA0 (NVIDIA (R) Card (TM)) (0000:21:00.0) - 12 MiB free"])
    assert after.devices[0].gpu is FAST


@pytest.mark.parametrize("line", [
    "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 23871 MiB free",
    "x: using device CUDA0 (NVIDIA GeForce RTX 3090) (unknown id) - 23871 MiB free",
    "x: using device CUDA0 (AMD Radeon) (0000:99:00.0) - 23871 MiB free",
    "x: using device CUDA7 (NVIDIA GeForce RTX 3090) (0000:21:00.0) - 23871 MiB free",
    "nothing of the kind",
])
def test_a_log_without_a_known_bus_changes_nothing(line: str) -> None:
    before = machine(Device("CUDA0", "cuda", FAST.name, None, None))
    assert confirm_from_log(before, [line]) is before


def test_recorded_lines_of_devices_without_a_bus_change_nothing() -> None:
    lines = (Path(__file__).parent.parent / "data" / "engine" / "using-device-lines.txt").read_text().splitlines()
    assert len(lines) == 2
    before = machine(Device("Vulkan0", "vulkan", "llvmpipe", None, None), Device("RPC0", "rpc", "h:1", None, None))
    assert confirm_from_log(before, lines) is before


AMD = (Gpu(0, None, "0000:03:00.0", "AMD GPU 0", 24 * GIB, maker="amd"),
       Gpu(1, None, "0000:83:00.0", "AMD GPU 1", 16 * GIB, maker="amd"))


def test_cards_of_amd_are_told_apart_by_their_size_alone() -> None:
    devices = [EngineDevice("ROCm0", "AMD Radeon RX 7800 XT", 16 * GIB, 0),
               EngineDevice("ROCm1", "AMD Radeon RX 7900 XTX", 24 * GIB, 0),
               EngineDevice("Vulkan0", "AMD Radeon RX 7900 XTX (RADV NAVI31)", 24 * GIB, 0)]
    assert match(devices, AMD, {}) == {"ROCm0": AMD[1], "ROCm1": AMD[0], "Vulkan0": AMD[0]}
    twins = (AMD[0], Gpu(1, None, "0000:83:00.0", "AMD GPU 1", 24 * GIB, maker="amd"))
    assert set(match([devices[1], EngineDevice("ROCm2", "x", 24 * GIB, 0)], twins, {}).values()) == {None}
    assert match([devices[1]], twins, {}) == {"ROCm1": None}


def test_the_only_card_of_amd_is_the_only_device_of_amd_whatever_its_size() -> None:
    apu = EngineDevice("ROCm0", "AMD Radeon(TM) 8060S Graphics", 96 * GIB, 0)
    assert match([apu, device("CUDA0", FAST)], [AMD[0], FAST], {}) == {"ROCm0": AMD[0], "CUDA0": FAST}


@given(st.text(max_size=80), st.sampled_from(["", "PCI_BUS_ID", "FASTEST_FIRST", "?"]))
def test_no_setting_of_the_person_breaks_the_matching(value: str, order: str) -> None:
    found = match([device("CUDA0", SLOW), device("CUDA1", FAST)], [FAST, SLOW],
                  {"CUDA_VISIBLE_DEVICES": value, "CUDA_DEVICE_ORDER": order})
    assert set(found) == {"CUDA0", "CUDA1"}


def test_what_the_backend_says_of_a_device_s_memory_is_never_overruled() -> None:
    igpu = Gpu(0, None, "0000:00:02.0", "UHD Graphics 770", None, maker="intel", integrated=True)
    card = EngineDevice("Vulkan0", "Intel(R) Arc(tm) A770 Graphics (DG2)", 16 * GIB, 0, unified=False)
    assert match([card], [igpu], {}) == {"Vulkan0": None}
    assert match([EngineDevice("SYCL0", "Intel(R) Graphics [0x4680]", 16 * GIB, 0)], [igpu], {}) == {"SYCL0": igpu}


def test_one_card_of_two_backends_is_known_by_its_card_else_by_its_name_alone() -> None:
    cuda, vulkan = device("CUDA0", FAST), device("Vulkan0", FAST)
    assert twins([cuda, vulkan], {"CUDA0": FAST, "Vulkan0": FAST}) == {"Vulkan0": "CUDA0"}
    assert twins([cuda, vulkan], {"CUDA0": FAST, "Vulkan0": TWIN}) == {}
    assert twins([cuda, vulkan], {}) == {"Vulkan0": "CUDA0"}
    assert twins([cuda, device("CUDA1", FAST), vulkan], {}) == {}
    assert twins([cuda, EngineDevice("RPC0", cuda.description, 1, 1)], {}) == {}
    assert twins([cuda, EngineDevice("Vulkan0", "", 1, 1), EngineDevice("SYCL0", "", 1, 1)], {}) == {}


@given(st.lists(st.tuples(st.sampled_from(["CUDA", "ROCm", "Vulkan", "SYCL", "MTL", "RPC"]), st.integers(0, 3),
                          st.text(max_size=30), st.none() | st.integers(0, 1 << 62), st.none() | st.booleans()),
                max_size=6))
def test_no_list_of_an_engine_breaks_the_matching(rows: list[tuple[str, int, str, int | None, bool | None]]) -> None:
    listed = [EngineDevice(f"{kind}{number}", text, total, total, unified)
              for kind, number, text, total, unified in rows]
    found = match(listed, [FAST, SLOW, *AMD], {})
    assert set(found) <= {one.name for one in listed}
    assert set(twins(listed, found)) <= {one.name for one in listed}
