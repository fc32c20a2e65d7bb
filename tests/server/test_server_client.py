"""The client: every outcome is a value, every call has its deadline, streams come in order and can be cancelled."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from serverkit import Kit

from paddock.errors import AppError
from paddock.server import Client, State
from paddock.server.client import Status, parse_metrics
from paddock.server.port import free_port


@contextmanager
def scripted(act: Callable[[socket.socket], None], connections: int = 1) -> Iterator[str]:
    """A server that does to each connection what `act` says; its URL."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(10)

        def serve() -> None:
            for _ in range(connections):
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    try:
                        act(connection)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            for _ in range(connections):
                try:
                    socket.create_connection(listening.getsockname(), 0.2).close()
                except OSError:
                    break
            thread.join(10)


def http(body: bytes, code: int = 200, headers: str = "") -> bytes:
    return f"HTTP/1.1 {code} X\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def test_all_polling_calls_answer(kit: Kit) -> None:
    supervisor, _ = kit.ready("--slots", "3", "-m", "m.gguf")
    with supervisor.client() as client:
        assert client.health().data == {"status": "ok"}
        props, slots, metrics, models = client.props(), client.slots(), client.metrics(), client.models()
    assert props.data is not None
    assert props.data["model_path"] == "m.gguf"
    assert slots.data is not None
    assert [slot["id"] for slot in slots.data] == [0, 1, 2]
    assert metrics.data is not None
    assert metrics.data["requests_processing"] == 0.0
    assert models.data is not None
    assert all(answer.ok and answer.code == 200 and answer.seconds > 0 for answer in (props, slots, metrics, models))


def test_one_connection_serves_many_calls(kit: Kit) -> None:
    supervisor, _ = kit.ready()
    with supervisor.client() as client:
        client.health()
        first = client._wire.sock
        for _ in range(20):
            assert client.slots().ok
        assert client._wire.sock is first


def test_loading_is_told_apart(kit: Kit) -> None:
    supervisor, recorder = kit.make("--load-seconds", "30")
    supervisor.start()
    recorder.wait_for(State.LOADING)
    with supervisor.client() as client:
        assert client.health().status is Status.LOADING
        assert client.slots().status is Status.LOADING


def test_what_is_turned_off_is_told_apart_from_what_is_not_there(kit: Kit) -> None:
    supervisor, _ = kit.ready("--no-metrics", "--no-slots")
    with supervisor.client() as client:
        assert client.metrics().status is Status.DISABLED
        assert client.slots().status is Status.DISABLED
        assert client.raw("GET", "/nothing").status is Status.MISSING


def test_a_wrong_key_is_told_apart(kit: Kit) -> None:
    supervisor, _ = kit.ready("--api-key", "k", key="k")
    with Client(supervisor.url) as client:
        assert client.health().ok
        answer = client.metrics()
    assert answer.status is Status.UNAUTHORIZED
    assert answer.message == "Invalid API Key"
    with pytest.raises(AppError, match="key"):
        list(Client(supervisor.url).stream_chat([{"role": "user", "content": "hi"}]))


def test_nobody_there_is_refused() -> None:
    assert Client(f"http://127.0.0.1:{free_port()}").health().status is Status.REFUSED
    assert Client("unix:///no/such.sock").health().status is Status.REFUSED


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1:8080", ""])
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError):
        Client(url)


def drip(connection: socket.socket) -> None:
    """A byte now and then, for ever: each read is quick, the whole never ends."""
    connection.recv(4096)
    for byte in http(b"x" * 1000):
        connection.sendall(bytes((byte,)))
        time.sleep(0.03)


def silent(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.settimeout(10)
    connection.recv(1)


@pytest.mark.parametrize("act", [drip, silent])
def test_a_call_ends_by_its_deadline_however_the_server_delays(act: Callable[[socket.socket], None]) -> None:
    with scripted(act) as url, Client(url, timeout_s=0.3) as client:
        answer = client.health()
    assert answer.status is Status.TIMEOUT
    assert 0.25 < answer.seconds < 5


@pytest.mark.parametrize(("data", "expected"), [
    (b"", Status.REFUSED), (b"HTTP/1.1 200", Status.ERROR), (b"nonsense\r\n\r\n", Status.ERROR),
    (http(b"not json"), Status.ERROR), (http(b"oops", 500), Status.ERROR), (http(b"{}", 503), Status.LOADING),
    (http(b'{"error":{"message":"too long","type":"exceed_context_size_error"}}'), Status.ERROR),
    (b"HTTP/1.1 200 X\r\nContent-Length: 50\r\n\r\nhalf", Status.ERROR),
    (b"HTTP/1.1 200 X\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 10, Status.ERROR)])
def test_any_answer_is_a_value(data: bytes, expected: Status) -> None:
    def act(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(data)

    with scripted(act) as url, Client(url, timeout_s=2) as client:
        answer = client.health()
    assert answer.status is expected
    assert answer.data is None


def test_a_connection_that_the_server_closed_meanwhile_is_opened_anew() -> None:
    def once(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(http(b'{"status":"ok"}'))

    with scripted(once, connections=3) as url, Client(url, timeout_s=2) as client:
        assert [client.health().ok for _ in range(3)] == [True, True, True]


def test_a_body_that_comes_after_the_announcement_to_close_is_read_whole() -> None:
    def act(connection: socket.socket) -> None:
        connection.recv(4096)
        body = b'{"text":"' + b"x" * 200_000 + b'"}'
        data = http(body, headers="Connection: close\r\n")
        for start in range(0, len(data), 20_000):
            connection.sendall(data[start:start + 20_000])
            time.sleep(0.005)

    with scripted(act, connections=2) as url, Client(url, timeout_s=5) as client:
        answers = [client.health(), client.health()]
    assert [answer.ok and len(answer.data["text"]) for answer in answers if answer.data] == [200_000, 200_000]


def test_a_stream_with_the_announcement_to_close_can_be_cancelled() -> None:
    def act(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\ndata: {\"content\":\"a\"}\n\n")
        silent(connection)

    with scripted(act) as url:
        stream = Client(url).stream_completion("a")
        seen = []
        for chunk in stream:
            seen.append(chunk)
            threading.Thread(target=stream.cancel).start()
    assert seen == [{"content": "a"}]


def test_a_request_is_never_sent_twice() -> None:
    seen: list[bytes] = []

    def take_and_drop(connection: socket.socket) -> None:
        data = connection.recv(65536)
        if data:
            seen.append(data)

    with scripted(take_and_drop, connections=2) as url, Client(url, timeout_s=2) as client:
        assert client.completion("x", timeout_s=2).status is Status.REFUSED
    assert len(seen) == 1


def test_a_completion_gives_text_and_timings(kit: Kit) -> None:
    supervisor, _ = kit.ready()
    with supervisor.client() as client:
        answer = client.completion("one two three", n_predict=4)
        chat = client.chat([{"role": "user", "content": "hi"}], max_tokens=3)
    assert answer.data["content"] == "alpha beta gamma delta "
    assert answer.data["timings"]["prompt_n"] == 3
    assert chat.data["usage"]["completion_tokens"] == 3


def test_an_error_in_a_successful_answer_is_an_error(kit: Kit) -> None:
    supervisor, _ = kit.ready("--error-in-200")
    with supervisor.client() as client:
        answer = client.chat([{"role": "user", "content": "hi"}])
        assert answer.status is Status.ERROR
        assert "exceeds the available context" in answer.message
        with pytest.raises(AppError):
            list(client.stream_chat([{"role": "user", "content": "hi"}]))


def test_a_stream_gives_its_chunks_in_order_with_progress_and_timings(kit: Kit) -> None:
    supervisor, _ = kit.ready()
    with supervisor.client() as client:
        chunks = list(client.stream_chat([{"role": "user", "content": "a b c"}], max_tokens=3, timings_per_token=True,
                                         return_progress=True, stream_options={"include_usage": True}))
    words = [c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"]]
    assert "".join(words) == "alpha beta gamma "
    assert [c["prompt_progress"]["processed"] for c in chunks if "prompt_progress" in c] == [0, 3]
    assert chunks[-1]["usage"]["prompt_tokens"] == 3
    assert chunks[-1]["timings"]["predicted_n"] == 3


def test_a_completion_stream_ends_with_stop(kit: Kit) -> None:
    supervisor, _ = kit.ready()
    chunks = list(supervisor.client().stream_completion("a", n_predict=2))
    assert [c["stop"] for c in chunks] == [False, False, True]


def test_a_stream_cancelled_from_another_thread_ends_without_error_and_frees_the_slot(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--token-seconds", "0.05")
    stream = supervisor.client().stream_completion("a", n_predict=10_000)
    chunks = []
    for chunk in stream:
        chunks.append(chunk)
        if len(chunks) == 2:
            threading.Thread(target=stream.cancel).start()
    assert len(chunks) < 1000
    recorder.wait_for_line("stop processing")
    stream.cancel()


def test_leaving_a_stream_early_cancels_it(kit: Kit) -> None:
    supervisor, recorder = kit.ready("--token-seconds", "0.02")
    with supervisor.client().stream_completion("a", n_predict=10_000) as stream:
        assert next(iter(stream))
    recorder.wait_for_line("stop processing")


def test_a_stream_cancelled_before_it_began_is_empty(kit: Kit) -> None:
    supervisor, _ = kit.ready()
    stream = supervisor.client().stream_completion("a")
    stream.cancel()
    assert list(stream) == []


def test_a_stream_that_waits_for_its_first_byte_can_be_cancelled() -> None:
    entered = threading.Event()

    def act(connection: socket.socket) -> None:
        entered.set()
        silent(connection)

    with scripted(act) as url:
        stream = Client(url).stream_completion("a")

        def cancel() -> None:
            entered.wait(5)
            stream.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        assert list(stream) == []
        canceller.join()


def test_a_stream_that_breaks_off_is_an_error_in_words(kit: Kit) -> None:
    supervisor, _ = kit.ready("--break-stream", "3")
    seen = []
    with pytest.raises(AppError, match="broke off"):
        seen.extend(supervisor.client().stream_completion("a", n_predict=20))


def test_a_stream_that_falls_silent_is_an_error_in_words(kit: Kit) -> None:
    supervisor, _ = kit.ready("--token-seconds", "3")
    with pytest.raises(AppError, match="in time"):
        list(supervisor.client().stream_completion("a", n_predict=3, idle_s=0.2))


def test_an_error_inside_a_stream_is_raised() -> None:
    def act(connection: socket.socket) -> None:
        connection.recv(4096)
        body = b': ping\n\ndata: {"content":"a","stop":false}\n\ndata: {"error":{"message":"Compute error."}}\n\n'
        connection.sendall(http(body))

    with scripted(act) as url, pytest.raises(AppError, match="Compute error"):
        list(Client(url).stream_completion("x"))


def test_metrics_text_becomes_numbers() -> None:
    text = ("# HELP llamacpp:tokens_predicted_total x\n# TYPE llamacpp:tokens_predicted_total counter\n"
            "llamacpp:tokens_predicted_total 1.23457e+06\nllamacpp:bad one\nnot a line\nother 2\n"
            'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 3\n')
    assert parse_metrics(text) == {
        "tokens_predicted_total": 1234570.0, "other": 2.0,
        'spec_decode_num_accepted_tokens_per_pos_total{position="0"}': 3.0}


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    """A self-signed certificate and its key."""
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
                        "/CN=someone", "-out", cert, "-keyout", key], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no openssl to make a certificate with: {error}")
    return cert, key


def test_our_own_childs_self_signed_certificate_is_accepted_and_a_strangers_is_not(
        kit: Kit, certificate: tuple[str, str]) -> None:
    cert, key = certificate
    supervisor, _ = kit.ready("--ssl-cert-file", cert, "--ssl-key-file", key, tls=True)
    assert supervisor.url.startswith("https://")
    with supervisor.client() as client:
        assert client.health().ok
        assert client.slots().ok
        assert len(list(client.stream_completion("a", n_predict=2))) == 3
    with Client(supervisor.url) as stranger:
        answer = stranger.health()
    assert answer.status is Status.ERROR
    assert "certificate" in answer.message
