"""One question to a server: a chat or a bare completion streamed, a vector's size, or documents ranked."""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paddock.errors import AppError
from paddock.server.cancelling import cancelling
from paddock.text import Text
from paddock.units import number_text

if TYPE_CHECKING:
    from paddock.server import Client
    from paddock.server.client import Answer as Reply

IMAGE_LIMIT = 32 << 20
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"BM": "image/bmp",
           b"RIFF": "image/webp"}
_ANSWER_S = 600.0


@dataclass(frozen=True)
class Answer:
    """What came back for one prompt, with the server's own timings."""

    text: str
    finish: str | None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    generated_tokens: int | None = None
    prompt_per_s: float | None = None
    generation_per_s: float | None = None
    ttft_s: float | None = None
    total_s: float | None = None


@dataclass(frozen=True)
class Question:
    """What is asked. `raw`: the prompt goes to the model as it stands, without a chat template."""

    prompt: str
    system: str = ""
    temperature: float = 0.8
    seed: int = -1
    max_tokens: int = 512
    image: Path | None = None
    raw: bool = False


def generated(client: Client, question: Question, on_text: Callable[[str], None] | None,
              cancelled: Callable[[], bool], **named: Any) -> Answer:
    """Stream an answer. Blocks; AppError in words. `named`: the model to ask, where there are several."""
    shared = {"temperature": question.temperature, "seed": question.seed, **named}
    if question.raw:
        stream = client.stream_completion(question.prompt, n_predict=question.max_tokens, **shared)
    else:
        messages: list[dict[str, Any]] = [{"role": "system", "content": question.system}] if question.system else []
        content: Any = question.prompt
        if question.image is not None:
            content = [image_part(question.image), {"type": "text", "text": question.prompt}]
        messages.append({"role": "user", "content": content})
        stream = client.stream_chat(messages, max_tokens=question.max_tokens, stream_options={"include_usage": True},
                                    **shared)
    return _collected(stream, on_text, cancelled)


def _collected(stream: Any, on_text: Callable[[str], None] | None, cancelled: Callable[[], bool]) -> Answer:
    """Put the chunks together; the first one with content, reasoning or a tool call ends the wait."""
    start = time.monotonic()
    first: float | None = None
    parts: list[str] = []
    finish: str | None = None
    timings: dict[str, Any] = {}
    with stream, cancelling(stream.cancel, cancelled):
        for chunk in stream:
            timings = chunk.get("timings") or timings
            for text, called, ended in _pieces(chunk):
                if text or called:
                    first = first if first is not None else time.monotonic() - start
                if text:
                    parts.append(text)
                    if on_text:
                        on_text(text)
                finish = ended or finish
    return Answer("".join(parts), "cancelled" if cancelled() else finish, timings.get("prompt_n"),
                  timings.get("cache_n"), timings.get("predicted_n"), timings.get("prompt_per_second"),
                  timings.get("predicted_per_second"), first, time.monotonic() - start)


def _pieces(chunk: dict[str, Any]) -> Iterator[tuple[str, bool, str | None]]:
    """(text, a tool was called, how it ended) of each choice; of a bare completion the chunk itself."""
    for choice in chunk.get("choices") or []:
        delta = choice.get("delta") or {}
        yield (delta.get("content") or delta.get("reasoning_content") or "", bool(delta.get("tool_calls")),
               choice.get("finish_reason"))
    if "choices" not in chunk and "content" in chunk:
        ended = {"limit": "length"}.get(str(chunk.get("stop_type")), "stop") if chunk.get("stop") else None
        yield str(chunk.get("content") or ""), False, ended


def embedded(client: Client, text: str) -> Answer:
    """The vector of a text: its size, length and first numbers, in words."""
    start = time.monotonic()
    reply = client.raw("POST", "/v1/embeddings", {"input": text, "encoding_format": "float"}, timeout_s=_ANSWER_S)
    data = _checked(reply)
    try:
        vector = [float(x) for x in data["data"][0]["embedding"]]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise AppError(Text("The server sent no vector."), why=str(data)[:200],
                       hint=Text("A reranker is asked with a question and, below it, the texts to rank.")) from error
    norm = math.sqrt(sum(x * x for x in vector))
    first = ", ".join(number_text(x, 4) for x in vector[:4])
    words = Text("{count} numbers, length {norm}: {first} …", count=len(vector), norm=number_text(norm, 3), first=first)
    return Answer(str(words), "stop", _tokens(data), total_s=time.monotonic() - start)


def ranked(client: Client, lines: Sequence[str]) -> Answer:
    """The first line is the question, the others are ranked by it: one line each, the best first."""
    query, documents = lines[0], [line for line in lines[1:] if line.strip()]
    if not documents:
        raise AppError(Text("There is nothing to rank."),
                       hint=Text("Write the question in the first line, and each text to rank in a line of its own "
                                 "below."))
    start = time.monotonic()
    reply = client.raw("POST", "/v1/rerank", {"query": query, "documents": documents}, timeout_s=_ANSWER_S)
    data = _checked(reply)
    try:
        scores = sorted(((float(r["relevance_score"]), documents[r["index"]]) for r in data["results"]), reverse=True)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise AppError(Text("The server sent no ranking."), why=str(data)[:200]) from error
    words = "\n".join(f"{number_text(score, 3)}  {document}" for score, document in scores)
    return Answer(words, "stop", _tokens(data), total_s=time.monotonic() - start)


def _checked(reply: Reply[Any]) -> dict[str, Any]:
    error = reply.data.get("error") if isinstance(reply.data, dict) else None
    if not reply.ok or not isinstance(reply.data, dict) or error:
        said = error.get("message") if isinstance(error, dict) else error
        raise AppError(Text("The server refused."), why=str(said or reply.message or reply.code))
    return reply.data


def _tokens(data: dict[str, Any]) -> int | None:
    count = (data.get("usage") or {}).get("prompt_tokens")
    return count if isinstance(count, int) else None


def image_part(path: Path) -> dict[str, Any]:
    """A picture as a part of a message. AppError for what is none, too large, or cannot be read."""
    try:
        if path.stat().st_size > IMAGE_LIMIT:
            raise AppError(Text("{path} is larger than {size} MiB.", path=path.name, size=IMAGE_LIMIT >> 20),
                           hint=Text("Make the picture smaller."))
        data = path.read_bytes()
    except OSError as error:
        raise AppError(Text("{path} cannot be read.", path=path.name), why=error.strerror) from error
    kind = next((name for start, name in _IMAGES.items() if data.startswith(start)), None)
    if kind is None:
        raise AppError(Text("{path} is not a picture that llama.cpp reads.", path=path.name),
                       hint=Text("It takes PNG, JPEG, GIF, BMP and WebP."))
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{base64.b64encode(data).decode()}"}}
