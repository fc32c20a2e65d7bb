"""The usual speed: what earlier sessions of the same model under the same profile reached."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from paddock.errors import AppError

_MOST_SESSIONS = 20
_ENOUGH_TOKENS = 32
_WRITTEN = "CASE WHEN generation_per_s > 0 AND generated_tokens > 1 THEN generated_tokens"
_READ = f"CASE WHEN prompt_per_s > 0 AND evaluated_tokens >= {_ENOUGH_TOKENS} THEN evaluated_tokens"
SPEEDS_SQL = (f"SELECT session_id, sum({_WRITTEN} END) / sum({_WRITTEN} / generation_per_s END), "
              f"sum({_READ} END) / sum({_READ} / prompt_per_s END) FROM request GROUP BY session_id")
"""Per session: tokens over time, so that long requests count for more; prompts too short to tell a speed left out."""


@dataclass(frozen=True)
class Usual:
    """Tokens/s; None where no earlier session tells."""

    generation_per_s: float | None = None
    prompt_per_s: float | None = None


def usual_of(workspace: Any, session_id: int) -> Usual:
    """The median over the newest sessions of the same model and profile. Reads the database: off the GUI thread."""
    try:
        rows = workspace.sessions()
        _, speeds = workspace.query(SPEEDS_SQL)
    except AppError:
        return Usual()
    own = next((r for r in rows if r.id == session_id), None)
    if own is None or own.model_identity is None:
        return Usual()
    like = [r.id for r in rows if r.id != session_id and r.model_identity == own.model_identity
            and r.profile == own.profile][:_MOST_SESSIONS]
    known = {int(row[0]): row[1:] for row in speeds}
    return Usual(_median(known[i][0] for i in like if i in known), _median(known[i][1] for i in like if i in known))


def _median(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None
