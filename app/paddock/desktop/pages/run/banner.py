"""What the banner of a run says: the worst that is known, one at a time, with a count of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from paddock.desktop.tr import tr
from paddock.server.model import Diagnosis, State
from paddock.session.detectors import Finding
from paddock.work.previewing import PREFERRED_PORT

Act = tuple[str, str | None, Callable[[], Any]]


@dataclass(frozen=True)
class Message:
    """Tone, what, why, the log line that proves it, and the diagnosis whose edits can be taken over."""

    tone: str
    what: str
    why: str = ""
    line: str | None = None
    diagnosis: Diagnosis | None = None
    id: str = ""
    """Of a finding, whose figures change while it stays the same."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Closed messages stay closed by this."""
        return (self.tone, self.id, "") if self.id else (self.tone, self.what, self.why)


def _other_port(run: Any) -> int | None:
    """The port that was taken instead of the usual one, where the person did not ask for any."""
    command = run.preview.command
    port = urlsplit(run.url).port
    added = command is not None and any(a.id == "port" for a in command.additions)
    return port if added and port not in (None, PREFERRED_PORT) else None


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
        if run.after_suspend is not None:
            advice = f"{advice} {run.after_suspend}"
        return Message("bad", said, advice, diagnosis.line if diagnosis is not None else None, diagnosis)
    running = next((d for d in reversed(run.diagnoses) if not d.fatal), None)
    if running is not None and state in (State.STARTING, State.LOADING, State.READY):
        return Message("warn", str(running.cause), str(running.advice), running.line, running)
    if state is State.READY and (port := _other_port(run)) is not None:
        return Message("warn", tr("Port {wanted} was taken: this server listens on {port}.", wanted=str(PREFERRED_PORT),
                                  port=str(port)), tr("Set a port on Launch to have a fixed one."))
    if state is State.STOPPED and run.read_only:
        return Message("accent", tr("The watching has ended. The server goes on."))
    if state is State.STOPPED and exit_ is not None:
        forced = tr("It did not end by itself and was killed.") if exit_.forced else ""
        return Message("accent", tr("The server has stopped. Everything is kept under Sessions."), forced)
    return None


def messages_of(run: Any) -> list[Message]:
    """Everything that is to be said, the gravest first: why it ended or is impaired, what the detectors found, news."""
    first = message_of(run)
    ready = run.state is State.READY
    found = [_of_finding(f) for f in run.findings] if ready else []
    found += _why_no_figures(run) if ready else []
    if first is None:
        return found
    return [first, *found] if first.diagnosis is not None or first.tone == "bad" else [*found, first]


def _why_no_figures(run: Any) -> list[Message]:
    """What the polling found switched off, or closed to us: said once, else dashes would stand there unexplained."""
    return [Message("warn", e.text) for e in run.recorder.snapshot().events
            if e.kind == "issue" and str(e.data.get("id", "")).startswith("sampler.")]


def _of_finding(finding: Finding) -> Message:
    diagnosis = Diagnosis(finding.id, finding.what, finding.remedy, finding.line, finding.edits, fatal=False)
    return Message("warn", str(finding.what), f"{finding.proof} {finding.remedy}", finding.line, diagnosis,
                   f"degraded.{finding.id}")


class Messages:
    """Which of a run's messages is in sight. Closed ones stay closed for that run; `step` goes on to the next."""

    def __init__(self) -> None:
        self._closed: set[tuple[object, ...]] = set()
        self._chosen: dict[int, tuple[str, str, str]] = {}

    def current(self, run: Any) -> tuple[Message | None, int, int]:
        """(message, its number from 1, how many there are); (None, 0, 0) where nothing is to be said."""
        open_ = [m for m in messages_of(run) if (id(run), *m.key) not in self._closed]
        if not open_:
            return None, 0, 0
        chosen = next((i for i, m in enumerate(open_) if m.key == self._chosen.get(id(run))), 0)
        return open_[chosen], chosen + 1, len(open_)

    def step(self, run: Any) -> None:
        """Show the next one, after the last the first."""
        open_ = [m for m in messages_of(run) if (id(run), *m.key) not in self._closed]
        _, number, count = self.current(run)
        if count:
            self._chosen[id(run)] = open_[number % count].key

    def close(self, run: Any, message: Message) -> None:
        """Not to be shown again for this run."""
        self._closed.add((id(run), *message.key))
