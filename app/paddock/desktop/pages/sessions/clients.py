"""What the clients of a session saw: one line an exchange of the recording proxy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtWidgets import QStackedWidget, QWidget

from paddock.desktop.pages.models.tables import FilteredTable
from paddock.desktop.parts.blocks import EmptyState
from paddock.desktop.plots.scale import clock_text
from paddock.desktop.tr import tr
from paddock.session.proxy import Exchange
from paddock.units import count_text, number_text, seconds_text

Cell = tuple[str, Any]


class ClientsPane(QStackedWidget):
    """`show_exchanges`; says what is missing, and why, where no proxy stood in front."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = FilteredTable(
            tr("Clients"),
            [tr("Time"), tr("Endpoint"), tr("Client"), tr("Status"), tr("First byte"), tr("First token"),
             tr("Gap, median"), tr("Gap, longest"), tr("Client waited"), tr("Generated"), tr("End"), tr("Settings")],
            frozenset({4, 5, 6, 7, 8, 9}), stretch=11)
        self.none = EmptyState("link", tr("Nobody stood between clients and server"), tr(
            "Endpoint, client, first byte, gaps between tokens, sampling settings and the way a request ended are seen "
            "by the recording proxy alone. On Run, “Record clients…” puts it in front; so does paddock launch "
            "--proxy PORT."))
        self.addWidget(self.table)
        self.addWidget(self.none)

    def show_exchanges(self, exchanges: Sequence[Exchange]) -> None:
        self.table.set_rows([_row(e) for e in exchanges], (70, 190, 150, 90, 84, 84, 90, 90, 100, 80, 80, 0))
        self.setCurrentWidget(self.table if exchanges else self.none)


def _row(e: Exchange) -> tuple[Cell, ...]:
    status = {"done": tr("done"), "cancelled": tr("client left"), "failed": tr("failed")}.get(e.outcome, tr("open"))
    words = ", ".join(part for part in (str(e.status) if e.status not in (None, 200) else "", status) if part)
    settings = ", ".join(f"{key} {value}" for key, value in e.settings.items())
    client = e.user_agent or e.client
    return ((clock_text(e.t_start or 0.0), e.t_start or 0.0), (f"{e.method} {e.path}", e.path), (client, client),
            (words, words), _seconds(e.first_byte_s), _seconds(e.first_token_s), _milliseconds(e.gap_median_s),
            _milliseconds(e.gap_longest_s), _seconds(e.client_wait_s), _count(e.generated_tokens),
            (e.finish or e.error or "–", e.finish or e.error or ""), (settings, settings))


def _seconds(value: float | None) -> Cell:
    return ("–", -1.0) if value is None else (seconds_text(value), value)


def _milliseconds(value: float | None) -> Cell:
    return ("–", -1.0) if value is None else (tr("{ms} ms", ms=number_text(value * 1e3, 1)), value)


def _count(value: int | None) -> Cell:
    return ("–", -1) if value is None else (count_text(value), value)
