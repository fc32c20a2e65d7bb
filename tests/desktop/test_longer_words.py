"""Words that are longer in Italian are not cut."""

from __future__ import annotations

import pytest
from desk_double import GIB

from paddock import text
from paddock.desktop.dock.bars import MiniBars
from paddock.desktop.pages.models.tables import FilteredTable
from paddock.desktop.parts.memory import BarValues


@pytest.mark.parametrize("language", ["en", "it"])
@pytest.mark.parametrize("used", [2.5, 30.0])
def test_the_folded_dock_shows_each_figure_whole(qtbot, language: str, used: float) -> None:
    text.use_language(language)
    bars = MiniBars()
    qtbot.addWidget(bars)
    bars.set_narrow(True)
    bars.show_bars([(BarValues("CUDA1", (("weights", round(used * GIB)),), total=24 * GIB, free=24 * GIB), "")])
    bars.show()
    made = bars._bars[0]
    assert made.free.text() == made.free.full_text() != ""
    for label in (made.name, made.free):
        assert label.width() >= label.sizeHint().width()


def test_a_column_is_as_wide_as_its_title(qtbot) -> None:
    text.use_language("it")
    table = FilteredTable("Tensori", ["Nome", "Dimensione"], frozenset({1}))
    qtbot.addWidget(table)
    table.set_rows([(("blk.0", "blk.0"), ("4 MiB", 4))], [0, 30])
    assert table.view.columnWidth(1) >= table.view.fontMetrics().horizontalAdvance("Dimensione")
