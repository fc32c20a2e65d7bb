"""The one exception that carries a sentence for the user."""

from paddock.text import Text


class AppError(Exception):
    """Something exceptional that a person can understand and act on.

    what: what happened; why: the cause, where known; hint: what to do about it.
    Faces print these and never a traceback. What a user can get *wrong in a plan* is a `launch.Issue`, not this.
    """

    def __init__(self, what: Text | str, *, why: Text | str | None = None, hint: Text | str | None = None) -> None:
        super().__init__(str(what))
        self.what = what
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        """The parts as sentences, one after the other."""
        return _sentences(self.what, self.why, self.hint)

    def after_what(self) -> str:
        """Why, and what to do, as sentences: for where `what` stands apart as a title."""
        return _sentences(self.why, self.hint)


def _sentences(*said: Text | str | None) -> str:
    parts = [text for text in (str(part).strip() for part in said if part) if text]
    return " ".join(t if t == parts[-1] or t[-1] in ".!?:…。" else f"{t}." for t in parts)
