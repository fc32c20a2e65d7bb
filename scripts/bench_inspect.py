#!/usr/bin/env python3
"""How long a person waits for a model file to be inspected: our reader against gguf.GGUFReader, in one run.

Writes two files into a temporary folder (a vocabulary of 262,144 entries, once with 514,906 merges besides), reads them
with both readers, interleaved, and prints one JSON object as its last line. `--long` repeats more often.
"""

from __future__ import annotations

import json
import random
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "app"), str(ROOT / "tests" / "support")]

import ggufmake  # noqa: E402

from paddock import gguf  # noqa: E402
from paddock.gguf.strings import REMEMBERED  # noqa: E402

VOCABULARY = 262_144
MERGES = 514_906
LAYERS = 62


def words(count: int, longest: int, seed: int) -> list[str]:
    """Texts as vocabularies have them: short ones mostly, some of them long."""
    source = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-▁éñ語"
    pool = "".join(source.choices(letters, k=1 << 16))
    lengths = source.choices(range(1, longest), k=count)
    places = source.choices(range(len(pool) - longest), k=count)
    return [pool[at:at + length] for at, length in zip(places, lengths, strict=True)]


def write(path: Path, merges: int) -> None:
    """A sparse model of 62 layers with a large vocabulary: real header, no weights."""
    metadata, tensors = ggufmake.llama(LAYERS, embedding=2048, heads=16, kv_heads=4, vocabulary=1)
    metadata["tokenizer.ggml.tokens"] = words(VOCABULARY, 14, 1)
    metadata["tokenizer.ggml.scores"] = ggufmake.typed("f32", [0.0] * VOCABULARY)
    metadata["tokenizer.ggml.token_type"] = ggufmake.typed("i32", [1] * VOCABULARY)
    if merges:
        metadata["tokenizer.ggml.merges"] = words(merges, 16, 2)
    head = ggufmake.pad(ggufmake.header(metadata, tensors), 32)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + sum(-(-t.nbytes // 32) * 32 for t in tensors))
    print(f"{path.name}: header of {len(head) / 1e6:.1f} MB, {len(tensors)} tensors")


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ours(path: Path, times: int) -> list[float]:
    """Seconds of each read, as of a file whose like was never met."""
    took = []
    for _ in range(times):
        REMEMBERED.forget()
        took.append(timed(lambda: gguf.read(path)))
    return took


def theirs(path: Path) -> float:
    from gguf import GGUFReader
    return timed(lambda: GGUFReader(path))


def main() -> None:
    long = "--long" in sys.argv[1:]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench-inspect-") as folder:
        plain, merged = Path(folder, "vocabulary.gguf"), Path(folder, "merges.gguf")
        write(plain, 0)
        write(merged, MERGES)
        assert struct.unpack("<I", plain.read_bytes()[4:8]) == (3,)
        # First before the reference's package (and with it numpy) is loaded, as in a command that only inspects.
        reads, merge_reads, with_numpy = ours(plain, 15), ours(merged, 25), list[float]()
        reference: list[float] = []
        while len(reference) < (5 if long else 1) or (len(reference) < 2 and time.perf_counter() - started < 18):
            (with_numpy if reference else reads).extend(ours(plain, 5))
            reference.append(theirs(plain))
            with_numpy += ours(plain, 5)
            print(f"gguf.GGUFReader {reference[-1]:.2f} s, ours {statistics.median(reads) * 1e3:.1f} ms")
        cache = gguf.HeaderCache(Path(folder, "cache"))
        gguf.read(plain, cache=cache)
        cached = [timed(lambda: gguf.read(plain, cache=cache)) for _ in range(200)]
    print(f"took {time.perf_counter() - started:.1f} s")
    median = statistics.median(reads + with_numpy)
    print(json.dumps({
        "reader_ratio": round(statistics.median(reference) / median, 1),
        "inspect_ms_median": round(statistics.median(reads) * 1e3, 2),
        "inspect_with_numpy_ms_median": round(statistics.median(with_numpy) * 1e3, 2),
        "inspect_merges_ms_median": round(statistics.median(merge_reads) * 1e3, 2),
        "cached_ms_median": round(statistics.median(cached) * 1e3, 3),
        "reference_s_median": round(statistics.median(reference), 2),
        "inspect_ms_worst": round(max(reads) * 1e3, 2),
    }))


if __name__ == "__main__":
    main()
