"""What an exit code means: signals, Windows' NTSTATUS values, the shell's 128 + signal."""

from __future__ import annotations

import signal

from paddock.server.model import Diagnosis
from paddock.text import Text

_INSTRUCTION = Diagnosis(
    "illegal-instruction",
    Text("The engine uses an instruction that this processor or virtual machine does not have."),
    Text("It was built for another machine: use a portable build, or turn weight repacking off."),
    edits=(("repack", ("off",)),))
_KILLED = Diagnosis(
    "killed",
    Text("The server was killed from outside: most often by the kernel, because memory ran out."),
    Text("Lower what it needs (context, layers in RAM, a smaller model), or close other programs."))
_SEGFAULT = Diagnosis(
    "segfault",
    Text("The server touched memory that is not its own: a fault in the engine or in a driver."),
    Text("Update the driver and llama.cpp; try without the device (-dev none)."))
_ABORT = Diagnosis(
    "abort",
    Text("llama.cpp stopped itself because something it relies on was not so."),
    Text("The last lines of the log say what; a device that ran out of memory is the usual cause."))
_BUS = Diagnosis(
    "bus-error",
    Text("A part of the model file could not be read while it was in use."),
    Text("The file was changed or cut, or its drive went away. Check it, or use --load-mode none."),
    edits=(("load-mode", ("none",)),))
_LIBRARY = Diagnosis(
    "library-missing",
    Text("A library that the engine needs is missing or of the wrong version."),
    Text("Install the device's runtime and the Visual C++ runtime, or use a release that brings them along."))
_NOT_STARTED = Diagnosis(
    "cannot-start",
    Text("The program could not be started."),
    Text("Check the engine's path, and that it was built for this machine."))
_SILENT = Diagnosis(
    "ended-silently",
    Text("The server ended before printing anything."),
    Text("Start the command in a terminal to see what the system says; a missing library is the usual cause."))
_WINDOWS_KILLED = Diagnosis(
    "killed",
    Text("The server was ended from outside."),
    Text("Somebody or another program ended it, or the console was closed."))

_BY_SIGNAL = {4: _INSTRUCTION, 6: _ABORT, 7: _BUS, 9: _KILLED, 11: _SEGFAULT}
_BY_STATUS = {
    0xC0000005: _SEGFAULT, 0xC00000FD: _SEGFAULT, 0xC0000409: _ABORT, 0xC0000374: _SEGFAULT,
    0xC000001D: _INSTRUCTION, 0xC0000096: _INSTRUCTION, 0xC0000135: _LIBRARY, 0xC0000138: _LIBRARY,
    0xC0000139: _LIBRARY, 0xC0000142: _LIBRARY, 0xC000007B: _LIBRARY, 0xC0000017: _KILLED, 0xC000012D: _KILLED,
    0xC0000006: _BUS, 0xC000013A: _WINDOWS_KILLED, 0x80000003: _ABORT,
}
_STATUS_NAMES = {
    0xC0000005: "access violation", 0xC0000006: "in-page error", 0xC0000017: "no memory",
    0xC000001D: "illegal instruction", 0xC000007B: "invalid image format", 0xC0000096: "privileged instruction",
    0xC00000FD: "stack overflow", 0xC000012D: "commitment limit", 0xC0000135: "DLL not found",
    0xC0000138: "ordinal not found", 0xC0000139: "entry point not found", 0xC000013A: "Ctrl-C",
    0xC0000142: "DLL initialisation failed", 0xC0000374: "heap corruption", 0xC0000409: "stack buffer overrun or abort",
    0x80000003: "breakpoint",
}


def signal_of(code: int | None) -> int | None:
    """The signal that a code stands for: Popen's -9, or the shell's 137; None for other codes."""
    if code is None:
        return None
    if -64 <= code < 0:
        return -code
    return code - 128 if 128 < code <= 128 + 64 else None


def status_of(code: int | None) -> int | None:
    """The NTSTATUS that a code stands for, given signed or unsigned; None for other codes."""
    if code is None or -64 <= code < 0x80000000:
        return None
    return code & 0xFFFFFFFF


def diagnosis(code: int | None, *, silent: bool = False) -> Diagnosis | None:
    """What the code alone tells; `silent`: it printed nothing."""
    status, number = status_of(code), signal_of(code)
    if status is not None and status in _BY_STATUS:
        return _BY_STATUS[status]
    if number is not None and number in _BY_SIGNAL:
        return _BY_SIGNAL[number]
    if code in (126, 127):
        return _NOT_STARTED
    return _SILENT if silent and code != 0 else None


def reason(code: int | None) -> Text:
    """How it ended, in words, without why."""
    if code is None:
        return Text("The server has ended; its exit code is not known.")
    status, number = status_of(code), signal_of(code)
    if status is not None:
        return Text("The server ended with status {status} ({name}).", status=f"0x{status:08X}",
                    name=_STATUS_NAMES.get(status, "?"))
    if number is not None:
        return Text("The server was ended by signal {number} ({name}).", number=number, name=_signal_name(number))
    return Text("The server ended with exit code {code}.", code=code)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "?"
