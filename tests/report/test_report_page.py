"""The page that can be shared."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from paddock import text
from paddock.report import SessionData, page, requests_csv, requests_jsonl, series_csv
from paddock.units import seconds_text

MIB = 1 << 20


def session(number: int = 7, speed: float = 20.0, flags: tuple[str, ...] = ("-c", "2048"),
            **changed: Any) -> SessionData:
    requests = [{"number": i + 1, "slot": 0, "prompt_tokens": 40 + i, "cached_tokens": 0, "evaluated_tokens": 40 + i,
                 "generated_tokens": 10, "prompt_per_s": 100.0 + i, "generation_per_s": speed + i, "ttft_s": 0.4,
                 "status": "done"} for i in range(3)]
    record = {
        "id": number, "model": "A <b>model</b>", "state": "stopped", "start": "2026-01-01T10:00:00+00:00", "end": None,
        "engine": "llama.cpp 1", "command": ["/home/ada/llama", "serve", "-m", "/home/ada/m.gguf", *flags],
        "model_facts": {"path": "/home/ada/m.gguf", "architecture": "gemma3", "size": 241 * MIB},
        "machine": {"system": "Linux", "devices": [{"name": "CUDA0", "description": "RTX", "total": 24 << 30}]},
        "requests": requests, "reason": "Stopped.",
        "events": [{"t": 1.5, "kind": "state", "text": "ready"}],
        "estimate": {"main": [{"name": "CUDA0", "model": 100 * MIB, "context": 50 * MIB, "compute": 50 * MIB}]},
        "actual": {"main": [{"name": "CUDA0", "model": 100 * MIB, "context": 50 * MIB, "compute": 52 * MIB}]},
        **changed}
    series = {"t": [0.0, 1.0, 2.0, 3.0], "generation_per_s": [None, 19.0, None, 21.0],
              "slot.0.context_used": [0.0, 10.0, 20.0, 30.0], "cpu_pct": [None, None, None, None]}
    return SessionData(record, series, "/home/ada")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [v or "" for k, v in attrs if k in ("src", "href", "xlink:href", "action")]


def test_the_page_asks_nobody_for_anything() -> None:
    text = page([session()])
    links = _Links()
    links.feed(text)
    assert not links.tags & {"script", "link", "img", "iframe", "object"}
    assert all(found.startswith("#") for found in links.found)
    assert not re.search(r"url\((?!#|\"?#)", text)


def test_texts_are_escaped_and_the_home_folder_is_not_shown() -> None:
    text = page([session()])
    assert "A &lt;b&gt;model&lt;/b&gt;" in text
    assert "/home/ada" not in text
    assert "~/m.gguf" in text


def test_figures_are_medians_and_memory_stands_beside_the_estimate() -> None:
    text = page([session()])
    assert "21.0 t/s" in text
    assert "101 t/s" in text
    assert "+1.0 %" in text
    assert "202 MiB" in text


def test_what_was_not_recorded_has_no_plot() -> None:
    text = page([session()])
    assert text.count("<svg") == 2
    assert page([SessionData(session().record)]).count("<svg") == 0


def test_a_comparison_shows_what_differs_and_only_that() -> None:
    text = page([session(1), session(2, 30.0, ("-c", "4096", "-fa", "on"))])
    table = text[text.index("What differs"):text.index("Results")]
    assert re.findall(r"<code>(.*?)</code>", table) == ["-c", "-fa"]
    assert "2048" in table
    assert "–" in table
    assert "31.0 t/s" in text[text.index("Results"):]


def test_short_prompts_tell_no_prompt_speed() -> None:
    rows = [{"status": "done", "prompt_per_s": 5.0, "evaluated_tokens": 3}]
    assert session(requests=rows).median("prompt_per_s") is None


def test_a_session_without_anything_is_still_a_page() -> None:
    text = page([SessionData({"id": 1})])
    assert "n/a" in text


@pytest.mark.parametrize("count", [1, 2])
def test_requests_as_csv_have_a_row_each(count: int) -> None:
    rows = list(csv.DictReader(io.StringIO(requests_csv([session(i) for i in range(count)]))))
    assert len(rows) == 3 * count
    assert rows[0]["generation_per_s"] == "20.0"


def test_samples_as_csv_leave_gaps_empty() -> None:
    rows = list(csv.DictReader(io.StringIO(series_csv(session()))))
    assert [r["generation_per_s"] for r in rows] == ["", "19.0", "", "21.0"]


def test_the_same_session_gives_the_same_page() -> None:
    assert page([session()]) == page([session()])


def test_clients_are_summed_up_by_program_and_endpoint_or_their_absence_is_said() -> None:
    seen = [{"id": i, "method": "POST", "path": "/v1/chat/completions", "user_agent": "Open <WebUI>",
             "outcome": outcome, "first_byte_s": 0.1 * i, "gap_p95_s": 0.03, "gap_longest_s": 0.1 * i,
             "client_wait_s": 0.0, "request_text": "a secret prompt", "settings": {}}
            for i, outcome in enumerate(("done", "done", "cancelled", "failed"), start=1)]
    text = page([session(exchanges=seen)])
    cells = re.findall(r"<td>(.*?)</td>", text.partition("Open &lt;WebUI&gt;")[2])
    assert cells[:7] == ["POST /v1/chat/completions", "4", "1", "1", seconds_text(0.25), "30.0 ms", "400.0 ms"]
    assert "a secret prompt" not in text
    assert "No recording proxy stood in front" in page([session()])
    assert "No recording proxy" not in text


def test_tags_note_and_the_spread_of_many_requests_are_on_the_page() -> None:
    many = [{"number": i, "generation_per_s": 20.0 + i % 7, "status": "done"} for i in range(40)]
    text = page([session(tags=["night"], note="after <b>driver</b> 580", requests=many)])
    assert "#night after &lt;b&gt;driver&lt;/b&gt; 580" in text
    assert "Generation of each request" in text
    assert text.count("<svg") == page([session(tags=["night"])]).count("<svg") + 1


def test_json_lines_hold_each_request_with_its_client_and_no_text() -> None:
    exchange = {"id": 4, "method": "POST", "path": "/completion", "status": 200, "user_agent": "curl",
                "outcome": "done", "request_text": "hidden", "first_byte_s": 0.2}
    models = {**exchange, "id": 5, "method": "GET", "path": "/v1/models"}
    data = session(exchanges=[exchange, models], requests=[{"number": 1, "status": "done", "exchange": 4,
                                                            "generated_tokens": 9}])
    rows = [json.loads(line) for line in requests_jsonl([data]).splitlines()]
    assert [(r["session"], r["number"], r["path"], r["http_status"], r["generated_tokens"]) for r in rows] == [
        (7, 1, "/completion", 200, 9), (7, None, "/v1/models", 200, None)]
    assert "hidden" not in requests_jsonl([data])


def test_states_and_kinds_of_events_are_words() -> None:
    text.use_language("it")
    try:
        told = page([session()])
    finally:
        text.use_language("en")
    for words in (", fermato. ", ">stato<", ">pronto<"):
        assert words in told
