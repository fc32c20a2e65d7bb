"""What the recording proxy knows of a client's earlier prompts: hashes alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paddock.session.proxy.record import Exchange
from paddock.session.proxy.reuse import CHUNK, MOST_CHUNKS, PromptMemory, reuse_words

WORDS = [f"word{i} goes here and there" for i in range(4000)]


def story(words: int, changed_at: int | None = None) -> str:
    parts = list(WORDS[:words])
    if changed_at is not None:
        parts[changed_at] = "something else"
    return " ".join(parts)


def asked(memory: PromptMemory, body: dict[str, Any], tokens: int | None, cached: int | None, *, agent: str = "curl/8",
          path: str = "/completion") -> str | None:
    exchange = Exchange(1, "", "POST", path, "127.0.0.1", agent, prompt_tokens=tokens, cached_tokens=cached)
    memory.explain(json.dumps(body).encode(), exchange)
    return exchange.reused


def test_the_first_prompt_of_a_client_is_told_as_such_and_another_client_has_its_own_past() -> None:
    memory = PromptMemory()
    assert asked(memory, {"prompt": story(1000)}, 6000, 0) == "first"
    assert asked(memory, {"prompt": story(1000)}, 6000, 0, agent="openai") == "first"


def test_a_prompt_that_goes_on_is_the_same() -> None:
    memory = PromptMemory()
    asked(memory, {"prompt": story(1000)}, 6000, 0)
    assert asked(memory, {"prompt": story(1005)}, 6030, 5998) == "same"


def test_a_change_is_placed_in_tokens() -> None:
    memory = PromptMemory()
    asked(memory, {"prompt": story(1000)}, 6000, 0)
    kind, token = (asked(memory, {"prompt": story(1000, changed_at=400)}, 6000, 2390) or "").split(":")
    assert kind == "changed"
    assert int(token) == pytest.approx(2400, abs=120)


def test_what_was_the_same_and_did_not_come_from_the_cache_was_lost() -> None:
    memory = PromptMemory()
    asked(memory, {"prompt": story(1000)}, 6000, 0)
    kind, token = (asked(memory, {"prompt": story(1000)}, 6000, 0) or "").split(":")
    assert kind == "lost"
    assert int(token) == pytest.approx(6000, abs=120)


def test_a_chat_goes_on_message_by_message() -> None:
    memory = PromptMemory()
    first = [{"role": "system", "content": story(300)}, {"role": "user", "content": story(200)}]
    asked(memory, {"messages": first}, 3000, 0, path="/v1/chat/completions")
    more = [*first, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "and now?"}]
    assert asked(memory, {"messages": more}, 3020, 2995, path="/v1/chat/completions") == "same"
    swapped = [{"role": "system", "content": story(300, changed_at=50)}, *more[1:]]
    said = asked(memory, {"messages": swapped}, 3020, 280, path="/v1/chat/completions")
    assert said is not None
    assert said.startswith("changed:")


def test_a_client_with_two_conversations_is_compared_with_both() -> None:
    memory = PromptMemory()
    asked(memory, {"prompt": story(1000)}, 6000, 0)
    assert asked(memory, {"prompt": "another " * 3000}, 6000, 0) == "other"
    assert asked(memory, {"prompt": story(1002)}, 6010, 5990) == "same"


def test_where_the_server_tells_no_cached_tokens_nothing_is_claimed() -> None:
    memory = PromptMemory()
    asked(memory, {"prompt": story(1000)}, 6000, 0)
    assert asked(memory, {"prompt": story(1000)}, None, None) is None
    assert asked(memory, {"prompt": story(1000)}, 6000, 0, path="/props") is None


@pytest.mark.parametrize("body", [b"", b"not json", b"[1]", b"{}", b'{"prompt": null}', b'{"messages": 3', b"{\xff}"])
def test_a_body_that_is_no_prompt_does_no_harm(body: bytes) -> None:
    exchange = Exchange(1, "", "POST", "/completion", "127.0.0.1", prompt_tokens=1, cached_tokens=0)
    PromptMemory().explain(body, exchange)
    assert exchange.reused is None


def test_no_text_is_kept_and_memory_is_bounded() -> None:
    memory = PromptMemory()
    secret = "the password is swordfish " * 200
    for i in range(300):
        asked(memory, {"prompt": f"{i} {secret}"}, 1000, 0, agent=f"client {i}")
    assert len(memory._clients) == 64
    kept = repr(memory._clients).encode()
    assert b"swordfish" not in kept
    asked(memory, {"prompt": "x" * (CHUNK * MOST_CHUNKS * 2)}, 1000, 0, agent="big")
    assert len(memory._clients["127.0.0.1", "big", None][-1]) == MOST_CHUNKS


@pytest.mark.parametrize(("code", "part"), [
    ("first", "first prompt"), ("same", "goes on"), ("other", "nothing in common"),
    ("changed:1234", "about token 1,234"), ("lost:1234", "12 came from")])
def test_every_verdict_has_words(code: str, part: str) -> None:
    assert part in str(reuse_words(code, 12))


def test_what_is_not_known_has_none() -> None:
    assert reuse_words(None) is None
    assert reuse_words("of a newer version") is None
