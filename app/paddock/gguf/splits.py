"""Split sets: `<prefix>-00001-of-00004.gguf`, numbered inside by split.no (from 0) and split.count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paddock.gguf.layers import whole

_SHARD = re.compile(r"(?P<prefix>.+)-(?P<number>\d{5})(?P<middle>-of-)(?P<count>\d{5})(?P<ending>\.gguf)",
                    re.IGNORECASE | re.DOTALL)
_MOST_SHARDS = 5000


@dataclass(frozen=True)
class ShardName:
    """A file name that has two five-digit numbers in the right place; `number` counts from 1."""

    folder: Path
    prefix: str
    number: int
    count: int
    ending: str = ".gguf"
    middle: str = "-of-"

    @property
    def written_small(self) -> bool:
        """llama.cpp knows a part only by its name in small letters, on every system: "-of-" and ".gguf"."""
        return (self.middle, self.ending) == ("-of-", ".gguf")

    @property
    def plausible(self) -> bool:
        """Zero and numbers beyond the count are no shards, whatever the name looks like, nor is a set of thousands."""
        return 1 <= self.number <= self.count <= _MOST_SHARDS

    def path(self, number: int) -> Path:
        """That shard's file, written as this one is."""
        return self.folder / f"{self.prefix}-{number:05d}{self.middle}{self.count:05d}{self.ending}"


def shard_name(path: Path) -> ShardName | None:
    """The name taken apart, or None for a plain name."""
    match = _SHARD.fullmatch(path.name)
    if match is None:
        return None
    return ShardName(path.parent, match["prefix"], int(match["number"]), int(match["count"]), match["ending"],
                     match["middle"])


def plain_stem(path: Path) -> str:
    """The file name without ending and without shard numbers."""
    match = _SHARD.fullmatch(path.name)
    return match["prefix"] if match else path.stem


@dataclass(frozen=True)
class SplitKeys:
    """What the header says: `number` from 0, `count` files, `tensors` in all of them."""

    number: int | None
    count: int | None
    tensors: int | None


def split_keys(metadata: Mapping[str, Any]) -> SplitKeys:
    """split.* of one header; a count of 0 or 1 means "not split"."""
    count = whole(metadata.get("split.count"))
    return SplitKeys(whole(metadata.get("split.no")), count if count and count > 1 else None,
                     whole(metadata.get("split.tensors.count")))


def ranges(numbers: Iterable[int]) -> str:
    """2, 3, 4, 7 -> "2–4, 7"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}, {b}" if b == a + 1 else f"{a}–{b}" for a, b in runs)
