"""What Run shows of a server that embeds or ranks texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import fakedesk as fake
import pytest

from paddock.desktop.pages.run import RunPage
from paddock.desktop.pages.run.textfigures import text_figures_of
from paddock.desktop.plots import Setup
from paddock.session.columns import sample_columns
from paddock.session.model import Request


def recorder(rate: float = 12.34, fill: float = 0.2285, prompt: float = 59_907.0, idle: bool = True) -> Any:
    """Texts have come in, one every 20 ms; `idle`: the newest poll found nothing to do."""
    made = fake.FakeRecorder()
    made.requests = [Request(n, n, 0, n * 0.02, t_end=n * 0.02 + 0.005, status="done", prompt_tokens=7)
                     for n in range(1, 1501)]
    busy = fake.busy_run().recorder.sample
    assert busy is not None
    for t, prompt_, fill_ in ((1.0, prompt, fill), (2.0, 0.0 if idle else prompt, math.nan)):
        made.sample = replace(busy, t=t, prompt_per_s=prompt_, generation_per_s=0.0, requests_processing=0.0,
                              requests_waiting=3.0)
        made.now = t
        made.series.append(t, sample_columns(made.sample) | {"requests_per_s": rate, "batch_fill": fill_})
    return made


def shown(made: Any, micro_batch: int | None = 512) -> dict[str, tuple[str, str, str]]:
    figures = text_figures_of(made.snapshot(), made.series, Setup(slots=4), micro_batch)
    return {f.title: (f.value, f.unit, f.note) for f in figures}


def test_speed_is_texts_prompt_tokens_and_the_fill_of_batches(qapp) -> None:
    found = shown(recorder(idle=False))
    assert found["Texts"] == ("12.3", "/s", "1,500 so far, each text counts")
    assert found["Prompt"] == ("59,907", "t/s", "last 59,907")
    assert found["Batch fill"] == ("23", "%", "117 of 512 tokens a batch")
    assert found["Time for a text"][:2] == ("0.005", "s")
    assert found["Waiting"] == ("3", "texts", "0 of 4 slots busy")
    assert "Generation" not in found
    assert "Draft acceptance" not in found


def test_an_idle_server_shows_no_speed_but_what_it_was(qapp) -> None:
    found = shown(recorder(rate=0.0))
    assert found["Texts"][0] == "–"
    assert found["Prompt"][::2] == ("–", "last 59,907")


def test_before_the_first_text_every_figure_says_why_it_is_not_there(qapp) -> None:
    found = shown(fake.FakeRecorder(), None)
    assert {value for value, _, _ in found.values()} == {"–"}
    assert all(note for _, _, note in found.values())


@pytest.fixture
def page(run_page_of: Callable[..., RunPage]) -> RunPage:
    return run_page_of(fake.FakeRun(answers_texts=True, recorder=recorder()), height=700)


def test_the_page_and_its_plots_show_texts_in_the_place_of_generation(page: RunPage) -> None:
    assert [f._title.text() for f in page.body.figures.figures][:3] == ["Texts", "Prompt", "Batch fill"]
    assert page.body.ask.input.isEnabled()
    assert page.body.ask.input.placeholderText() == "A text to make a vector of"
    assert page.body.ask.more.isHidden()
    stack = page.body.plots.stack
    assert stack.speed.title.text() == "Texts/s"
    names = [row.name for row in stack.speed.legend_rows(stack.frame, 2.0)]
    assert names == ["Texts", "Prompt, right"]
    assert next(row.value for row in stack.speed.legend_rows(stack.frame, 2.0)) == "12.3"
