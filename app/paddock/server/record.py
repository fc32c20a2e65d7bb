"""Records of running servers: what one Paddock leaves for the next one to find.

One JSON file each, written whole, readable by its owner alone, removed at the server's end. No key and no argument is
in it: arguments may hold secrets, so only their hash is.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from paddock.server import port
from paddock.server.child import system
from paddock.server.model import ServerSpec

_VERSION = 1
_POLL_S = 0.05


@dataclass(frozen=True)
class Record:
    """`birth`: see posix.birth. `argv_hash` and `exe` are None until they could be read from the running process."""

    pid: int
    birth: str
    start_time: float | None
    owner_pid: int
    owner_birth: str
    host: str
    port: int
    tls: bool = False
    api_prefix: str = ""
    exe: str | None = None
    argv_hash: str | None = None
    log_path: str | None = None
    log_cap_bytes: int = 64 << 20
    keep_serving: bool = False
    label: str = ""
    path: str | None = None
    """Where this record lies; not stored in it."""

    @property
    def url(self) -> str:
        """The server's base URL."""
        return self.spec().url()

    def spec(self, key: str | None = None) -> ServerSpec:
        """As much of its spec as a record tells; argv as the running process has it, env empty.

        Where no key is given it is looked for where the process has it: LLAMA_API_KEY, --api-key, --api-key-file.
        """
        argv = _cmdline(self.pid) or ()
        return ServerSpec(
            argv=argv, env={}, host=self.host, port=self.port, tls=self.tls, api_prefix=self.api_prefix,
            key=key or _key_of(self.pid, argv), log_path=Path(self.log_path) if self.log_path else None,
            log_cap_bytes=self.log_cap_bytes, keep_serving=True, record_path=Path(self.path) if self.path else None,
            label=self.label)

    def lives(self) -> bool:
        """Whether this very process still runs: pid, birth, program and arguments agree. Never by name."""
        if system.birth(self.pid) != self.birth:
            return False
        if self.argv_hash is not None:
            argv = _cmdline(self.pid)
            if argv is not None and _hash(argv) != self.argv_hash:
                return False
        exe = _exe(self.pid) if self.exe is not None else None
        return exe is None or exe == self.exe

    def owned(self) -> bool:
        """Whether the Paddock that started it still runs."""
        return system.birth(self.owner_pid) == self.owner_birth

    def save(self) -> None:
        """Write it to `path`, whole or not at all. OSError where that cannot be done."""
        assert self.path is not None
        path = Path(self.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        content = {name: value for name, value in asdict(self).items() if name != "path"}
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"version": _VERSION, **content}, file)
        fresh.replace(path)

    def remove(self) -> None:
        """Delete the file, if it is still this server's."""
        if self.path is not None:
            current = read(Path(self.path))
            if current is None or (current.pid, current.birth) == (self.pid, self.birth):
                Path(self.path).unlink(missing_ok=True)

    def taken_over(self) -> Record:
        """The same server, owned by this process."""
        return replace(self, owner_pid=os.getpid(), owner_birth=system.birth(os.getpid()) or "")

    def seen(self) -> Record:
        """With program and arguments as the system shows them now (after exec)."""
        argv = _cmdline(self.pid)
        return replace(self, exe=_exe(self.pid), argv_hash=_hash(argv) if argv else None)


def new(spec: ServerSpec, pid: int) -> Record | None:
    """The record of a server that we have just started; None when it is gone already."""
    birth, owner_birth = system.birth(pid), system.birth(os.getpid())
    if birth is None or owner_birth is None:
        return None
    try:
        start = psutil.Process(pid).create_time()
    except psutil.Error:
        start = None
    return Record(
        pid, birth, start, os.getpid(), owner_birth, spec.host, spec.port, spec.tls, spec.api_prefix,
        None, None, str(spec.log_path) if spec.log_path else None, spec.log_cap_bytes, spec.keep_serving, spec.label,
        str(spec.record_path))


def read(path: Path) -> Record | None:
    """The record in a file; None where there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("version") != _VERSION:
            return None
        return Record(**content, path=str(path))
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return None


@dataclass(frozen=True)
class Leftover:
    """A server that serves on though the Paddock that started it is gone. Adopt it with `Supervisor.attach(record)`."""

    record: Record

    @property
    def pid(self) -> int:
        return self.record.pid

    @property
    def url(self) -> str:
        return self.record.url

    @property
    def label(self) -> str:
        return self.record.label

    def stop(self, grace_s: float = 2.5, kill_after_s: float = 1.0) -> bool:
        """End it: asked, asked again, killed with its group; removes its record. Blocks: not for the GUI thread.

        True when it is gone, also when it already was. What is no longer that process is never signalled.
        """
        steps = ((system.ask_to_end, grace_s), (system.ask_to_end, kill_after_s), (system.kill_all, 2.0))
        for signal_it, patience_s in steps:
            if not self.record.lives():
                break
            signal_it(self.pid)
            end = time.monotonic() + patience_s
            while system.birth(self.pid) == self.record.birth and time.monotonic() < end:
                time.sleep(_POLL_S)
        gone = system.birth(self.pid) != self.record.birth
        if gone:
            _forget(self.record)
        return gone


def leftovers(runtime_folder: Path) -> list[Leftover]:
    """Servers whose Paddock is gone but which live on. Records of servers that are gone are removed.

    Matched by pid, birth, program and arguments, never by name: a server that the person started is none of ours.
    """
    found: list[Leftover] = []
    for path in sorted(runtime_folder.glob("*.json")) if runtime_folder.is_dir() else ():
        record = read(path)
        if record is None:
            continue  # not ours to judge: another version's, or no record at all
        if not record.lives():
            _forget(record)
        elif not record.owned():
            found.append(Leftover(record))
    return found


def _forget(record: Record) -> None:
    record.remove()
    socket_file = record.spec().unix_socket
    if socket_file is not None:
        port.check_socket_file(socket_file)


def _cmdline(pid: int) -> tuple[str, ...] | None:
    try:
        return tuple(psutil.Process(pid).cmdline()) or None
    except (psutil.Error, OSError):
        return None


def _key_of(pid: int, argv: Sequence[str]) -> str | None:
    """The first key that a running server takes; None where it has none or the system does not show it."""
    given = dict(itertools.pairwise(argv))
    try:
        lists = [given.get("--api-key", ""), psutil.Process(pid).environ().get("LLAMA_API_KEY", "")]
        if "--api-key-file" in given:
            lists.append(Path(given["--api-key-file"]).read_text(encoding="utf-8").replace("\n", ","))
    except (psutil.Error, OSError, ValueError):
        return None
    return next((key.strip() for keys in lists for key in keys.split(",") if key.strip()), None)


def _exe(pid: int) -> str | None:
    try:
        return psutil.Process(pid).exe() or None
    except (psutil.Error, OSError):
        return None


def _hash(argv: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(argv).encode("utf-8", "surrogateescape")).hexdigest()
