"""Which programs hold RAM: by name, without pages that they share, and nobody that may not be looked at."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import psutil

from paddock.hardware.ram_holders import LEAST, ram_holders

MIB = 1 << 20


class Process:
    def __init__(self, pid: int, name: str, rss: int, shared: int = 0, denied: bool = False) -> None:
        self.pid, self._name, self._denied = pid, name, denied
        self._memory = SimpleNamespace(rss=rss * MIB, shared=shared * MIB)

    def name(self) -> str:
        return self._name

    def memory_info(self) -> Any:
        if self._denied:
            raise psutil.AccessDenied(self.pid)
        return self._memory


def test_processes_of_one_name_are_added_and_shared_pages_are_not() -> None:
    found = ram_holders([Process(2, "browser", 900, 300), Process(3, "browser", 400, 300), Process(4, "editor", 600),
                         Process(5, "small", 200), Process(6, "secret", 9000, denied=True),
                         Process(os.getpid(), "paddock", 9000), Process(7, "", 9000)])
    assert found == [("browser", (2, 3), 700 * MIB), ("editor", (4,), 600 * MIB)]


def test_this_computer_s_own_processes_can_be_read() -> None:
    assert all(size >= LEAST and pids and name for name, pids, size in ram_holders())
