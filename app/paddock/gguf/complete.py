"""Are all bytes there, and are they what they should be?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from paddock.gguf.foreign import side_files, unfinished_name
from paddock.gguf.model import Problem, Shard
from paddock.gguf.opening import no_read_ahead
from paddock.gguf.shards import Part
from paddock.text import Text
from paddock.units import bytes_text, percent_text

_SAMPLE = 4096
_ENOUGH_DATA = 1 << 20


def file_problems(parts: Iterable[Part], remote: bool = False) -> tuple[list[Problem], bool]:
    """What is wrong with the files themselves, and whether bytes are missing in one of them.

    `remote`: there is no file here to look behind its tensors.
    """
    problems: list[Problem] = []
    whole = True
    for part in parts:
        cut = _truncated(part) or (None if remote else _joined(part))
        if cut is not None:
            problems.append(cut)
            whole = False
        if part.header.big_endian:
            problems.append(Problem("byte-order", "error", Text(
                "“{name}” is a big-endian file, which llama.cpp refuses on this kind of processor. Convert it with "
                "gguf-convert-endian, or download a little-endian one.", name=part.header.path.name)))
        problems += [*part.header.problems, *part.table.problems]
    return problems, whole


def side_file_problem(shards: Sequence[Shard]) -> Problem | None:
    """The download of one of the files goes on, or was broken off."""
    for shard in shards:
        if shard.size_bytes is None:
            continue
        found = [p.name for p in side_files(shard.path)]
        if not found and unfinished_name(shard.path):
            found = [shard.path.name]
        if found:
            return Problem("unfinished-download", "error", Text(
                "The download is not finished: “{file}” says so. The size may be right already, the content is not.",
                file=found[0]))
    return None


def zero_tail(parts: Iterable[Part]) -> Problem | None:
    """Samples of the last quarter are all zeros: perhaps space that a download reserved and never filled."""
    for part in parts:
        header, end = part.header, min(part.header.size_bytes, part.table.expected_bytes)
        length = end - header.data_start
        if length < _ENOUGH_DATA:
            continue
        places = [end - _SAMPLE, end - length // 8, end - length // 4]
        if not _any_content(header.path, places):
            return Problem("zero-tail", "hint", Text(
                "The last part of “{name}” seems to be all zeros: perhaps its download was never finished.",
                name=header.path.name))
    return None


def _any_content(path: Path, places: list[int]) -> bool:
    try:
        with path.open("rb", buffering=0) as file:
            no_read_ahead(file)
            for place in places:
                file.seek(place)
                if (file.read(_SAMPLE) or b"\1").strip(b"\0"):
                    return True
    except OSError:
        return True
    return False


def _truncated(part: Part) -> Problem | None:
    size, expected = part.header.size_bytes, part.table.expected_bytes
    if not part.header.rows or expected <= size:
        return None
    return Problem("truncated", "error", Text(
        "“{name}” is cut off: {missing} of {expected} are missing ({percent}). Download it again or let the download "
        "finish.", name=part.header.path.name, missing=bytes_text(expected - size), expected=bytes_text(expected),
        percent=percent_text((expected - size) / expected, 1)))


def _joined(part: Part) -> Problem | None:
    """Another GGUF begins where the tensors end: files were joined with cat."""
    header, end = part.header, part.table.expected_bytes
    if header.size_bytes - end < 24:
        return None
    try:
        with header.path.open("rb", buffering=0) as file:
            file.seek(end)
            behind = file.read(header.alignment + 4) or b""
    except OSError:
        return None
    if b"GGUF" not in behind:
        return None
    return Problem("joined-shards", "error", Text(
        "“{name}” is several files joined one after the other; llama.cpp refuses it. Download the parts and start the "
        "first one, or merge them with llama-gguf-split --merge.", name=header.path.name))
