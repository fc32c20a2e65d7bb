"""The look that all tables share."""

from __future__ import annotations

from PySide6.QtWidgets import QTableView

from paddock.desktop.parts.basic import calm_view
from paddock.desktop.theme import theme


def row_table(view: QTableView, height: int = 24, *, many: bool = False) -> None:
    """Whole rows of `height` (before scaling), no grid, no row numbers; Tab leaves the table.

    `many`: more than one row can be chosen.
    """
    calm_view(view)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    view.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
    if not many:
        view.setSelectionMode(QTableView.SelectionMode.SingleSelection)
    view.verticalHeader().hide()
    view.verticalHeader().setDefaultSectionSize(theme().px(height))
    view.horizontalHeader().setHighlightSections(False)
