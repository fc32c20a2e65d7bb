"""Ready means: our live process, on our port, with our key."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from serverkit import Kit, environment, fake_argv

from paddock.server import Client, ServerSpec, State, port
from paddock.server.client import Status


class Stranger(BaseHTTPRequestHandler):
    """Another program whose /health also says ok."""

    def do_GET(self) -> None:
        body = b'{"status":"ok"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stranger() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_port_taken_by_a_stranger_fails_at_once_with_another_one_to_take(kit: Kit, stranger: int) -> None:
    supervisor, recorder = kit.make(port=stranger)
    supervisor.start()
    assert supervisor.join(10)
    assert recorder.states == [State.STARTING, State.FAILED]
    assert supervisor.exit is not None
    found = supervisor.exit.diagnosis
    assert found is not None
    assert found.id == "port-taken"
    assert str(os.getpid()) in str(found.cause)
    ((option, values),) = found.edits
    assert option == "port"
    assert values is not None
    assert port._bind_error("127.0.0.1", int(values[0])) is None
    assert recorder.lines == []


def test_a_stranger_that_takes_the_port_after_the_check_is_not_taken_for_ours(
        kit: Kit, stranger: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "check", lambda spec, wait: None)
    spec = ServerSpec(argv=(sys.executable, "-c", "import time; time.sleep(60)"), env=environment(), port=stranger,
                      load_timeout_s=1.0)
    supervisor, recorder = kit.of(spec)
    supervisor.start()
    assert supervisor.join(10)
    assert State.READY not in recorder.states
    assert recorder.states[-1] is State.FAILED


def test_a_server_that_cannot_bind_is_diagnosed_from_its_line(
        kit: Kit, stranger: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "check", lambda spec, wait: None)
    supervisor, recorder = kit.make(port=stranger)
    supervisor.start()
    assert supervisor.join(10)
    assert State.READY not in recorder.states
    assert supervisor.exit is not None
    assert supervisor.exit.diagnosis is not None
    assert supervisor.exit.diagnosis.id == "port-taken"
    assert str(os.getpid()) in str(supervisor.exit.diagnosis.cause)
    assert "couldn't bind" in (supervisor.exit.diagnosis.line or "")


def test_connections_that_are_still_closing_do_not_make_a_port_taken(kit: Kit) -> None:
    supervisor, recorder = kit.ready()
    client = socket.create_connection(("127.0.0.1", supervisor.spec.port))
    client.sendall(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
    supervisor.restart()
    recorder.wait_for(State.READY, count=2)
    client.close()


def test_without_any_log_line_the_listening_process_proves_it(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--no-log")
    assert recorder.lines == []
    assert supervisor.client().health().ok


def test_where_the_system_does_not_tell_who_listens_a_moment_of_health_must_do(
        kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "owns", lambda pid, number: None)
    monkeypatch.setattr("paddock.server.life.Life._names_our_model", lambda self: False)
    kit.ready("--no-log")


def test_a_listener_outside_our_tree_is_ours_when_it_names_our_model(
        kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "owns", lambda pid, number: False)
    kit.ready("--no-log", "-m", "/models/this one.gguf")


def test_with_a_key_it_becomes_ready_and_is_polled_with_it(kit: Kit) -> None:
    supervisor, _ = kit.ready("--api-key", "secret", key="secret")
    assert supervisor.client().slots().ok
    with Client(supervisor.url, "wrong") as client:
        assert client.slots().status is Status.UNAUTHORIZED
    assert "secret" not in repr(supervisor.spec)


def test_an_api_prefix_is_followed(kit: Kit) -> None:
    supervisor, _ = kit.ready("--api-prefix", "/llm", api_prefix="/llm")
    assert supervisor.url.endswith("/llm")
    assert supervisor.client().props().ok


def test_port_zero_becomes_what_the_server_says(kit: Kit) -> None:
    supervisor, _ = kit.of(ServerSpec(argv=fake_argv(port=0), env=environment(), port=0))
    supervisor.start()
    kit.made[-1]._listener.wait_for(State.READY)  # type: ignore[attr-defined]
    assert supervisor.port
    assert supervisor.client().health().ok


def test_a_socket_file_left_behind_is_no_obstacle_and_removed_after(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(path))
    spec = ServerSpec(argv=fake_argv("--host", str(path)), env=environment(), host=str(path))
    supervisor, recorder = kit.of(spec)
    supervisor.start()
    assert recorder.wait_for(State.READY, State.FAILED) is State.READY
    assert supervisor.client().health().ok
    supervisor.stop()
    assert supervisor.join(10)
    assert not path.exists()


def test_a_socket_on_which_somebody_listens_is_theirs(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        supervisor, recorder = kit.of(ServerSpec(argv=fake_argv(), env=environment(), host=str(path)))
        supervisor.start()
        assert supervisor.join(10)
    assert recorder.states[-1] is State.FAILED
    assert path.exists()


def test_a_plain_file_is_never_removed_for_a_socket(kit: Kit, tmp_path: Path) -> None:
    path = tmp_path / "notes.sock"
    path.write_text("mine")
    supervisor, _ = kit.of(ServerSpec(argv=fake_argv(), env=environment(), host=str(path)))
    supervisor.start()
    assert supervisor.join(10)
    assert supervisor.state is State.FAILED
    assert path.read_text() == "mine"


@pytest.mark.parametrize(("host", "number", "expected"), [
    ("203.0.113.7", 18080, "address-not-local"), ("127.0.0.1", 70000, "port-range"), ("127.0.0.1", -1, "port-range"),
    ("no.such.host.invalid", 18080, "address-not-local")])
def test_addresses_that_cannot_be_are_said_to_be(host: str, number: int, expected: str) -> None:
    found = port.check(ServerSpec(argv=("x",), env={}, host=host, port=number), lambda seconds: False)
    assert found is not None
    assert found.id == expected


def test_a_taken_port_that_nobody_answers_is_tried_for_a_while_and_can_be_given_up() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        spec = ServerSpec(argv=("x",), env={}, port=bound.getsockname()[1])
        waits: list[float] = []

        def wait(seconds: float) -> bool:
            waits.append(seconds)
            if len(waits) == 3:
                bound.close()
            return False

        assert port.check(spec, wait) is None
        assert len(waits) == 3


def test_ipv6_is_spoken(kit: Kit) -> None:
    try:
        number = port.free_port("::1")
    except OSError:
        pytest.skip("no IPv6 loopback here")
    spec = ServerSpec(argv=fake_argv("--host", "::1", port=number), env=environment(), host="::1", port=number)
    supervisor, recorder = kit.of(spec)
    supervisor.start()
    assert recorder.wait_for(State.READY, State.FAILED) is State.READY
    assert supervisor.url == f"http://[::1]:{number}"


@pytest.mark.parametrize(("fields", "url"), [
    ({}, "http://127.0.0.1:8080"), ({"tls": True, "port": 9}, "https://127.0.0.1:9"),
    ({"host": "::1", "api_prefix": "/p"}, "http://[::1]:8080/p"), ({"host": "/x/y.sock"}, "unix:///x/y.sock")])
def test_urls_follow_the_spec(fields: dict[str, object], url: str) -> None:
    assert ServerSpec(argv=("x",), env={}, **fields).url() == url  # type: ignore[arg-type]
