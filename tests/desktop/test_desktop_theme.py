"""Colours that can be read, in both themes, and a switch that reaches everything."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QRect, qInstallMessageHandler
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QComboBox, QLabel, QStackedWidget, QTreeView, QWidget

from paddock.desktop import icons
from paddock.desktop.colours import DATA, ROLES
from paddock.desktop.parts.basic import Label, calm_view
from paddock.desktop.theme import SIZES, theme

SURFACES = ("window", "base", "alt")


def luminance(colour: str) -> float:
    parts = [c / 255 for c in QColor(colour).getRgb()[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(autouse=True)
def light_again(qapp):
    yield
    theme().use("system", 1.0)


@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("role", ["text", "text2", "text3", "accent", "ok", "warn", "bad", "unk"])
def test_text_can_be_read_on_every_surface(role: str, dark: int) -> None:
    surfaces = [*SURFACES, *([f"{role}_tint"] if f"{role}_tint" in ROLES else [])]
    assert min(contrast(ROLES[role][dark], ROLES[s][dark]) for s in surfaces) >= 4.5


@pytest.mark.parametrize("dark", [0, 1], ids=["light", "dark"])
def test_edges_and_data_colours_stand_out_and_carry_their_text(dark: int) -> None:
    assert contrast(ROLES["edge"][dark], ROLES["base"][dark]) >= 3
    assert contrast(ROLES["on_accent"][dark], ROLES["accent"][dark]) >= 4.5
    assert contrast(ROLES["text"][dark], ROLES["sel"][dark]) >= 4.5
    for colour in DATA:
        assert contrast(colour.fill[dark], ROLES["base"][dark]) >= 3
        assert contrast(colour.text[dark], colour.fill[dark]) >= 4.5


def test_data_colours_differ_in_pattern_and_in_dash_too() -> None:
    assert len({c.pattern for c in DATA}) == len(DATA) == len({c.dash for c in DATA})


def test_a_switch_reaches_palette_style_and_listeners(qtbot, qapp, tmp_path: Path) -> None:
    theme().use("light", cache=tmp_path)
    with qtbot.waitSignal(theme().changed):
        theme().use("dark")
    assert qapp.palette().color(QPalette.ColorRole.Window).name().upper() == ROLES["window"][1]
    assert ROLES["bad"][1].lower() in qapp.styleSheet().lower()
    assert {p.name for p in tmp_path.iterdir()} >= {"down-dark.svg", "check-dark.svg", "down-light.svg"}
    assert ROLES["text2"][1].lower() in (tmp_path / "down-dark.svg").read_text().lower()


def test_a_part_that_moves_to_another_parent_keeps_the_new_colours(qtbot) -> None:
    theme().use("light")
    part, home = QWidget(), QStackedWidget()
    label, view = Label("a note", "note", "text2"), QTreeView()
    calm_view(view)
    for inside in (label, view):
        inside.setParent(part)
    home.addWidget(part)
    qtbot.addWidget(home)
    home.show()
    for mode in ("dark", "light", "dark"):
        theme().use(mode)
        folded = QWidget()
        part.setParent(folded)
        home.setCurrentIndex(home.addWidget(folded))
        part.show()
        qtbot.waitUntil(part.isVisible)
        assert label.palette().color(QPalette.ColorRole.WindowText) == theme().color("text2")
        assert view.palette().color(QPalette.ColorRole.Highlight) == theme().color("sel")


def test_a_switch_of_the_theme_works_where_its_images_cannot_be_kept(qapp, tmp_path: Path) -> None:
    blocked = tmp_path / "a file where the folder should be"
    blocked.write_text("", "utf-8")
    theme().use("light", cache=tmp_path / "look")
    theme().use("dark", cache=blocked)
    assert theme().dark
    assert qapp.palette().color(QPalette.ColorRole.Base).name() == ROLES["base"][1].lower()
    assert "down-dark.svg" in qapp.styleSheet()
    assert blocked.as_posix() not in qapp.styleSheet()


def test_an_icon_follows_the_theme_by_itself(qtbot, tmp_path: Path) -> None:
    theme().use("light", cache=tmp_path)
    made = icons.icon("play")
    before = made.pixmap(16, 16).toImage()
    theme().use("dark")
    assert made.pixmap(16, 16).toImage() != before


@pytest.mark.parametrize("name", icons.names())
def test_every_icon_is_drawn(qtbot, name: str) -> None:
    image = icons.icon(name).pixmap(20, 20).toImage()
    assert any(image.pixelColor(x, y).alpha() for x in range(20) for y in range(20))


def test_text_grows_with_the_person_s_scale_and_never_shrinks_below_eleven(qtbot, tmp_path: Path) -> None:
    theme().use("light", 0.8, cache=tmp_path)
    assert min(theme().font_px(kind) for kind in SIZES) == 11
    small = theme().font_px("figure")
    theme().use("light", 1.5)
    assert theme().font_px("figure") > small
    label = QLabel("text")
    qtbot.addWidget(label)
    assert theme().font("body").pixelSize() == theme().font_px("body")


@pytest.mark.parametrize("folder", ["plain", "a (b) <c> d", "it's; {new}", 'say "hi"', "back\\slash"])
def test_the_style_sheet_finds_its_images_in_any_folder(qtbot, qapp, tmp_path: Path, folder: str) -> None:
    cache = tmp_path / folder
    messages: list[str] = []
    before = qInstallMessageHandler(lambda _kind, _context, text: messages.append(text))
    try:
        theme().use("light", cache=cache)
        box = QComboBox()
        qtbot.addWidget(box)
        box.resize(120, 28)
        box.show()
        drawn = box.grab().toImage()
    finally:
        qInstallMessageHandler(before)
    assert not [m for m in messages if "propagateSizeHints" not in m]
    arrow = QRect(drawn.width() - 24, 4, 20, drawn.height() - 8)
    colours = {drawn.pixelColor(x, y).name() for x in range(arrow.left(), arrow.right())
               for y in range(arrow.top(), arrow.bottom())}
    assert len(colours) > 1, "the arrow of the box is not drawn"
