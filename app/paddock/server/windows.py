"""Starting, signalling and recognising processes on Windows. Untested: no Windows machine was at hand.

The server gets a hidden console of its own (CREATE_NO_WINDOW): it shields it from our Ctrl-C and is what Ctrl-C for it
goes through. CREATE_NEW_PROCESS_GROUP is deliberately not set: it makes a program deaf to CTRL_C_EVENT, the only event
that llama-server handles. A job object with KILL_ON_JOB_CLOSE holds the server and all that it starts: the system
closes the job's handle when Paddock ends, however it ends. The process is created suspended, so that it is in the job
before it can start anything.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import psutil

assert sys.platform == "win32"

_CREATE_SUSPENDED = 0x4
_JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE = 0x2000
_EXTENDED_LIMIT_INFORMATION = 9
_SEND_CTRL_C = (
    "import ctypes,sys;k=ctypes.windll.kernel32;k.FreeConsole();"
    "k.AttachConsole(int(sys.argv[1])) and k.SetConsoleCtrlHandler(None,1) and k.GenerateConsoleCtrlEvent(0,0)"
)
_jobs: dict[int, int] = {}
"""Job handles by pid; kept open as long as we live, which is their purpose."""


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64), ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32), ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t), ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t), ("PriorityClass", ctypes.c_uint32), ("SchedulingClass", ctypes.c_uint32),
        ("IoInfo", ctypes.c_uint64 * 6), ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t), ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


def spawn(argv: Sequence[str], env: Mapping[str, str], log: BinaryIO | None) -> subprocess.Popen[bytes]:
    """As posix.spawn; without a log file the server is held by a job that ends with us."""
    flags = subprocess.CREATE_NO_WINDOW | (0 if log is not None else _CREATE_SUSPENDED)
    process = subprocess.Popen(
        list(argv), env=dict(env), stdin=subprocess.DEVNULL, stdout=log if log is not None else subprocess.PIPE,
        stderr=subprocess.STDOUT, bufsize=0, creationflags=flags)
    if log is None:
        handle: Any = process._handle  # type: ignore[attr-defined]
        try:
            _jobs[process.pid] = _job_for(int(handle))
        finally:
            ctypes.windll.ntdll.NtResumeProcess(ctypes.c_void_p(int(handle)))
    return process


def _job_for(handle: int) -> int:
    kernel = ctypes.windll.kernel32
    kernel.CreateJobObjectW.restype = ctypes.c_void_p
    job = kernel.CreateJobObjectW(None, None)
    limits = _Limits(LimitFlags=_JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
    kernel.SetInformationJobObject(
        ctypes.c_void_p(job), _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits))
    kernel.AssignProcessToJobObject(ctypes.c_void_p(job), ctypes.c_void_p(handle))
    return int(job)


def dismiss_warden(process: subprocess.Popen[bytes]) -> None:
    """Close the job: what the server left behind ends with it."""
    job = _jobs.pop(process.pid, None)
    if job is not None:
        ctypes.windll.kernel32.CloseHandle(ctypes.c_void_p(job))


def ask_to_end(pid: int) -> None:
    """CTRL_C_EVENT from a helper that joins the server's console: we must not leave our own."""
    subprocess.Popen([sys.executable, "-I", "-S", "-c", _SEND_CTRL_C, str(pid)],
                     creationflags=subprocess.DETACHED_PROCESS, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_all(pid: int) -> None:
    """End the job, or (a server that we attached to) the process and its descendants."""
    job = _jobs.get(pid)
    if job is not None:
        ctypes.windll.kernel32.TerminateJobObject(ctypes.c_void_p(job), 1)
        return
    try:
        process = psutil.Process(pid)
        for each in (*process.children(recursive=True), process):
            each.kill()
    except psutil.Error:
        pass


def others_live(pid: int) -> bool:
    """The job's end takes care of them."""
    return False


def birth(pid: int) -> str | None:
    """psutil's create_time in hundredths of a second; None when there is no such process."""
    try:
        return f"{psutil.Process(pid).create_time():.2f}"
    except psutil.Error:
        return None


def reap(pid: int) -> int | None:
    """Nothing to do here."""
    return None


class Pipe:
    """The reading end of the child's output. Its wait ends when the job does, so nothing breaks it off."""

    ends_itself = True

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self) -> bytes:
        """The next bytes; b"" at the end."""
        return self._file.read(1 << 16)

    def cancel(self) -> None:
        """Nothing to do: see the class."""

    def close(self) -> None:
        self._file.close()
