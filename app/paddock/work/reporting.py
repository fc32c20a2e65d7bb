"""Recorded sessions as something to hand on: a page, tables, JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paddock.report import SessionData
    from paddock.work.workspace import Workspace

FORMS = ("html", "json", "jsonl", "csv", "series")


def written(workspace: Workspace, session_ids: Sequence[int], form: str) -> str:
    """See `Workspace.report`. Prompts, answers and the home folder's name are in none of them."""
    from paddock import report

    data = []
    for session_id in session_ids:
        record = workspace.session(session_id).as_dict()
        for exchange in record["exchanges"]:
            exchange["request_text"] = exchange["response_text"] = None
        data.append(report.SessionData(record, workspace.series_dict(session_id), str(Path.home())))
    if form == "json":
        whole = [_shown(d, {**d.record, "series": dict(d.series)}) for d in data]
        return json.dumps(whole[0] if len(whole) == 1 else whole, ensure_ascii=False) + "\n"
    if form == "series":
        return report.series_csv(data[0])
    make = {"html": report.page, "csv": report.requests_csv, "jsonl": report.requests_jsonl}[form]
    return make(data)


def _shown(data: SessionData, value: Any) -> Any:
    """With the home folder as ~ in every text."""
    if isinstance(value, str):
        return data.shown(value)
    if isinstance(value, dict):
        return {key: one if key == "series" else _shown(data, one) for key, one in value.items()}
    return [_shown(data, one) for one in value] if isinstance(value, list | tuple) else value
