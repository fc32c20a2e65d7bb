"""All files of one model: found by name, ordered by what they say of themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from paddock.errors import AppError
from paddock.gguf.header import Header
from paddock.gguf.model import Problem, Shard
from paddock.gguf.opening import open_header
from paddock.gguf.splits import ShardName, ranges, shard_name, split_keys
from paddock.gguf.tensors import Table, table
from paddock.text import Text


@dataclass(frozen=True)
class Part:
    """A file that could be read."""

    header: Header
    table: Table

    def row(self, number: int) -> Shard:
        header = self.header
        return Shard(header.path, number, header.size_bytes, header.data_start, len(header.rows),
                     self.table.expected_bytes)


@dataclass(frozen=True)
class ShardSet:
    """`parts` that could be read, by number from 1; `paths` of all that belong; `complete` if none is missing."""

    parts: Mapping[int, Part]
    paths: Mapping[int, Path]
    complete: bool = True
    problems: tuple[Problem, ...] = ()

    @property
    def path(self) -> Path:
        """The first file, there or not: what belongs in argv."""
        return self.paths[min(self.paths)]

    @property
    def first(self) -> Header:
        """The first header that could be read: the metadata of the whole model if it is number 1."""
        return self.parts[min(self.parts)].header

    def shards(self) -> tuple[Shard, ...]:
        """One row per file; what is missing or cannot be read has no figures."""
        return tuple(self.parts[number].row(number) if number in self.parts else _absent(number, path)
                     for number, path in sorted(self.paths.items()))


def shard_set(picked: Path) -> ShardSet:
    """The files that belong to this one. AppError if this one cannot be read; problems for all else."""
    header = open_header(picked)
    name = shard_name(picked)
    keys = split_keys(header.metadata)
    if name is not None and name.plausible and name.count > 1:
        if keys.count is not None or any(name.path(n).exists() for n in range(1, name.count + 1) if n != name.number):
            return _by_name(header, name)
        return ShardSet({1: Part(header, table(header, 1))}, {1: picked}, problems=(_no_keys(name),))
    number = (keys.number or 0) + 1 if keys.count else 1
    alone = ShardSet({number: Part(header, table(header, number))}, {number: picked}, complete=keys.count is None)
    if name is not None and not name.plausible:
        alone = replace(alone, problems=(Problem("odd-shard-name", "warning", Text(
            "The name says part {number} of {count}, which cannot be; the file is taken as it is.",
            number=name.number, count=name.count)),))
    if keys.count is not None:
        alone = replace(alone, problems=(*alone.problems, Problem("renamed-shard", "error", Text(
            "This is part {number} of {count}, but its name does not say so, and llama.cpp finds the parts by their "
            "names. Give all parts their names back (“…-{number:05d}-of-{count:05d}.gguf”).",
            number=number, count=keys.count))))
    return alone


def present(picked: Path) -> Path:
    """The file itself, or, where it is missing, another part of its set: what is there says what is not."""
    name = shard_name(picked)
    if name is None or not name.plausible or os.path.lexists(picked):
        return picked
    others = (name.path(number) for number in range(1, name.count + 1))
    return next((other for other in others if other.is_file()), picked)


def _by_name(picked: Header, name: ShardName) -> ShardSet:
    named: dict[int, Header] = {}
    problems: list[Problem] = []
    missing: list[int] = []
    for number in range(1, name.count + 1):
        path = picked.path if number == name.number else name.path(number)
        if number == name.number:
            named[number] = picked
        elif not path.exists():
            missing.append(number)
        else:
            header = _open(path, problems)
            if header is not None:
                named[number] = header
    headers = _in_order(named, name, problems)
    parts = {number: Part(header, table(header, number)) for number, header in sorted(headers.items())}
    paths = {number: name.path(number) for number in range(1, name.count + 1)}
    paths |= {number: header.path for number, header in headers.items()}
    if missing:
        problems.insert(0, Problem("missing-shards", "error", Text(
            "{count} of {all} files is missing: number {numbers}. All figures are lower bounds.",
            plural="{count} of {all} files are missing: numbers {numbers}. All figures are lower bounds.",
            count=len(missing), all=name.count, numbers=ranges(missing))))
    if not name.written_small and split_keys(picked.metadata).count is not None:
        problems.append(Problem("renamed-shard", "error", Text(
            "The parts' names end in “{written}”, but llama.cpp only takes “{wanted}”, in small letters. Rename them "
            "all.", written=f"{name.middle}{name.count:05d}{name.ending}", wanted=f"-of-{name.count:05d}.gguf")))
    complete = len(named) == name.count
    problems += _count_problems(parts, name, complete)
    return ShardSet(parts, paths, complete, tuple(problems))


def _open(path: Path, problems: list[Problem]) -> Header | None:
    try:
        return open_header(path)
    except AppError as error:
        problems.append(Problem("unreadable-shard", "error", Text(
            "The part “{name}” cannot be read: {reason}", name=path.name, reason=error)))
        return None


def _in_order(named: dict[int, Header], name: ShardName, problems: list[Problem]) -> dict[int, Header]:
    """By split.no where every file has its own; by name otherwise."""
    numbers = {number: _stored_number(header) for number, header in named.items()}
    if all(stored is None for stored in numbers.values()):
        problems.append(_no_keys(name))
        return named
    wrong = [number for number, stored in numbers.items() if stored != number]
    if wrong:
        problems.append(Problem("shard-order", "error", Text(
            "Names and contents disagree about which part is which (names {numbers}); llama.cpp refuses that.",
            numbers=ranges(wrong))))
    stored_numbers = [stored for stored in numbers.values() if stored is not None and 1 <= stored <= name.count]
    if len(set(stored_numbers)) < len(named):
        return named
    return {stored: named[number] for number, stored in numbers.items() if stored is not None}


def _no_keys(name: ShardName) -> Problem:
    return Problem("no-split-keys", "warning", Text(
        "The name says {number} parts, but nothing inside does: llama.cpp will read this file alone.",
        number=name.count))


def _stored_number(header: Header) -> int | None:
    number = split_keys(header.metadata).number
    return None if number is None else number + 1


def _count_problems(parts: Mapping[int, Part], name: ShardName, complete: bool) -> list[Problem]:
    keys = split_keys(parts[min(parts)].header.metadata)
    problems = []
    if keys.count is not None and keys.count != name.count:
        problems.append(Problem("shard-count", "error", Text(
            "The name says {named} parts, the file itself {stored}; llama.cpp refuses that.",
            named=name.count, stored=keys.count)))
    found = sum(len(part.header.rows) for part in parts.values())
    if complete and keys.tensors is not None and found != keys.tensors:
        problems.append(Problem("tensor-count", "error", Text(
            "The parts hold {found} tensors, but should hold {stored}: they do not belong together.",
            found=found, stored=keys.tensors)))
    return problems


def _absent(number: int, path: Path) -> Shard:
    try:
        size = path.stat().st_size
    except OSError:
        size = None
    return Shard(path, number, size, None, None, None)
