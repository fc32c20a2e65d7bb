"""The same as comma-separated values and as JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

from paddock.report.model import SessionData

REQUEST_COLUMNS = (
    "number", "slot", "t_start", "t_end", "prompt_tokens", "cached_tokens", "evaluated_tokens", "generated_tokens",
    "prompt_per_s", "generation_per_s", "ttft_s", "draft_tokens", "accepted_tokens", "context_used", "image_ms",
    "status", "source", "error")
CLIENT_COLUMNS = (
    "start_utc", "method", "path", "client", "user_agent", "model", "images", "request_bytes", "response_bytes",
    "http_status", "first_byte_s", "first_token_s", "total_s", "client_wait_s", "gap_median_s", "gap_p95_s",
    "gap_longest_s", "reasoning_chunks", "finish", "reused", "settings")
"""What only the recording proxy tells; empty for a request that did not come through it."""


def _written(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def request_rows(session: SessionData) -> list[dict[str, Any]]:
    """One row a request, with what its client saw; an exchange that made no tokens has a row with its columns alone."""
    seen: dict[Any, dict[str, Any]] = {}
    for exchange in session.record.get("exchanges") or ():
        named = {("http_status" if key == "status" else key): value for key, value in exchange.items()}
        seen[exchange["id"]] = {c: named.get(c) for c in CLIENT_COLUMNS}
    rows = []
    for request in session.requests:
        client = seen.get(request.get("exchange")) or dict.fromkeys(CLIENT_COLUMNS)
        rows.append({c: request.get(c) for c in REQUEST_COLUMNS} | client)
    joined = {r.get("exchange") for r in session.requests}
    rows += [dict.fromkeys(REQUEST_COLUMNS) | row for number, row in seen.items() if number not in joined]
    return rows


def requests_csv(sessions: Sequence[SessionData]) -> str:
    """One row a request; the first column is the session."""
    def cell(value: Any) -> Any:
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value

    columns = (*REQUEST_COLUMNS, *CLIENT_COLUMNS)
    rows = ([s.id, *(cell(r[c]) for c in columns)] for s in sessions for r in request_rows(s))
    return _written(("session", *columns), rows)


def requests_jsonl(sessions: Sequence[SessionData]) -> str:
    """One JSON object a line and request; no text of a prompt or an answer is among it."""
    return "".join(json.dumps({"session": s.id, **row}, ensure_ascii=False) + "\n"
                   for s in sessions for row in request_rows(s))


def series_csv(session: SessionData) -> str:
    """One row a sample: t in seconds since the start, then every column that was recorded; a gap is empty."""
    names = ["t", *(n for n in session.series if n != "t")]
    return _written(names, zip(*(session.series[n] for n in names), strict=True)) if session.series else "t\n"
