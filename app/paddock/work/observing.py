"""What a run should be like, for the detectors: its estimate, the machine, and what this profile reached before."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.session.detectors import DetectorWatch, Expectation
from paddock.work.model import Preview

if TYPE_CHECKING:
    from paddock.launch import Plan
    from paddock.session import Recorder
    from paddock.store import Database, SessionStart

_MOST_PAST = 2000
_ENOUGH_TOKENS = 16
PAST_SQL = """
SELECT r.context_used - r.generated_tokens / 2.0, r.generation_per_s
FROM request r JOIN session s ON s.id = r.session_id
WHERE s.id != ? AND s.model_identity = ? AND s.profile IS ? AND s.engine IS ? AND r.status = 'done'
  AND r.generation_per_s > 0 AND r.generated_tokens >= ? AND r.context_used IS NOT NULL
ORDER BY s.id DESC, r.number DESC LIMIT ?
"""
"""Depth at the middle of an answer, and its speed: the newest of the same model, profile and engine."""


def watch_of(database: Database, session_id: int, start: SessionStart, preview: Preview, recorder: Recorder,
             adopted: bool = False) -> DetectorWatch:
    """The detectors of one session; plug its `on_row` in where the recorder's was.

    `adopted`: today's estimate was made with that very server in memory, so where its layers should lie is not known.
    """
    def expect() -> Expectation:
        return expectation_of(preview, past_of(database, session_id, start), placed=not adopted)

    return DetectorWatch(recorder, expect)


def past_of(database: Database, session_id: int, start: SessionStart) -> tuple[tuple[float, float], ...]:
    """(depth, tokens/s) of earlier answers; empty where there are none, or the database cannot be read now."""
    if start.model_identity is None:
        return ()
    try:
        _, rows = database.query(PAST_SQL, (session_id, start.model_identity, start.profile, start.engine,
                                            _ENOUGH_TOKENS, _MOST_PAST))
    except (AppError, sqlite3.Error):
        return ()
    return tuple((float(depth), float(speed)) for depth, speed in rows)


def expectation_of(preview: Preview, past: tuple[tuple[float, float], ...] = (), placed: bool = True) -> Expectation:
    """See `Expectation`. What the preview does not know stays empty."""
    machine, plan = preview.machine, preview.plan
    devices = preview.estimate.devices if preview.estimate is not None and placed else ()
    known = [d for d in devices if d.budget is not None]
    return Expectation(
        model_bytes={d.name: d.model for d in devices}, context_bytes={d.name: d.context for d in devices},
        total_bytes={d.name: d.budget.total_bytes for d in known if d.budget and d.budget.total_bytes is not None},
        integrated=frozenset(d.name for d in machine.devices if d.integrated),
        threads=_positive(plan, "threads"), physical_cores=machine.physical_cores, logical_cores=machine.logical_cores,
        context_size=_positive(plan, "ctx-size"), slots=preview.estimate.slots if preview.estimate else None,
        draft_tokens=_positive(plan, "spec-draft-n-max") or Expectation.draft_tokens, draft_share=_draft_share(preview),
        past=past, ceiling=_ceiling(preview))


def _positive(plan: Plan, option: str) -> int | None:
    """A whole number over 0 that the plan sets itself; -1 and 0 mean something else to llama.cpp."""
    try:
        value = int(plan.get(option) or 0)
    except ValueError:
        return None
    return value if value > 0 else None


def _draft_share(preview: Preview) -> float | None:
    if preview.draft is None or preview.model is None or not preview.model.size_bytes:
        return None
    return preview.draft.size_bytes / preview.model.size_bytes


def _ceiling(preview: Preview) -> tuple[float, float, int] | None:
    """Only without a draft: with one, tokens/s no longer follow from the bytes of one token."""
    empty, full = preview.ceiling, preview.ceiling_full
    drafted = preview.estimate is not None and preview.estimate.has_draft
    if empty is None or full is None or not empty.bound or not full.bound or not full.depth or drafted:
        return None
    return empty.bound, full.bound, full.depth
