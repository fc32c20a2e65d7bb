"""Addresses of RPC servers, and what comes of a greeting: against small servers of every temper."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.engine import rpc_hello
from paddock.engine.rpc import Endpoint, Greeting, greet, parse_endpoint
from paddock.errors import AppError


@pytest.mark.parametrize(("text", "endpoint"), [
    ("192.168.1.20:50052", Endpoint("192.168.1.20", 50052)),
    ("  gpu-box.local:6000 ", Endpoint("gpu-box.local", 6000)),
    ("gpu_box", Endpoint("gpu_box", 50052)),
    ("rpc://host:1/", Endpoint("host", 1)),
    ("localhost:65535", Endpoint("localhost", 65535)),
])
def test_an_address_is_a_host_and_a_port(text: str, endpoint: Endpoint) -> None:
    assert parse_endpoint(text) == endpoint
    assert parse_endpoint(str(endpoint)) == endpoint


@pytest.mark.parametrize("text", [
    "", ":", ":50052", "host:", "host:0", "host:65536", "host:-1", "host:+5", "host:5x", "host:99999999999999999999",
    "::1", "[::1]:50052", "fe80::1:50052", "a b:5", "host/path:5", "h,i:5", "-h:5", "host:5:6", "ho\nst:5", "h:٥",
])
def test_what_llama_cpp_could_not_take_is_no_address(text: str) -> None:
    with pytest.raises(AppError) as caught:
        parse_endpoint(text)
    assert caught.value.hint is not None


@pytest.mark.parametrize(("host", "local"), [
    ("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("0.0.0.0", False), ("192.168.0.4", False),
    ("gpubox", False)])
def test_only_the_loopback_is_out_of_everybody_s_reach(host: str, local: bool) -> None:
    assert Endpoint(host, 1).is_local is local


Serve = Callable[[Callable[[socket.socket], object]], Endpoint]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A server on the loopback that treats every client alike, one at a time."""
    listeners: list[tuple[socket.socket, threading.Thread]] = []

    def start(treat: Callable[[socket.socket], object]) -> Endpoint:
        listener = socket.create_server(("127.0.0.1", 0))

        def live() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    treat(client)

        thread = threading.Thread(target=live)
        thread.start()
        listeners.append((listener, thread))
        return Endpoint("127.0.0.1", int(listener.getsockname()[1]))

    yield start
    for listener, thread in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def request_of(client: socket.socket) -> tuple[int, bytes]:
    command, size = struct.unpack("<BQ", client.recv(9, socket.MSG_WAITALL))
    return command, client.recv(size, socket.MSG_WAITALL) if size else b""


def test_the_greeting_is_the_one_of_the_protocol_and_the_version_is_read(serve: Serve) -> None:
    seen: list[tuple[int, bytes]] = []

    def treat(client: socket.socket) -> None:
        seen.append(request_of(client))
        client.sendall(struct.pack("<Q", 28) + bytes([7, 1, 3, 0]) + bytes(24))

    assert greet(serve(treat), timeout_s=5) == Greeting("answers", "7.1.3")
    assert seen == [(14, bytes(24))]


def test_a_server_that_hangs_up_on_the_newer_form_is_greeted_in_the_older(serve: Serve) -> None:
    def treat(client: socket.socket) -> None:
        command, capabilities = request_of(client)
        if command == 14 and not capabilities:
            client.sendall(struct.pack("<Q", 3) + bytes([3, 6, 0]))

    assert greet(serve(treat), timeout_s=5) == Greeting("answers", "3.6.0")


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\x03", struct.pack("<Q", 0), struct.pack("<Q", 1 << 60) + b"xxx",
    struct.pack("<Q", 28) + b"\x07"])
def test_something_else_that_listens_is_no_rpc_server(serve: Serve, answer: bytes) -> None:
    def treat(client: socket.socket) -> None:
        client.recv(64)
        client.sendall(answer)

    assert greet(serve(treat), timeout_s=5).state == "foreign"


def test_a_server_that_is_busy_with_another_client_is_mute_within_the_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        told = greet(Endpoint("127.0.0.1", int(listener.getsockname()[1])), timeout_s=0.3)
    assert told.state == "mute"


def test_nobody_and_nowhere_are_told_apart() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert greet(Endpoint("127.0.0.1", int(taken.getsockname()[1])), timeout_s=2).state == "refused"


def test_an_unknown_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> socket.socket:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "create_connection", unknown)
    assert rpc_hello.greet("nowhere", 1, 1)["state"] == "unknown_name"


def test_a_host_that_does_not_answer_at_all_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> socket.socket:
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", silent)
    assert rpc_hello.greet("far", 1, 1)["state"] == "unreachable"


@given(st.text(max_size=60))
def test_any_text_is_an_address_that_reads_back_or_none(text: str) -> None:
    try:
        endpoint = parse_endpoint(text)
    except AppError:
        return
    assert parse_endpoint(str(endpoint)) == endpoint
    assert 0 < endpoint.port < 65536
    assert str(endpoint).count(":") == 1
