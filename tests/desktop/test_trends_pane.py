"""Many sessions in one picture, and the marks that a person gives to one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fakedesk as fake
import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from paddock.desktop.pages.sessions import SessionsPage
from paddock.desktop.pages.sessions.charts import Box, correlation_words, summary
from paddock.desktop.pages.sessions.clients import ClientsPane
from paddock.desktop.pages.sessions.marking import MarksDialog, MarksLine
from paddock.desktop.state import Desk
from paddock.session.proxy import Exchange
from paddock.units import seconds_text


@pytest.fixture
def page(qtbot, tmp_path: Path) -> Iterator[SessionsPage]:
    desk = Desk(fake.FakeWorkspace(tmp_path, past=fake.sessions()))  # type: ignore[arg-type]
    made = SessionsPage(desk)
    qtbot.addWidget(made)
    made.resize(1200, 720)
    made.show()
    qtbot.waitUntil(lambda: len(made.model.rows) > 0)
    yield made
    desk.close()


def opened(qtbot, page: SessionsPage) -> None:
    page.trends_button.click()
    qtbot.waitUntil(lambda: page.trends.model.count() == 2)


def test_trends_name_the_update_that_made_it_slower(qtbot, page: SessionsPage) -> None:
    opened(qtbot, page)
    pane = page.trends
    assert pane.isVisible()
    assert len(pane.trend._boxes) == 14
    assert [b.mark for b in pane.trend._boxes if b.mark] == ["llama.cpp 11434: slower or hungrier"]
    told = " ".join(w.full_text() for w in pane.findChildren(type(pane.words)))
    assert "From session 8 on, llama.cpp 11434 writes" in told
    assert "takes 1.9 % more memory than llama.cpp 10434" in told
    assert "336 requests, median" in pane.words.full_text()


def test_a_click_on_a_session_opens_it(qtbot, page: SessionsPage) -> None:
    opened(qtbot, page)
    chart = page.trends.trend
    with qtbot.waitSignal(page.trends.session_wanted) as wanted:
        qtbot.mouseClick(chart, Qt.MouseButton.LeftButton, pos=QPoint(int(chart._box().left()) + 3, 60))
    assert wanted.args == [1]


def test_spread_and_pairs_are_drawn_of_the_chosen_figures(qtbot, page: SessionsPage) -> None:
    opened(qtbot, page)
    pane = page.trends
    pane.way.select("spread")
    pane.show_choice()
    assert pane.charts.currentWidget() is pane.histogram
    assert pane.histogram._counts.sum() == 336
    pane.limit.setText("36")
    assert "below the line" in pane.limit_words.full_text()
    pane.way.select("pairs")
    pane.show_choice()
    assert pane.charts.currentWidget() is pane.pairs
    assert "the higher, the lower" in pane.words.full_text()
    pane.figure.setCurrentIndex(pane.figure.findData("acceptance"))
    pane.show_choice()
    assert len(pane.pairs._x) == 0
    assert pane.grab().width() == pane.width()


def test_no_request_at_all_says_what_to_do(qtbot, page: SessionsPage, monkeypatch: pytest.MonkeyPatch) -> None:
    names = page.desk.workspace.database.answers("FROM session")[0]  # type: ignore[attr-defined]
    monkeypatch.setattr(page.desk.workspace.database, "answers", lambda sql: (
        names if "FROM session" in sql else ["session_id"], []), raising=False)
    page.show_trends()
    qtbot.waitUntil(lambda: page.trends.pages.currentWidget() is page.trends.empty)


def test_closing_the_trends_leaves_the_list(qtbot, page: SessionsPage) -> None:
    opened(qtbot, page)
    page.trends.closed.emit()
    assert not page.trends.isVisible()


def test_figures_in_words() -> None:
    values = np.arange(1.0, 101.0)
    assert summary(values) == "100 requests, median 50.5, half between 25.75 and 75.25, 95 % up to 95.05"
    assert "the higher, the higher" in correlation_words(values, values**2)
    assert correlation_words(values[:3], values[:3]) == "3 requests"
    assert "no connection" in correlation_words(values, np.tile([1.0, 2.0], 50))
    box = Box.of(1, "x", values)
    assert box is not None
    assert box.quartiles == (25.75, 50.5, 75.25)
    assert Box.of(1, "x", np.empty(0)) is None


def test_marks_are_shown_edited_and_stored(qtbot, page: SessionsPage) -> None:
    page.open_session(page.model.rows[0].row.id)
    qtbot.waitUntil(lambda: page.detail.detail is not None)
    line = page.detail.marks
    assert line.edit.text() == "Add a note or tags"
    line.changed.emit(["night", "driver 580"], "first day")
    assert "#night  #driver 580  first day" in line.words.full_text()
    database = page.desk.workspace.database
    number = page.model.rows[0].row.id
    qtbot.waitUntil(lambda: getattr(database, "notes", None) == {number: "first day"})
    assert database.tags == {number: ["night", "driver 580"]}  # type: ignore[attr-defined]


def test_the_dialog_takes_tags_with_commas(qtbot) -> None:
    dialog = MarksDialog(("a",), "n")
    qtbot.addWidget(dialog)
    dialog.line.setText(" night run,, #fast , ")
    assert dialog.tags() == ["night run", "fast"]
    line = MarksLine()
    qtbot.addWidget(line)
    line.show_marks((), "")
    assert line.words.isHidden()


def test_clients_are_listed_and_their_absence_explained(qtbot) -> None:
    pane = ClientsPane()
    qtbot.addWidget(pane)
    pane.show_exchanges(())
    assert pane.currentWidget() is pane.none
    pane.show_exchanges([Exchange(1, "", "POST", "/v1/chat/completions", "127.0.0.1", user_agent="curl/8",
                                  settings={"temperature": 0.5}, status=400, first_byte_s=0.05, gap_median_s=0.0312,
                                  outcome="failed", error="too long", t_start=3.0)])
    assert pane.currentWidget() is pane.table
    model = pane.table.view.model()
    cells = [str(model.index(0, c).data()) for c in range(model.columnCount())]
    assert cells == ["00:03", "POST /v1/chat/completions", "curl/8", "400, failed", seconds_text(0.05), "–", "31.2 ms",
                     "–", seconds_text(0.0), "–", "too long", "temperature 0.5"]
