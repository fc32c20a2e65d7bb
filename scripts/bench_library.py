#!/usr/bin/env python3
"""How long a person waits for the list of models: 1,000 generated files, scanned cold and from the cache.

Writes the models (28 layers, sparse weights; each of forty folders has a vocabulary of 8,000 of its own) into a
temporary place, drops them from the page cache, scans, and scans again with the headers kept. The last line is one JSON
object. `--long` adds a scan of files with vocabularies of 152,000 entries.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "app"), str(ROOT / "tests" / "support"), str(ROOT / "scripts")]

import ggufmake  # noqa: E402

from bench_inspect import words  # noqa: E402
from paddock import gguf, library  # noqa: E402
from paddock.library.apart import apart_for  # noqa: E402

FILES, FOLDERS, LAYERS, VOCABULARY = 1000, 40, 28, 8000
LARGE_FILES, LARGE_VOCABULARY = 100, 152_000


def write(root: Path, files: int, vocabulary: int) -> list[Path]:
    """`files` models in `FOLDERS` folders, of which each has one vocabulary; the weights are holes."""
    metadata, tensors = ggufmake.llama(LAYERS, embedding=2048, heads=16, kv_heads=4, vocabulary=1)
    metadata["tokenizer.ggml.scores"] = ggufmake.typed("f32", [0.0] * vocabulary)
    metadata["general.name"] = "Model 00000"
    weights = sum(-(-t.nbytes // 32) * 32 for t in tensors)
    paths = []
    for folder in range(FOLDERS):
        metadata["tokenizer.ggml.tokens"] = words(vocabulary, 14, folder + 1)
        head = ggufmake.pad(ggufmake.header(metadata, tensors), 32)
        for number in range(folder, files, FOLDERS):
            path = root / f"owner-{folder}" / f"Model-{number:05d}-Q8_0.gguf"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.write(head.replace(b"Model 00000", f"Model {number:05d}".encode()))
                file.truncate(len(head) + weights)
            paths.append(path)
    print(f"{files} files with a header of {len(head) / 1e6:.2f} MB each")
    return paths


def drop_from_page_cache(paths: list[Path]) -> None:
    """Back to the disk, where the system offers that."""
    if not hasattr(os, "posix_fadvise"):
        return
    os.sync()
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def scanned(root: Path, cache: gguf.HeaderCache) -> tuple[float, int]:
    """Seconds, and how many models were found without an error."""
    start = time.perf_counter()
    entries = library.scan([root], read=lambda path: gguf.read(path, cache=cache),
                           apart=apart_for(cache.folder))
    return time.perf_counter() - start, sum(entry.model is not None for entry in entries)


def measured(root: Path, files: int, vocabulary: int, times: int) -> tuple[list[float], list[float]]:
    """Seconds of cold scans (each with an empty cache of headers) and of scans from the cache."""
    paths = write(root / "models", files, vocabulary)
    cold, cached = [], []
    for turn in range(times):
        drop_from_page_cache(paths)
        cache = gguf.HeaderCache(root / f"headers-{turn}")
        seconds, found = scanned(root / "models", cache)
        if found != files:
            raise SystemExit(f"only {found} of {files} models were read")
        cold.append(seconds)
        cached += [scanned(root / "models", cache)[0] for _ in range(3)]
        print(f"cold {cold[-1]:.2f} s, from the cache {cached[-1]:.3f} s")
    return cold, cached


def main() -> None:
    started = time.perf_counter()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="bench-library-") as folder:
        cold, cached = measured(Path(folder, "a"), FILES, VOCABULARY, 2)
        figures |= {"files": FILES, "cold_s_median": round(statistics.median(cold), 3),
                    "cold_s_worst": round(max(cold), 3), "cached_s_median": round(statistics.median(cached), 3),
                    "cached_s_worst": round(max(cached), 3),
                    "cold_over_cached_ratio": round(statistics.median(cold) / statistics.median(cached), 1)}
        if "--long" in sys.argv[1:]:
            large, _ = measured(Path(folder, "b"), LARGE_FILES, LARGE_VOCABULARY, 2)
            figures["large_vocabulary_ms_a_file"] = round(min(large) / LARGE_FILES * 1e3, 1)
    print(f"took {time.perf_counter() - started:.1f} s")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
