"""Records, leftovers, and servers that serve on without us."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from serverkit import FAKE, QUICK, Kit, Recorder, environment, fake_argv, gone_within
from waiting import waited

from paddock.server import ServerSpec, State, Supervisor, leftovers
from paddock.server.port import free_port
from paddock.server.posix import birth
from paddock.server.record import Record, read

OWNER = """
import sys, pathlib, time
sys.path[:0] = sys.argv[1].split(":")
from serverkit import Kit
kit = Kit(pathlib.Path("."))
supervisor, recorder = kit.ready(
    *sys.argv[4:], keep_serving=True, log_path=pathlib.Path(sys.argv[3]), record_path=pathlib.Path(sys.argv[2]),
    label="the sample")
print(supervisor.pid, flush=True)
time.sleep(60)
"""


def orphan(folder: Path, *flags: str) -> int:
    """A server whose Paddock was killed; its pid."""
    places = f"{FAKE.parent}:{Path(sys.modules['paddock'].__file__ or '').parents[1]}"
    process = subprocess.Popen([sys.executable, "-c", OWNER, places, str(folder / "run" / "a.json"),
                                str(folder / "server.log"), *flags], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    process.kill()
    process.communicate()
    return pid


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for path in (tmp_path / "run").glob("*.json") if (tmp_path / "run").exists() else ():
        record = read(path)
        if record is not None and record.lives():
            os.kill(record.pid, signal.SIGKILL)


def test_a_running_server_has_a_record_and_an_ended_one_has_none(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "run" / "a.json"
    supervisor, _ = kit.ready("--api-key", "secret", key="secret", record_path=path, label="mine")
    record = read(path)
    assert record is not None
    assert (record.pid, record.owner_pid, record.label) == (supervisor.pid, os.getpid(), "mine")
    assert record.url == supervisor.url
    assert record.lives()
    assert record.owned()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in path.read_text()
    assert leftovers(path.parent) == []
    supervisor.stop()
    assert supervisor.join(10)
    assert list(path.parent.iterdir()) == []


def test_a_record_that_cannot_be_written_stops_nothing(kit: Kit, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kit.ready(record_path=tmp_path / "file" / "a.json")


def test_a_server_that_keeps_serving_outlives_its_paddock_and_is_found_and_adopted(folder: Path, kit: Kit) -> None:
    pid = orphan(folder, "--api-key", "secret")
    assert birth(pid) is not None
    (found,) = leftovers(folder / "run")
    assert (found.pid, found.label) == (pid, "the sample")
    recorder = Recorder()
    supervisor = Supervisor.attach(found.record, listener=recorder, timing=QUICK)
    kit.made.append(supervisor)
    supervisor.start()
    assert recorder.wait_for(State.READY, State.FAILED) is State.READY
    assert supervisor.pid == pid
    recorder.wait_for_line("listening on")
    with supervisor.client() as client:
        assert client.completion("hello there", n_predict=2).ok
    recorder.wait_for_line("stop processing")
    assert leftovers(folder / "run") == []
    supervisor.stop()
    assert supervisor.join(10)
    assert recorder.states[-1] is State.STOPPED
    assert birth(pid) is None
    assert not (folder / "run" / "a.json").exists()


@pytest.mark.parametrize("flags", [("--api-key", "k1,k2"), ("--api-key-file", "FILE"), ()])
def test_the_key_of_an_adopted_server_is_found_where_it_has_it(folder: Path, flags: tuple[str, ...]) -> None:
    (folder / "keys").write_text("k1\nk2\n")
    orphan(folder, *[str(folder / "keys") if flag == "FILE" else flag for flag in flags])
    (found,) = leftovers(folder / "run")
    assert found.record.spec().key == ("k1" if flags else None)
    assert found.record.spec("mine").key == "mine"


def test_a_leftover_can_be_stopped_whatever_it_does(folder: Path) -> None:
    pid = orphan(folder, "--ignore-term", "--children", "1", "--child-pids", str(folder / "pids"))
    (found,) = leftovers(folder / "run")
    assert found.stop(0.2, 0.2)
    assert birth(pid) is None
    assert gone_within(int((folder / "pids").read_text()), 2)
    assert leftovers(folder / "run") == []
    assert found.stop()


def test_detach_lets_go_and_attach_takes_over_again(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "run" / "a.json"
    supervisor, recorder = kit.ready(keep_serving=True, log_path=tmp_path / "server.log", record_path=path)
    pid = supervisor.pid
    assert pid is not None
    supervisor.detach()
    assert supervisor.join(10)
    assert recorder.states[-2:] == [State.READY, State.STOPPED]
    assert birth(pid) is not None
    record = read(path)
    assert record is not None
    again = Recorder()
    second = Supervisor.attach(record, listener=again, timing=QUICK)
    kit.made.append(second)
    second.start()
    assert again.wait_for(State.READY, State.FAILED) is State.READY
    second.stop()
    assert second.join(10)
    assert second.exit is not None
    assert second.exit.code == 0
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_detach_of_a_server_that_is_ours_alone_stops_it(kit: Kit) -> None:
    supervisor, recorder = kit.ready()
    supervisor.detach()
    assert supervisor.join(10)
    assert recorder.states[-2:] == [State.STOPPING, State.STOPPED]


def test_an_adopted_server_that_crashes_is_noticed(folder: Path, kit: Kit) -> None:
    pid = orphan(folder)
    (found,) = leftovers(folder / "run")
    recorder = Recorder()
    supervisor = Supervisor.attach(found.record, listener=recorder, timing=QUICK)
    kit.made.append(supervisor)
    supervisor.start()
    recorder.wait_for(State.READY)
    os.kill(pid, signal.SIGKILL)
    recorder.wait_for(State.CRASHED)
    assert supervisor.exit is not None
    assert supervisor.exit.code is None


def test_an_adopted_server_can_be_restarted_where_it_is_known_how(folder: Path, kit: Kit) -> None:
    pid = orphan(folder)
    (found,) = leftovers(folder / "run")
    number = found.record.port
    recorder = Recorder()
    spec = ServerSpec(argv=fake_argv(port=number), env=environment(), port=number)
    supervisor = Supervisor.attach(found.record, listener=recorder, spec=spec, timing=QUICK)
    kit.made.append(supervisor)
    supervisor.start()
    recorder.wait_for(State.READY)
    supervisor.restart()
    recorder.wait_for(State.READY, count=2)
    assert supervisor.pid not in (None, pid)


def test_attaching_to_what_is_gone_fails_in_words(folder: Path, kit: Kit) -> None:
    pid = orphan(folder)
    (found,) = leftovers(folder / "run")
    os.kill(pid, signal.SIGKILL)
    assert gone_within(pid, 20)
    recorder = Recorder()
    supervisor = Supervisor.attach(found.record, listener=recorder, timing=QUICK)
    kit.made.append(supervisor)
    supervisor.start()
    assert supervisor.join(5)
    assert supervisor.state is State.FAILED


@pytest.fixture
def innocent() -> Iterator[subprocess.Popen[bytes]]:
    """A process that we did not start as a server, and which must survive."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def record_of(pid: int, path: Path, **changes: object) -> Record:
    born = birth(pid)
    assert born is not None
    record = Record(pid, born, None, 1, "never", "127.0.0.1", free_port(), path=str(path)).seen()
    return replace(record, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"birth": "boot:1"}, {"exe": "/another/program"}, {"argv_hash": "0" * 64}])
def test_a_pid_that_belongs_to_another_process_now_is_left_alone(
        innocent: subprocess.Popen[bytes], tmp_path: Path, change: dict[str, str]) -> None:
    record = record_of(innocent.pid, tmp_path / "a.json", **change)
    record.save()
    from paddock.server.record import Leftover
    assert Leftover(record).stop(0.1, 0.1) is ("birth" in change)
    record.save()
    assert leftovers(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    assert innocent.poll() is None


def test_the_record_that_fits_is_a_leftover(innocent: subprocess.Popen[bytes], tmp_path: Path) -> None:
    record_of(innocent.pid, tmp_path / "a.json").save()
    assert [found.pid for found in leftovers(tmp_path)] == [innocent.pid]


def test_a_record_of_a_living_owner_is_not_ours_to_touch(innocent: subprocess.Popen[bytes], tmp_path: Path) -> None:
    record_of(innocent.pid, tmp_path / "a.json", owner_pid=os.getppid(), owner_birth=birth(os.getppid())).save()
    assert leftovers(tmp_path) == []
    assert (tmp_path / "a.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"version": 99}', '{"version": 1, "pid": 3}', "\x00"])
def test_files_that_are_no_records_are_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert leftovers(tmp_path) == []


def test_no_folder_is_no_leftover(tmp_path: Path) -> None:
    assert leftovers(tmp_path / "none") == []


def test_a_record_says_nothing_that_arguments_may_hide(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    kit.ready("--api-key", "k1", "--hf-token", "hf_abc", key="k1", record_path=path)
    content = json.loads(path.read_text())
    assert "hf_abc" not in path.read_text()
    assert len(content["argv_hash"]) == 64


def test_a_log_file_that_outgrows_its_cap_is_emptied_while_it_keeps_serving(kit: Kit, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    supervisor, recorder = kit.ready("--flood", "20000", keep_serving=True, log_path=log, log_cap_bytes=100_000)
    recorder.wait_for_line("flood 0020000")
    with supervisor.client() as client:
        assert waited(lambda: client.health().ok and log.stat().st_size <= 100_000, 10)
        assert client.completion("a", n_predict=1).ok
    recorder.wait_for_line("stop processing")
