"""Find on Hugging Face, against a hub on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import fakedesk as fake
import ggufmake as make
import pytest
from fakehub import FakeHub, forget_this_machine
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from paddock.desktop.pages.models import ModelsPage
from paddock.desktop.pages.models.hub.transfers import Phase, Transfer, Transfers
from paddock.desktop.state import Desk
from paddock.gguf.model import Kind
from paddock.library.model import Entry


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    forget_this_machine(monkeypatch, tmp_path)
    metadata, tensors = make.llama()
    data = make.file(metadata, [*tensors, make.Tensor("big", (1 << 18,))])
    with FakeHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.add("ada/Tiny-GGUF", {"Tiny-Q8_0.gguf": data, "Tiny-F16.gguf": data + b"\0" * 32,
                                  "mmproj-F16.gguf": data[:4000], "mmproj-Q8_0.gguf": data[:3000]})
        hub.add("bob/Other-GGUF", {"Other-Q4_0.gguf": data, "Other-Q8_0-00001-of-00002.gguf": data}, downloads=5)
        yield hub


@pytest.fixture
def workspace(tmp_path: Path) -> fake.FakeWorkspace:
    return fake.FakeWorkspace(tmp_path / "data", fake.entries())


@pytest.fixture
def page(qtbot, server: FakeHub, workspace: fake.FakeWorkspace) -> Iterator[ModelsPage]:
    desk = Desk(workspace)  # type: ignore[arg-type]
    with qtbot.waitSignals([desk.enginesChanged, desk.machineChanged]):
        desk.start()
    made = ModelsPage(desk)
    qtbot.addWidget(made)
    made.resize(1216, 744)
    made.show()
    qtbot.waitUntil(lambda: made.model.rowCount() > 0)
    made.show_hub()
    yield made
    board = made.hub.board
    board.pause_all()
    if server.manners.hold is not None:
        server.manners.hold.set()
    qtbot.waitUntil(lambda: not board.busy())
    made.hub.view.fits.cancel()
    desk.close()


def searched(qtbot, page: ModelsPage, words: str) -> None:
    page.hub.words.setText(words)
    page.hub.go.click()
    qtbot.waitUntil(lambda: not page.hub._job.running)


def opened(qtbot, page: ModelsPage, row: int = 0) -> None:
    searched(qtbot, page, "gguf")
    page.hub.results.view.selectRow(row)
    qtbot.waitUntil(lambda: page.hub._right.currentWidget() is page.hub.view)
    view = page.hub.view
    qtbot.waitUntil(lambda: len(view._fits) == len(view.repository.choices))


def cells(page: ModelsPage) -> list[tuple[str, str]]:
    rows = page.hub.view.rows
    return [(str(rows.index(r, 0).data()), str(rows.index(r, 2).data())) for r in range(rows.rowCount())]


def test_nothing_is_sent_until_search_is_pressed(qtbot, page: ModelsPage, server: FakeHub) -> None:
    page.hub.words.setText("tiny")
    assert server.requests == []
    assert "Nothing is sent before" in page.hub.promise.full_text()
    assert server.url.partition("://")[2] in page.hub.promise.full_text()
    page.hub.go.click()
    qtbot.waitUntil(lambda: not page.hub._job.running)
    assert [path.partition("?")[0] for _, path, _ in server.requests] == ["/api/models"]


def test_a_search_without_words_sends_nothing(page: ModelsPage, server: FakeHub) -> None:
    page.hub.words.setText("   ")
    page.hub.go.click()
    assert server.requests == []


def test_results_are_listed_and_no_result_is_said(qtbot, page: ModelsPage) -> None:
    searched(qtbot, page, "gguf")
    assert page.hub._left.currentWidget() is page.hub.results
    assert page.hub.results.shown == 2
    searched(qtbot, page, "nothing like that")
    assert page.hub._left.currentWidget() is page.hub._none


def test_a_repository_shows_a_verdict_for_each_quantisation(qtbot, page: ModelsPage) -> None:
    opened(qtbot, page)
    assert [label for label, _ in cells(page)] == ["Q8_0", "F16", "F16 · projector", "Q8_0 · projector"]
    assert [fit for _, fit in cells(page)][2:] == ["–", "–"]
    assert all(fit in ("Fits", "Tight", "Won’t fit") for _, fit in cells(page)[:2])
    assert page.hub.view.reason.isVisible()
    assert "context 4,096" in page.hub.view._note.full_text()


def test_a_large_repository_is_not_read_whole_unasked(
        qtbot, page: ModelsPage, server: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.desktop.pages.models.hub.repository.UNASKED_BYTES", 100)
    searched(qtbot, page, "tiny")
    page.hub.results.view.selectRow(0)
    qtbot.waitUntil(lambda: page.hub._right.currentWidget() is page.hub.view and page.hub.view._resting)
    assert [fit for _, fit in cells(page)][:2] == ["Fits", "choose to see"]
    assert not server.asked("Tiny-F16.gguf")
    page.hub.view.table.selectRow(1)
    qtbot.waitUntil(lambda: cells(page)[1][1] == "Fits")
    assert server.asked("Tiny-F16.gguf")


def test_a_set_with_missing_parts_cannot_be_downloaded(qtbot, page: ModelsPage) -> None:
    opened(qtbot, page, 1)
    at = [label for label, _ in cells(page)].index("Q8_0")
    page.hub.view.table.selectRow(at)
    assert cells(page)[at][1] == "incomplete"
    assert not page.hub.view.get.isEnabled()
    assert "1 part of this model" in page.hub.view.reason.full_text()


def test_a_model_comes_with_its_projector_and_the_library_looks_again(
        qtbot, page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    opened(qtbot, page)
    with qtbot.waitSignal(page.desk.scanStarted):
        page.hub.view.get.click()
    (transfer,) = page.hub.board.all
    assert transfer.phase is Phase.DONE
    folder = workspace.paths.root / "models" / "ada" / "Tiny-GGUF"
    assert sorted(p.name for p in folder.iterdir()) == ["Tiny-Q8_0.gguf", "mmproj-F16.gguf"]
    (line,) = page.hub.strip.lines
    assert "hash checked" in line._words.full_text()


def test_no_projector_is_a_choice(qtbot, page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    opened(qtbot, page)
    view = page.hub.view
    view.projector.setCurrentIndex(view.projector.findText("none"))
    assert [c.kind for c in view.chosen] == [Kind.MODEL]
    view.table.selectRow(3)
    assert [c.kind for c in view.chosen] == [Kind.PROJECTOR]


def test_two_projectors_that_read_the_same_ask_for_a_choice(qtbot, page: ModelsPage, server: FakeHub) -> None:
    files = server.repos["ada/Tiny-GGUF"].files
    files["mmproj-large-F16.gguf"] = files.pop("mmproj-Q8_0.gguf")
    opened(qtbot, page)
    view = page.hub.view
    assert view.projector.currentText() == "choose one"
    assert not view.get.isEnabled()
    view.projector.setCurrentIndex(1)
    assert view.get.isEnabled()


def test_a_download_is_paused_resumed_and_goes_on_from_there(
        qtbot, page: ModelsPage, server: FakeHub, workspace: fake.FakeWorkspace) -> None:
    server.manners.hold = threading.Event()
    opened_before_hold(qtbot, page, server)
    page.hub.view.get.click()
    (transfer,) = page.hub.board.all
    qtbot.waitUntil(lambda: transfer.done_bytes > 0)
    (line,) = page.hub.strip.lines
    line.pause.click()
    assert transfer.phase is Phase.PAUSING
    server.manners.hold.set()
    qtbot.waitUntil(lambda: transfer.phase is Phase.PAUSED)
    came = transfer.done_bytes
    line.tick()
    assert line.resume.isVisible()
    assert "paused" in line._words.full_text()
    server.manners.hold = None
    server.sent_bytes = 0
    line.resume.click()
    qtbot.waitUntil(lambda: transfer.phase is Phase.DONE)
    assert server.sent_bytes == transfer.total_bytes - came


def opened_before_hold(qtbot, page: ModelsPage, server: FakeHub) -> None:
    """The headers are read first; only the download is to be held up."""
    hold, server.manners.hold = server.manners.hold, None
    opened(qtbot, page)
    server.manners.hold = hold


def test_cancelling_removes_what_came(qtbot, page: ModelsPage, server: FakeHub,
                                      workspace: fake.FakeWorkspace) -> None:
    server.manners.hold = threading.Event()
    opened_before_hold(qtbot, page, server)
    page.hub.view.get.click()
    (transfer,) = page.hub.board.all
    qtbot.waitUntil(lambda: transfer.done_bytes > 0)
    page.hub.strip.lines[0].remove.click()
    server.manners.hold.set()
    qtbot.waitUntil(lambda: not page.hub.board.all)
    assert list((workspace.paths.root / "models" / "ada" / "Tiny-GGUF").iterdir()) == []
    assert not page.hub.strip.isVisible()


def test_one_download_at_a_time_and_the_same_one_once(qtbot, page: ModelsPage, server: FakeHub) -> None:
    server.manners.hold = threading.Event()
    opened_before_hold(qtbot, page, server)
    view = page.hub.view
    view.get.click()
    view.get.click()
    assert "already" in page.hub.banner.accessibleName()
    view.table.selectRow(1)
    view.get.click()
    assert [t.phase for t in page.hub.board.all] == [Phase.LOADING, Phase.WAITING]
    server.manners.hold.set()
    server.manners.hold = None
    qtbot.waitUntil(lambda: [t.phase for t in page.hub.board.all] == [Phase.DONE, Phase.DONE])


def test_a_download_that_fails_says_why_and_can_be_tried_again(qtbot, page: ModelsPage, server: FakeHub) -> None:
    opened(qtbot, page)
    server.manners.status = 500
    page.hub.view.get.click()
    (transfer,) = page.hub.board.all
    qtbot.waitUntil(lambda: transfer.phase is Phase.FAILED)
    (line,) = page.hub.strip.lines
    assert "error (500)" in line._words.full_text()
    server.manners.status = None
    line.resume.click()
    qtbot.waitUntil(lambda: transfer.phase is Phase.DONE)


def test_what_an_earlier_window_left_is_offered_again(
        qtbot, page: ModelsPage, server: FakeHub, workspace: fake.FakeWorkspace) -> None:
    from paddock.library.hub import Paused
    from paddock.work.hub import HubDesk

    hub = HubDesk(workspace)  # type: ignore[arg-type]
    repository = hub.repository("ada/Tiny-GGUF")
    begun = hub.download(repository, repository.choices[:1])
    with pytest.raises(Paused):
        begun.run(stop=lambda: True)
    part = begun.targets[0].with_name("Tiny-Q8_0.gguf.incomplete")
    page.desk.entries = [*(page.desk.entries or []), Entry(part, "Paddock", size_bytes=part.stat().st_size)]
    page.desk.modelsChanged.emit()
    (transfer,) = page.hub.board.all
    assert transfer.phase is Phase.PAUSED
    page.hub.strip.lines[0].resume.click()
    qtbot.waitUntil(lambda: transfer.phase is Phase.DONE)
    assert begun.targets[0].exists()


def test_no_connection_is_a_state_with_a_way_on(qtbot, page: ModelsPage, monkeypatch: pytest.MonkeyPatch,
                                               server: FakeHub) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    searched(qtbot, page, "tiny")
    assert page.hub._left.currentWidget() is page.hub._offline
    assert "cannot be reached" in page.hub._offline.what.full_text()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    page.hub._offline.buttons[0].click()
    qtbot.waitUntil(lambda: page.hub._left.currentWidget() is page.hub.results)


def test_a_refusal_stands_above_the_lists(qtbot, page: ModelsPage, server: FakeHub) -> None:
    searched(qtbot, page, "gguf")
    server.repos.clear()
    page.hub.results.view.selectRow(0)
    qtbot.waitUntil(lambda: page.hub.banner.isVisible())
    assert "There is no ada/Tiny-GGUF" in page.hub.banner.accessibleName()


def test_a_token_that_is_given_is_kept_and_said(qtbot, page: ModelsPage, workspace: fake.FakeWorkspace,
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, str] = {}
    monkeypatch.setattr("keyring.set_password", lambda s, n, v: kept.__setitem__(n, v))
    monkeypatch.setattr("keyring.get_password", lambda s, n: kept.get(n))
    page.hub.take_token(" hf_good ")
    qtbot.waitUntil(lambda: page.hub.banner.isVisible())
    assert list(kept.values()) == ["hf_good"]
    assert workspace.settings.hugging_face_token == "keyring:hugging-face"
    assert "your token" in page.hub.promise.full_text()


def test_another_folder_takes_the_downloads(qtbot, page: ModelsPage, workspace: fake.FakeWorkspace,
                                           tmp_path: Path) -> None:
    opened(qtbot, page)
    page.hub.set_folder(str(tmp_path / "elsewhere"))
    assert str(tmp_path / "elsewhere") in page.hub.view._folder.full_text()
    page.hub.view.get.click()
    (transfer,) = page.hub.board.all
    qtbot.waitUntil(lambda: transfer.phase is Phase.DONE)
    assert (tmp_path / "elsewhere" / "ada" / "Tiny-GGUF" / "Tiny-Q8_0.gguf").exists()


def test_in_a_small_window_one_side_is_seen_at_a_time(qtbot, page: ModelsPage) -> None:
    page.resize(800, 500)
    opened(qtbot, page)
    hub = page.hub
    assert not hub._left.isVisible()
    assert hub.back.text() == "Results"
    hub.back.click()
    assert hub._left.isVisible()
    assert not hub._right.isVisible()
    hub.back.click()
    assert page.pages.currentWidget() is not hub
    page.resize(1216, 744)
    page.show_hub()
    assert hub._left.isVisible()
    assert hub._right.isVisible()


def test_all_controls_have_names_and_take_the_keyboard(qtbot, page: ModelsPage) -> None:
    opened(qtbot, page)
    hub = page.hub
    for part in (hub.words, hub.go, hub.back, hub.results.view, hub.view.table, hub.view.projector, hub.view.get,
                 hub._more):
        assert isinstance(part, QWidget)
        assert part.accessibleName()
        assert part.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_speed_is_told_from_the_last_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("paddock.desktop.pages.models.hub.transfers.time.monotonic", lambda: now[0])
    transfer = Transfer("x", lambda: None, 1000, phase=Phase.LOADING)  # type: ignore[arg-type,return-value]
    assert transfer.per_s() is None
    now[0], transfer.done_bytes = 102.0, 500
    assert transfer.per_s() == 250.0
    transfer.what = "waiting"
    assert transfer.per_s() is None


def test_the_board_of_a_desk_is_found_again(qtbot, page: ModelsPage) -> None:
    again = ModelsPage(page.desk)
    qtbot.addWidget(again)
    assert again.hub.board is page.hub.board
    assert len(page.desk.findChildren(Transfers)) == 1
