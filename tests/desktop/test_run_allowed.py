"""What memory allows, beside the generation speed: its basis is told with it."""

from __future__ import annotations

from types import SimpleNamespace

from paddock.desktop.pages.run.figures import FigureRow, Shown, allowed_of
from paddock.fit.ceiling import Ceiling
from paddock.text import Text

GIB = 1 << 30


def preview(empty: Ceiling | None, full: Ceiling | None, draft: bool = False) -> SimpleNamespace:
    return SimpleNamespace(ceiling=empty, ceiling_full=full, estimate=SimpleNamespace(has_draft=draft))


def ceiling(bound: float | None, depth: int, **read: int) -> Ceiling:
    return Ceiling(1.0, 2.0, Text("Because."), depth, bound, read)


def test_the_basis_names_bytes_and_whose_bandwidth_it_is() -> None:
    cards = {"CUDA0": 4 * GIB}
    found = allowed_of(preview(ceiling(120.0, 0, **cards), ceiling(80.0, 8192, **cards)))
    assert found is not None
    assert found.basis == ("Memory allows 120 t/s with an empty context and 80.0 t/s at 8,192 tokens: each token reads "
                           "4.0 GiB from CUDA0, at the bandwidth that the makers publish.")
    both = allowed_of(preview(ceiling(12.0, 0, Host=GIB, **cards), ceiling(8.0, 8192, Host=GIB, **cards)))
    assert both is not None
    assert "from RAM" in both.basis
    assert "measured speed of this computer’s RAM" in both.basis


def test_without_a_bound_or_with_a_draft_there_is_no_comparison() -> None:
    assert allowed_of(preview(ceiling(None, 0), ceiling(None, 8192))) is None
    assert allowed_of(preview(None, None)) is None
    assert allowed_of(preview(ceiling(9.0, 0), ceiling(8.0, 8), draft=True)) is None


def test_the_figure_carries_it(qtbot) -> None:
    row = FigureRow()
    qtbot.addWidget(row)
    row.show_all([Shown("Generation", "60", "t/s", "60 % of what memory allows", tip="Because.")] * 6)
    assert row.figures[0].toolTip() == row.figures[0].accessibleDescription() == "Because."
