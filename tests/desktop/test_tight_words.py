"""Words in little room: tabs are whole, figures keep their units."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFontMetrics

from paddock.desktop.parts.basic import Label, kept_together
from paddock.desktop.parts.blocks import Segments
from paddock.desktop.theme import theme


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_tabs_give_up_their_air_before_their_words(qtbot, qapp, scale: float) -> None:
    theme().use("light", scale)
    try:
        tabs = Segments([("basic", "Basic"), ("options", "All options"), ("place", "Placement")], "What to show")
        qtbot.addWidget(tabs)
        tabs.show()
        wide = tabs.sizeHint().width()
        tabs.resize(tabs.minimumSizeHint().width(), tabs.height())
        assert tabs.width() < wide
        for key in ("basic", "options", "place"):
            made = tabs.option(key)
            assert made.property("tight")
            assert made.width() > QFontMetrics(made.font()).horizontalAdvance(made.text())
        tabs.resize(wide + 20, tabs.height())
        assert not tabs.option("options").property("tight")
    finally:
        theme().use("light", 1.0)


@pytest.mark.parametrize(("text", "kept"), [
    ("at 60.5 % of it", "at 60.5\u00a0% of it"), ("6.70 GiB free", "6.70\u00a0GiB free"),
    ("2 models", "2 models"), ("12 s, 3 slots", "12\u00a0s, 3 slots"),
    ("with --no-kv-offload, so", "with -\u2060-\u2060no-\u2060kv-\u2060offload, so"),
    ("a well-kept -1", "a well-kept -1")])
def test_a_figure_stays_with_its_unit_and_a_flag_is_whole(text: str, kept: str) -> None:
    assert kept_together(text) == kept


def test_what_a_wrapping_label_says_is_what_it_was_given(qtbot) -> None:
    label = Label("at 60.5 % of it", wrap=True)
    qtbot.addWidget(label)
    assert label.full_text() == label.accessibleName() == "at 60.5 % of it"
