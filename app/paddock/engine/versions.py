"""The version lines that llama.cpp's programs print, in every form seen so far."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SEMVER = re.compile(r"^version:\s*(?P<text>\S+\s*\(build\s+(?P<build>\d+)(?:,\s*commit\s+(?P<commit>[^)]*))?\))", re.M)
_NUMBER = re.compile(r"^version:\s*(?P<text>b?(?P<build>\d+)\s*\((?P<commit>[^)]*)\))", re.M)
_BARE = re.compile(r"^version:\s*(?P<text>b?(?P<build>\d+)|v?\d+\.\d+\S*)\s*$", re.M)
_COMPILER = re.compile(r"^built with\s+(.+?)\s*$", re.M)
_COMMIT = re.compile(r"^[0-9a-f]{6,40}$")


@dataclass(frozen=True)
class Version:
    """What a program says about itself.

    text: as printed, without the word "version". build: None where the number is 0 or 1, which builds made outside
    a git checkout print and which therefore says nothing. commit: None unless it looks like one.
    """

    text: str
    build: int | None
    commit: str | None
    compiler: str | None


def parse_version(output: str) -> Version | None:
    """The version in a program's output (both streams joined), banner lines and all; None where there is none."""
    match = _SEMVER.search(output) or _NUMBER.search(output) or _BARE.search(output)
    if match is None:
        return None
    found = match.groupdict()
    number = int(found.get("build") or 0)
    commit = (found.get("commit") or "").strip()
    compiler = _COMPILER.search(output, match.end())
    return Version(
        text=" ".join(match["text"].split()),
        build=number if number > 1 else None,
        commit=commit if _COMMIT.match(commit) else None,
        compiler=compiler[1] if compiler else None,
    )
