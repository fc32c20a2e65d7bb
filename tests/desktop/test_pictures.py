"""What is on the screen as a file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QMenu

from paddock.desktop.pages.sessions.charts import Histogram
from paddock.desktop.parts.picture import ask_picture, save_picture
from paddock.errors import AppError


@pytest.fixture
def chart(qtbot) -> Histogram:
    import numpy as np

    made = Histogram()
    qtbot.addWidget(made)
    made.resize(300, 200)
    made.show_values(np.arange(50.0))
    return made


def test_a_png_has_twice_the_pixels_and_something_on_it(chart: Histogram, tmp_path: Path) -> None:
    save_picture(chart, tmp_path / "a.png")
    image = QImage(str(tmp_path / "a.png"))
    assert (image.width(), image.height()) == (600, 400)
    assert len({image.pixel(x, y) for x in range(0, 600, 7) for y in range(0, 400, 7)}) > 2


def test_a_drawing_is_well_formed_and_holds_its_texts(chart: Histogram, tmp_path: Path) -> None:
    save_picture(chart, tmp_path / "a.svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    texts = ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "0" in texts


@pytest.mark.parametrize("name", ["a.png", "a.svg"])
def test_a_folder_that_is_not_there_is_said(chart: Histogram, tmp_path: Path, name: str) -> None:
    with pytest.raises(AppError, match="could not be written"):
        save_picture(chart, tmp_path / "none" / name)


def test_the_ending_follows_the_chosen_kind(chart: Histogram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "x"), "Drawing (*.svg)"))
    assert ask_picture(chart, chart, "x", pytest.fail) == tmp_path / "x.svg"
    assert (tmp_path / "x.svg").stat().st_size > 100


def test_the_whole_run_page_can_be_saved(qtbot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fakedesk as fake

    from paddock.desktop.pages.run import RunPage
    from paddock.desktop.state import Desk

    run = fake.busy_run()
    desk = Desk(fake.FakeWorkspace(tmp_path, runs=(run,)))  # type: ignore[arg-type]
    desk.run = run  # type: ignore[assignment]
    page = RunPage(desk)
    qtbot.addWidget(page)
    page.resize(1200, 700)
    page.show()
    page.body.plots.save.click()
    menu = page.body.plots.findChild(QMenu)
    assert menu is not None
    assert [a.text() for a in menu.actions()] == ["The plots…", "The whole page…"]
    for i, action in enumerate(menu.actions()):
        name = tmp_path / f"{i}.png"
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, name=name: (str(name), ""))
        action.trigger()
        assert "picture written to" in page.body.plots._hint.full_text()
    menu.close()
    assert QImage(str(tmp_path / "1.png")).width() == 2 * page.width()
    assert QImage(str(tmp_path / "0.png")).width() == 2 * page.body.plots.stack.width()
    desk.workspace.runs.clear()
    desk.close()
