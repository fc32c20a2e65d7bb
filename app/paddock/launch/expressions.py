"""Expressions of --override-tensor that no program finishes matching."""

from __future__ import annotations


def endless(pattern: str) -> bool:
    """Whether a repetition is repeated, as in "(a+)+": where it does not match, the time grows as two to the length.

    llama.cpp's matcher (std::regex) and Python's try every way to divide the text. Read from the text alone: escapes
    and bracket lists hold no repetitions, and a group that repeats counts as one for the groups around it.
    """
    repeats = [False]
    at, end = 0, len(pattern)
    while at < end:
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            at = _closing(pattern, at)
        elif sign == "(":
            repeats.append(False)
        elif sign == ")" and len(repeats) > 1:
            inner = repeats.pop()
            again = _repetition(pattern, at + 1)
            if inner and again:
                return True
            repeats[-1] = repeats[-1] or inner or again
        elif _repetition(pattern, at):
            repeats[-1] = True
        at += 1
    return False


def _closing(pattern: str, at: int) -> int:
    """Where the bracket list that opens at `at` ends; a "]" right after it opens belongs to it."""
    at += 2 if pattern.startswith("[^", at) else 1
    found = pattern.find("]", at + 1)
    return len(pattern) if found < 0 else found


def _repetition(pattern: str, at: int) -> bool:
    """Whether a sign that repeats without limit stands there: *, + or {2,}."""
    if pattern[at:at + 1] in ("*", "+"):
        return True
    inside, closed, _ = pattern[at + 1:].partition("}")
    return pattern[at:at + 1] == "{" and bool(closed) and inside.endswith(",") and inside[:-1].isdecimal()
