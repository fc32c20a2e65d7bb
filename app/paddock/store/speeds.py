"""How fast earlier sessions of a model generated, with the plan and the devices that they ran with."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.store.planform import read_plan
from paddock.store.schema import connect_read_only

ENOUGH_TOKENS = 32
_SQL = """
SELECT s.id, s.plan, s.machine, r.t_start, r.t_end, r.generated_tokens, r.generation_per_s, r.context_used,
       r.draft_tokens, r.source
FROM session s JOIN request r ON r.session_id = s.id
WHERE s.id IN (SELECT id FROM session WHERE model_identity = ? AND plan IS NOT NULL
               AND json_extract(engine_facts, '$.path') = ? ORDER BY id DESC LIMIT ?)
ORDER BY s.id DESC, r.t_start
"""


@dataclass(frozen=True)
class PastDevice:
    """A device as it was then; bytes, None where they were not known."""

    name: str
    description: str
    total_bytes: int | None
    free_bytes: int | None


@dataclass(frozen=True)
class PastSpeed:
    """One session: tokens/s of its single answers without drafts, at a mean depth of `context` tokens."""

    session_id: int
    plan: Plan
    devices: tuple[PastDevice, ...]
    tokens_per_s: float
    context: float
    tokens: int


def read(path: Path, model_identity: str, engine: str, sessions: int = 8) -> list[PastSpeed]:
    """Of the newest sessions of this model with this engine (its path), the newest first.

    Answers that overlap others are left out: several at once read the weights together. Empty where nothing was
    recorded; makes no database that is not there.
    """
    if not path.exists():
        return []
    try:
        with closing(connect_read_only(path)) as connection:
            rows = connection.execute(_SQL, (model_identity, engine, sessions)).fetchall()
    except sqlite3.Error:
        return []  # of an older form, or not readable: nothing is known
    found = [_session([dict(row) for row in group]) for _, group in groupby(rows, key=lambda row: row["id"])]
    return [one for one in found if one is not None]


def _session(rows: list[dict[str, Any]]) -> PastSpeed | None:
    alone = [row for row in _alone(rows)
             if row["generation_per_s"] and not row["draft_tokens"] and row["source"] == "log"]
    tokens = sum(row["generated_tokens"] or 0 for row in alone)
    if tokens < ENOUGH_TOKENS:
        return None
    try:
        plan = read_plan(json.loads(rows[0]["plan"]))
        machine = json.loads(rows[0]["machine"] or "{}")
    except (AppError, ValueError):
        return None
    took = sum((row["generated_tokens"] or 0) / row["generation_per_s"] for row in alone)
    depth = sum((row["generated_tokens"] or 0) * _depth(row) for row in alone) / tokens
    devices = tuple(PastDevice(d["name"], d.get("description") or "", d.get("total"), d.get("free"))
                    for d in machine.get("devices", ()))
    return PastSpeed(rows[0]["id"], plan, devices, tokens / took, depth, tokens)


def _depth(row: dict[str, Any]) -> float:
    """Tokens of context in the middle of an answer."""
    return max(0.0, (row["context_used"] or 0) - (row["generated_tokens"] or 0) / 2)


def _alone(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests, in the order of their start, that no other one overlaps."""
    out = []
    until = float("-inf")
    for i, row in enumerate(rows):
        end = row["t_end"]
        following = rows[i + 1]["t_start"] if i + 1 < len(rows) else float("inf")
        if row["t_start"] >= until and end is not None and following >= end:
            out.append(row)
        until = max(until, float("inf") if end is None else end)
    return out
