"""What the detectors found and what a person marked, in the report and in `sessions show`."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from paddock.cli.arguments import Globals
from paddock.cli.sessions import show
from paddock.report import SessionData, page
from paddock.session.detectors import Finding
from paddock.session.model import Event
from paddock.store import Database, SessionStart
from paddock.text import Text

HOT = Finding("clocks_heat", Text("CUDA0 has lowered its clock."), Text("1,500 MHz at 91 °C."), Text("Give it air."))


def event() -> Event:
    data = HOT.as_dict()
    return Event(12.0, "issue", data.pop("text"), data)


def test_a_finding_stands_in_the_report_with_proof_and_remedy() -> None:
    events = [{"t": 12.0, "kind": "issue", "text": event().text, "data": event().data},
              {"t": 13.0, "kind": "mark", "text": "note: opened <the> window", "data": {}}]
    text = page([SessionData({"id": 1, "model": "m", "state": "stopped", "requests": [], "events": events})])
    assert "CUDA0 has lowered its clock. 1,500 MHz at 91 °C. Give it air." in text
    assert "note: opened &lt;the&gt; window" in text


def test_sessions_show_lists_findings_and_marks(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with Database(tmp_path / "paddock.sqlite") as made:
        path = made.path
        session = made.start_session(SessionStart(("llama",)))
        made.event(session, event())
        made.event(session, Event(3.0, "mark", "note: opened the window"))
        made.event(session, Event(2.0, "state", "ready"))
        made.finish_session(session, "stopped")
    from paddock.paths import DataPaths
    wanted = DataPaths.at(tmp_path / "data").database
    wanted.parent.mkdir(parents=True)
    path.rename(wanted)
    told = CliRunner().invoke(show, [str(session)], obj=Globals(data_dir=str(tmp_path / "data")))
    assert told.exit_code == 0, told.output
    lines = [line for line in told.output.splitlines() if "3.00 s" in line or "12 s" in line]
    assert ["opened the window" in line for line in lines] == [True, False]
    assert "1,500 MHz at 91 °C." in lines[1]
    assert "Give it air." in lines[1]
