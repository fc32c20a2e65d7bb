"""The server's output: nothing lost, nothing that stops the reader, bounded memory, a file with a cap."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from serverkit import Kit

from paddock.server import State
from paddock.server.logbook import TAIL_LINES, LogFile


def test_a_flood_of_a_million_lines_arrives_whole_in_file_and_listener_while_it_answers(
        kit: Kit, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    supervisor, recorder = kit.ready("--flood", "1000000", log_path=log)
    client = supervisor.client(10)
    assert client.health().ok
    client.close()
    recorder.wait_for_line("flood 1000000", timeout=60)
    supervisor.stop()
    assert supervisor.join(20)
    flood = [line for line in recorder.lines if line.text.startswith("flood ")]
    assert len(flood) == 1_000_000
    assert [line.number for line in recorder.lines] == list(range(1, len(recorder.lines) + 1))
    assert all(a.t <= b.t for a, b in zip(recorder.lines, recorder.lines[1:], strict=False))
    with log.open() as file:
        assert [line.rstrip("\n") for line in file] == recorder.texts
    assert len(supervisor.log_tail(10**9)) == TAIL_LINES


def test_garbage_neither_stops_the_reader_nor_the_server(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--garbage")
    recorder.wait_for_line("after the garbage")
    texts = recorder.texts
    assert "split café here" in texts
    assert "nulbyte" in texts
    assert "0.00.000.001 I coloured" in texts
    assert {"first", "second", "third"} <= set(texts)
    assert sum(len(t) for t in texts if set(t) == {"x"}) == 300_000
    assert supervisor.client().health().ok


def test_levels_and_tail_are_told(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--say", "something is odd")
    line = recorder.wait_for_line("something is odd")
    assert line.level == "W"
    tail = supervisor.log_tail(3)
    assert [each.text for each in tail] == recorder.texts[-3:]
    assert supervisor.log_tail(0) == []


def test_json_log_lines_arrive_as_plain_ones(kit: Kit) -> None:
    _, recorder = kit.ready("--log-jsonl", "--say", "odd")
    line = recorder.wait_for_line("odd")
    assert line.level == "W"
    assert not line.text.startswith("{")


def test_the_output_of_a_server_that_ends_at_once_is_kept(kit: Kit, tmp_path: Path) -> None:
    supervisor, recorder = kit.make("--print", "the only word", "--exit-code", "7", log_path=tmp_path / "a" / "b.log")
    supervisor.start()
    assert supervisor.join(10)
    assert recorder.texts == ["the only word"]
    assert (tmp_path / "a" / "b.log").read_text() == "the only word\n"
    assert supervisor.exit is not None
    assert supervisor.exit.code == 7


def test_a_file_that_cannot_be_written_stops_nothing(kit: Kit, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    supervisor, recorder = kit.ready(log_path=tmp_path / "file" / "server.log")
    recorder.wait_for_line("listening on")
    assert supervisor.state is State.READY
    supervisor.stop()
    assert supervisor.join(10)
    assert [notice.id for notice in supervisor.notices] == ["log-not-written"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_listener_that_raises_does_not_freeze_the_server(kit: Kit) -> None:
    supervisor, recorder = kit.make("--flood", "200000")

    def fail(line: object) -> None:
        raise RuntimeError("a bug of the listener")

    recorder.on_line = fail  # type: ignore[method-assign]
    supervisor.start()
    assert recorder.wait_for(State.READY, State.FAILED) is State.READY
    supervisor.stop()
    assert supervisor.join(10)
    assert supervisor.exit is not None
    assert supervisor.exit.code == 0


def test_restarts_append_to_the_log_and_go_on_counting(kit: Kit, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("of another session\n")
    supervisor, recorder = kit.ready(log_path=log)
    supervisor.restart()
    recorder.wait_for(State.READY, count=2)
    supervisor.stop()
    assert supervisor.join(10)
    assert log.read_text().splitlines() == recorder.texts
    assert [line.number for line in recorder.lines] == list(range(1, len(recorder.lines) + 1))


def test_a_child_that_holds_the_pipe_does_not_delay_the_end(kit: Kit, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    supervisor, recorder = kit.ready("--children", "1", "--detached", "--child-pids", str(pids))
    supervisor.stop()
    assert supervisor.join(10)
    assert recorder.states[-1] is State.STOPPED
    os.kill(int(pids.read_text()), 9)  # it left the group: out of our reach, as the docstring says


def log_of(path: Path, cap: int, count: int) -> LogFile:
    file = LogFile(path, cap)
    for number in range(count):
        file.write(f"line {number:06d}\n")
    file.close()
    return file


def test_the_log_file_keeps_head_and_tail_within_its_cap(tmp_path: Path) -> None:
    cap = 100_000
    log_of(tmp_path / "x.log", cap, 50_000)
    files = sorted(tmp_path.iterdir())
    assert [f.name for f in files] == ["x.log", "x.log.tail", "x.log.tail.old"]
    assert sum(f.stat().st_size for f in files) <= cap * 1.25 + 200
    head = (tmp_path / "x.log").read_text().splitlines()
    assert head[0] == "line 000000"
    assert "x.log.tail" in head[-1]
    newest = ((tmp_path / "x.log.tail.old").read_text() + (tmp_path / "x.log.tail").read_text()).splitlines()
    assert newest[-1] == "line 049999"
    numbers = [int(line.split()[1]) for line in newest]
    assert numbers == list(range(numbers[0], 50_000))


def test_a_log_below_its_cap_is_one_whole_file(tmp_path: Path) -> None:
    log_of(tmp_path / "x.log", 100_000, 1000)
    assert len((tmp_path / "x.log").read_text().splitlines()) == 1000
    assert len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_ends_the_file_alone() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    file = LogFile(Path("/dev/full"), 1000, append=True)
    file.write("a\n")
    file.write("b\n")
    assert file.error is not None
