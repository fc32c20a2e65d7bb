"""What the banner of a run says: the worst that is known, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.desktop.tr import tr
from paddock.server.model import Diagnosis, State

Act = tuple[str, str | None, Callable[[], Any]]


@dataclass(frozen=True)
class Message:
    """Tone, what, why, the log line that proves it, and the diagnosis whose edits can be taken over."""

    tone: str
    what: str
    why: str = ""
    line: str | None = None
    diagnosis: Diagnosis | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Closed messages stay closed by this."""
        return self.tone, self.what, self.why


def edits_words(edits: Sequence[tuple[str, tuple[str, ...] | None]]) -> str:
    """The changes as they stand on a command line: "--ctx-size 65536, without --mlock"."""
    words = []
    for option, values in edits:
        flag = option if option.startswith("-") else f"--{option}"
        words.append(tr("without {flag}", flag=flag) if values is None else " ".join((flag, *values)))
    return ", ".join(words)


def message_of(run: Any) -> Message | None:
    """The message for the state a run is in; None when there is nothing to say."""
    state, exit_ = run.state, run.exit
    diagnosis = exit_.diagnosis if exit_ is not None else None
    if diagnosis is None:
        diagnosis = next((d for d in reversed(run.diagnoses) if d.fatal), None)
    if state in (State.FAILED, State.CRASHED):
        cause = str(diagnosis.cause) if diagnosis is not None else str(exit_.reason) if exit_ is not None else ""
        said = tr("The server did not start. {cause}", cause=cause) if state is State.FAILED else (
            cause or tr("The server ended without a word."))
        advice = str(diagnosis.advice) if diagnosis is not None else tr("The last lines of the log tell more.")
        return Message("bad", said, advice, diagnosis.line if diagnosis is not None else None, diagnosis)
    running = next((d for d in reversed(run.diagnoses) if not d.fatal), None)
    if running is not None and state in (State.STARTING, State.LOADING, State.READY):
        return Message("warn", str(running.cause), str(running.advice), running.line, running)
    if state is State.STOPPED and exit_ is not None:
        forced = tr("It did not end by itself and was killed.") if exit_.forced else ""
        return Message("accent", tr("The server has stopped. Everything is kept under Sessions."), forced)
    return None
