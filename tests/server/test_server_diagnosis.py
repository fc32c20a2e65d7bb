"""Why it failed: recorded error texts, the order in which lines count, and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.launch.catalogue import CATALOGUE
from paddock.server import exits
from paddock.server.diagnosis import RunningDiagnoser, diagnose, match
from paddock.server.rules import RULES

RECORDED = Path(__file__).parents[1] / "data" / "server"
EXPECTED = {
    "bad-cache-type": "cache-type-unknown", "bad-environment": "bad-environment", "bad-value": "bad-value",
    "batch-zero": "batch-zero", "draft-missing": "draft-not-loaded", "host-path-is-folder": "not-a-gguf",
    "invalid-argument": "unknown-flag", "invalid-device": "unknown-device", "kv-too-large": "kv-out-of-memory",
    "lora-bad": "lora-not-loaded", "missing-file": "file-not-found", "missing-value": "missing-value",
    "mmproj-bad": "projector-not-loaded", "mtp-not-there": "mtp-not-in-model",
    "newer-file-version": "file-version-too-new", "not-a-gguf": "not-a-gguf", "not-local-address": "port-not-bound",
    "offline-not-cached": "not-downloaded", "older-file-version": "file-version-too-old",
    "port-taken": "port-not-bound", "port-zero-many": "port-zero", "quantised-v-no-fa": "quantised-v-needs-fa",
    "removed-argument": "removed-flag", "router-bad-dir": "router-models", "rpc-unreachable": "rpc-unreachable",
    "static-path": "static-path", "template-bad": "chat-template-unknown",
    "tensor-no-device": "split-tensor-no-device", "too-many-slots": "too-many-slots",
    "truncated-data": "file-truncated", "truncated-header": "file-truncated",
    "unix-socket-stale": "socket-stale", "unknown-architecture": "architecture-unknown",
    "unknown-buffer": "unknown-buffer-type",
}


def recorded(name: str) -> tuple[list[str], int]:
    first, *lines = (RECORDED / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    code = int(first.removeprefix("# exit "))
    return lines, -(code - 128) if code > 128 else code


def test_every_recorded_text_has_an_expectation() -> None:
    assert {path.stem for path in RECORDED.glob("*.txt")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_recorded_failures_are_explained(name: str) -> None:
    lines, code = recorded(name)
    found = diagnose(lines, code)
    assert found is not None
    assert found.id == EXPECTED[name]
    assert found.line in lines
    assert "{" not in str(found.cause) + str(found.advice)


@pytest.mark.parametrize(("line", "expected"), [
    ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc failed: out of memory",
     "device-out-of-memory"),
    ("E llama_model_load: error loading model: unable to allocate CUDA0 buffer", "weights-out-of-memory"),
    ("E graph_reserve: failed to allocate compute buffers", "compute-out-of-memory"),
    ("E llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers",
     "compute-out-of-memory"),
    ("CUDA error: an illegal memory access was encountered", "backend-error"),
    ("E srv start: the server is built without SSL support", "tls-not-built"),
    ("E llama_init_from_model: SPLIT_MODE_TENSOR requires flash_attn to be enabled", "split-tensor-needs-fa"),
    ("E LLAMA_SPLIT_MODE_TENSOR not implemented for architecture 'grok'", "split-tensor-architecture"),
    ("E device Vulkan0 does not support split buffers", "split-row-backend"),
    ("E invalid value for main_gpu: 3 (available devices: 2)", "main-gpu-range"),
    ("E quantized V cache was requested, but this requires Flash Attention", "quantised-v-fa-unsupported"),
    ("E K cache type q4_0 with block size 32 does not divide n_embd_head_k=40", "kv-block-size"),
    ("E model does not support different K (f16) and V (q8_0) cache types", "kv-types-differ"),
    ("E draft model is not eagle3", "draft-wrong-kind"),
    ("E RPC server version mismatch: 3.0 != 4.0", "rpc-version"),
    ("Remote RPC server crashed or returned malformed response", "rpc-died"),
    ("error while handling argument \"--rpc\": RPC not supported in this build", "rpc-not-built"),
    ("E llama_model_load: error loading model: illegal split file idx: 1 (file: x), model must be loaded with the first"
     " split", "shard-not-first"),
    ("E failed to load GGUF split from /m/x-00002-of-00002.gguf", "shard-missing"),
    ("E error loading model: CLIP cannot be used as main model, use it with --mmproj instead", "projector-as-model"),
    ("E error loading model: missing tensor 'blk.0.attn_q.weight'", "model-mismatch"),
    ("E failed to fetch model metadata", "download-failed"),
    ("E chat template parsing error: x", "chat-template-broken"),
    ("GGML_ASSERT(src0->ne[0] == SPLIT_AXIS_UNKNOWN) failed", "split-axis"),
    ("ggml.c:1: GGML_ASSERT(a == b) failed", "assertion"),
    ("E srv llama_server: MCP starting failed: no such program", "tools-failed"),
    ("llama: error while loading shared libraries: libggml.so.0: cannot open shared object file", "library-missing"),
])
def test_texts_known_from_the_source_are_explained(line: str, expected: str) -> None:
    found = diagnose(["0.00.000.001 I srv: x", line, "E exiting due to model loading error"], 1)
    assert found is not None
    assert found.id == expected


def test_the_first_specific_line_wins_over_later_and_general_ones() -> None:
    lines = ["E failed to load model 'x'", "E n_seq_max must be <= 256", "E quantized V cache requires flash_attn"]
    found = diagnose(lines, 1)
    assert found is not None
    assert found.id == "too-many-slots"


def test_a_role_names_the_cause_and_the_evidence_is_the_line_shown() -> None:
    found = diagnose(*recorded("draft-missing"))
    assert found is not None
    assert found.line is not None
    assert "No such file" in found.line


def test_a_general_line_is_better_than_nothing() -> None:
    found = diagnose(["E srv  llama_server: exiting due to model loading error"], 1)
    assert found is not None
    assert found.id == "loading-failed"


def test_no_line_and_no_code_is_no_diagnosis() -> None:
    assert diagnose(["0.00.000.001 I srv: all is well"], 1) is None


def test_what_it_serves_on_with_is_a_notice_and_explains_no_end() -> None:
    running = RunningDiagnoser()
    lines = ("W common_fit_params: failed to fit params to free device memory: n_gpu_layers already set by user to 99, "
             "abort", "E the target and draft vocabs are not compatible", "E x: Compute error.", "E x: Compute error.")
    told = [running.feed(line) for line in lines]
    assert [d.id if d else None for d in told] == ["fit-aborted", "draft-vocabulary", "compute-error", None]
    assert [n.id for n in running.notices] == ["fit-aborted", "draft-vocabulary", "compute-error"]
    assert not any(n.fatal for n in running.notices)
    assert running.conclude(None) is None
    assert "n_gpu_layers already set by user to 99" in str(running.notices[0].cause)


def test_text_in_information_lines_is_not_taken_for_an_error() -> None:
    assert diagnose(["0.00.000.001 I slot: prompt: 'what does CUDA error mean, and GGML_ASSERT( ?'"], 1) is None


@pytest.mark.parametrize(("code", "expected"), [
    (-4, "illegal-instruction"), (132, "illegal-instruction"), (-9, "killed"), (137, "killed"), (-11, "segfault"),
    (-6, "abort"), (134, "abort"), (-7, "bus-error"), (127, "cannot-start"), (126, "cannot-start"),
    (0xC0000135, "library-missing"), (0xC0000135 - (1 << 32), "library-missing"), (0xC0000005, "segfault"),
    (0xC0000005 - (1 << 32), "segfault"), (0xC0000409, "abort"), (0xC000001D, "illegal-instruction")])
def test_exit_codes_speak_where_lines_do_not(code: int, expected: str) -> None:
    found = diagnose(["0.00.000.001 I cmn: threadpool init"], code)
    assert found is not None
    assert found.id == expected


def test_an_end_without_a_word_is_said_to_be_one() -> None:
    found = diagnose([], 3)
    assert found is not None
    assert found.id == "ended-silently"
    assert diagnose(["", "something"], 3) is None


@pytest.mark.parametrize(("code", "words"), [
    (None, "not known"), (0, "exit code 0"), (3, "exit code 3"), (-9, "SIGKILL"), (137, "SIGKILL"),
    (0xC0000005, "0xC0000005 (access violation)"), (-1073741819, "0xC0000005")])
def test_ends_are_told_in_words(code: int | None, words: str) -> None:
    assert words in str(exits.reason(code))


def test_edits_name_options_that_the_catalogue_knows() -> None:
    named = {name for rule in RULES for name, _ in rule.edits}
    named |= {name for d in (*exits._BY_SIGNAL.values(), *exits._BY_STATUS.values()) for name, _ in d.edits}
    assert {name for name in named if CATALOGUE.get(name) is None} == set()


def test_rule_ids_are_unique_and_every_needle_finds_its_rule() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len(set(ids))
    for rule in RULES:
        if rule.pattern is None:
            for needle in rule.needles:
                found = match(f"E x: {needle} y")
                assert found is not None
                assert found[0] is rule, needle
