"""From bytes as they arrive to clean lines.

Nothing that a program prints can stop it: broken UTF-8 becomes replacement characters, a sequence split between two
reads is put together, colours and control characters go, a lone CR ends a line as LF does, and a line without an end is
cut at `LINE_LIMIT` characters, the rest being the next line.
"""

from __future__ import annotations

import codecs
import json
import re

LINE_LIMIT = 64 << 10
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_=>c])?")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LEVEL = re.compile(r"(?:\d+\.\d\d\.\d{3}\.\d{3} )?([IWED]) ")
_LEVELS = {"info": "I", "warn": "W", "error": "E", "debug": "D"}


def clean(text: str) -> str:
    """Without colours and control characters (tabs stay)."""
    if text.isprintable():
        return text
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def level_of(text: str) -> str | None:
    """I W E D of llama.cpp's prefix (`M.SS.mmm.uuu L `, or `L ` without time stamps); None where there is none."""
    match = _LEVEL.match(text)
    return match[1] if match else None


def from_jsonl(text: str) -> list[str]:
    """A `--log-jsonl` record as the lines of the plain form: `M.SS.mmm.uuu L message`.

    So that whoever reads lines knows one form only. Records of other types (the memory breakdown) and what is not such
    a record come back as they are.
    """
    try:
        record = json.loads(text)
        if record["type"] != "log":
            return [text]
        message, level, micros = str(record["msg"]), _LEVELS.get(record["level"]), int(record["time"])
    except (ValueError, KeyError, TypeError):
        return [text]
    first, *rest = [clean(part) for part in message.removesuffix("\n").split("\n")]
    if level is None:
        return [first, *rest]
    seconds, micros = divmod(micros, 1_000_000)
    stamp = f"{seconds // 60}.{seconds % 60:02}.{micros // 1000:03}.{micros % 1000:03}"
    return [f"{stamp} {level} {first}", *rest]


class LineSplitter:
    """Bytes in, whole clean lines out; keeps what is not yet a line."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._held = 0

    def feed(self, data: bytes, final: bool = False) -> list[str]:
        """The lines that these bytes complete; `final` also gives the unfinished last one."""
        text = self._decoder.decode(data, final)
        if "\r" in text or (self._parts and self._parts[-1].endswith("\r")):
            text = self._without_cr(text, final)
        head, newline, rest = text.partition("\n")
        lines: list[str] = []
        if newline:
            complete = "".join((*self._parts, head))
            self._parts, self._held = [], 0
            *middle, rest = rest.split("\n")
            lines = [complete, *middle]
        else:
            rest = head
        if rest:
            self._parts.append(rest)
            self._held += len(rest)
        if self._held > LINE_LIMIT or (final and self._held):
            lines.append("".join(self._parts))
            self._parts, self._held = [], 0
            if not final and len(lines[-1]) % LINE_LIMIT:
                keep = len(lines[-1]) % LINE_LIMIT
                self._parts, self._held = [lines[-1][-keep:]], keep
                lines[-1] = lines[-1][:-keep]
        return [piece for line in lines for piece in self._pieces(line)]

    def _without_cr(self, text: str, final: bool) -> str:
        """CRLF and lone CR as LF; a CR at the very end waits for what follows."""
        if self._parts and self._parts[-1].endswith("\r"):
            self._parts[-1] = self._parts[-1][:-1]
            self._held -= 1
            text = "\r" + text
        held = text.endswith("\r") and not final
        if held:
            text = text[:-1]
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text + "\r" if held else text

    @staticmethod
    def _pieces(line: str) -> list[str]:
        line = clean(line)
        lines = from_jsonl(line) if line.startswith('{"type":') else [line]
        return [each[i:i + LINE_LIMIT] for each in lines for i in range(0, max(len(each), 1), LINE_LIMIT)]
