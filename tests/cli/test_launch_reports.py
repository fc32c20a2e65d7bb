"""What `paddock launch` tells as it goes, beside states and requests."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from paddock.cli.launching import Reporter
from paddock.server.model import LogLine
from paddock.session import Event, Recorder


def run_of(**more: Any) -> Any:
    return SimpleNamespace(recorder=Recorder(t0=0.0, clock=lambda: 1.0, **more), models=())


def told(reporter: Reporter, run: Any, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    reporter.tick(run)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_why_there_are_no_figures_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    run, reporter = run_of(), Reporter(True)
    run.recorder.on_row(Event(0.5, "issue", "Metrics are off.", {"id": "sampler.metrics"}))
    (event,) = told(reporter, run, capsys)
    assert (event["event"], event["id"], event["severity"]) == ("issue", "sampler.metrics", "warning")
    assert told(reporter, run, capsys) == []


def test_a_suspend_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    run, reporter = run_of(), Reporter(True)
    run.recorder.on_row(Event(0.5, "state", "the computer was suspended", {"suspended_s": 60.0}))
    (event,) = told(reporter, run, capsys)
    assert (event["event"], event["state"], event["suspended_s"]) == ("state", "resumed", 60.0)


def test_lines_that_came_too_fast_are_counted_not_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    run, reporter = run_of(keep_lines=10), Reporter(True)
    run.recorder.on_line(LogLine(0.1, "first"))
    assert [e["text"] for e in told(reporter, run, capsys)] == ["first"]
    for number in range(35):
        run.recorder.on_line(LogLine(0.1, f"line {number}"))
    events = told(reporter, run, capsys)
    assert events[0]["missed"] == 25
    assert [e["text"] for e in events[1:]] == [f"line {number}" for number in range(25, 35)]
