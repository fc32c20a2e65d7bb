"""Starting, signalling and recognising processes on Linux, macOS and other POSIX systems.

The server leads its own session and process group, so that signals meant for Paddock's terminal do not reach it and
everything that it started can be reached at once. `guard.py` says how it dies with us. On systems other than Linux only
the warden is there. In a frozen program (no interpreter to run `guard.py`) a shell takes its place, also warden only.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import psutil

_REAP_S = 1.0
_GUARD = Path(__file__).with_name("guard.py")
_SHELL_GUARD = (
    'exec 3<&0 0</dev/null; (trap "" HUP INT QUIT TERM; read -r _ <&3 || kill -KILL 0) >/dev/null 2>&1 & '
    'exec 3<&-; exec "$@"'
)


def guarded(argv: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The command that starts argv so that it dies with this process; its standard input must be the life line."""
    if getattr(sys, "frozen", False) or not sys.executable:
        return ["/bin/sh", "-c", _SHELL_GUARD, "paddock-guard", *argv]
    keep = "1" if "LC_CTYPE" in env else "0"
    return [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), keep, *argv]


def spawn(argv: Sequence[str], env: Mapping[str, str], log: BinaryIO | None) -> subprocess.Popen[bytes]:
    """Start the server. Raises OSError where it cannot be started.

    log None: output comes on the child's `stdout` pipe, and it dies with us. With a log file: output goes there, and it
    lives on without us. To be called from a thread that lives as long as the server (Linux: its end kills the server).
    """
    if log is not None:
        return subprocess.Popen(
            list(argv), env=dict(env), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            start_new_session=True)
    return subprocess.Popen(
        guarded(argv, env), env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        bufsize=0, start_new_session=True)


def dismiss_warden(process: subprocess.Popen[bytes]) -> None:
    """Tell the warden that the server has ended in the ordinary way."""
    if process.stdin is None:
        return
    try:
        process.stdin.write(b"q\n")
        process.stdin.close()
    except (BrokenPipeError, ValueError):
        pass  # killed with its group, or told already


def ask_to_end(pid: int) -> None:
    """SIGTERM to the whole group: also to a server that was started through a wrapper script."""
    _signal_group(pid, signal.SIGTERM)


def kill_all(pid: int) -> None:
    """SIGKILL to the whole group."""
    _signal_group(pid, signal.SIGKILL)


def others_live(pid: int) -> bool:
    """Whether anything of the server's process group is left that is not a zombie.

    Zombies do not count: in a container nobody may reap them, and they hold nothing.
    """
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return any(_group_of(other) == pid and birth(other) is not None for other in psutil.pids())


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        if os.getpgid(pid) != pid:  # not started by us as a leader: the process alone
            os.kill(pid, number)
            return
    except ProcessLookupError:
        pass  # the leader is gone and reaped; the group may live
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def birth(pid: int) -> str | None:
    """When a process was born, in a form that no other process with this pid ever has; None when there is none.

    Linux: boot id and start in clock ticks (exact, and deaf to changes of the wall clock); elsewhere psutil's
    create_time in hundredths of a second.
    """
    try:
        if sys.platform == "linux":
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            # A first thread is a zombie while others still end, and hold port and memory: it lives until they are gone.
            if fields[0] == b"X" or (fields[0] == b"Z" and int(fields[17]) <= 1):
                return None
            return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}:{int(fields[19])}"
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except (OSError, psutil.Error):
        return None


def reap(pid: int) -> int | None:
    """The exit code of a child of ours that has ended and that nobody waited for; None for any other process.

    A first thread is a zombie already while the others still end: only then can the process be waited for.
    """
    end = time.monotonic() + _REAP_S
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            return None
        time.sleep(0.002)


class Pipe:
    """The reading end of the child's output, whose wait can be broken off."""

    ends_itself = True

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._wake_read, self._wake_write = os.pipe()
        self._poll = select.poll()
        self._poll.register(file.fileno(), select.POLLIN)
        self._poll.register(self._wake_read, select.POLLIN)

    def read(self) -> bytes:
        """The next bytes; b"" at the end or after `cancel`."""
        ready = {fd for fd, _ in self._poll.poll()}
        if self._wake_read in ready:
            return b""
        return os.read(self._file.fileno(), 1 << 16)

    def cancel(self) -> None:
        """Break the wait: something else holds the pipe open after the server's end."""
        os.write(self._wake_write, b"x")

    def close(self) -> None:
        self._file.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
