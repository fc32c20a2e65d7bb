"""The server's process, started by us or found running: one way to watch it and to end it."""

from __future__ import annotations

import subprocess
import sys
from typing import Protocol

from paddock.server.reader import Source

if sys.platform == "win32":
    from paddock.server import windows as system
else:
    from paddock.server import posix as system

__all__ = ["Adopted", "Child", "Spawned", "system"]


class Child(Protocol):
    """A process that is, or was, a server."""

    pid: int
    code: int | None
    """Exit code as Popen gives it, once ended; None where it cannot be known."""

    def ended(self) -> bool: ...

    def let_go(self) -> None: ...


class Spawned:
    """Our own child. Reaped when `ended` is asked after its end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid
        self.code: int | None = None

    def ended(self) -> bool:
        """Whether it has ended; sets `code`."""
        if self.code is None:
            self.code = self._process.poll()
        return self.code is not None

    def output(self) -> Source:
        """Its output pipe."""
        assert self._process.stdout is not None
        return system.Pipe(self._process.stdout)  # type: ignore[arg-type]

    def let_go(self) -> None:
        """It has ended: dismiss its warden. Or it serves on without us: leave it be."""
        if self.code is not None:
            system.dismiss_warden(self._process)
        else:
            self._process.returncode = 0  # Popen would warn that it is not waited for; `reap` does where we attach


class Adopted:
    """A server that somebody else started; it is recognised by pid and birth, and its exit code stays unknown."""

    def __init__(self, pid: int, birth: str) -> None:
        self.pid, self._birth = pid, birth
        self.code: int | None = None

    def ended(self) -> bool:
        if system.birth(self.pid) == self._birth:
            return False
        self.code = system.reap(self.pid)  # it may be our own child, which was let go before
        return True

    def let_go(self) -> None:
        """Nothing of it is ours."""
