"""From a pasted command line to words: a forgiving reader of POSIX shell syntax.

It keeps apart what a shell would act on (operators) from words, and takes what people paste from other systems: line
ends of Windows, `^` and a backtick as continuations, unquoted Windows paths. Nothing is expanded here; a `$` that a
shell would act on is marked, so that `paddock.launch.expanding` can put in what the text itself assigns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paddock.errors import AppError
from paddock.text import Text

_CONTINUATION = re.compile(r"[\\^`](?:[ \t]+#[^\n]*|[ \t]*)\r?\n")
"""A comment or spaces behind the mark break the line for a shell, but never for the person who pasted it."""
_OPERATOR = re.compile(r"&>>|&>|&&|\|\||>>|>&|>|<<<|<<|<|;|\||&|\r?\n|\r")
_REDIRECTION = re.compile(r"\d?(&>>|&>|>>|>&|>|<<<|<<|<)(&\d|&-)?")
_DRIVE = re.compile(r"[A-Za-z]:\\")
_WINDOWS_START = re.compile(r"([A-Za-z]:|\.{1,2})\\|\\\\[\w.$-]")
_UNC = re.compile(r"\\\\[\w.$-]+\\[^\\\s]")
"""The start of \\\\host\\share: one backslash behind the host, so nobody has doubled them for a shell."""
_BLANKS = " \t\u00a0\u2007\u202f"
"""Pages put spaces that do not break into the command lines that people copy."""
_ESCAPED_IN_QUOTES = '$`"\\'
QUOTED_DOLLAR, BARE_DOLLAR = "\ud800", "\ud801"
"""Stand for a `$` that a shell acts on, inside double quotes and outside: half characters, which no text holds."""
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(frozen=True, slots=True)
class Word:
    """One word, or an operator of the shell (`;`, `&&`, `>`, a line end as "\\n")."""

    marked: str
    """The word, with marks for each `$` that a shell acts on."""
    operator: bool = False
    array: tuple[Word, ...] | None = None
    """For `NAME=(…)` at the start of a statement: what is in it; the word itself is then `NAME=`."""

    @property
    def text(self) -> str:
        """The word as it was typed, quotes resolved."""
        return plain(self.marked)

    @property
    def redirects(self) -> bool:
        return self.operator and _REDIRECTION.fullmatch(self.text) is not None


def plain(marked: str) -> str:
    """With each mark as the `$` that it stands for."""
    return marked.replace(QUOTED_DOLLAR, "$").replace(BARE_DOLLAR, "$")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[Word] = []
        self.word: list[str] | None = None
        self.depth = 0
        """Open parentheses in the current word: `(a|b)` in a regular expression is no pipe."""

    def add(self, text: str) -> None:
        if self.word is None:
            self.word = []
        self.word.append(text)

    def end_word(self) -> None:
        if self.word is not None:
            self.out.append(Word("".join(self.word)))
        self.word, self.depth = None, 0

    def read(self) -> list[Word]:
        while self.at < len(self.text):
            self.step()
        self.end_word()
        return self.out

    def step(self) -> None:
        char = self.text[self.at]
        continuation = _CONTINUATION.match(self.text, self.at)
        if continuation:
            # POSIX joins the lines; people mean a space, and a backslash in the middle of a word is not seen.
            self.end_word()
            self.at = continuation.end()
        elif char in "'\"":
            self.quoted(char)
        elif char == "\\":
            self.escaped()
        elif char in _BLANKS:
            self.end_word()
            self.at += 1
        elif char == "#" and self.word is None:
            line_end = self.text.find("\n", self.at)
            self.at = len(self.text) if line_end < 0 else line_end
        else:
            self.plain(char)

    def plain(self, char: str) -> None:
        if char == "(" and self.starts_array() and self.array():
            return
        match = _OPERATOR.match(self.text, self.at)
        if match is None or (self.depth and match[0] in ("|", "||", "<", ">", "&", "&&", ";")):
            self.depth = max(0, self.depth + (char == "(") - (char == ")"))
            self.add(BARE_DOLLAR if char == "$" else char)
            self.at += 1
            return
        operator = match[0]
        if operator.strip() == "":
            operator = "\n"
        elif operator[0] in "<>" and self.word is not None and "".join(self.word) in ("1", "2"):
            operator = "".join(self.word) + operator
            self.word = None
        self.end_word()
        self.at = match.end()
        if operator.endswith(">&") and (target := re.compile(r"\d|-").match(self.text, self.at)):
            operator, self.at = operator[:-1] + "&" + target[0], target.end()
        self.out.append(Word(operator, True))

    def starts_array(self) -> bool:
        """Whether `NAME=` stands before this parenthesis as the first word of a statement."""
        first = not self.out or (self.out[-1].operator and not self.out[-1].redirects)
        return first and self.word is not None and _ARRAY.fullmatch("".join(self.word)) is not None

    def array(self) -> bool:
        """`NAME=( word … )`, over several lines if it likes; False for a regular expression such as `x=(a|b)`."""
        inner = _Reader(self.text)
        inner.at = self.at + 1
        while inner.at < len(self.text) and (self.text[inner.at] != ")" or inner.depth):
            inner.step()
        inner.end_word()
        if any(word.operator and word.text != "\n" for word in inner.out):
            return False
        name, self.word, self.at = "".join(self.word or ()), None, inner.at + 1
        self.out.append(Word(name, array=tuple(word for word in inner.out if not word.operator)))
        return True

    def escaped(self) -> None:
        following = self.text[self.at + 1:self.at + 2]
        if self.word is None and _UNC.match(self.text, self.at):
            self.add("\\\\")
            self.at += 2
            return
        start = "".join(self.word or ())
        # A drive, "." or ".." before a backslash: a Windows path, in which nobody means the backslash to vanish.
        windows_path = _WINDOWS_START.match(start + "\\") is not None and not following.isspace()
        if not following or windows_path:
            self.add("\\")
            self.at += 1
        else:
            self.add(following)
            self.at += 2

    def quoted(self, quote: str) -> None:
        self.add("")
        start, self.at = self.at, self.at + 1
        if quote == '"' and _UNC.match(self.text, self.at):
            self.add("\\\\")
            self.at += 2
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == quote:
                self.at += 1
                return
            if quote == '"' and char == "\\" and self.at + 1 < len(self.text):
                following = self.text[self.at + 1]
                # In a Windows path such as "C:\dir\" the last backslash belongs to the path, not to the quote.
                if following == '"' and _ends_windows_path(self.text[start + 1:self.at], self.text[self.at + 2:]):
                    self.add("\\")
                    self.at += 1
                elif following == "\n":
                    self.at += 2
                else:
                    self.add(following if following in _ESCAPED_IN_QUOTES else char + following)
                    self.at += 2
            else:
                self.add(QUOTED_DOLLAR if char == "$" and quote == '"' else char)
                self.at += 1
        raise AppError(
            Text("The quotation mark {mark} is never closed.", mark=quote),
            hint=Text("Close it, or put the mark itself into quotes of the other kind."),
        )


def _ends_windows_path(before: str, after: str) -> bool:
    return (_DRIVE.match(before) or _UNC.match(before)) is not None and (after == "" or after[0].isspace())


def read_words(text: str) -> list[Word]:
    """The words and operators of a command line.

    Comments and continuations are gone, quotes resolved. AppError where a quotation mark is never closed.
    """
    return _Reader(text).read()
