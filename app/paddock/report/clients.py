"""What the clients of a session saw, one line for each program and endpoint."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from paddock.report.model import SessionData
from paddock.text import Text
from paddock.units import count_text, number_text, seconds_text


def heads() -> list[str]:
    return [str(t) for t in (Text("Client"), Text("Endpoint"), Text("Requests"), Text("Failed"), Text("Left"),
                             Text("First byte, median"), Text("Gap between tokens, p95"), Text("Longest gap"),
                             Text("Client kept waiting"))]


def rows(session: SessionData) -> list[list[str]]:
    """Of what the recording proxy saw; the busiest first. Empty where none stood in front."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for exchange in session.record.get("exchanges") or ():
        client = str(exchange.get("user_agent") or exchange.get("client") or "n/a")
        groups.setdefault((client, f"{exchange.get('method')} {exchange.get('path')}"), []).append(exchange)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [[client, endpoint, count_text(len(seen)), count_text(_count(seen, "failed")),
             count_text(_count(seen, "cancelled")), seconds_text(_median(seen, "first_byte_s")),
             _milliseconds(_median(seen, "gap_p95_s")), _milliseconds(_most(seen, "gap_longest_s")),
             seconds_text(_most(seen, "client_wait_s"))] for (client, endpoint), seen in ordered]


def _count(seen: Sequence[Mapping[str, Any]], outcome: str) -> int:
    return sum(1 for e in seen if e.get("outcome") == outcome)


def _known(seen: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [float(e[name]) for e in seen if e.get(name) is not None]


def _median(seen: Sequence[Mapping[str, Any]], name: str) -> float | None:
    values = _known(seen, name)
    return statistics.median(values) if values else None


def _most(seen: Sequence[Mapping[str, Any]], name: str) -> float | None:
    return max(_known(seen, name), default=None)


def _milliseconds(value: float | None) -> str:
    return "n/a" if value is None else str(Text("{ms} ms", ms=number_text(value * 1e3)))
