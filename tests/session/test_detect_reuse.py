"""Why a prompt was read again: recorded logs, and lines as the server prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from paddock.server import LogLine, State
from paddock.session import Recorder
from paddock.session.detectors import DetectorWatch
from paddock.session.detectors.reuse import Reuse, ReuseLog
from paddock.session.log import LogParser

SLOT = "slot {what}: id  {slot} | task {task} | "


class Server:
    """Prints what llama-server prints around one prompt."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.task = 0

    def prompt(self, total: int, cached: int, slot: int = 0, *, sims: dict[int, int] | None = None,
               likeness: bool = False, loaded: bool = False, say: str = "", dropped: int = 0) -> Server:
        self.task += 1
        for number, same in (sims or {}).items():
            self.add("get_availabl", number, -1, f" - checking sim = {same / total:.3f} ({same}/{total}) > 0.100")
        chosen = f"selected slot by LCP similarity, f_sim_best = {cached / total:.3f} (> 0.100 thold), f_keep = 0.5"
        self.add("get_availabl", slot, -1, chosen if likeness else "selected slot by LRU, t_last = -1")
        if loaded:
            self.lines.append("srv          load:  - found better prompt with f_keep = 0.900, f_sim = 0.900")
        for _ in range(dropped):
            self.lines.append("srv        update:  - cache size limit reached, removing oldest entry (size = 9.1 MiB)")
        self.add("launch_slot_", slot, self.task, "processing task, is_child = 0")
        self.add("  operator()", slot, self.task, f"new prompt, n_ctx_slot = 2048, n_keep = 0, task.n_tokens = {total}")
        if say:
            self.add("  operator()", slot, self.task, say)
        self.add("  operator()", slot, self.task, f"cached n_tokens = {cached}, memory_seq_rm [{cached}, end)")
        self.add("  operator()", slot, self.task, f"cached n_tokens = {total - 4}, memory_seq_rm [{total - 4}, end)")
        return self

    def add(self, what: str, slot: int, task: int, rest: str) -> None:
        self.lines.append(SLOT.format(what=what, slot=slot, task=task) + rest)

    def told(self) -> list[Reuse]:
        found: list[Reuse] = []
        parser, log = LogParser(), ReuseLog(found.append)
        for i, text in enumerate(self.lines):
            log.line(text)
            for fact in parser.feed(LogLine(100.0 + i, text, "I", i + 1)):
                log.fact(fact)
        return found


def one(server: Server) -> Reuse:
    return server.told()[-1]


def test_the_first_prompt_of_all_is_new() -> None:
    found = one(Server().prompt(1000, 0))
    assert (found.reason, found.missed, found.prompt_tokens, found.cached_tokens) == ("new", False, 1000, 0)
    assert str(found.text) == "No slot held a prompt yet."


def test_a_prompt_that_goes_on_from_the_last_is_whole() -> None:
    found = one(Server().prompt(1000, 990, likeness=True, sims={0: 990}))
    assert (found.reason, found.missed) == ("whole", False)


def test_a_prompt_that_changed_tells_where() -> None:
    found = one(Server().prompt(1000, 400, likeness=True, sims={0: 400}))
    assert found.reason == "changed"
    assert "changed at token 400: the 600 after it" in str(found.text)


def test_a_prompt_loaded_from_the_cache_counts_as_its_own_past() -> None:
    assert one(Server().prompt(1000, 700, loaded=True)).reason == "changed"


def test_a_sliding_window_that_cannot_begin_in_the_middle() -> None:
    say = "forcing full prompt re-processing due to lack of cache data (likely due to SWA or hybrid/recurrent memory)"
    found = one(Server().prompt(1000, 0, likeness=True, sims={0: 600}, say=say))
    assert (found.reason, found.missed) == ("window", True)


def test_a_window_matters_only_where_there_was_something_to_begin_from() -> None:
    say = "forcing full prompt re-processing due to lack of cache data (likely due to SWA or hybrid/recurrent memory)"
    found = one(Server().prompt(800, 0, likeness=True, sims={0: 2, 1: 1}, say=say))
    assert (found.reason, found.missed) == ("new", False)


def test_a_step_back_to_a_checkpoint() -> None:
    say = "restored context checkpoint (pos_min = 0, pos_max = 99, n_tokens = 100, n_past = 100, size = 7.184 MiB)"
    found = one(Server().prompt(1000, 100, likeness=True, sims={0: 600}, say=say))
    assert (found.reason, found.missed) == ("checkpoint", True)
    assert "token 100: 900 tokens" in str(found.text)


def test_a_slot_that_held_its_beginning_and_was_not_taken() -> None:
    found = one(Server().prompt(10_000, 0, slot=1, sims={0: 800, 1: 3}))
    assert (found.reason, found.missed) == ("evicted", True)
    assert "held 800 of its tokens" in str(found.text)


def test_another_conversation_is_no_miss() -> None:
    found = one(Server().prompt(1000, 0, sims={0: 11, 1: 4}))
    assert (found.reason, found.missed) == ("new", False)
    assert "at most 11 of 1,000" in str(found.text)


def test_what_the_cache_had_dropped_cannot_be_told() -> None:
    found = one(Server().prompt(1000, 0, dropped=2))
    assert found.reason is None
    assert str(found.text).startswith("Can't tell")


def test_each_request_has_its_own_reason_when_they_come_together() -> None:
    server = Server().prompt(1000, 400, slot=0, likeness=True, sims={0: 400, 1: 2})
    server.prompt(900, 0, slot=1, sims={0: 5, 1: 2})
    assert [(r.task, r.slot, r.reason) for r in server.told()] == [(1, 0, "changed"), (2, 1, "new")]


def test_the_recorded_log_tells_a_new_prompt_and_one_that_came_whole(recorded: Callable[[str], list[LogLine]]) -> None:
    found: list[Reuse] = []
    parser, log = LogParser(), ReuseLog(found.append)
    for line in recorded("plain-11434-lv4.log"):
        log.line(line.text)
        for fact in parser.feed(line):
            log.fact(fact)
    by_task = {r.task: r for r in found}
    assert len(found) == len(by_task) == 9, "one was refused before it was read"
    assert (by_task[46].reason, by_task[46].prompt_tokens) == ("new", 1002)
    assert (by_task[236].reason, by_task[236].cached_tokens) == ("whole", 1001)


@pytest.fixture
def rows() -> list[Any]:
    return []


def test_what_was_read_again_becomes_an_event_and_what_was_whole_does_not(rows: list[Any], clock: Any) -> None:
    recorder = Recorder(rows.append, clock=clock, t0=clock())
    recorder.on_state(State.READY, clock(), None)
    watch = DetectorWatch(recorder)
    server = Server().prompt(1000, 0).prompt(1000, 990, likeness=True).prompt(1000, 400, likeness=True)
    for i, text in enumerate(server.lines):
        watch.on_line(LogLine(clock() + i, text, "I", i + 1))
    found = [e for e in rows if getattr(e, "kind", "") == "cache"]
    assert [(e.data["task"], e.data["reason"]) for e in found] == [(1, "new"), (3, "changed")]
    assert found[1].data["cached_tokens"] == 400


def test_prompts_of_before_this_session_are_not_its_own(rows: list[Any], clock: Any) -> None:
    watch = DetectorWatch(Recorder(rows.append, clock=clock, t0=clock()))
    for i, text in enumerate(Server().prompt(1000, 400, likeness=True).lines):
        watch.on_line(LogLine(clock() - 60 + i, text, "I", i + 1))
    assert rows == []
