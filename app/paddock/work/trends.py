"""Many sessions at once: every request's figures over weeks, and what an engine's update did to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from paddock.bench.intervals import interval
from paddock.text import Text
from paddock.units import percent_text

if TYPE_CHECKING:
    import numpy.typing as npt

    from paddock.store import Database

    Floats = npt.NDArray[np.float64]

METRICS = ("generation_per_s", "prompt_per_s", "ttft_s", "total_s", "acceptance", "context_used", "prompt_tokens",
           "generated_tokens", "gap_p95_s", "memory_bytes", "t_start")
"""Per request. `memory_bytes`: the most that the session's server held on its devices (in RAM, where it used none)."""
MORE_IS_BETTER = {"generation_per_s": True, "prompt_per_s": True, "acceptance": True, "ttft_s": False,
                  "memory_bytes": False}
_FOLDED = 4
"""Sessions before and after an update that are taken together: one alone may have had a bad day."""
_SMALLEST = 0.01

_REQUESTS = """
SELECT r.session_id, r.generation_per_s, CASE WHEN r.evaluated_tokens >= 32 THEN r.prompt_per_s END AS prompt_per_s,
       r.ttft_s, r.t_end - r.t_start AS total_s,
       CASE WHEN r.draft_tokens > 0 THEN 1.0 * r.accepted_tokens / r.draft_tokens END AS acceptance,
       r.context_used, r.prompt_tokens, r.generated_tokens, e.gap_p95_s, r.t_start
FROM request r LEFT JOIN exchange e ON e.session_id = r.session_id AND e.id = r.exchange
WHERE r.status = 'done' AND NOT r.is_child AND r.session_id IN ({marks}) ORDER BY r.session_id, r.number
"""
_SESSIONS = """
SELECT id, start_utc, model, model_identity, profile, engine, json_extract(engine_facts, '$.version') AS version,
       (SELECT sum(json_extract(value, '$.process_bytes')) FROM json_each(actual, '$.measured')
        WHERE key <> 'Host') AS on_devices,
       json_extract(actual, '$.measured.Host.process_bytes') AS in_ram
FROM session WHERE EXISTS (SELECT 1 FROM request r WHERE r.session_id = session.id AND r.status = 'done')
ORDER BY start_utc, id
"""


@dataclass(frozen=True)
class Sitting:
    """One session of the selection. `engine`: its name, and its version where it was told."""

    id: int
    start: str
    model: str | None
    profile: str | None
    engine: str
    memory_bytes: float
    identity: str | None = None


@dataclass(frozen=True)
class Table:
    """Requests as columns, metric → [requests], NaN where not known; `of`: the session of each; oldest first."""

    sittings: tuple[Sitting, ...]
    of: npt.NDArray[np.int64]
    columns: dict[str, Floats]

    def values(self, metric: str, session_ids: Sequence[int] | None = None) -> Floats:
        """Known figures only, of these sessions (default: all)."""
        values = self.columns[metric]
        chosen = np.isfinite(values) if session_ids is None else np.isfinite(values) & np.isin(self.of, session_ids)
        return values[chosen]


@dataclass(frozen=True)
class Change:
    """An engine's update after which a metric differed beyond chance. `share` with its 95 % interval."""

    session_id: int
    """The first with the new engine."""
    start: str
    before: str
    after: str
    metric: str
    share: float
    low: float
    high: float
    worse: bool
    group: tuple[str | None, str | None] = field(default=(None, None))
    """Model and profile."""


def table(database: Database, *, model: str | None = None, profile: str | None = None,
          session_ids: Sequence[int] | None = None) -> Table:
    """The requests of all sessions that match: a model's name, a profile's name, ids."""
    rows = [row for row in _named(database, _SESSIONS)
            if (model is None or row["model"] == model) and (profile is None or row["profile"] == profile)
            and (session_ids is None or row["id"] in session_ids)]
    sittings = tuple(Sitting(r["id"], r["start_utc"], r["model"], r["profile"], _engine(r), _memory(r),
                             r["model_identity"]) for r in rows)
    order = {s.id: i for i, s in enumerate(sittings)}
    marks = ", ".join(str(int(s.id)) for s in sittings) or "NULL"
    found = sorted(_named(database, _REQUESTS.format(marks=marks)), key=lambda r: order[r["session_id"]])
    columns = {name: np.array([np.nan if r[name] is None else r[name] for r in found], np.float64)
               for name in METRICS if name != "memory_bytes"}
    of = np.array([r["session_id"] for r in found], np.int64)
    held = {s.id: s.memory_bytes for s in sittings}
    columns["memory_bytes"] = np.array([held[i] for i in of.tolist()], np.float64)
    return Table(sittings, of, columns)


def _named(database: Database, sql: str) -> list[dict[str, Any]]:
    names, rows = database.query(sql)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _engine(row: dict[str, Any]) -> str:
    name, version = row["engine"] or "?", row["version"]
    return name if not version or str(version) in name else f"{name}, {version}"


def _memory(row: dict[str, Any]) -> float:
    return float(row["on_devices"] or row["in_ram"] or np.nan)


def changes(found: Table) -> list[Change]:
    """Where the same model under the same profile met another engine, and what of it was beyond chance."""
    groups: dict[tuple[str | None, str | None], list[Sitting]] = {}
    for sitting in found.sittings:
        groups.setdefault((sitting.identity or sitting.model, sitting.profile), []).append(sitting)
    out: list[Change] = []
    for sittings in groups.values():
        for i in range(1, len(sittings)):
            if sittings[i].engine != sittings[i - 1].engine:
                out += _change(found, sittings, i)
    return sorted(out, key=lambda c: (c.start, c.session_id, c.metric))


def change_text(change: Change) -> Text:
    """In one sentence, with the interval."""
    low, high = (percent_text(v, 1, signed=True) for v in (change.low, change.high))
    share = percent_text(abs(change.share), 1)
    values: dict[str, Any] = {"id": change.session_id, "before": change.before, "after": change.after, "share": share,
                              "low": low, "high": high}
    more = change.share > 0
    if change.metric == "generation_per_s":
        return (Text("From session {id} on, {after} writes {share} faster than {before} ({low} to {high}).", **values)
                if more else
                Text("From session {id} on, {after} writes {share} slower than {before} ({low} to {high}).", **values))
    if change.metric == "prompt_per_s":
        return (Text("From session {id} on, {after} reads prompts {share} faster than {before} ({low} to {high}).",
                     **values) if more else
                Text("From session {id} on, {after} reads prompts {share} slower than {before} ({low} to {high}).",
                     **values))
    if change.metric == "ttft_s":
        return (Text("From session {id} on, the first token takes {share} longer with {after} than with {before} "
                     "({low} to {high}).", **values) if more else
                Text("From session {id} on, the first token comes {share} sooner with {after} than with {before} "
                     "({low} to {high}).", **values))
    if change.metric == "acceptance":
        return (Text("From session {id} on, {after} accepts {share} more of the drafts than {before} ({low} to "
                     "{high}).", **values) if more else
                Text("From session {id} on, {after} accepts {share} fewer of the drafts than {before} ({low} to "
                     "{high}).", **values))
    return (Text("From session {id} on, {after} takes {share} more memory than {before}.", **values) if more else
            Text("From session {id} on, {after} takes {share} less memory than {before}.", **values))


def _change(found: Table, sittings: list[Sitting], i: int) -> list[Change]:
    """The sessions just before sitting i with the old engine against those from it on with the new one."""
    old, new = sittings[i - 1].engine, sittings[i].engine
    before, after = _run_of(sittings[:i][::-1], old), _run_of(sittings[i:], new)
    out = []
    for metric, more in MORE_IS_BETTER.items():
        if metric == "memory_bytes":
            judged = _heavier(before, after)
        else:
            judged = interval(found.values(metric, [s.id for s in before]).tolist(),
                              found.values(metric, [s.id for s in after]).tolist())
        if judged is None or judged[1] <= 0 <= judged[2] or abs(judged[0]) < _SMALLEST:
            continue
        share, low, high = judged
        first = sittings[i]
        out.append(Change(first.id, first.start, old, new, metric, share, low, high, (share > 0) != more,
                          (first.model, first.profile)))
    return out


def _run_of(sittings: Sequence[Sitting], engine: str) -> list[Sitting]:
    out: list[Sitting] = []
    for sitting in sittings[:_FOLDED]:
        if sitting.engine != engine:
            break
        out.append(sitting)
    return out


def _heavier(before: list[Sitting], after: list[Sitting]) -> tuple[float, float, float] | None:
    """Memory is one figure a session and hardly varies: the ranges of both sides must not meet."""
    old, new = ([s.memory_bytes for s in side if np.isfinite(s.memory_bytes)] for side in (before, after))
    if not old or not new:
        return None
    middle = float(np.median(old))
    return float(np.median(new)) / middle - 1, min(new) / max(old) - 1, max(new) / min(old) - 1
