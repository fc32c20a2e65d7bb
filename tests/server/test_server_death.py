"""Ends: stopping what does not want to, crashes of all kinds, and our own death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from serverkit import FAKE, Kit, environment, gone_within, owner, session_of
from waiting import waited

from paddock.server import ServerSpec, State, Supervisor
from paddock.server.life import Timing
from paddock.server.port import free_port

ON_LINUX = sys.platform == "linux"


def test_a_server_that_ignores_being_asked_is_killed_and_it_is_said(kit: Kit) -> None:
    supervisor, _ = kit.ready("--ignore-term")
    supervisor.stop()
    assert supervisor.join(10)
    assert supervisor.state is State.STOPPED
    assert supervisor.exit is not None
    assert supervisor.exit.forced
    assert supervisor.exit.code == -signal.SIGKILL


def test_the_recipe_as_shipped_ends_within_five_seconds() -> None:
    timing = Timing()
    assert timing.ask_again == 2.5
    assert timing.kill == 1.0
    assert timing.ask_again + timing.kill + timing.sweep + timing.last_lines <= 5.0


def test_an_open_request_delays_the_stop_only_until_it_is_asked_again(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--token-seconds", "30")
    stream = supervisor.client().stream_completion("hello", n_predict=5)
    reader = threading.Thread(target=lambda: [None for _ in _tolerant(stream)], name="request")
    reader.start()
    recorder.wait_for_line("processing task")
    supervisor.stop()
    assert supervisor.join(10)
    assert supervisor.exit is not None
    assert supervisor.exit.forced
    assert supervisor.exit.code == 1
    reader.join(5)
    assert not reader.is_alive()


def _tolerant(stream):  # type: ignore[no-untyped-def]
    from paddock.errors import AppError
    try:
        yield from stream
    except AppError:
        return


def test_a_server_that_accepts_but_never_answers_is_stopped(kit: Kit) -> None:
    supervisor, recorder = kit.make("--hang")
    supervisor.start()
    recorder.wait_for_line("hanging")
    supervisor.stop()
    assert supervisor.join(10)
    assert recorder.states[-1] is State.STOPPED


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGILL, signal.SIGABRT])
def test_crashes_are_told_by_their_signal(kit: Kit, number: signal.Signals) -> None:
    supervisor, _ = kit.ready()
    assert supervisor.pid is not None
    os.kill(supervisor.pid, number)
    assert supervisor.join(10)
    assert supervisor.state is State.CRASHED
    assert supervisor.exit is not None
    assert supervisor.exit.code == -number
    assert number.name in str(supervisor.exit.reason)
    assert supervisor.exit.diagnosis is not None


def test_a_recorded_failure_reaches_the_exit_with_its_diagnosis(kit: Kit) -> None:
    text = FAKE.parents[1] / "data" / "server" / "quantised-v-no-fa.txt"
    supervisor, _ = kit.make("--print", f"@{text}", "--exit-code", "1")
    supervisor.start()
    assert supervisor.join(10)
    assert supervisor.state is State.FAILED
    assert supervisor.exit is not None
    assert supervisor.exit.diagnosis is not None
    assert supervisor.exit.diagnosis.id == "quantised-v-needs-fa"
    assert supervisor.exit.diagnosis.edits == (("flash-attn", ("on",)),)


def test_what_it_serves_on_with_is_a_notice(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--say", "x: the target and draft vocabs are not compatible")
    recorder.wait_for_line("vocabs")
    supervisor.stop()
    assert supervisor.join(10)
    assert [notice.id for notice in supervisor.notices] == ["draft-vocabulary"]
    assert supervisor.state is State.STOPPED


@pytest.mark.parametrize(("argv", "expected"), [
    (("/nowhere/llama-server",), "cannot-start"), (("/tmp",), "cannot-start"), ((str(FAKE.parent),), "cannot-start")])
def test_a_program_that_cannot_be_started_fails_in_words(kit: Kit, argv: tuple[str, ...], expected: str) -> None:
    supervisor, _ = kit.of(ServerSpec(argv=argv, env=environment(), port=free_port()))
    supervisor.start()
    assert supervisor.join(10)
    assert supervisor.state is State.FAILED
    assert supervisor.exit is not None
    assert supervisor.exit.diagnosis is not None
    assert supervisor.exit.diagnosis.id == expected


def test_a_file_of_another_machine_fails_in_words(kit: Kit, tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf7\x00" + bytes(100))
    program.chmod(0o755)
    supervisor, _ = kit.of(ServerSpec(argv=(str(program),), env=environment(), port=free_port()))
    supervisor.start()
    assert supervisor.join(10)
    assert supervisor.exit is not None
    assert supervisor.exit.diagnosis is not None
    assert supervisor.exit.diagnosis.id == "cannot-start"


def test_children_of_the_server_end_with_it(kit: Kit, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    supervisor, _ = kit.ready("--children", "3", "--child-pids", str(pids))
    children = [int(line) for line in pids.read_text().split()]
    assert len(children) == 3
    supervisor.stop()
    assert supervisor.join(10)
    assert all(gone_within(pid, 2) for pid in children)


def test_children_of_a_crashed_server_end_too(kit: Kit, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    supervisor, _ = kit.ready("--children", "2", "--child-pids", str(pids))
    assert supervisor.pid is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    assert supervisor.join(10)
    assert all(gone_within(int(line), 2) for line in pids.read_text().split())


def test_a_wrapper_script_is_no_obstacle_to_stopping(kit: Kit, tmp_path: Path) -> None:
    script = tmp_path / "wrapper.sh"
    pid_file = tmp_path / "pid"
    number = free_port()
    script.write_text(f'#!/bin/sh\n"{sys.executable}" -S "{FAKE}" --port {number} & echo $! > "{pid_file}"; wait $!\n')
    script.chmod(0o755)
    supervisor, recorder = kit.of(ServerSpec(argv=(str(script),), env=environment(), port=number))
    supervisor.start()
    recorder.wait_for(State.READY)
    supervisor.stop()
    assert supervisor.join(10)
    assert gone_within(int(pid_file.read_text()), 2)


def test_no_warden_and_no_zombie_is_left_after_a_stop(kit: Kit) -> None:
    supervisor, _ = kit.ready()
    pid = supervisor.pid
    assert pid is not None
    assert [os.getsid(p.pid) for p in session_of(pid)].count(pid) == (2 if os.name == "posix" else 1)
    supervisor.stop()
    assert supervisor.join(10)
    assert gone_within(pid, 2)
    assert session_of(pid) == []


def test_the_server_sees_its_own_environment_and_arguments_alone(kit: Kit, tmp_path: Path) -> None:
    script = tmp_path / "show.sh"
    script.write_text('#!/bin/sh\nenv; echo "arguments: $@"; exit 3\n')
    script.chmod(0o755)
    argv = (str(script), "a b", "*", "")
    supervisor, recorder = kit.of(ServerSpec(argv=argv, env={"ONLY": "this"}, port=free_port()))
    supervisor.start()
    assert supervisor.join(10)
    seen = {text.partition("=")[0] for text in recorder.texts if "=" in text}
    assert seen - {"PWD", "SHLVL", "_", "OLDPWD"} == {"ONLY"}
    assert "arguments: a b * " in recorder.texts


def test_a_server_started_from_a_short_lived_thread_lives_on(kit: Kit) -> None:
    supervisor, recorder = kit.make()
    starter = threading.Thread(target=supervisor.start)
    starter.start()
    starter.join()
    recorder.wait_for(State.READY)
    assert supervisor.client().health().ok
    assert supervisor.state is State.READY


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_the_server_and_its_children_die_with_us_however_we_die(tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    process, server = owner("--ignore-term", "--children", "2", "--child-pids", str(pids))
    children = [int(line) for line in pids.read_text().split()]
    process.send_signal(number)
    process.communicate()
    assert gone_within(server, 2)
    assert all(gone_within(pid, 2) for pid in children)


def test_the_warden_alone_is_enough(kit: Kit) -> None:
    """As on systems without a death signal, and in a frozen program: a shell stands before the server."""
    import paddock.server.child as child
    from paddock.server import posix

    number = free_port()
    read, write = os.pipe()
    argv = ["/bin/sh", "-c", posix._SHELL_GUARD, "paddock-guard", sys.executable, "-S", str(FAKE), "--port",
            str(number), "--ignore-term"]
    process = subprocess.Popen(argv, stdin=read, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, env=environment())
    os.close(read)
    assert waited(lambda: child.system.others_live(process.pid) and _healthy(number), 10)
    assert psutil.Process(process.pid).cmdline()[0] == sys.executable
    os.close(write)
    assert process.wait(2) == -signal.SIGKILL


def _healthy(number: int) -> bool:
    from paddock.server import Client
    with Client(f"http://127.0.0.1:{number}") as client:
        return client.health().ok


def test_a_frozen_program_uses_the_shell(monkeypatch: pytest.MonkeyPatch, kit: Kit) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    supervisor, _ = kit.ready()
    assert supervisor.pid is not None
    assert psutil.Process(supervisor.pid).cmdline()[:2] == [sys.executable, "-S"]


def test_supervisors_leave_no_threads_and_no_open_files(kit: Kit) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd")) if ON_LINUX else 0

    first, _ = kit.ready()
    first.stop()
    assert first.join(10)
    before = descriptors()
    for _ in range(5):
        supervisor, _ = kit.ready()
        supervisor.stop()
        assert supervisor.join(10)
    assert not [t.name for t in threading.enumerate() if t.name.startswith("paddock-")]
    assert descriptors() <= before


def test_keep_serving_needs_a_log_file() -> None:
    spec = ServerSpec(argv=("x",), env={}, keep_serving=True)
    with pytest.raises(ValueError, match="log_path"):
        Supervisor(spec, listener=None)  # type: ignore[arg-type]
