#!/usr/bin/env python3
"""How long one estimate takes, and llama.cpp's own dry run of the same model beside it.

The models are the recorded ones of the tests (61 layers and 1,100 tensors the largest), each asked with many different
plans, as editing does. The dry run is `fit-params -fitp on` of a generated model, once with a vocabulary of 262,144
entries and once without, interleaved with estimates. The last line is one JSON object. `--long` repeats more often.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "app"), str(ROOT / "tests" / "support")]

import fittruth  # noqa: E402
import ggufmake  # noqa: E402

from paddock import engine, fit, gguf  # noqa: E402
from paddock.launch import Plan, parse_argv  # noqa: E402

GIB = 1 << 30
LARGEST = "deepseek-v3-q4km.gguf"
TYPICAL = (
    "llama-3.1-8b-q4km.gguf",
    "qwen3-30b-a3b-q4km.gguf",
    "gemma-3-27b-q4km.gguf",
    "gpt-oss-20b-mxfp4.gguf",
    "llama-3.3-70b-q4km.gguf",
    "qwen2.5-coder-7b-q4km.gguf",
)
BUDGETS = (fit.Budget("CUDA0", "cuda", 24 * GIB, 23 * GIB), fit.Budget("CUDA1", "cuda", 24 * GIB, 22 * GIB))
VOCABULARY = 262_144
LAYERS = 32


def plans() -> list[Plan]:
    """Edits as a person makes them: context, layers, slots, cache types, micro-batch."""
    found = [
        parse_argv(["-c", str(context), *more.split(), *slots.split(), *batch.split()])
        for context, more, slots, batch in product(
            (4096, 8192, 32768, 131072),
            ("", "-ngl 20", "-dev CUDA0 -ncmoe 12", "-ctk q8_0 -ctv q8_0"),
            ("", "-np 1"),
            ("", "-ub 1024"),
        )
    ]
    random.Random(1).shuffle(found)
    return found


def estimates(model: gguf.ModelFile, budgets: tuple[fit.Budget, ...], rounds: int) -> list[float]:
    """Milliseconds of each plan: the best of its rounds, so that what else the machine does counts for little."""
    found = [
        [fit.estimate(model, plan, budgets, host_total=64 * GIB, host_free=48 * GIB).ms for plan in plans()]
        for _ in range(rounds)
    ]
    return [min(times) for times in zip(*found, strict=True)]


def write(path: Path, vocabulary: bool) -> None:
    """A sparse model of 32 layers: real header, no weights."""
    metadata, tensors = ggufmake.llama(LAYERS, embedding=2048, heads=16, kv_heads=4, vocabulary=1)
    del metadata["tokenizer.ggml.tokens"]
    tensors = [
        ggufmake.Tensor(t.name, (2048, VOCABULARY), t.type) if t.name in ("token_embd.weight", "output.weight") else t
        for t in tensors
    ]
    metadata["llama.attention.layer_norm_rms_epsilon"] = 1e-5
    if vocabulary:
        metadata["tokenizer.ggml.model"] = "llama"
        metadata["tokenizer.ggml.tokens"] = ["<unk>", "<s>", "</s>", *(f"t{i}" for i in range(VOCABULARY - 3))]
        metadata["tokenizer.ggml.scores"] = ggufmake.typed("f32", [0.0] * VOCABULARY)
        metadata["tokenizer.ggml.token_type"] = ggufmake.typed("i32", [1] * VOCABULARY)
    else:
        metadata["tokenizer.ggml.model"] = "no_vocab"
        metadata["llama.vocab_size"] = VOCABULARY
    head = ggufmake.pad(ggufmake.header(metadata, tensors), 32)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + sum(-(-t.nbytes // 32) * 32 for t in tensors))


def dry_run(command: tuple[str, ...], path: Path) -> float | None:
    """Milliseconds of the engine's dry run; None where it fails."""
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "-fitp", "on", "-m", str(path), "-c", "8192"], capture_output=True, timeout=60, check=False
    )
    if done.returncode:
        print(f"the dry run failed: {done.stderr[-300:].decode(errors='replace')}")
        return None
    return (time.perf_counter() - start) * 1e3


def ratio(command: tuple[str, ...], path: Path, rounds: int) -> float | None:
    """The dry run's time over one estimate's, taken in turns."""
    model = gguf.read(path)
    asked = plans()
    engine_ms, own_ms = [], []
    for i in range(rounds):
        taken = dry_run(command, path)
        if taken is None:
            return None
        engine_ms.append(taken)
        own_ms += [
            fit.estimate(model, plan, BUDGETS[:0], host_total=64 * GIB, host_free=48 * GIB).ms
            for plan in asked[i::rounds]
        ]
    print(f"{path.name}: dry run {statistics.median(engine_ms):.1f} ms, estimate {statistics.median(own_ms):.2f} ms")
    return round(statistics.median(engine_ms) / statistics.median(own_ms), 1)


def main() -> None:
    rounds = 20 if "--long" in sys.argv[1:] else 2
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="bench-fit-") as folder:
        truth = fittruth.Truth(Path(folder))
        largest = estimates(truth.model(LARGEST), BUDGETS, rounds)
        typical = [ms for name in TYPICAL for ms in estimates(truth.model(name), BUDGETS, rounds)]
        figures = {
            "estimate_ms_median": round(statistics.median(largest), 2),
            "estimate_ms_typical_median": round(statistics.median(typical), 2),
            "estimate_ms_worst": round(max(largest + typical), 1),
        }
        print(f"{len(largest)} estimates of the largest model, {len(typical)} of others")
        found = engine.default_engine(engine.find(), lambda c: engine.probe(c.path, source=c.source))
        command = found.tool("fit-params") if found is not None else None
        if command is None:
            print("no engine with fit-params: no ratios")
        else:
            for name, vocabulary in (("engine_ratio", True), ("engine_ratio_novocab", False)):
                path = Path(folder, f"{name}.gguf")
                write(path, vocabulary)
                value = ratio(command, path, 3 * rounds)
                if value is not None:
                    figures[name] = value
    print(f"took {time.perf_counter() - started:.1f} s")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
