"""The models of a router as one session: their servers polled at their own ports, their slots and tasks told apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from paddock.server.router import RouterModel, read_models
from paddock.session.rates import read_counters

_TASKS = 100_000_000
"""Task numbers of one child lie this far from those of the next."""
_USUAL_SLOTS = 4
"""What a server takes by itself; until its log or /slots says otherwise."""
_LIST_S = 0.9
_GAUGES = ("requests_processing", "requests_deferred", "n_busy_slots_per_decode", "prompt_tokens_seconds",
           "predicted_tokens_seconds", "n_tokens_max")
OK = 200


@dataclass(frozen=True)
class Lane:
    """Where a child's slots and tasks stand among those of the session."""

    number: int
    first_slot: int
    slots: int

    def slot(self, own: int) -> int:
        return self.first_slot + own

    def task(self, own: int) -> int:
        return own if own < 0 else self.number * _TASKS + own


class Children:
    """Lanes by a child's port. The log's reader and the sampler both ask; a lane is free again when its server is."""

    def __init__(self) -> None:
        self._lanes: dict[int, Lane] = {}
        self._listed: set[int] = set()
        self._lock = threading.Lock()

    @property
    def slots(self) -> int:
        """How many slots all lanes have together."""
        with self._lock:
            return max((lane.first_slot + lane.slots for lane in self._lanes.values()), default=0)

    def lane(self, port: int, slots: int | None = None) -> Lane:
        """The lane of the child at this port, made when it is first asked for; `slots` where they are known."""
        with self._lock:
            lane = self._lanes.get(port)
            if lane is not None and (slots is None or slots == lane.slots):
                return lane
            wanted = slots or _USUAL_SLOTS
            others = [one for at, one in self._lanes.items() if at != port]
            number = lane.number if lane is not None else _first_free({one.number for one in others})
            made = self._lanes[port] = Lane(number, _gap(others, wanted), wanted)
            return made

    def listed(self, ports: set[int]) -> None:
        """Ports of the servers that there are now: a lane whose server was listed before and is gone is given up."""
        with self._lock:
            for port in self._listed - ports:
                self._lanes.pop(port, None)
            self._listed = set(ports)


def _first_free(taken: set[int]) -> int:
    return next(number for number in range(len(taken) + 1) if number not in taken)


def _gap(lanes: list[Lane], wanted: int) -> int:
    """The first slot from which `wanted` slots are free."""
    start = 0
    for lane in sorted(lanes, key=lambda one: one.first_slot):
        if lane.first_slot - start >= wanted:
            break
        start = max(start, lane.first_slot + lane.slots)
    return start


class Answer(Protocol):
    """See sampler.Answer."""

    @property
    def code(self) -> int | None: ...
    @property
    def data(self) -> Any: ...


class Asked(Protocol):
    """What is asked of the router (`models` too) and of its children."""

    def models(self) -> Answer: ...
    def slots(self) -> Answer: ...
    def metrics(self) -> Answer: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class _Told:
    code: int | None
    data: Any


class RouterPoller:
    """The sampler's client for a router: /slots and /metrics of all loaded models as if they were one server's.

    The router itself is asked for its list alone: it would log every other call, and load a model that is asked about.
    A sleeping child is left asleep. `models` is the newest list, None before the first; read it from any thread.
    """

    def __init__(self, router: Asked, child: Callable[[str], Asked], children: Children,
                 clock: Callable[[], float], told: Callable[[tuple[RouterModel, ...]], object]) -> None:
        self._router, self._child, self._children = router, child, children
        self._clock, self._told = clock, told
        self._clients: dict[int, Asked] = {}
        self._models: tuple[RouterModel, ...] = ()
        self._listed_at: float | None = None
        self._listing: Answer = _Told(None, None)
        self._counters: dict[int, dict[str, float]] = {}
        self._gone: dict[str, float] = {}
        """Counters of servers that ended: the session's sums never fall."""

    def close(self) -> None:
        self._router.close()
        for client in self._clients.values():
            client.close()

    def props(self) -> Answer:
        """Whether all that is loaded sleeps."""
        if not self._list():
            return self._listing
        running = [m for m in self._models if m.running]
        return _Told(OK, {"is_sleeping": bool(running) and all(m.state == "sleeping" for m in running)})

    def slots(self) -> Answer:
        """All slots, numbered by lane."""
        if not self._list():
            return self._listing
        found: list[dict[str, Any]] = []
        refused: Answer | None = None
        for model, client in self._awake():
            answer = client.slots()
            if answer.code != OK or not isinstance(answer.data, list):
                refused = answer
                continue
            assert model.port is not None
            lane = self._children.lane(model.port, len(answer.data) or None)
            found += [_renumbered(raw, lane) for raw in answer.data if isinstance(raw, Mapping)]
        return refused if refused is not None and not found else _Told(OK, found)

    def metrics(self) -> Answer:
        """Counters summed over all children, those that ended included; gauges over those that run."""
        if not self._list():
            return self._listing
        refused: Answer | None = None
        fresh: dict[int, dict[str, float]] = {}
        for model, client in self._awake():
            answer = client.metrics()
            counters = read_counters(answer.data) if answer.code == OK else None
            assert model.port is not None
            if counters is None:
                refused = answer
            else:
                fresh[model.port] = counters
        if refused is not None and not fresh:
            return refused
        self._counters |= fresh
        return _Told(OK, self._sums(set(fresh)))

    def _sums(self, answered: set[int]) -> dict[str, float]:
        sums: dict[str, float] = dict(self._gone)
        sums.setdefault("requests_processing", 0.0)
        sums.setdefault("requests_deferred", 0.0)
        for port, counters in self._counters.items():
            for name, value in counters.items():
                if name not in _GAUGES:
                    sums[name] = sums.get(name, 0.0) + value
                elif name.startswith("requests_") and port in answered:
                    sums[name] += value
        return sums

    def _awake(self) -> list[tuple[RouterModel, Asked]]:
        return [(m, self._clients[m.port]) for m in self._models if m.state == "loaded" and m.port in self._clients]

    def _list(self) -> bool:
        """Bring the list up to date; False where the router does not answer as one."""
        now = self._clock()
        if self._listed_at is not None and now - self._listed_at < _LIST_S:
            return self._listing.code == OK
        self._listed_at = now
        answer = self._router.models()
        models = read_models(answer.data) if answer.code == OK else None
        self._listing = answer if models is not None or answer.code != OK else _Told(None, None)
        if models is None:
            return False
        self._take(models)
        return True

    def _take(self, models: tuple[RouterModel, ...]) -> None:
        ports = {m.port: m for m in models if m.running and m.port is not None}
        for port in set(self._clients) - set(ports):
            self._clients.pop(port).close()
            for name, value in self._counters.pop(port, {}).items():
                if name not in _GAUGES:
                    self._gone[name] = self._gone.get(name, 0.0) + value
        for port in set(ports) - set(self._clients):
            self._clients[port] = self._child(f"http://127.0.0.1:{port}{ports[port].api_prefix}")
        starting = {m.port for m in models if m.port is not None and m.state == "loading"}
        self._children.listed(set(ports) | starting)
        if models != self._models:
            self._models = models
            self._told(models)


def _renumbered(raw: Mapping[str, Any], lane: Lane) -> dict[str, Any]:
    out = dict(raw)
    own = raw.get("id")
    out["id"] = lane.slot(own if isinstance(own, int) else 0)
    if isinstance(raw.get("id_task"), int):
        out["id_task"] = lane.task(raw["id_task"])
    return out
