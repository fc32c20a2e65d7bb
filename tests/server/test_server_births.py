"""A process whose first thread has ended lives until the others have: they hold its port and its memory."""

from __future__ import annotations

import subprocess
import sys

import pytest
from waiting import waited

if sys.platform != "linux":
    pytest.skip("threads of zombies are told by /proc", allow_module_level=True)

from paddock.server.posix import birth

FIRST_THREAD_ENDS = """
import ctypes, sys, threading
threading.Thread(target=sys.stdin.read).start()
print("up", flush=True)
ctypes.CDLL(None).syscall({number}, 0)
"""
EXIT = {"x86_64": 60, "aarch64": 93}
"""exit(2) of the calling thread alone."""


def test_a_process_lives_until_its_last_thread_has_ended() -> None:
    import platform
    from pathlib import Path

    number = EXIT.get(platform.machine())
    if number is None:
        pytest.skip("the number of exit(2) is not known for this processor")
    with subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS.format(number=number)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        stat = Path(f"/proc/{process.pid}/stat")
        assert waited(lambda: stat.read_bytes().rpartition(b")")[2].split()[0] == b"Z", 10)
        assert birth(process.pid) is not None
        process.stdin.close()
        assert waited(lambda: birth(process.pid) is None, 10)
