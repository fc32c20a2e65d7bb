"""Runs a foreign program for its output: bounded in time and size, in its own process group, never our streams."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from paddock.text import Text

_LIMIT_BYTES = 4 << 20
_CHUNK_BYTES = 1 << 16
_STRIPPED = ("LLAMA_ARG_", "LLAMA_LOG_")
_NEW_GROUP_NO_WINDOW = 0x08000200
_NTSTATUS = {
    0xC0000005: "access violation",
    0xC000001D: "illegal instruction",
    0xC0000135: "a library (DLL) is missing",
    0xC0000139: "a library (DLL) has another version",
    0xC0000142: "a library (DLL) failed to start",
    0xC0000409: "the program stopped itself",
}


@dataclass(frozen=True)
class Output:
    """What a program left.

    code: its exit status, negative for a signal; None when the time limit ended it, 1 when it printed without end.
    """

    stdout: str
    stderr: str
    code: int | None

    @property
    def both(self) -> str:
        """The two streams, one after the other: where a thing is printed differs by program and build."""
        return f"{self.stdout}\n{self.stderr}"

    @property
    def last_error_line(self) -> str:
        """The last line of the error stream that says something, else of the output."""
        for stream in (self.stderr, self.stdout):
            lines = [line.strip() for line in stream.splitlines() if line.strip()]
            if lines:
                return lines[-1][:300]
        return ""


def run(argv: Sequence[str], *, timeout_s: float, environ: Mapping[str, str]) -> Output:
    """Run to the end or to the limit; the whole process group is ended then. OSError where it cannot be started."""
    process: subprocess.Popen[bytes] = subprocess.Popen(
        list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(environ),
        start_new_session=True, creationflags=_NEW_GROUP_NO_WINDOW if sys.platform == "win32" else 0,
    )
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
    parts: list[bytearray] = [bytearray() for _ in pipes]
    readers = [
        threading.Thread(target=_drain, args=(pipe, part, process), name="engine-probe", daemon=True)
        for pipe, part in zip(pipes, parts, strict=True)
    ]
    for reader in readers:
        reader.start()
    code: int | None
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        code = None
    # A grandchild may still hold the pipes: whatever remains of the group goes before the readers are joined.
    _end_group(process)
    process.wait()
    for reader in readers:
        reader.join(1.0)
    for pipe, reader in zip(pipes, readers, strict=True):
        if not reader.is_alive():
            pipe.close()
    if any(len(part) > _LIMIT_BYTES for part in parts):
        code = 1
    out, err = (bytes(part).decode("utf-8", "replace").replace("\r\n", "\n") for part in parts)
    return Output(out, err, code)


def _drain(pipe: IO[bytes], part: bytearray, process: subprocess.Popen[bytes]) -> None:
    fd = pipe.fileno()
    with contextlib.suppress(OSError):
        while chunk := os.read(fd, _CHUNK_BYTES):
            part += chunk
            if len(part) > _LIMIT_BYTES:
                _end_group(process)
                return


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def probe_environment(environ: Mapping[str, str], extra: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment of a probe: the person's, without what would change the program's answers.

    LLAMA_ARG_* are left out and the configuration folder is an empty one (both can make even --help fail); a crash
    must not start a debugger; cards are numbered as the driver numbers them, unless the person chose otherwise.
    """
    kept = {name: value for name, value in environ.items() if not name.upper().startswith(_STRIPPED)}
    kept.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    with tempfile.TemporaryDirectory(prefix="paddock-probe-") as folder:
        kept |= {"XDG_CONFIG_HOME": folder, "GGML_NO_BACKTRACE": "1", **extra}
        yield kept


def ending(code: int | None, timeout_s: float) -> Text:
    """How a program ended, in words."""
    if code is None:
        return Text("it did not answer within {seconds} s", seconds=f"{timeout_s:g}")
    unsigned = code & 0xFFFFFFFF
    if unsigned in _NTSTATUS:
        return Text("exit code {code}: {meaning}", code=f"0x{unsigned:08X}", meaning=_NTSTATUS[unsigned])
    number = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    with contextlib.suppress(ValueError):
        if number:
            return Text("it crashed ({signal})", signal=signal.Signals(number).name)
    return Text("exit code {code}", code=code)
