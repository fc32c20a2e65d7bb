"""One prompt sent through a run: what is put together, and when the first token counts."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from paddock.server import Client, State
from paddock.work import Run

PAUSE_S = 0.2


class Server:
    """Streams these chunks, with a pause before each; None is a comment that keeps the connection alive."""

    def __init__(self, *chunks: dict[str, Any] | None) -> None:
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None: ...

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.end_headers()
                for chunk in chunks:
                    time.sleep(PAUSE_S)
                    line = b":\n\n" if chunk is None else b"data: " + json.dumps(chunk).encode() + b"\n\n"
                    self.wfile.write(line)
                    self.wfile.flush()
                self.wfile.write(b"data: [DONE]\n\n")

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def delta(**fields: Any) -> dict[str, Any]:
    return {"choices": [{"delta": fields}]}


ROLE, EMPTY, NOTHING = delta(role="assistant", content=""), delta(content=""), delta(content=None)
TOOL = delta(tool_calls=[{"function": {"name": "f", "arguments": ""}}])


@pytest.fixture
def serve() -> Iterator[Any]:
    made: list[Server] = []

    def start(*chunks: dict[str, Any] | None) -> Any:
        """What a run is to `ask`: ready, of one model, with this server."""
        made.append(Server(*chunks))
        client = Client(made[-1].url)
        return SimpleNamespace(state=State.READY, models=(), answers_texts=False, _make_client=lambda: client)

    yield start
    for one in made:
        one.close()


@pytest.mark.parametrize(("first", "text"), [(delta(content="x"), "x"), (delta(reasoning_content="hm"), "hm"),
                                             (TOOL, "")])
def test_the_first_token_is_the_first_with_content_reasoning_or_a_tool_call(serve: Any, first: Any, text: str) -> None:
    answer = Run.ask(serve(ROLE, None, EMPTY, NOTHING, first, delta(content="!")), "hi")
    assert answer.text == f"{text}!"
    assert answer.ttft_s is not None
    assert answer.total_s is not None
    assert 5 * PAUSE_S <= answer.ttft_s < answer.total_s


def test_an_answer_without_any_token_has_no_first_one(serve: Any) -> None:
    answer = Run.ask(serve(ROLE, EMPTY, {"choices": [{"delta": {}, "finish_reason": "stop"}]}), "hi")
    assert (answer.text, answer.ttft_s, answer.finish) == ("", None, "stop")
