"""What is this machine, as an engine sees it, with the devices of other computers that a plan names?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.engine import Engine, list_devices
from paddock.errors import AppError
from paddock.hardware import Machine, refresh, survey
from paddock.work.beside import Neighbours
from paddock.work.conditions import reachable
from paddock.work.settling import settled

if TYPE_CHECKING:
    from paddock.work.rpc_hosts import RpcHosts

RPC_PAUSE_S = 5.0
_Key = tuple[Path | None, tuple[str, ...]]


class Machines:
    """The facts once for each engine and set of RPC endpoints, the free memory when it is asked for. Any thread.

    `last_end`: when a server of ours ended last, monotonic seconds, 0 for never.
    """

    def __init__(self, neighbours: Neighbours, rpc: RpcHosts, last_end: Callable[[], float]) -> None:
        self._neighbours, self._rpc, self._last_end = neighbours, rpc, last_end
        self._lock = threading.RLock()
        self._known: dict[_Key, Machine] = {}
        self._settled_at = 0.0
        self._silent_until: dict[tuple[str, ...], float] = {}

    def of(self, engine: Engine | None, again: bool, rpc: tuple[str, ...]) -> Machine:
        """See Workspace.machine."""
        key = (engine.path if engine else None, rpc)
        if again and (kept := self._settle(key)) is not None:
            return kept
        with self._lock:
            known = self._known.get(key)
            if known is None and rpc and engine is not None:
                found = self._with_rpc(engine, rpc)
                if found is None:
                    return self.of(engine, again, ())
                known = self._known[key] = found
            elif known is None:
                known = self._known[key] = self._neighbours.named(survey(engine.devices if engine else ()))
            elif again:
                known = self._known[key] = self._neighbours.named(refresh(known))
            return known

    def _with_rpc(self, engine: Engine, rpc: tuple[str, ...]) -> Machine | None:
        if not self._all_reachable(rpc):
            return None
        try:
            return self._neighbours.named(survey(list_devices(engine, rpc=rpc)))
        except AppError:
            return None

    def _all_reachable(self, rpc: tuple[str, ...]) -> bool:
        """A server that did not answer is not tried again on every edit, but a few seconds later. One that serves a
        session of ours is left in peace: it has one client at a time, and a second would wait."""
        if time.monotonic() < self._silent_until.get(rpc, 0.0) or self._rpc.in_use(rpc):
            return False
        found = all(map(reachable, rpc))
        if found:
            self._rpc.answered(rpc)
        else:
            self._silent_until[rpc] = time.monotonic() + RPC_PAUSE_S
        return found

    def _settle(self, key: _Key) -> Machine | None:
        """After a server of ours ended, once: the machine when its cards have given the memory back."""
        with self._lock:
            known, ended = self._known.get(key), self._last_end()
            due, self._settled_at = ended > self._settled_at, max(ended, self._settled_at)
        if known is None or not due:
            return None
        found = settled(known, refresh)
        with self._lock:
            self._known[key] = found
        return found
