"""What is known of one exchange between a client and the server, and how it is learnt from the bytes that pass."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from paddock.session.proxy import shapes

SETTINGS = ("temperature", "top_k", "top_p", "min_p", "seed", "max_tokens", "n_predict", "stream", "reasoning_effort",
            "repeat_penalty", "presence_penalty", "frequency_penalty", "cache_prompt", "n",
            "n_cmpl")
"""The sampling settings that matter; no text is among them."""
GENERATING = ("/completion", "/completions", "/chat/completions", "/messages", "/responses", "/infill")


@dataclass
class Exchange:
    """One request as the proxy saw it. Times in seconds from its arrival; None where it cannot be told."""

    id: int
    start_utc: str
    method: str
    path: str
    client: str
    user_agent: str | None = None
    model: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    request_bytes: int = 0
    response_bytes: int = 0
    status: int | None = None
    first_byte_s: float | None = None
    first_token_s: float | None = None
    total_s: float | None = None
    client_wait_s: float = 0.0
    """Time that the client kept us waiting while it took its data: not the server's."""
    gap_median_s: float | None = None
    gap_p95_s: float | None = None
    gap_longest_s: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    evaluated_tokens: int | None = None
    generated_tokens: int | None = None
    reasoning_chunks: int = 0
    prompt_per_s: float | None = None
    generation_per_s: float | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    slot: int | None = None
    finish: str | None = None
    outcome: str = "active"
    """active, done, cancelled (the client left), failed (the server broke off or answered with an error)."""
    error: str | None = None
    images: int = 0
    """Pictures (and sounds) in the request."""
    reused: str | None = None
    """Why the prompt was, or was not, taken from the cache: see `reuse`."""
    request_text: str | None = None
    response_text: str | None = None
    """Only with the person's word (`--keep-texts`)."""
    t_start: float | None = None
    """Its arrival in seconds since the session's start; set where it is recorded."""
    arrived: float | None = None
    """Its arrival on the machine's monotonic clock, which processes share on Linux, macOS and Windows."""

    @property
    def generates(self) -> bool:
        """Whether this endpoint makes tokens: the others are recorded, but are no requests to compare."""
        return self.path.rstrip("/").endswith(GENERATING)

    def as_json(self) -> str:
        """One line of ASCII: names and texts may hold what no encoding can write (half of a surrogate pair)."""
        return json.dumps(asdict(self))


class Reader:
    """Watches the bytes of one response. Feeding it costs a split and, for chunks that look new, one JSON parse."""

    LIMIT = 8 << 20
    """A body without streaming is kept up to this size, to read its timings at the end."""

    def __init__(self, exchange: Exchange, keep_texts: bool = False) -> None:
        self._exchange = exchange
        self._texts: list[str] | None = [] if keep_texts else None
        self._stream = False
        self._rest = b""
        self._body: list[bytes] = []
        self._kept = 0
        self._arrivals: list[float] = []

    def head(self, status: int, content_type: str, t: float) -> None:
        """The response's head came at t."""
        self._exchange.status, self._exchange.first_byte_s = status, t
        self._stream = content_type.startswith("text/event-stream")

    def feed(self, data: bytes, t: float) -> None:
        """Bytes that were passed on at t."""
        self._exchange.response_bytes += len(data)
        if not self._stream:
            if self._kept + len(data) <= self.LIMIT:
                self._body.append(data)
                self._kept += len(data)
            return
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if line.startswith(b"data:"):
                self._event(line[5:].strip(), t)

    def _event(self, data: bytes, t: float) -> None:
        chunk = shapes.parsed(data) if data != b"[DONE]" else None
        if chunk is None:
            return
        self._learn(chunk)
        if self._texts is not None:
            self._texts += shapes.texts(chunk)
        kind = shapes.content(chunk)
        if kind:
            self._arrivals.append(t)
            self._exchange.reasoning_chunks += kind == "reasoning"
            if self._exchange.first_token_s is None:
                self._exchange.first_token_s = t

    def end(self, t: float) -> None:
        """Everything has passed at t: the rest of the figures."""
        if not self._stream and self._body:
            # It came all at once: the first token cannot be told.
            document = shapes.parsed(b"".join(self._body))
            if document is not None:
                self._learn(document)
                if self._texts is not None:
                    self._texts += shapes.texts(document)
        self._exchange.total_s = t
        if self._texts:
            self._exchange.response_text = "".join(self._texts)
        gaps = [b - a for a, b in zip(self._arrivals, self._arrivals[1:], strict=False)]
        if gaps:
            gaps.sort()
            self._exchange.gap_median_s = statistics.median(gaps)
            self._exchange.gap_p95_s = gaps[min(len(gaps) - 1, int(0.95 * len(gaps)))]
            self._exchange.gap_longest_s = gaps[-1]

    def _learn(self, chunk: Mapping[str, Any]) -> None:
        e = self._exchange
        e.model = shapes.model(chunk) or e.model
        e.slot = shapes.number(chunk.get("id_slot", e.slot))
        e.finish = shapes.finish(chunk) or e.finish
        error = chunk.get("error")
        if error:
            e.error = str(error.get("message", error) if isinstance(error, dict) else error)[:500]
        timings = shapes.timings(chunk)
        if timings:
            self._timings(timings)
        self._usage(*shapes.usage(chunk))

    def _timings(self, timings: Mapping[str, Any]) -> None:
        e = self._exchange

        def told(name: str) -> Any:
            return shapes.number(timings.get(name))

        e.evaluated_tokens, e.cached_tokens = told("prompt_n"), told("cache_n")
        generated = told("predicted_n")
        e.generated_tokens = e.generated_tokens if generated is None else generated
        if e.evaluated_tokens is not None:
            e.prompt_tokens = e.evaluated_tokens + (e.cached_tokens or 0)
        e.prompt_per_s, e.generation_per_s = told("prompt_per_second"), told("predicted_per_second")
        e.draft_tokens, e.accepted_tokens = told("draft_n"), told("draft_n_accepted")

    def _usage(self, prompt: int | None, cached: int | None, generated: int | None) -> None:
        e = self._exchange
        e.prompt_tokens = e.prompt_tokens if prompt is None else prompt
        e.generated_tokens = e.generated_tokens if generated is None else generated
        if e.cached_tokens is None and cached is not None:
            e.cached_tokens = cached
            e.evaluated_tokens = None if prompt is None else prompt - cached


_MEDIA = ("image_url", "input_audio", "input_image", "image", "video_url", "input_video")


def _media(document: Mapping[str, Any]) -> int:
    """Parts of the messages that are pictures or sounds."""
    messages = document.get("messages")
    contents = [m.get("content") for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    return sum(1 for parts in contents if isinstance(parts, list) for part in parts
               if isinstance(part, dict) and part.get("type") in _MEDIA)


def read_settings(body: bytes, exchange: Exchange, keep_texts: bool = False) -> None:
    """Model and sampling settings of a request's JSON body; its texts are looked at only with `keep_texts`."""
    exchange.request_bytes = len(body)
    document = shapes.parsed(body) if body[:1] == b"{" else None
    if document is not None:
        model = document.get("model")
        exchange.model = model if isinstance(model, str) else None
        exchange.images = _media(document)
        if keep_texts:
            exchange.request_text = body.decode("utf-8", "replace")
        exchange.settings = {k: document[k] for k in SETTINGS if isinstance(document.get(k), str | int | float | bool)}
