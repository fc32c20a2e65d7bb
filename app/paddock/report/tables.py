"""The same as comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from paddock.report.model import SessionData

REQUEST_COLUMNS = (
    "number", "slot", "t_start", "t_end", "prompt_tokens", "cached_tokens", "evaluated_tokens", "generated_tokens",
    "prompt_per_s", "generation_per_s", "ttft_s", "draft_tokens", "accepted_tokens", "context_used", "status", "source")


def _written(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def requests_csv(sessions: Sequence[SessionData]) -> str:
    """One row a request; the first column is the session."""
    rows = ([s.id, *(r.get(c) for c in REQUEST_COLUMNS)] for s in sessions for r in s.requests)
    return _written(("session", *REQUEST_COLUMNS), rows)


def series_csv(session: SessionData) -> str:
    """One row a sample: t in seconds since the start, then every column that was recorded; a gap is empty."""
    names = ["t", *(n for n in session.series if n != "t")]
    return _written(names, zip(*(session.series[n] for n in names), strict=True)) if session.series else "t\n"
