"""The recording proxy where something goes wrong: its reader hangs, its process dies, clients and answers are odd."""

from __future__ import annotations

import asyncio
import http.client
import json
import queue
import signal
import socket
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from proxywire import Wire

from paddock.session.proxy import Exchange, RecordingProxy
from paddock.session.proxy.record import Reader, read_settings
from paddock.session.proxy.relay import Relay
from paddock.text import Text

ASK = {"prompt": "a b c", "n_predict": 2}


def bare(port: int, data: bytes) -> bytes:
    """What comes back for these bytes, to the end of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_paddock_that_does_not_read_never_holds_up_a_client(wire: Callable[..., Wire]) -> None:
    w = wire("--token-seconds", "0")
    awake, over = threading.Event(), queue.SimpleQueue[int]()

    def hung(exchange: Exchange) -> None:
        awake.wait(60)
        if exchange.outcome == "done":
            over.put(exchange.id)

    proxy = RecordingProxy(f"http://127.0.0.1:{w.port}", hung)
    proxy.start()
    try:
        # Far more than a pipe holds.
        assert [w.ask("/completion", ASK, port=proxy.port)[0] for _ in range(120)] == [200] * 120
        awake.set()
        assert [over.get(timeout=15) for _ in range(120)] == list(range(1, 121))
    finally:
        awake.set()
        proxy.stop()


def test_a_proxy_that_was_killed_is_there_again_and_what_it_held_is_told_as_failed(wire: Callable[..., Wire]) -> None:
    w = wire("--token-seconds", "0.5")
    lost: queue.Queue[tuple[Text, bool]] = queue.Queue()
    told: queue.Queue[Exchange] = queue.Queue()
    proxy = RecordingProxy(f"http://127.0.0.1:{w.port}", told.put, on_lost=lambda text, gone: lost.put((text, gone)))
    proxy.start()
    port, first = proxy.port, proxy.pid
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("POST", "/completion", json.dumps({**ASK, "stream": True, "n_predict": 50}))
        assert connection.getresponse().read(6) == b"data: "
        psutil.Process(first).kill()
        text, gone = lost.get(timeout=15)
        assert not gone
        assert proxy.url in str(text)
        assert (proxy.port, proxy.pid != first) == (port, True)
        assert w.ask("/health", port=port)[0] == 200
        seen = [told.get(timeout=15) for _ in range(4)]
        assert [(e.id, e.outcome) for e in seen] == [(1, "active"), (1, "failed"), (2, "active"), (2, "done")]
        assert "ended" in str(seen[1].error)
        connection.close()
    finally:
        proxy.stop()


def test_a_proxy_that_cannot_come_back_says_so(wire: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.session.proxy.supervise.RESTARTS", 0)
    w = wire()
    lost: queue.Queue[tuple[Text, bool]] = queue.Queue()
    proxy = RecordingProxy(f"http://127.0.0.1:{w.port}", lambda e: None, on_lost=lambda *told: lost.put(told))
    proxy.start()
    psutil.Process(proxy.pid).kill()
    assert lost.get(timeout=15)[1] is True
    proxy.stop()


def test_ctrl_c_in_the_terminal_leaves_the_proxy_to_its_paddock(wire: Callable[..., Wire]) -> None:
    w = wire()
    psutil.Process(w.proxy.pid).send_signal(signal.SIGINT)
    assert w.ask("/health")[0] == 200


def test_one_that_is_opened_again_goes_on_counting(wire: Callable[..., Wire]) -> None:
    w = wire()
    w.ask("/health")
    assert w.over().id == 1
    w.proxy.stop()
    w.proxy = RecordingProxy(w.proxy.upstream, w.told.put, first=w.proxy.next_id)
    w.proxy.start()
    w.ask("/health")
    assert w.over().id == 2


def test_old_clients_and_absolute_targets_are_served(wire: Callable[..., Wire]) -> None:
    w = wire()
    port = w.proxy.port
    absolute = f"GET http://127.0.0.1:{port}/health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    assert b" 200 OK" in bare(port, b"GET /health HTTP/1.0\r\n\r\n")
    assert b" 200 OK" in bare(port, absolute.encode())
    assert [(e.path, e.outcome) for e in (w.over(), w.over())] == [("/health", "done")] * 2


@pytest.mark.parametrize(("origin", "status"), [
    ("null", 403), ("https://[broken", 403), ("http://127.0.0.1.evil.example", 403),
    ("app://obsidian.md", 200), ("http://127.0.0.1:3000", 200)])
def test_a_sandboxed_page_is_refused_and_a_program_with_pages_is_not(wire: Callable[..., Wire], origin: str,
                                                                      status: int) -> None:
    assert wire().ask("/health", Origin=origin)[0] == status


def test_a_client_that_leaves_while_it_sends_is_recorded(wire: Callable[..., Wire]) -> None:
    w = wire()
    with socket.create_connection(("127.0.0.1", w.proxy.port), timeout=20) as connection:
        connection.sendall(f"POST /completion HTTP/1.1\r\nHost: 127.0.0.1:{w.proxy.port}\r\n"
                           "Content-Length: 1000\r\n\r\n{".encode())
    found = w.over()
    assert (found.path, found.outcome, found.status) == ("/completion", "cancelled", None)


def test_nesting_that_no_parser_follows_passes_to_the_server_that_judges_it() -> None:
    body = b'{"a":' * 100_000
    exchange = Exchange(1, "", "POST", "/completion", "")
    read_settings(body, exchange)
    reader = Reader(exchange)
    reader.head(400, "application/json", 0.1)
    reader.feed(body, 0.2)
    reader.end(0.3)
    assert exchange.request_bytes == exchange.response_bytes == len(body)


def test_no_header_is_added_and_the_path_stays_as_it_was_written() -> None:
    got: list[tuple[str, set[str]]] = []

    async def hear(request: web.Request) -> web.Response:
        got.append((request.raw_path, {name.lower() for name in request.headers}))
        return web.Response(text="ok")

    async def talk() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", hear)
        async with TestServer(app) as server, \
                TestServer(Relay(str(server.make_url("/")), lambda e: None).app()) as relay:
            _, writer = await asyncio.open_connection("127.0.0.1", relay.port)
            request = f"POST /a%2Fb?x=%7E%2F HTTP/1.1\r\nHost: localhost:{relay.port}\r\nContent-Length: 2\r\n\r\nhi"
            writer.write(request.encode())
            async with asyncio.timeout(20):
                while not got:
                    await asyncio.sleep(0)
            writer.close()

    asyncio.run(talk())
    assert got == [("/a%2Fb?x=%7E%2F", {"host", "content-length", "connection"})]


def test_a_server_behind_a_socket_file_or_a_prefix_is_reached(tmp_path: Path) -> None:
    heard: list[str] = []

    async def hear(request: web.Request) -> web.Response:
        heard.append(request.path)
        return web.Response(text="ok")

    async def talk() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", hear)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.UnixSite(runner, str(tmp_path / "s.sock")).start()
        upstream = f"unix://{tmp_path}/s.sock/llm"
        async with TestServer(Relay(upstream, lambda e: None).app()) as relay, aiohttp.ClientSession() as client:
            for path in ("/health", "/llm/v1/models"):
                async with client.get(relay.make_url(path)) as answer:
                    assert answer.status == 200
        await runner.cleanup()

    asyncio.run(talk())
    assert heard == ["/llm/health", "/llm/v1/models"]


def test_what_no_encoding_can_write_is_told_all_the_same(wire: Callable[..., Wire]) -> None:
    w = wire()
    request = urllib.request.Request(f"{w.proxy.url}/completion", headers={"User-Agent": "caf\xe9"},
                                     data=b'{"model": "\\ud83d", "prompt": "a", "n_predict": 1}')
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert answer.status == 200
    assert w.over().generated_tokens == 1


@pytest.mark.parametrize("chunk", [
    {"choices": 5}, {"choices": [3, {"delta": "x"}]}, {"usage": []}, {"timings": {"prompt_n": "many"}},
    {"content": 3, "stop": True, "stop_type": ["x"]}, {"model": {}, "id_slot": "a"}, {"type": 4, "delta": 7},
    {"response": "no", "message": 1, "output": {}}])
def test_an_answer_of_another_shape_does_no_harm(chunk: dict[str, Any]) -> None:
    for stream in (True, False):
        exchange = Exchange(1, "", "POST", "/v1/chat/completions", "")
        reader = Reader(exchange, keep_texts=True)
        reader.head(200, "text/event-stream" if stream else "application/json", 0.1)
        data = json.dumps(chunk).encode()
        reader.feed(b"data: " + data + b"\n\n" if stream else data, 0.2)
        reader.end(0.3)
        assert (exchange.prompt_tokens, exchange.generated_tokens, exchange.model, exchange.slot) == (None,) * 4
        Exchange(**json.loads(exchange.as_json()))


MESSAGES = [
    {"type": "message_start", "message": {"model": "m", "content": [], "stop_reason": None, "usage": {
        "cache_read_input_tokens": 50, "input_tokens": 4, "output_tokens": 0}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "hi"}},
    {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 3}}]
RESPONSES = [
    {"type": "response.created", "response": {"object": "response", "status": "in_progress"}},
    {"type": "response.content_part.added", "part": {"type": "output_text", "text": ""}},
    {"type": "response.reasoning_text.delta", "delta": "hm"},
    {"type": "response.output_text.delta", "delta": "hi"},
    {"type": "response.output_text.done", "text": "hi"},
    {"type": "response.completed", "response": {
        "object": "response", "status": "completed", "model": "m", "usage": {
            "input_tokens": 54, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 50}}}}]


@pytest.mark.parametrize(("path", "events", "finish"), [("/v1/messages", MESSAGES, "max_tokens"),
                                                        ("/v1/responses", RESPONSES, "completed")])
def test_streams_of_other_interfaces_have_tokens_and_a_first_one(path: str, events: list[dict[str, Any]],
                                                                 finish: str) -> None:
    exchange = Exchange(1, "", "POST", path, "")
    reader = Reader(exchange, keep_texts=True)
    reader.head(200, "text/event-stream", 0.1)
    for i, event in enumerate(events):
        reader.feed(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode(), float(i))
    reader.end(9.0)
    assert (exchange.prompt_tokens, exchange.cached_tokens, exchange.evaluated_tokens) == (54, 50, 4)
    assert (exchange.generated_tokens, exchange.finish, exchange.model) == (3, finish, "m")
    assert (exchange.first_token_s, exchange.reasoning_chunks, exchange.response_text) == (2.0, 1, "hmhi")
