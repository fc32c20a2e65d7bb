"""One request, sent and timed: unique tokens, no prompt cache, memory read afterwards."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from paddock.bench.model import FAILED, INVALID, OK, Measured
from paddock.errors import AppError
from paddock.hardware.model import Reading
from paddock.server import Client
from paddock.server.cancelling import cancelling
from paddock.text import Text
from paddock.units import missing

PROMPT_TOKENS, GENERATED_TOKENS = 512, 32
_ROOM = 8
_WORDS = ("river", "stone", "window", "engine", "paper", "garden", "winter", "signal", "copper", "ladder", "market",
          "forest", "needle", "harbour", "candle", "meadow")


def prompt_of(client: Client, context_limit: int | None, tokens: int = PROMPT_TOKENS) -> list[int]:
    """Token ids of a text that no cache has seen; fewer where a slot has no room for them and an answer.

    AppError where the server does not tokenize or has no room at all.
    """
    if context_limit is not None:
        tokens = min(tokens, context_limit - GENERATED_TOKENS - _ROOM)
    if tokens < 1:
        raise AppError(Text("A slot of this server has too little context to measure anything."),
                       hint=Text("Give it more context (-c)."))
    text = f"{uuid.uuid4()} " + " ".join(_WORDS[(i * 7 + i // 16) % len(_WORDS)] for i in range(tokens * 2))
    answer = client.raw("POST", "/tokenize", {"content": text, "add_special": True}, timeout_s=20)
    found = answer.data.get("tokens") if answer.ok and isinstance(answer.data, dict) else None
    if not isinstance(found, list) or not found:
        raise AppError(Text("The server does not tell the tokens of a text."), why=answer.message or None,
                       hint=Text("Only a server that generates text can be diagnosed."))
    return [int(one) for one in found[:tokens]]


def measure(client: Client, prompt: list[int], number: int, read: Callable[[], Reading | None],
            cancelled: Callable[[], bool]) -> Measured:
    """Send it once and read the memory afterwards. A refusal is a row of its own, never an exception."""
    start = time.monotonic()
    first: float | None = None
    last: Mapping[str, Any] = {}
    text = 0
    try:
        stream = client.stream_completion(prompt, n_predict=GENERATED_TOKENS, cache_prompt=False, temperature=0.0,
                                          seed=1, ignore_eos=True)
        with stream, cancelling(stream.cancel, cancelled):
            for chunk in stream:
                if chunk.get("content") or chunk.get("tokens"):
                    first = first if first is not None else time.monotonic() - start
                    text += 1
                last = chunk
    except AppError as error:
        return Measured(number, FAILED, str(error))
    if cancelled():
        return Measured(number, FAILED, str(Text("cancelled")))
    return _row(number, time.monotonic() - start, first, last, text, read())


def _row(number: int, total_s: float, first_s: float | None, last: Mapping[str, Any], pieces: int,
         reading: Reading | None) -> Measured:
    timings = last.get("timings") or {}
    cached, generated = timings.get("cache_n"), timings.get("predicted_n")
    evaluated = timings.get("prompt_n")
    state, why = OK, ""
    if not generated or not pieces or not timings.get("predicted_ms"):
        state, why = INVALID, str(Text("it made no tokens"))
    elif generated < GENERATED_TOKENS:
        state, why = INVALID, str(Text("it made {made} of {wanted} tokens", made=generated, wanted=GENERATED_TOKENS))
    elif cached:
        state, why = INVALID, str(Text("{cached} tokens came from the cache", cached=cached))
    return Measured(
        number, state, why, None if evaluated is None else evaluated + (cached or 0), cached, generated,
        timings.get("prompt_per_second"), timings.get("predicted_per_second"), first_s, total_s,
        *memory_of(reading), _throttle(reading))


def memory_of(reading: Reading | None) -> tuple[float | None, dict[str, float]]:
    """(RAM, by card) held by the server's processes, bytes, as far as they are told."""
    if reading is None:
        return None, {}
    ram = None if missing(reading.process_rss_bytes) else reading.process_rss_bytes
    return ram, {d.device: d.process_bytes for d in reading.devices if not missing(d.process_bytes)}


def _throttle(reading: Reading | None) -> tuple[str, ...]:
    devices = reading.devices if reading is not None else ()
    return tuple(f"{d.device}: {reason}" for d in devices for reason in d.throttle or ())
