"""One word, quoted for each shell and each kind of file that a command is exported to."""

from __future__ import annotations

import re

from paddock.errors import AppError
from paddock.text import Text

_PLAIN_POWERSHELL = re.compile(r"[A-Za-z0-9_./\\:=+-]+")
_PLAIN_CMD = re.compile(r"[A-Za-z0-9_./\\:+-]+")
_CMD_SPECIAL = re.compile(r'[()%!^"<>&|]')
_PLAIN_UNIT = re.compile(r"[A-Za-z0-9_./:=,@+-]+")


def powershell(word: str) -> str:
    """For PowerShell 7.3 and newer (older ones lose double quotes inside a word)."""
    # A bare "-name.rest" is taken apart at the dot, and "-x:y" at the colon.
    risky = word.startswith("-") and re.search(r"[.:]", word)
    if _PLAIN_POWERSHELL.fullmatch(word) and not risky:
        return word
    return "'" + re.sub("(['‘’‚‛])", r"\1\1", word) + "'"


def batch(word: str) -> str:
    """For a batch file of cmd.exe: quoted as C programs unquote, then kept from cmd itself."""
    if re.search(r"[\r\n]", word):
        raise AppError(Text("A value with a line break cannot be written into a batch file."),
                       hint=Text("Export for PowerShell instead, or keep the text in a file."))
    if _PLAIN_CMD.fullmatch(word):
        return word
    # Backslashes count only in front of a quotation mark: there they are doubled.
    inner = re.sub(r'(\\*)(")', lambda m: m[1] * 2 + '\\"', word)
    inner = re.sub(r"(\\+)$", lambda m: m[1] * 2, inner)
    quoted = f'"{inner}"'
    if '"' not in word:
        return quoted.replace("%", "%%")
    return _CMD_SPECIAL.sub(lambda m: "%%" if m[0] == "%" else "^" + m[0], quoted)


def unit(word: str, variables: bool = True) -> str:
    """For a line of a systemd unit; `variables`: `$` means something there (ExecStart)."""
    if word == ";":
        return "\\;"
    if _PLAIN_UNIT.fullmatch(word):
        return word
    out = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    out = out.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    out = re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\x{ord(m[0]):02x}", out)
    if variables:
        out = out.replace("$", "$$")
    return f'"{out}"'
