"""Whether a client's prompt could have been taken from the cache: by hashes of its last prompts, in memory only.

No text is kept: of each prompt a chain of hashes, one per 256 bytes of its canonical form (messages in order, or the
plain prompt), each over everything before it. The place of a change is told in tokens by proportion, so "about".
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict, deque

from paddock.session.proxy.record import Exchange
from paddock.session.proxy.shapes import parsed
from paddock.text import Text
from paddock.units import count_text

CHUNK, MOST_CHUNKS = 256, 4096
_CLIENTS, _PROMPTS = 64, 8
_LEAST_TOKENS = 64
"""Chat templates change a few tokens at the end of every turn."""
FIRST, SAME, OTHER, CHANGED, LOST = "first", "same", "other", "changed", "lost"


class PromptMemory:
    """`explain` sets `exchange.reused` of a finished exchange: "first", "same", "other" (nothing in common),
    "changed:N", "lost:N" (N: the token up to which it was like an earlier prompt of that client); None where the
    server told no cached tokens."""

    def __init__(self) -> None:
        self._clients: OrderedDict[tuple[str, str | None, str | None], deque[list[bytes]]] = OrderedDict()
        # Not to be compared with anything outside this process.
        self._salt = os.urandom(16)

    def explain(self, body: bytes, exchange: Exchange) -> None:
        """Call it once the exchange is over. Costs about a millisecond for a prompt of 100 KB."""
        if not exchange.generates:
            return
        prompt = _canonical(body)
        if not prompt:
            return
        chain = self._chain(prompt)
        key = (exchange.client, exchange.user_agent, exchange.model)
        earlier = self._clients.setdefault(key, deque(maxlen=_PROMPTS))
        self._clients.move_to_end(key)
        while len(self._clients) > _CLIENTS:
            self._clients.popitem(last=False)
        shared = max((_shared(chain, one) for one in earlier), default=0)
        exchange.reused = _verdict(shared * CHUNK, len(prompt), bool(earlier), exchange)
        earlier.append(chain)

    def _chain(self, prompt: bytes) -> list[bytes]:
        """Hash after hash; a last part shorter than a chunk is not looked at: it grows with the next turn."""
        running = hashlib.blake2b(self._salt, digest_size=8)
        out = []
        for start in range(0, min(len(prompt) // CHUNK, MOST_CHUNKS) * CHUNK, CHUNK):
            running.update(prompt[start : start + CHUNK])
            out.append(running.digest())
        return out


def _shared(one: list[bytes], other: list[bytes]) -> int:
    """Chunks that are the same from the beginning: each hash covers all before it, so the last equal one tells."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[middle - 1] == other[middle - 1]:
            low = middle
        else:
            high = middle - 1
    return low


def _verdict(shared_bytes: int, all_bytes: int, known: bool, e: Exchange) -> str | None:
    if e.prompt_tokens is None or e.cached_tokens is None:
        return None
    if not known:
        return FIRST
    token = int(e.prompt_tokens * shared_bytes / all_bytes)
    slack = max(_LEAST_TOKENS, e.prompt_tokens * 2 * CHUNK // all_bytes)
    if e.cached_tokens + slack < token:
        return f"{LOST}:{token}"
    # A little at the end is always new: the answer that was given, and the next question.
    if e.prompt_tokens - max(token, e.cached_tokens) <= slack:
        return SAME
    return f"{CHANGED}:{token}" if shared_bytes else OTHER


def _canonical(body: bytes) -> bytes:
    """What becomes the prompt, in the order in which it does; empty for what is none."""
    document = parsed(body) if body[:1] == b"{" else None
    if document is None:
        return b""
    parts = [document.get(name) for name in ("tools", "system", "messages", "input", "prompt", "input_prefix")]
    found = [part for part in parts if part]
    try:
        return json.dumps(found, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace") if found else b""
    except RecursionError:
        return b""


def reuse_words(reused: str | None, cached_tokens: int | None = None) -> Text | None:
    """An `Exchange.reused` in words; None where it is not known."""
    if reused is None:
        return None
    kind, _, token = reused.partition(":")
    about = count_text(int(token)) if token.isdigit() else ""
    if kind == FIRST:
        return Text("The first prompt of this client.")
    if kind == OTHER:
        return Text("It has nothing in common with this client's earlier prompts.")
    if kind == SAME:
        return Text("It goes on from an earlier prompt.")
    if kind == CHANGED:
        return Text("It changed at about token {token} against this client's earlier prompts.", token=about)
    if kind == LOST:
        return Text("It is like an earlier prompt up to about token {token}, but {cached} came from the cache: the "
                    "slot was taken by another prompt, or the cache dropped it.", token=about,
                    cached=count_text(cached_tokens))
    return None
