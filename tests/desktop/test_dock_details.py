"""The estimate in full, and what closing another program would buy, wherever the window shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from desk_double import GIB, MIB, WorkspaceDouble
from PySide6.QtWidgets import QLabel

from paddock.desktop.dock import Dock
from paddock.desktop.dock.details import DetailsDialog, band_words, known_words
from paddock.desktop.pages.launch.before import BeforePane
from paddock.desktop.state import Desk
from paddock.fit.closing import Closing, Holder
from paddock.fit.model import Known, Term, Verdict
from paddock.text import Text
from paddock.work.others import Others

CHROME = Holder("chrome", (("CUDA0", int(1.2 * GIB)),), (41,))
XORG = Holder("Xorg", (("CUDA0", 200 * MIB),), (7,))
OTHERS = Others((CHROME, XORG), (Closing((CHROME,), Verdict.WONT_FIT, Verdict.TIGHT, Text("Keeps 0.41 GiB.")),
                                 Closing((XORG,), Verdict.WONT_FIT, Verdict.WONT_FIT, Text("Short."))),
                (("CUDA1", GIB),))


def texts(widget: object) -> list[str]:
    """As written: a figure and its unit stand together on the screen."""
    shown = [w.text() for w in widget.findChildren(QLabel) if w.text()]  # type: ignore[attr-defined]
    return [text.replace("\u00a0", " ") for text in shown]


def known(desk: Desk, others: Others, *fixes: object) -> None:
    desk.what_if = replace(desk.what_if, plan=desk.plan, others=others, fixes=tuple(fixes))
    desk.whatIfChanged.emit(desk.what_if)


def with_terms(desk: Desk) -> None:
    preview = desk.preview
    assert preview is not None
    assert preview.estimate is not None
    first, *rest = preview.estimate.devices
    terms = (Term("weights", 4 * GIB, Known.CHECKED, 4 * GIB, 4 * GIB),
             Term("overhead", 450 * MIB, Known.REPORTS, 300 * MIB, 600 * MIB, Text("Driver context: from reports.")))
    estimate = replace(preview.estimate, devices=(replace(first, terms=terms), *rest), notes=(Text("A note."),))
    desk.take_preview(replace(preview, estimate=estimate))


@pytest.fixture
def details(qtbot, planned: Desk) -> DetailsDialog:
    with_terms(planned)
    made = DetailsDialog(planned)
    qtbot.addWidget(made)
    made.show()
    return made


def test_every_part_has_its_band_and_how_it_is_known(details: DetailsDialog) -> None:
    shown = texts(details)
    for words in ("4.0 GiB", "exact", "checked by running llama.cpp", "450 MiB", "300 MiB to 600 MiB", "from reports",
                  "Driver context: from reports.", "A note."):
        assert words in shown


def test_each_program_is_told_with_the_verdict_that_closing_it_would_make(details: DetailsDialog,
                                                                           planned: Desk) -> None:
    known(planned, OTHERS)
    shown = texts(details)
    assert shown.index("Tight") == shown.index("1.2 GiB on CUDA0") + 1
    assert "still won’t fit" in shown
    assert "Other programs hold 1.0 GiB on CUDA1; this driver does not tell which." in shown


def test_it_follows_the_plan_and_is_no_error_without_a_model(qtbot, details: DetailsDialog, planned: Desk) -> None:
    with qtbot.waitSignal(planned.previewChanged):
        planned.edit(planned.plan.with_("ctx-size", "200000"))
    assert "short" in details.reason.text()
    with qtbot.waitSignal(planned.previewChanged):
        planned.edit(planned.plan.without("model"))
    assert "choose a model" in details.reason.text()


def test_the_dock_says_what_to_close_where_there_is_room(qtbot, planned: Desk) -> None:
    dock = Dock(planned)
    qtbot.addWidget(dock)
    dock.resize(1216, 200)
    dock.show()
    known(planned, OTHERS)
    assert dock.verdict.closing.full_text() == "Closing chrome (1.2 GiB on CUDA0): tight instead of won’t fit."
    assert dock.verdict.closing.isVisible()
    known(planned, Others((XORG,), OTHERS.closings[1:]))
    assert not dock.verdict.closing.isVisible()


def test_the_dock_opens_it_by_a_named_button(qtbot, planned: Desk) -> None:
    dock = Dock(planned)
    qtbot.addWidget(dock)
    dock.line.show_details()
    (opened,) = dock.window().findChildren(DetailsDialog)
    assert opened.isVisible()
    opened.close()


def test_the_side_pane_says_it_below_each_program(qtbot, planned: Desk, workspace: WorkspaceDouble) -> None:
    pane = BeforePane(planned)
    qtbot.addWidget(pane)
    pane.show()
    firefox = Holder("Firefox", (("CUDA0", int(0.61 * GIB)),))
    known(planned, Others((firefox,), (Closing((firefox,), Verdict.TIGHT, Verdict.FITS, Text("Fits.")),)))
    assert "If closed: fits instead of tight." in texts(pane)
    known(planned, Others((firefox,), (Closing((firefox,), Verdict.FITS, Verdict.FITS, Text("Fits.")),)))
    assert not any(t.startswith("If closed") for t in texts(pane))


@pytest.mark.parametrize("how", list(Known))
def test_how_it_is_known_has_words(how: Known) -> None:
    assert known_words(how)
    assert band_words(Term("kv", 1, how, 1, 1)) == "exact"
