"""llama-server's log, line by line, as facts about its start, its requests and its memory.

The texts are those of builds 10434 and 11434 (server-context.cpp `print_timings`, `launch_slot_with_task`, `release`),
with or without level and time stamp, coloured ones already cleaned by the reader, or as --log-jsonl records.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.server.model import LogLine
from paddock.session.children import Children
from paddock.session.memory import ActualMemory, MemoryLog

_PREFIX = re.compile(r"^(?:\[\d+\] +)?(?:(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) +)?(?:([IWED]) +)?")
_CHILD = re.compile(r"^\[(\d+)\] +")
"""A router tells its children's lines on, each with the port of its server in front."""
_SLOT = re.compile(r"^slot +[\w()]+: id +(\d+) \| task (-?\d+) \| *(.*)$", re.DOTALL)
_NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?|-?nan|-?inf)"


@dataclass(frozen=True, slots=True)
class Fact:
    """What one line told. `t`: monotonic seconds, from the log's own stamp where it has one.

    kind → values: launch(child) · total(tokens) · cached(tokens) · progress(done, fraction, per_s) ·
    generating(tokens, per_s) · prompt(ms, tokens, per_s) · generated(ms, tokens, per_s) ·
    drafts(accepted, drafted) · encoding(idx, chunks) ·
    encoded(ms where it is said; the projector is done) · release(tokens, truncated) · cancel() · error(text) ·
    init(n_slots, n_ctx_slot, kv_unified) · loading(path) · loaded() · listening(url) · sleeping() · waking() ·
    memory().
    """

    t: float
    kind: str
    slot: int | None = None
    task: int | None = None
    values: dict[str, Any] = field(default_factory=dict)


def _number(text: str) -> float:
    return float(text)


def _rule(kind: str, pattern: str, *names: str) -> tuple[str, re.Pattern[str], tuple[str, ...]]:
    return kind, re.compile(pattern.replace("#", _NUMBER)), names


_SLOT_RULES = (
    _rule("launch", r"processing task, is_child = #", "child"),
    _rule("encoding", r"encoding mtmd batch from idx = #, n_chunks = #", "idx", "chunks"),
    _rule("total", r"new prompt, .*task\.n_tokens = #", "tokens"),
    _rule("cached", r"cached n_tokens = #", "tokens"),
    _rule("progress", r"prompt processing, n_tokens = +#, progress = +#, t = +# s / +# tokens per second",
          "done", "fraction", "seconds", "per_s"),
    _rule("generating", r"n_gen = +#, tg = +# t/s", "tokens", "per_s"),
    _rule("prompt", r"prompt eval time = +# ms / +# tokens \( *# ms per token, +# tokens per second\)",
          "ms", "tokens", "ms_each", "per_s"),
    _rule("generated", r"eval time = +# ms / +# tokens \( *# ms per token, +# tokens per second\)",
          "ms", "tokens", "ms_each", "per_s"),
    _rule("drafts", r"draft acceptance = +# \( *# accepted / +# generated\)", "rate", "accepted", "drafted"),
    _rule("release", r"stop processing: n_tokens = #, truncated = #", "tokens", "truncated"),
)
_DECODED = re.compile(r"^(?:image|audio|video) decoded \(batch (\d+)/\d+\) in (\d+) ms")
_ENCODED = re.compile(r"^(?:image|audio) slice encoded in (\d+) ms")
_CANCEL = re.compile(r"^srv +\w+: cancel task, id_task = (\d+)")
_ERROR = re.compile(r"^srv +send_error: task id = (\d+), error: (.*)", re.DOTALL)
_MICRO_BATCH = re.compile(r"^llama_context: n_ubatch += (\d+)")
_INIT = re.compile(r"initializing, n_slots = (\d+), n_ctx_slot = (\d+), kv_unified = '(\w+)'")
_LOADING = re.compile(r"^srv +load_model: loading model '(.*)'")
_LISTENING = re.compile(r"^srv +llama_server: (?:listening on|server is listening on) (\S+)")


class LogParser:
    """Fed every line of one server's output, in order. Not thread-safe; the recorder locks around it."""

    def __init__(self, children: Children | None = None) -> None:
        """`children`: of a router; without them its lines are read as one server's."""
        self._offset: float | None = None
        self._last_stamp = -math.inf
        self.memory_log = MemoryLog()
        self.tells_requests = False
        """True once the log has shown that it carries information lines, hence every request."""
        self.slots: int | None = None
        self.context_per_slot: int | None = None
        self.kv_unified: bool | None = None
        self.micro_batch: int | None = None
        """n_ubatch of the first context since the load began: the model's own."""
        self.url: str | None = None
        self._children = children
        self._parsers: dict[int, LogParser] = {}

    @property
    def memory(self) -> ActualMemory:
        """What the load said about memory, so far."""
        return self.memory_log.actual()

    @property
    def read_until(self) -> float | None:
        """When the newest line that carried a stamp was written (monotonic s); None while none did."""
        return None if self._offset is None else self._last_stamp + self._offset

    def restarted(self) -> None:
        """A new process writes from here on: its stamps begin again, its memory too."""
        self._offset, self._last_stamp = None, -math.inf
        self.memory_log = MemoryLog()
        self.tells_requests = False
        self._parsers.clear()

    def feed(self, line: LogLine) -> list[Fact]:
        """The facts of one line; most lines have none."""
        text = line.text.rstrip("\r\n")
        if self._children is not None and (child := _CHILD.match(text)) is not None:
            return self._of_child(int(child[1]), line.t, text[child.end():], self._children)
        return self._feed(line.t, text)

    def _of_child(self, port: int, t: float, text: str, children: Children) -> list[Fact]:
        """A child's facts, its slots and tasks numbered as those of the session."""
        parser = self._parsers.setdefault(port, LogParser())
        facts = parser._feed(t, text)
        if not facts:
            return []
        lane = children.lane(port, parser.slots)
        self.tells_requests = self.tells_requests or parser.tells_requests
        self.slots = children.slots
        return [replace(f, slot=None if f.slot is None else lane.slot(f.slot),
                        task=None if f.task is None else lane.task(f.task)) for f in facts]

    def _feed(self, t: float, text: str) -> list[Fact]:
        if text.startswith('{"type":'):
            return self._record(t, text)
        match = _PREFIX.match(text)
        stamp = None
        if match is not None:
            if match[1] is not None:
                stamp = int(match[1]) * 60 + int(match[2]) + int(match[3]) / 1e3 + int(match[4]) / 1e6
            text = text[match.end() :]
        return self._facts(self._time(t, stamp), text)

    def _record(self, t: float, text: str) -> list[Fact]:
        try:
            record = json.loads(text)
        except ValueError:
            return []
        if record.get("type") == "fit_memory_breakdown":
            self.memory_log.breakdown_record(record.get("data") or {})
            return []
        stamp = record.get("time")
        when = self._time(t, stamp / 1e6 if isinstance(stamp, int | float) else None)
        return [fact for part in str(record.get("msg", "")).splitlines() for fact in self._facts(when, part)]

    def _time(self, read_at: float, stamp: float | None) -> float:
        """The stamp on our clock. A line is read after it was written, so the smallest lag seen is the best match."""
        if stamp is None:
            return read_at
        if stamp < self._last_stamp - 1.0:
            self._offset = None
        self._last_stamp = stamp
        lag = read_at - stamp
        self._offset = lag if self._offset is None else min(self._offset, lag)
        return stamp + self._offset

    def _facts(self, t: float, text: str) -> list[Fact]:
        if text.startswith("slot "):
            return self._slot_facts(t, text)
        if text.startswith("srv "):
            return self._server_facts(t, text)
        if text.startswith(("image ", "audio ", "video ")):
            return self._media_facts(t, text)
        if self.micro_batch is None and (found := _MICRO_BATCH.match(text)) is not None:
            self.micro_batch = int(found[1])
        return [Fact(t, "memory")] if self.memory_log.feed(text) else []

    @staticmethod
    def _media_facts(t: float, text: str) -> list[Fact]:
        """The projector's lines name no slot: the tracker knows who waits for it."""
        decoded, encoded = _DECODED.match(text), _ENCODED.match(text)
        if decoded is not None and int(decoded[1]) == 1:
            return [Fact(t - int(decoded[2]) / 1e3, "encoded")]
        return [Fact(t, "encoded", values={"ms": float(encoded[1])})] if encoded is not None else []

    def _slot_facts(self, t: float, text: str) -> list[Fact]:
        match = _SLOT.match(text)
        if match is None:
            return []
        slot, task, rest = int(match[1]), int(match[2]), match[3]
        for kind, pattern, names in _SLOT_RULES:
            found = pattern.match(rest)
            if found is not None:
                self.tells_requests = True
                values = {name: _number(part) for name, part in zip(names, found.groups(), strict=True)}
                return [Fact(t, kind, slot, task, values)]
        return []

    def _server_facts(self, t: float, text: str) -> list[Fact]:
        for part, pattern, make in _SERVER_RULES:
            if part in text:
                found = pattern.search(text)
                return [make(self, t, found)] if found is not None else []
        return [Fact(t, "memory")] if self.memory_log.feed(text) else []

    def _listening(self, t: float, match: re.Match[str]) -> Fact:
        self.url, self.tells_requests = match[1], True
        return Fact(t, "listening", values={"url": self.url})

    def _loading(self, t: float, match: re.Match[str]) -> Fact:
        # Also printed when a sleeping server wakes: everything is allocated again.
        self.memory_log = MemoryLog()
        self.micro_batch = None
        return Fact(t, "loading", values={"path": match[1]})

    def _init(self, t: float, match: re.Match[str]) -> Fact:
        self.slots, self.context_per_slot, self.kv_unified = int(match[1]), int(match[2]), match[3] == "true"
        return Fact(t, "init", values={"n_slots": self.slots, "n_ctx_slot": self.context_per_slot,
                                       "kv_unified": self.kv_unified})


_SERVER_RULES: tuple[tuple[str, re.Pattern[str], Callable[[LogParser, float, re.Match[str]], Fact]], ...] = (
    ("cancel task", _CANCEL, lambda _, t, m: Fact(t, "cancel", task=int(m[1]))),
    ("send_error", _ERROR, lambda _, t, m: Fact(t, "error", task=int(m[1]), values={"text": m[2]})),
    ("listening on", _LISTENING, LogParser._listening),
    ("loading model '", _LOADING, LogParser._loading),
    ("initializing, n_slots", _INIT, LogParser._init),
    ("model loaded", re.compile("llama_server: model loaded$"), lambda _, t, m: Fact(t, "loaded")),
    ("entering sleeping state", re.compile("^srv "), lambda _, t, m: Fact(t, "sleeping")),
    ("exiting sleeping state", re.compile("^srv "), lambda _, t, m: Fact(t, "waking")),
)
"""A part that the line must have (cheap), then the whole."""
