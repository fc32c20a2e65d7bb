"""What an answer's JSON holds, in the forms that llama-server speaks.

Its own, OpenAI's completions, chat completions and responses, and Anthropic's messages. Whatever comes, nothing is
raised: a stream must pass though it cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_PARTS = ("message", "response")
"""Where a stream of Anthropic's and of OpenAI's responses carries the whole, at its begin and at its end."""


def parsed(data: bytes) -> dict[str, Any] | None:
    """An object; None for anything else, nesting that no parser follows included."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def number(value: Any) -> Any:
    """An int or float, else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def word(value: Any) -> str | None:
    """A text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def content(chunk: Mapping[str, Any]) -> str | None:
    """ "text", "reasoning" or "tool" when this chunk carries something that was generated."""
    event = chunk.get("type")
    if isinstance(event, str):
        return _event_content(event, chunk)
    if chunk.get("content"):
        return "text"
    for choice in _choices(chunk):
        part = _said(choice)
        if part.get("content") or choice.get("text"):
            return "text"
        if part.get("reasoning_content"):
            return "reasoning"
        if part.get("tool_calls"):
            return "tool"
    return None


def _event_content(event: str, chunk: Mapping[str, Any]) -> str | None:
    if event == "content_block_delta":
        delta = _mapping(chunk.get("delta"))
        kinds = (("text", "text"), ("thinking", "reasoning"), ("partial_json", "tool"))
        return next((kind for key, kind in kinds if delta.get(key)), None)
    if event.startswith("response.") and event.endswith(".delta") and chunk.get("delta"):
        return "reasoning" if "reasoning" in event else "tool" if "call" in event else "text"
    return "text" if event == "message" and chunk.get("content") else None


def texts(chunk: Mapping[str, Any]) -> list[str]:
    """What was said, thoughts included, in order."""
    event = chunk.get("type")
    if isinstance(event, str) and event.startswith("response."):
        delta = chunk.get("delta")
        return [delta] if isinstance(delta, str) and event.endswith(".delta") and "call" not in event else []
    parts: list[Any] = [chunk, chunk.get("delta"), *_objects(chunk.get("content"))]
    for choice in _choices(chunk):
        parts += [_said(choice), choice]
    for item in _objects(chunk.get("output")):
        parts += _objects(item.get("content"))
    keys = ("reasoning_content", "thinking", "content", "text")
    found = (part.get(key) for part in parts if isinstance(part, dict) for key in keys)
    return [text for text in found if isinstance(text, str)]


def finish(chunk: Mapping[str, Any]) -> str | None:
    """Why it ended, in the server's word; None while it goes on."""
    if chunk.get("stop") is True:
        return word(chunk.get("stop_type")) or "stop"
    found = [word(choice.get("finish_reason")) for choice in _choices(chunk)]
    found += [word(chunk.get("stop_reason")), word(_mapping(chunk.get("delta")).get("stop_reason"))]
    whole = _mapping(chunk.get("response")) or chunk
    if whole.get("object") == "response" and whole.get("status") != "in_progress":
        found.append(word(_mapping(whole.get("incomplete_details")).get("reason")) or word(whole.get("status")))
    return next((reason for reason in found if reason), None)


def model(chunk: Mapping[str, Any]) -> str | None:
    return next((name for part in _whole(chunk) if (name := word(part.get("model")))), None)


def timings(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """llama-server's own figures of a request; empty where it sends none."""
    return next((found for part in _whole(chunk) if (found := _mapping(part.get("timings")))), {})


def usage(chunk: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    """Prompt tokens with those from the cache, cached among them, generated; None for what is not told.

    Anthropic's input_tokens are those that the cache did not have; the others' are all.
    """
    found = next((use for part in _whole(chunk) if (use := _mapping(part.get("usage")))), {})
    prompt = number(found.get("prompt_tokens", found.get("input_tokens")))
    details = _mapping(found.get("prompt_tokens_details")) or _mapping(found.get("input_tokens_details"))
    cached = number(details.get("cached_tokens"))
    apart = number(found.get("cache_read_input_tokens"))
    if apart is not None:
        prompt, cached = None if prompt is None else prompt + apart, apart
    return prompt, cached, number(found.get("completion_tokens", found.get("output_tokens")))


def _whole(chunk: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield chunk
    for name in _PARTS:
        yield _mapping(chunk.get(name))


def _choices(chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
    return _objects(chunk.get("choices"))


def _said(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(choice.get("delta")) or _mapping(choice.get("message"))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
