"""The recording proxy between real sockets: a fake llama-server behind it, plain HTTP clients before it."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable
from typing import Any

import aiohttp
import psutil
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from proxywire import Wire

from paddock.errors import AppError
from paddock.session.proxy import Exchange, RecordingProxy
from paddock.session.proxy.record import Reader, read_settings
from paddock.session.proxy.relay import Relay

CHAT = {"messages": [{"role": "user", "content": "one two three"}], "max_tokens": 12, "temperature": 0.5}


def test_a_stream_passes_byte_for_byte_and_is_measured(wire: Callable[..., Wire]) -> None:
    w = wire()
    body = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    status, passed = w.ask("/v1/chat/completions", body)
    events = [json.loads(x[6:]) for x in passed.split(b"\n") if x.startswith(b"data: {")]
    timings = next(e["timings"] for e in reversed(events) if "timings" in e)
    found = w.over()
    assert (status, found.status, found.outcome) == (200, 200, "done")
    assert found.generated_tokens == timings["predicted_n"] == 12
    assert found.prompt_tokens == timings["prompt_n"] + timings["cache_n"]
    assert found.generation_per_s == timings["predicted_per_second"]
    assert found.response_bytes == len(passed)
    assert found.settings == {"max_tokens": 12, "temperature": 0.5, "stream": True}
    assert 0 < found.first_byte_s <= found.first_token_s < found.total_s
    assert 0 < found.gap_median_s <= found.gap_p95_s <= found.gap_longest_s


def test_no_text_of_prompt_or_answer_is_told(wire: Callable[..., Wire]) -> None:
    w = wire()
    _, passed = w.ask("/v1/chat/completions", CHAT)
    answer = json.loads(passed)["choices"][0]["message"]["content"]
    line = w.over().as_json()
    assert "one two three" not in line
    assert answer
    assert answer not in line


def test_an_answer_at_once_has_figures_but_no_first_token(wire: Callable[..., Wire]) -> None:
    w = wire()
    w.ask("/completion", {"prompt": "a b", "n_predict": 5})
    found = w.over()
    assert (found.generated_tokens, found.first_token_s, found.generates) == (5, None, True)


def test_a_client_that_leaves_ends_the_request_at_the_server(wire: Callable[..., Wire]) -> None:
    w = wire("--token-seconds", "0.05")
    connection = http.client.HTTPConnection("127.0.0.1", w.proxy.port, timeout=20)
    connection.request("POST", "/completion", json.dumps({"prompt": "a", "n_predict": 400, "stream": True}))
    answer = connection.getresponse()
    answer.read(40)
    answer.close()
    connection.close()
    assert w.over().outcome == "cancelled"
    status, slots = w.ask("/slots", port=w.port)
    while status == 200 and any(s["is_processing"] for s in json.loads(slots)):
        status, slots = w.ask("/slots", port=w.port)
    assert status == 200


def test_a_server_that_breaks_off_is_a_failure_that_the_client_sees(wire: Callable[..., Wire]) -> None:
    w = wire("--break-stream", "3")
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        w.ask("/completion", {"prompt": "a", "n_predict": 20, "stream": True})
    assert w.over().outcome == "failed"


def test_a_server_that_is_gone_is_told_in_words(wire: Callable[..., Wire]) -> None:
    w = wire()
    w.server.kill()
    w.server.wait()
    status, body = w.ask("/health")
    assert status == 502
    assert "does not answer" in json.loads(body)["error"]["message"]
    assert w.over().outcome == "failed"


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_other_sites_and_bent_names_are_refused(wire: Callable[..., Wire], headers: dict[str, str]) -> None:
    w = wire()
    assert w.ask("/health", **headers)[0] == 403
    assert w.ask("/health", Origin="http://localhost:3000")[0] == 200


def test_errors_and_keys_pass_unchanged(wire: Callable[..., Wire]) -> None:
    w = wire("--api-key", "hush")
    assert w.ask("/slots")[0] == w.ask("/slots", port=w.port)[0] == 401
    assert w.ask("/slots", Authorization="Bearer hush")[0] == 200
    assert w.over().outcome == "failed"


def test_its_port_is_loopback_only_and_its_process_ends_with_stop(wire: Callable[..., Wire]) -> None:
    w = wire()
    process = psutil.Process(w.proxy.pid)
    assert {c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
    w.proxy.stop()
    w.proxy.stop()
    assert not process.is_running()


def test_a_port_that_is_taken_is_told(wire: Callable[..., Wire]) -> None:
    w = wire()
    with pytest.raises(AppError, match="could not listen"):
        RecordingProxy("http://127.0.0.1:9", w.told.put, w.port).start()


def test_the_first_token_is_the_first_content_not_the_role_or_a_ping() -> None:
    exchange = Exchange(1, "", "POST", "/v1/chat/completions", "")
    reader = Reader(exchange)
    reader.head(200, "text/event-stream", 0.1)
    parts = ({"role": "assistant", "content": None}, {"content": ""}, {"reasoning_content": "hm"}, {"content": "x"})
    chunks = [json.dumps({"choices": [{"delta": part}]}).encode() for part in parts]
    text = b": ping\n\n" + b"".join(b"data: " + chunk + b"\n\n" for chunk in chunks)
    for i in range(len(text)):  # one byte at a time: lines are put together
        reader.feed(text[i:i + 1], float(i))
    reader.end(999.0)
    assert exchange.reasoning_chunks == 1
    assert exchange.first_token_s == float(text.index(b"hm") + len(b'hm"}}]}'))
    assert exchange.gap_longest_s is not None


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[1]", b"{broken", b'{"model": 3, "temperature": [1]}'])
def test_odd_bodies_do_no_harm(body: bytes) -> None:
    exchange = Exchange(1, "", "POST", "/x", "")
    read_settings(body, exchange)
    assert (exchange.model, exchange.settings, exchange.request_bytes) == (None, {}, len(body))


def test_a_websocket_passes_both_ways_and_is_recorded() -> None:
    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket_ = web.WebSocketResponse(protocols=["chat"])
        await socket_.prepare(request)
        async for message in socket_:
            if message.type is aiohttp.WSMsgType.TEXT:
                await socket_.send_str(f"heard {message.data}")
            else:
                await socket_.send_bytes(message.data[::-1])
        return socket_

    async def talk() -> tuple[list[Any], list[Exchange]]:
        told: list[Exchange] = []
        app = web.Application()
        app.router.add_get("/ws", echo)
        async with TestServer(app) as server, aiohttp.ClientSession() as client, \
                TestServer(Relay(str(server.make_url("/")), told.append).app()) as relay:
            async with client.ws_connect(relay.make_url("/ws"), protocols=["chat"]) as both:
                await both.send_str("a")
                heard: list[Any] = [both.protocol, (await both.receive()).data]
                await both.send_bytes(b"xyz")
                heard.append((await both.receive()).data)
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await client.ws_connect(relay.make_url("/none"))
            heard.append(refused.value.status)
        return heard, told

    heard, told = asyncio.run(talk())
    assert heard == ["chat", "heard a", b"zyx", 404]
    assert [(e.path, e.status, e.outcome) for e in told] == [("/ws", 101, "done"), ("/none", 404, "failed")]


def test_texts_are_kept_with_the_persons_word_only() -> None:
    body = json.dumps({**CHAT, "messages": [{"role": "user", "content": [
        {"type": "text", "text": "what is this"}, {"type": "image_url", "image_url": {"url": "data:,"}}]}]}).encode()
    stream = (b'data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}\n\n'
              b'data: {"choices":[{"delta":{"content":" a cat"}}]}\n\ndata: [DONE]\n\n')
    for keep, texts in ((True, (body.decode(), "hm a cat")), (False, (None, None))):
        exchange = Exchange(1, "", "POST", "/v1/chat/completions", "")
        read_settings(body, exchange, keep)
        reader = Reader(exchange, keep)
        reader.head(200, "text/event-stream", 0.1)
        reader.feed(stream[:70], 0.2)
        reader.feed(stream[70:], 0.3)
        reader.end(0.4)
        assert (exchange.request_text, exchange.response_text) == texts
        assert exchange.images == 1
