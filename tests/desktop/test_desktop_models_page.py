"""The page Models on an invented library."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fakedesk as fake
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from paddock.desktop.pages.models import ModelsPage
from paddock.desktop.pages.models.facts import fact_pairs
from paddock.desktop.pages.models.layers import LayerPicture, bars_of, tensors_words
from paddock.desktop.pages.models.rows import FIT, NAME, SIZE, ModelRow, ModelsFilter, ModelsModel, row_of, told_apart
from paddock.desktop.pages.models.tables import FilteredTable, metadata_rows, tensor_rows, value_words
from paddock.desktop.state import Desk
from paddock.fit.model import Verdict
from paddock.gguf import LazyArray
from paddock.gguf.model import Facts, Kind
from paddock.library.model import Entry

QWEN = "/home/ada/models/Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf"


@pytest.fixture
def workspace(tmp_path: Path) -> fake.FakeWorkspace:
    return fake.FakeWorkspace(tmp_path, fake.entries())


@pytest.fixture
def desk(qtbot, workspace: fake.FakeWorkspace) -> Iterator[Desk]:
    made = Desk(workspace)  # type: ignore[arg-type]
    with qtbot.waitSignals([made.enginesChanged, made.machineChanged]):
        made.start()
    yield made
    made.close()


@pytest.fixture
def page(qtbot, desk: Desk) -> ModelsPage:
    made = ModelsPage(desk)
    qtbot.addWidget(made)
    made.resize(1216, 744)
    made.show()
    qtbot.waitUntil(lambda: made.model.rowCount() > 0)
    return made


def names(page: ModelsPage) -> list[str]:
    return [str(page.proxy.index(i, NAME).data()).split(" · ")[0] for i in range(page.proxy.rowCount())]


def verdicts(page: ModelsPage) -> dict[str, Verdict | None]:
    return {r.name: r.verdict for r in page.model.rows}


# -- the list ------------------------------------------------------------


def test_it_looks_once_and_lists_by_name(page: ModelsPage) -> None:
    assert page.proxy.rowCount() == 15
    assert names(page) == sorted(names(page), key=str.casefold)
    assert page.header.note.full_text().startswith("15 files, ")
    assert page.pages.currentWidget() is page._splitter


def test_numbers_sort_as_numbers(page: ModelsPage) -> None:
    page.view.sortByColumn(SIZE, Qt.SortOrder.DescendingOrder)
    sizes = [page.proxy.index(i, 0).data(Qt.ItemDataRole.UserRole).size_bytes for i in range(page.proxy.rowCount())]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("words", "found"), [("qwen3moe", 2), ("QWEN 2507", 1), ("draft", 1), ("nothing at all", 0)])
def test_words_are_searched_everywhere(page: ModelsPage, words: str, found: int) -> None:
    page.search.setText(words)
    page._search_now()
    assert page.proxy.rowCount() == found
    assert page._list_pages.currentIndex() == (0 if found else 1)


def test_places_narrow_the_list(page: ModelsPage) -> None:
    page.places.setCurrentIndex(page.places.findText("/mnt/hdd"))
    assert page.proxy.rowCount() == 3
    page._show_all()
    assert page.proxy.rowCount() == 15


def test_files_with_problems_can_be_listed_alone(page: ModelsPage) -> None:
    at = page.places.findText("files with problems", Qt.MatchFlag.MatchContains)
    page.places.setCurrentIndex(at)
    shown = [page.proxy.index(i, 0).data(Qt.ItemDataRole.UserRole) for i in range(page.proxy.rowCount())]
    assert page.places.itemText(at) == f"{len(shown)} files with problems"
    assert shown
    assert all(r.counted for r in shown)
    page.desk.modelsChanged.emit()
    assert page.places.currentIndex() == at
    page._show_all()
    assert page.proxy.rowCount() == 15


def test_verdicts_come_one_by_one_off_the_gui_thread(qtbot, page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    qtbot.waitUntil(lambda: sum(v is not None for v in verdicts(page).values()) == 14)
    told = verdicts(page)
    assert told["gpt-oss-20b"] is Verdict.FITS
    assert told["Llama-3.3-70B-Instruct"] is Verdict.WONT_FIT
    assert told["mmproj-Qwen2.5-VL"] is None
    assert len(workspace.asked) == 13


def test_an_estimate_uses_8192_tokens_or_less(qtbot, page: ModelsPage, workspace: fake.FakeWorkspace,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, str | None] = {}
    monkeypatch.setattr(workspace, "estimate", lambda plan, _b=None: asked.__setitem__(
        str(plan.get("model")), plan.get("ctx-size")) or fake.estimate())
    page.model.set_rows([replace(r, path=Path(f"/new{i}"), verdict=None) for i, r in enumerate(page.model.rows)])
    page._work_out()
    qtbot.waitUntil(lambda: len(asked) == 13)
    assert sorted(set(asked.values()), key=str) == ["2048", "8192"]


def test_what_is_under_way_ends_when_the_page_is_left(qtbot, page: ModelsPage, workspace: fake.FakeWorkspace,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    gate, calls = threading.Event(), []

    def slow(plan, _budgets=None):
        calls.append(plan)
        gate.wait(10)
        return fake.estimate()

    monkeypatch.setattr(workspace, "estimate", slow)
    page.model.set_rows([replace(r, path=Path(f"/new{i}"), verdict=None) for i, r in enumerate(page.model.rows)])
    page._work_out()
    qtbot.waitUntil(lambda: bool(calls))
    job = page.fits._job
    assert job is not None
    page.hide()
    with qtbot.waitSignal(job.ended):
        gate.set()
    assert len(calls) == 1


def test_a_file_that_cannot_be_read_is_listed_with_the_reason(page: ModelsPage) -> None:
    row = next(r for r in page.model.rows if r.name == "broken.gguf")
    assert row.verdict is Verdict.CANT_TELL
    assert row.worst == "error"
    assert "not a GGUF file" in row.problems[0][1]


def test_shards_kinds_and_twins_are_told() -> None:
    found = {e.name: row_of(e) for e in fake.entries()}
    assert found["gpt-oss-120b"].note == "3 shards"
    assert found["Qwen3-Coder-480B"].note == "5 of 6"
    assert found["Qwen3-0.6B"].note == "draft"
    twin = found["Qwen3-30B-A3B-Instruct-2507"]
    assert twin.counted == 1
    assert "Keeping one frees" in twin.problems[-1][1]


def test_a_new_scan_keeps_verdicts_and_the_chosen_file(qtbot, page: ModelsPage, desk: Desk) -> None:
    qtbot.waitUntil(lambda: sum(v is not None for v in verdicts(page).values()) == 14)
    page.show_item(QWEN)
    with qtbot.waitSignal(desk.modelsChanged):
        desk.scan()
    assert page._current_path() == Path(QWEN)
    assert verdicts(page)["gpt-oss-20b"] is Verdict.FITS


def test_without_a_model_the_first_steps_are_shown(qtbot, desk: Desk, workspace: fake.FakeWorkspace) -> None:
    qtbot.waitUntil(lambda: desk.entries is not None)
    made = ModelsPage(desk)
    qtbot.addWidget(made)
    made.show()
    workspace.found = []
    desk.scan()
    qtbot.waitUntil(lambda: made.pages.currentWidget() is made.first_run)
    assert not made.search.isVisible()
    find = next(b for b in made.first_run.findChildren(QPushButton) if b.text() == "Find on Hugging Face")
    find.click()
    assert made.pages.currentWidget() is made.hub


def test_a_folder_is_kept_and_scanned(qtbot, page: ModelsPage, desk: Desk, workspace: fake.FakeWorkspace,
                                      tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.desktop.pages.models.page.QFileDialog.getExistingDirectory",
                        lambda *_a, **_k: str(tmp_path))
    with qtbot.waitSignal(desk.modelsChanged):
        page.add_folder()
    assert str(tmp_path) in workspace.settings.model_folders


def test_columns_leave_from_the_right_but_never_the_name(page: ModelsPage) -> None:
    page.view.resize(420, 400)
    page.view.fit_columns()
    hidden = [page.view.isColumnHidden(c) for c in range(8)]
    assert hidden == [False, False, False, False, True, True, True, False]


@pytest.mark.parametrize("size", [(1216, 744), (805, 477)])
def test_models_fit_their_page(page: ModelsPage, size: tuple[int, int]) -> None:
    page.resize(*size)
    page.grab()
    assert (page.width(), page.height()) == size
    if size[0] < 1000:
        page._open_current()
        assert page.inspector.isVisible()
        assert not page._list.isVisible()


# -- the inspector ------------------------------------------------------------


def test_the_inspector_shows_what_is_in_the_file(page: ModelsPage) -> None:
    page.show_item(QWEN)
    inspector = page.inspector
    assert inspector._tabs.tabText(1) == "Tensors 240"
    assert inspector._chip.text() == "2 problems"
    assert "im_start" in inspector._template.toPlainText()
    inspector._tensors.filter.setText("ffn_down")
    assert inspector._tensors.shown == 48
    inspector._metadata.filter.setText("context_length")
    assert inspector._metadata.shown == 1


def test_enter_opens_it_in_launch(qtbot, page: ModelsPage, desk: Desk) -> None:
    page.show_item(QWEN)
    with qtbot.waitSignal(desk.pageWanted) as wanted:
        qtbot.keyClick(page.view, Qt.Key.Key_Return)
    assert wanted.args[0] == "launch"
    assert desk.plan.get("model") == QWEN


def test_a_projector_is_not_launched_by_itself(page: ModelsPage) -> None:
    page.show_item("/home/ada/models/mmproj-Qwen2.5-VL-F16.gguf")
    assert not page.inspector._launch.isEnabled()


def test_facts_leave_out_what_cannot_be_told() -> None:
    known = dict(fact_pairs(fake.layered_model("m", "/m"), 98304.0))
    assert known["KV cache"] == "96 KiB a token"
    assert known["Heads"] == "32, KV 4 × 128"
    assert known["Experts"] == "128, 8 used"
    empty = dict(fact_pairs(replace(fake.model_file(), facts=Facts())))
    assert empty["Parameters"] == "–"
    assert "Experts" not in empty
    assert empty["Template"] == "none"


def test_heads_that_differ_by_layer_are_a_range() -> None:
    model = fake.layered_model("m", "/m")
    facts = replace(model.facts, heads=(8, 16), kv_heads=(2, 4), key_length=None)
    assert dict(fact_pairs(replace(model, facts=facts)))["Heads"] == "8 to 16, KV 2 to 4"


def test_layers_are_gone_through_by_keys(qtbot) -> None:
    model = fake.layered_model("m", "/m", layers=4)
    picture = LayerPicture()
    qtbot.addWidget(picture)
    picture.resize(400, 150)
    picture.show()
    picture.show_bars(bars_of(model))
    assert [b.name for b in picture.bars] == ["Embedding", "Layer 0", "Layer 1", "Layer 2", "Layer 3", "Output"]
    with qtbot.waitSignal(picture.chosen):
        qtbot.keyClick(picture, Qt.Key.Key_Right)
    qtbot.keyClick(picture, Qt.Key.Key_Right)
    assert picture.bars[picture.current].name == "Layer 0"
    qtbot.keyClick(picture, Qt.Key.Key_End)
    assert picture.bars[picture.current].name == "Output"
    picture.grab()
    assert tensors_words(model, "Layer 0", 0).startswith("ffn_down_exps Q6_K ")


def test_a_file_without_layers_is_painted(qtbot) -> None:
    picture = LayerPicture()
    qtbot.addWidget(picture)
    picture.show_bars(bars_of(fake.model_file()))
    picture.grab()


def test_metadata_in_a_line() -> None:
    assert value_words(LazyArray("string", 151936, "/m", 0, 10)) == "list of 151,936 × string"
    assert value_words(tuple(range(20))).endswith("… (20 in all)")
    assert value_words("a\n  b") == "a b"
    assert value_words(True) == "yes"
    assert metadata_rows({"a": 1.5})[0][1][0] == "1.5"


def test_tensors_sort_by_layer_number(qtbot) -> None:
    table = FilteredTable("Tensors", ["Name", "Type", "Shape", "Size"])
    qtbot.addWidget(table)
    table.set_rows(tensor_rows(fake.layered_model("m", "/m", layers=12).tensors), (0, 60, 60, 60))
    table.view.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    first = [str(table._proxy.index(i, 0).data()).split(".")[1] for i in range(table.shown)]
    assert first == sorted(first, key=int)


def test_the_full_hash_is_worked_out_on_request(qtbot, page: ModelsPage, tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF" * 1000)
    page.inspector.show_row(row_of(Entry(file, "here", None, None, size_bytes=4000)))
    page.inspector.hash_file()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    qtbot.waitUntil(lambda: digest in page.inspector._hash.full_text())


def test_a_file_that_is_gone_cannot_be_hashed_and_says_so(qtbot, page: ModelsPage, tmp_path: Path) -> None:
    page.inspector.show_row(row_of(Entry(tmp_path / "gone.gguf", "here", None, None)))
    page.inspector.hash_file()
    qtbot.waitUntil(lambda: "could not be read" in page.inspector._hash.full_text())


def test_a_verdict_reaches_its_row_only(qtbot) -> None:
    model, proxy = ModelsModel(), ModelsFilter()
    proxy.setSourceModel(model)
    model.set_rows([row_of(e) for e in fake.entries()])
    with qtbot.waitSignal(model.dataChanged) as changed:
        model.set_verdict(Path(QWEN), Verdict.TIGHT, "CUDA0 keeps 0.4 GiB.")
    index = changed.args[0]
    assert index.column() == FIT
    assert index.data() == "Tight"
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "CUDA0 keeps 0.4 GiB."


def test_files_that_would_read_the_same_are_told_apart_by_their_file_names(tmp_path: Path) -> None:
    def row(path: str, quant: str = "Q4_K_M") -> ModelRow:
        return ModelRow(Path(path), "Gemma", Kind.MODEL, quant, 10, "gemma3", 1024, "place")

    rows = told_apart([row("/a/one.gguf"), row("/a/two.gguf"), row("/a/other.gguf", "Q8_0"), row("/b/two.gguf")])
    assert [r.name for r in rows] == ["one", "a/two", "Gemma", "b/two"]


# -- changes -----------------------------------------------------------------


def looked(qtbot, page: ModelsPage) -> None:
    page.watcher.look()
    qtbot.waitUntil(lambda: not page.watcher._job.running)


def test_files_that_come_or_go_are_looked_for_while_the_page_is_seen(
        qtbot, page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    qtbot.waitUntil(lambda: not page.desk.scan_job.running)
    looked(qtbot, page)
    workspace.stamp, workspace.found = "changed", workspace.found[:3]
    with qtbot.waitSignal(page.desk.modelsChanged):
        page.watcher.look()
    assert page.proxy.rowCount() == 3
    scans = page.desk.scan_job
    looked(qtbot, page)
    assert page.desk.scan_job is scans


def test_a_silent_drive_or_a_hidden_page_starts_no_scan(
        qtbot, page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    qtbot.waitUntil(lambda: not page.desk.scan_job.running)
    looked(qtbot, page)
    scans = page.desk.scan_job
    for stamp in (None, "other"):
        workspace.stamp = stamp
        looked(qtbot, page)
    assert page.desk.scan_job is scans
    page.hide()
    assert not page.watcher._timer.isActive()
    page.show()
    assert page.watcher._timer.isActive()


# -- what goes with a model ------------------------------------------------


def with_projectors(page: ModelsPage, workspace: fake.FakeWorkspace, count: int) -> ModelRow:
    """The chosen model gets so many projectors beside it."""
    row = next(r for r in page.model.rows if r.path == Path(QWEN))
    assert row.model is not None
    folder, base = Path("/home/ada/models"), "Qwen3" if count == 1 else ""
    made = [Entry(folder / f"mmproj-{base}{i}.gguf", "~/models", replace(
        row.model, path=folder / f"mmproj-{base}{i}.gguf", kind=Kind.PROJECTOR, identity=f"p{i}",
        metadata={"clip.vision.projection_dim": row.model.facts.embedding, "general.basename": base}),
        size_bytes=1 << 30) for i in range(count)]
    workspace.found += made
    page.desk.entries = [*(page.desk.entries or []), *made]
    page.desk.modelsChanged.emit()
    page.show_item(QWEN)
    return row


def test_several_projectors_are_offered_and_the_choice_is_remembered(
        qtbot, page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    row = with_projectors(page, workspace, 2)
    box = page.inspector.companions
    assert box is not None
    assert box.isVisible()
    choices = [box.boxes["projector"].itemText(i) for i in range(box.boxes["projector"].count())]
    assert choices == ["None yet: please choose", "None", "mmproj-0.gguf · 1.00 GiB", "mmproj-1.gguf · 1.00 GiB",
                       "Choose a file…"]
    assert "do not tell which" in box.notes["projector"].full_text()
    with qtbot.waitSignal(box.chosen):
        box.decide("projector", "/home/ada/models/mmproj-1.gguf")
    assert workspace.settings.projector_of == {row.model.identity: "/home/ada/models/mmproj-1.gguf"}  # type: ignore[union-attr]
    assert box.boxes["projector"].currentText().startswith("mmproj-1")
    assert "Your choice" in box.notes["projector"].full_text()


def test_the_only_projector_is_named_and_none_is_a_word_too(
        qtbot, page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    with_projectors(page, workspace, 1)
    box = page.inspector.companions
    assert box is not None
    assert box.boxes["projector"].currentText() == "mmproj-Qwen30.gguf, the only one that fits"
    with qtbot.waitSignal(box.chosen):
        box.decide("projector", "")
    assert box.boxes["projector"].currentText() == "None"


def test_a_chosen_file_that_is_gone_is_said(page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    row = next(r for r in page.model.rows if r.path == Path(QWEN))
    workspace.settings.projector_of = {row.model.identity: "/gone/p.gguf"}  # type: ignore[union-attr]
    with_projectors(page, workspace, 0)
    box = page.inspector.companions
    assert box is not None
    assert box.boxes["projector"].currentText() == "p.gguf, which is gone"
    assert "not there any more" in box.notes["projector"].full_text()


def test_nothing_goes_with_a_projector(page: ModelsPage, workspace: fake.FakeWorkspace) -> None:
    with_projectors(page, workspace, 1)
    page.show_item("/home/ada/models/mmproj-Qwen30.gguf")
    assert page.inspector.companions is not None
    assert not page.inspector.companions.isVisible()
