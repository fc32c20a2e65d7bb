"""Why a prompt was read again: out of the log at -lv 4 (llama.cpp server-context.cpp and server-task.cpp, build 11434).

Before a request starts, the server compares its prompt with what each slot holds ("checking sim = 0.500 (500/1000)",
"selected slot by LCP similarity" or "by LRU"), may load a saved prompt ("found better prompt with …"), and says where
it has to begin ("cached n_tokens = N"). A model with a sliding window or a recurrent state cannot begin anywhere. It
goes back to a checkpoint ("restored context checkpoint … n_past = N"), or to nothing ("forcing full prompt
re-processing").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from paddock.session.log import Fact
from paddock.text import Text
from paddock.units import count_text

LEAST_TOKENS = 64
"""Reading fewer tokens again is not worth a word: chat templates change a few at the end of every turn."""
_SIM = re.compile(r"checking sim = [\d.]+ \((\d+)/(\d+)\) > ")
_SLOT_ID = re.compile(r"slot +[\w()]+: id +(\d+) \|")
_LCP = re.compile(r"selected slot by LCP similarity, f_sim_best = ([\d.]+)")
_PAST = re.compile(r"n_past = (\d+)")


@dataclass(frozen=True)
class Reuse:
    """What became of one prompt. `reason`: new, changed, window, checkpoint, evicted, whole; None: can't tell."""

    t: float
    task: int
    slot: int
    prompt_tokens: int
    cached_tokens: int
    reason: str | None
    text: Text

    @property
    def missed(self) -> bool:
        """Whether tokens were read again although a slot or the cache had held them."""
        return self.reason in ("window", "checkpoint", "evicted")


class _Choice:
    """What was said since the last request was taken."""

    def __init__(self) -> None:
        self.shared: dict[int, int] = {}
        """By slot: tokens at the beginning that its old prompt shares with the new one."""
        self.chosen_by_likeness = False
        self.loaded = False


class ReuseLog:
    """Fed every line (without level and stamp) and the facts of it, in order; calls `tell` once a request."""

    def __init__(self, tell: Callable[[Reuse], object]) -> None:
        self._tell = tell
        self._choice = _Choice()
        self._totals: dict[int, int] = {}
        self._choices: dict[int, _Choice] = {}
        self._forced: set[int] = set()
        self._restored: dict[int, int] = {}
        self._evicted = 0

    def line(self, text: str) -> None:
        """One line of the log; cheap where it says nothing of this."""
        if "checking sim" in text:
            self._similar(text)
        elif "selected slot by LCP" in text:
            self._choice.chosen_by_likeness = _LCP.search(text) is not None
        elif "found better prompt" in text:
            self._choice.loaded = True
        elif "removing oldest entry" in text:
            self._evicted += 1
        elif "forcing full prompt re-processing" in text or "restored context checkpoint" in text:
            self._back(text)

    def _similar(self, text: str) -> None:
        found, slot = _SIM.search(text), _SLOT_ID.search(text)
        if found is not None and slot is not None:
            self._choice.shared[int(slot[1])] = int(found[1])

    def _back(self, text: str) -> None:
        task = re.search(r"\| task (\d+) \|", text)
        if task is None:
            return
        past = _PAST.search(text)
        if "forcing full" in text:
            self._forced.add(int(task[1]))
        elif past is not None:
            self._restored[int(task[1])] = int(past[1])

    def fact(self, fact: Fact) -> None:
        """launch, total and the first cached of a task."""
        if fact.task is None or fact.slot is None:
            return
        if fact.kind == "launch":
            self._choices[fact.task], self._choice = self._choice, _Choice()
        elif fact.kind == "total":
            self._totals[fact.task] = int(fact.values["tokens"])
        elif fact.kind == "cached" and fact.task in self._totals:
            total = self._totals.pop(fact.task)
            cached, choice = int(fact.values["tokens"]), self._choices.pop(fact.task, _Choice())
            reason, text = self._why(choice, fact, total, cached)
            self._forced.discard(fact.task)
            self._restored.pop(fact.task, None)
            self._tell(Reuse(fact.t, fact.task, fact.slot, total, cached, reason, text))

    def _why(self, choice: _Choice, fact: Fact, total: int, cached: int) -> tuple[str | None, Text]:
        shared = choice.shared.get(fact.slot or 0, 0)
        again = total - cached
        if again < LEAST_TOKENS:
            return "whole", Text("{cached} of {total} tokens came from the cache.", cached=count_text(cached),
                                 total=count_text(total))
        if fact.task in self._forced and shared >= LEAST_TOKENS:
            return "window", Text("The model has a sliding window or a state: its cache cannot begin in the middle, so "
                                  "all {total} tokens were read again.", total=count_text(total))
        if fact.task in self._restored and shared >= LEAST_TOKENS:
            return "checkpoint", Text("The cache could only go back to a checkpoint at token {past}: {again} tokens "
                                      "were read again.", past=count_text(self._restored[fact.task]),
                                      again=count_text(again))
        if (choice.chosen_by_likeness and max(shared, cached) >= LEAST_TOKENS) or choice.loaded:
            return "changed", Text("The prompt changed at token {cached}: the {again} after it were read.",
                                   cached=count_text(cached), again=count_text(again))
        best = max(choice.shared.values(), default=0)
        if cached == 0 and not choice.shared and not self._evicted:
            return "new", Text("No slot held a prompt yet.")
        if best >= LEAST_TOKENS and best > shared:
            return "evicted", Text("The slot that held {best} of its tokens was not taken: they were read again.",
                                   best=count_text(best))
        if self._evicted and not best:
            return None, Text("Can't tell: no slot holds its beginning, and the prompt cache had dropped {count} older "
                              "prompt before.", plural="Can't tell: no slot holds its beginning, and the prompt cache "
                              "had dropped {count} older prompts before.", count=self._evicted)
        return "new", Text("No slot holds its beginning: at most {best} of {total} tokens are the same.",
                           best=count_text(best), total=count_text(total))
