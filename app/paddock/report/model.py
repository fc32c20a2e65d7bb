"""What a report is made of, and the figures that follow from it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Floats = Sequence[float | None]


@dataclass(frozen=True)
class SessionData:
    """One session. `record`: the form of `sessions show --json`; `series`: name → values over `series["t"]`, None: gap.

    `home`: the home folder, shown as ~ so that no user name is in a report.
    """

    record: Mapping[str, Any]
    series: Mapping[str, Floats] = field(default_factory=dict)
    home: str = ""

    @property
    def id(self) -> int:
        return int(self.record["id"])

    @property
    def requests(self) -> list[Mapping[str, Any]]:
        return list(self.record.get("requests") or [])

    def shown(self, text: object) -> str:
        """A text with the home folder as ~."""
        out = str(text)
        return out.replace(self.home, "~") if self.home and self.home != "/" else out

    @property
    def command(self) -> list[str]:
        return [self.shown(word) for word in self.record.get("command") or []]

    def median(self, name: str) -> float | None:
        """Over finished requests that tell it; prompts too short or cached tell no prompt speed."""
        rows = [r for r in self.requests if r.get("status") == "done" and r.get(name) is not None]
        if name == "prompt_per_s":
            rows = [r for r in rows if (r.get("evaluated_tokens") or 0) >= 32]
        return statistics.median(float(r[name]) for r in rows) if rows else None

    @property
    def generated(self) -> int:
        return sum(int(r.get("generated_tokens") or 0) for r in self.requests)

    def memory_rows(self) -> list[dict[str, Any]]:
        """Per device: predicted and allocated bytes of weights, context and compute (main and draft together)."""
        estimate, actual = self.record.get("estimate") or {}, self.record.get("actual") or {}
        names = dict.fromkeys(r["name"] for r in (*(estimate.get("main") or ()), *(actual.get("main") or ())))
        out = []
        for name in names:
            row: dict[str, Any] = {"name": name}
            for kind, source in (("predicted", estimate), ("allocated", actual)):
                parts = [r for part in ("main", "draft") for r in source.get(part) or () if r["name"] == name]
                for term in ("model", "context", "compute"):
                    row[f"{kind}_{term}"] = sum(int(p.get(term) or 0) for p in parts) if parts else None
                row[kind] = sum(row[f"{kind}_{t}"] for t in ("model", "context", "compute")) if parts else None
            if row["predicted"] or row["allocated"]:
                out.append(row)
        return out
