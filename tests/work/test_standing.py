"""How the machine is set up, read from trees and files of the test's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from paddock.engine import Engine
from paddock.launch import Plan
from paddock.work.conditions import gather
from paddock.work.standing import cached_fraction, governors, iommu, numa_balancing, uses_nccl


def policy(root: Path, number: int, driver: str, governor: str) -> None:
    folder = root / "cpufreq" / f"policy{number}"
    folder.mkdir(parents=True)
    (folder / "scaling_driver").write_text(f"{driver}\n")
    (folder / "scaling_governor").write_text(f"{governor}\n")


def test_each_pair_of_driver_and_governor_is_told_once(tmp_path: Path) -> None:
    for number in range(3):
        policy(tmp_path, number, "intel_pstate", "powersave")
    policy(tmp_path, 3, "acpi-cpufreq", "performance")
    assert governors(tmp_path) == (("intel_pstate", "powersave"), ("acpi-cpufreq", "performance"))
    assert governors(tmp_path / "nowhere") == ()


def test_an_iommu_is_there_when_the_kernel_lists_one(tmp_path: Path) -> None:
    assert iommu(tmp_path) is False
    (tmp_path / "dmar0").mkdir()
    assert iommu(tmp_path) is True
    assert iommu(tmp_path / "nowhere") is None


@pytest.mark.parametrize(("text", "on"), [("0\n", False), ("1\n", True), ("2\n", True)])
def test_numa_balancing_is_read_as_llama_cpp_reads_it(tmp_path: Path, text: str, on: bool) -> None:
    path = tmp_path / "numa_balancing"
    path.write_text(text)
    assert numa_balancing(path) is on
    assert numa_balancing(tmp_path / "nowhere") is None


@pytest.mark.skipif(sys.platform != "linux", reason="libraries of Linux")
@pytest.mark.parametrize(("content", "linked"), [(b"\x7fELF..libnccl.so.2\0", True), (b"\x7fELF..libcudart.so", False)])
def test_nccl_is_seen_in_the_library_beside_the_program(tmp_path: Path, content: bytes, linked: bool) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "llama-server"
    program.touch()
    engine = Engine("e", program, (str(program),), "test")
    assert uses_nccl(engine) is None
    (folder / "libggml-cuda.so").write_bytes(content)
    assert uses_nccl(engine) is linked
    assert uses_nccl(None) is None


@pytest.mark.skipif(sys.platform != "linux", reason="mincore(2) of Linux")
def test_a_file_that_was_just_written_lies_in_the_page_cache(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(os.urandom(3 << 20))
    found = cached_fraction(path)
    assert found is not None
    assert found > 0.9
    empty = tmp_path / "empty"
    empty.touch()
    assert cached_fraction(empty) is None
    assert cached_fraction(tmp_path / "nowhere") is None


def test_the_first_word_of_the_prefix_is_looked_for(tmp_path: Path) -> None:
    def found(*prefix: str) -> bool | None:
        return gather(Plan(prefix=prefix), None, None, {}).prefix_found

    assert found(sys.executable, "-x") is True
    assert found(str(tmp_path / "no-such-wrapper")) is False
    assert found() is None
