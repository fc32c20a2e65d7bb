"""One measured request against a fake server: valid only if tokens were made, never an exception."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paddock.bench import measure, prompt_of
from paddock.bench.measuring import GENERATED_TOKENS
from paddock.errors import AppError
from paddock.server import Client
from paddock.server.port import free_port

FAKE = Path(__file__).parents[1] / "support" / "fakeserver.py"


@pytest.fixture
def serve() -> Iterator[Callable[..., Client]]:
    """A fake server with these flags, ready, and a client of it."""
    open_: list[tuple[subprocess.Popen[bytes], Client]] = []

    def start(*flags: str) -> Client:
        port = free_port()
        child = subprocess.Popen([sys.executable, str(FAKE), "serve", "--port", str(port), "--no-log",
                                  "--token-seconds", "0.001", *flags], stderr=subprocess.DEVNULL)
        client = Client(f"http://127.0.0.1:{port}", timeout_s=5)
        open_.append((child, client))
        until = time.monotonic() + 20
        while not client.health().ok and time.monotonic() < until:
            assert child.poll() is None
        return client

    yield start
    for child, client in open_:
        client.close()
        child.kill()
        child.wait(10)


def never() -> bool:
    return False


def test_a_good_answer_is_a_row_with_the_servers_own_figures(serve: Callable[..., Client]) -> None:
    row = measure(serve(), [5] * 40, 3, lambda: None, never)
    assert (row.state, row.number, row.cached_tokens, row.generated_tokens) == ("ok", 3, 0, GENERATED_TOKENS)
    assert row.prompt_tokens == 40
    assert row.generation_per_s is not None
    assert row.ttft_s is not None
    assert row.total_s is not None
    assert 0 < row.ttft_s < row.total_s


@pytest.mark.parametrize("flags", [("--error-in-200",), ("--break-stream", "3")])
def test_an_answer_that_fails_is_a_row_and_no_exception(serve: Callable[..., Client], flags: tuple[str, ...]) -> None:
    row = measure(serve(*flags), [5] * 40, 1, lambda: None, never)
    assert row.state == "failed"
    assert row.why
    assert row.generation_per_s is None


def test_a_server_that_is_gone_is_a_row_too() -> None:
    with Client(f"http://127.0.0.1:{free_port()}") as client:
        assert measure(client, [1], 1, lambda: None, never).state == "failed"


def test_a_cancelled_request_ends_at_once(serve: Callable[..., Client]) -> None:
    row = measure(serve("--token-seconds", "0.2"), [5] * 40, 1, lambda: None, lambda: True)
    assert (row.state, row.why) == ("failed", "cancelled")


def test_two_prompts_are_never_the_same(serve: Callable[..., Client]) -> None:
    client = serve()
    texts: list[str] = []
    raw = client.raw

    def spy(method: str, path: str, body: object = None, **more: object) -> object:
        assert isinstance(body, dict)
        texts.append(body["content"])
        return raw(method, path, body, **more)  # type: ignore[arg-type]

    client.raw = spy  # type: ignore[method-assign, assignment]
    prompts = [prompt_of(client, None) for _ in range(2)]
    assert texts[0].split()[0] != texts[1].split()[0]
    assert [len(p) for p in prompts] == [512, 512]


def test_a_small_context_gets_a_shorter_prompt_and_a_tiny_one_none(serve: Callable[..., Client]) -> None:
    client = serve()
    assert len(prompt_of(client, 256)) == 256 - GENERATED_TOKENS - 8
    with pytest.raises(AppError, match="too little context"):
        prompt_of(client, 32)


def test_a_server_that_does_not_tokenize_is_refused_in_words() -> None:
    with Client(f"http://127.0.0.1:{free_port()}") as client, pytest.raises(AppError, match="tokens of a text"):
        prompt_of(client, None)
