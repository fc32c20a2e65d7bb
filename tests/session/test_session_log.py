from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest

from paddock.server import LogLine
from paddock.session import LogParser
from paddock.session.log import Fact

Lines = Callable[[str], list[LogLine]]
MIB = 1 << 20


def parse(lines: list[LogLine]) -> tuple[LogParser, list[Fact]]:
    parser = LogParser()
    return parser, [fact for line in lines for fact in parser.feed(line)]


@pytest.mark.parametrize("name", ["plain-11434-lv4.log", "noprefix-11434-lv3.log", "jsonl-11434-lv4.log",
                                  "draft-11434-lv4.log", "rpc-11434-lv4.log"])
def test_start_and_requests_are_seen_in_every_form_of_the_log(recorded: Lines, name: str) -> None:
    parser, facts = parse(recorded(name))
    kinds = [f.kind for f in facts]
    for kind in ("loading", "init", "loaded", "listening", "launch", "prompt", "generated", "release"):
        assert kind in kinds, kind
    assert kinds.count("launch") == kinds.count("release")
    assert parser.tells_requests
    assert parser.url is not None
    assert parser.url.startswith("http://127.0.0.1:")
    assert parser.context_per_slot == 2048


def test_slots_and_unified_cache_are_read(recorded: Lines) -> None:
    parser, _ = parse(recorded("plain-11434-lv4.log"))
    assert (parser.slots, parser.context_per_slot, parser.kv_unified) == (2, 2048, False)


def test_times_come_from_the_stamps_and_not_from_the_reading(recorded: Lines) -> None:
    _, facts = parse(recorded("plain-11434-lv4.log"))
    launch = next(f for f in facts if f.kind == "launch" and f.task == 46)
    total = next(f for f in facts if f.kind == "generated" and f.task == 46)
    assert total.t - launch.t == pytest.approx(9.304186 - 1.908378, abs=1e-5)
    assert launch.t == pytest.approx(1000 + 1.908378 + 0.001, abs=1e-5)


def test_without_stamps_the_reading_is_the_time() -> None:
    parser = LogParser()
    facts = parser.feed(LogLine(7.5, "I slot launch_slot_: id  1 | task 2 | processing task, is_child = 0"))
    assert [(f.t, f.slot, f.task, f.values["child"]) for f in facts] == [(7.5, 1, 2, 0.0)]


def test_a_restarted_process_gets_a_new_clock() -> None:
    parser = LogParser()
    line = "{} I slot launch_slot_: id  0 | task {} | processing task, is_child = 0"
    first = parser.feed(LogLine(1000.0, line.format("10.00.000.000", 1)))
    second = parser.feed(LogLine(2000.0, line.format("0.01.000.000", 2)))
    assert [first[0].t, second[0].t] == [1000.0, 2000.0]


def test_the_port_prefix_of_a_router_is_stepped_over() -> None:
    line = "[43211] 0.01.000.000 I slot launch_slot_: id  0 | task 9 | processing task, is_child = 1"
    fact = LogParser().feed(LogLine(5.0, line))[0]
    assert (fact.task, fact.values["child"]) == (9, 1.0)


@pytest.mark.parametrize("text", [
    "", "slot", "slot print_timing: id x | task | prompt eval time", '{"type":"log"', '{"type":"log","time":"x"}',
    '{"type":"fit_memory_breakdown"}', "0.00.000.000 I", "srv  send_error: task id = , error:", "\x1b[0m",
    "slot release: id  0 | task 1 | stop processing: n_tokens = many, truncated = 0"])
def test_odd_lines_are_no_facts(text: str) -> None:
    assert LogParser().feed(LogLine(1.0, text)) == []


def test_text_of_a_prompt_that_looks_like_a_request_line_is_not_one() -> None:
    line = "0.01.000.000 I srv  init: example: slot launch_slot_: id  0 | task 9 | processing task, is_child = 0"
    assert LogParser().feed(LogLine(1.0, line)) == []


def test_figures_are_the_servers_own(
    recorded: Lines, timings: Callable[[str], list[dict[str, float]]]
) -> None:
    _, facts = parse(recorded("plain-11434-lv4.log"))
    spoken = [f for f in facts if f.kind == "generated"]
    for fact, own in zip(spoken[:4], timings("plain-11434-timings.json")[:4], strict=True):
        assert fact.values["tokens"] == own["predicted_n"]
        assert fact.values["per_s"] == pytest.approx(own["predicted_per_second"], rel=0.001, abs=0.01)


def test_nan_and_infinite_speeds_are_numbers_not_failures() -> None:
    line = ("slot print_timing: id  0 | task 1 | eval time =  0.00 ms /  1 tokens "
            "( nan ms per token,  inf tokens per second)")
    fact = LogParser().feed(LogLine(1.0, line))[0]
    assert math.isinf(fact.values["per_s"])


# Memory


def test_a_mapped_file_does_not_count_on_top_of_other_buffers(recorded: Lines) -> None:
    parser, _ = parse(recorded("plain-11434-lv4.log"))
    memory = parser.memory
    (host,) = memory.rows()
    assert host.name == "Host"
    assert host.model == pytest.approx(235.16 * MIB, rel=1e-6)
    assert host.mapped_bytes == pytest.approx(235.16 * MIB, rel=1e-6)
    assert memory.weights_bytes() == pytest.approx(235.16 * MIB, rel=1e-6)


def test_both_caches_of_a_sliding_window_model_count(recorded: Lines) -> None:
    parser, _ = parse(recorded("plain-11434-lv4.log"))
    (host,) = parser.memory.rows()
    assert host.context == 42 * MIB
    assert host.compute == pytest.approx(21.28 * MIB, rel=1e-6)
    assert parser.memory.output_bytes() == {"Host": 2 * MIB}
    assert parser.memory.offloaded == (19, 19)


def test_draft_buffers_are_added_to_the_draft_and_not_to_the_model(recorded: Lines) -> None:
    parser, _ = parse(recorded("draft-11434-lv4.log"))
    main, draft = parser.memory.rows(), parser.memory.rows("draft")
    assert [r.context for r in main] == [21 * MIB]
    assert [r.context for r in draft] == [21 * MIB]
    assert draft[0].model == pytest.approx(235.16 * MIB, rel=1e-6)
    assert parser.memory.draft_offloaded == (19, 19)


def test_devices_of_a_network_are_told_apart_by_their_address(recorded: Lines) -> None:
    parser, _ = parse(recorded("rpc-11434-lv4.log"))
    memory = parser.memory
    rows = {r.name: r for r in memory.rows()}
    assert list(rows) == ["RPC0", "RPC1", "Host"]
    assert rows["RPC0"].model == pytest.approx(17.91 * MIB, rel=1e-6)
    assert rows["RPC1"].model == pytest.approx(184.86 * MIB, rel=1e-6)
    assert (rows["RPC0"].context, rows["RPC1"].context, rows["Host"].context) == (6 * MIB, 5 * MIB, 10 * MIB)
    # Tied embeddings are loaded twice here: the engine's own dry run says 195 MiB for the host, rounded down, beside
    # the rearranged weights, which have a buffer of their own.
    assert rows["Host"].model == 195 * MIB + round(6.68 * MIB)
    assert [d.name for d in memory.devices] == ["RPC0", "RPC1"]


def test_the_weights_never_exceed_the_file_on_a_partly_offloaded_mapped_model() -> None:
    parser, _ = parse([LogLine(1.0, text) for text in (
        "print_info: file size   = 17730.00 MiB (4.85 BPW) ",
        "load_tensors: offloaded 37/49 layers to GPU",
        "load_tensors:   CPU_Mapped model buffer size = 17000.00 MiB",
        "load_tensors:        CUDA0 model buffer size = 13212.00 MiB")])
    rows = {r.name: r.model for r in parser.memory.rows()}
    assert rows == {"CUDA0": 13212 * MIB, "Host": (17730 - 13212) * MIB}
    assert parser.memory.weights_bytes() == 17730 * MIB


def partly_offloaded(file: str, *more: str, host: int = 195, repack: int = 6, card: int = 202) -> dict[str, int]:
    """The host's and the card's weights of the sample model with 10 layers on a card: mapped, tied and rearranged."""
    lines = ("cmn common_get_device_memory_data: getting device memory data for initial parameters:",
             "common_memory_breakdown_print: | memory breakdown [MiB] | total free self model context compute rest |",
             f"common_memory_breakdown_print: |   - RPC0 (a card) | 24105 = 24105 + ( 228 = {card} + 9 + 16) + -228 |",
             f"common_memory_breakdown_print: |   - Host          |                 224 = {host} + 9 + 20           |",
             f"common_memory_breakdown_print: |   - CPU_REPACK    |                   6 = {repack} + 0 + 0           |",
             f"print_info: file size   = {file} (7.36 BPW) ", *more,
             "load_tensors:   CPU_Mapped model buffer size =   202.39 MiB",
             "load_tensors:   CPU_REPACK model buffer size =     6.68 MiB",
             "load_tensors:         RPC0 model buffer size =   202.77 MiB")
    parser, _ = parse([LogLine(1.0, text) for text in lines])
    return {r.name: r.model for r in parser.memory.rows()}


TABLE = ("print_info: n_embd                = 640", "print_info: n_vocab               = 262144")


def test_a_table_that_is_loaded_twice_counts_twice_to_the_last_digit_of_the_log() -> None:
    rows = partly_offloaded("235.16 MiB", *TABLE)
    assert rows["RPC0"] == round(202.77 * MIB)
    assert abs(rows["Host"] - (235.16 + 170 - 202.77) * MIB) < 0.02 * MIB


def test_without_the_size_of_the_table_the_dry_run_is_rounded_down_once_alone() -> None:
    assert partly_offloaded("235.16 MiB")["Host"] == 195 * MIB + round(6.68 * MIB)
    assert partly_offloaded("0.23 GiB", *TABLE)["Host"] == 195 * MIB + round(6.68 * MIB)


def test_a_dry_run_of_another_plan_says_nothing_of_this_one() -> None:
    """--fit tries several: the last one that it measured may not be what was loaded."""
    rows = partly_offloaded("235.16 MiB", *TABLE, card=190)
    assert rows["Host"] < 195 * MIB


def test_reserving_again_replaces_and_does_not_add() -> None:
    text = "sched_reserve:      CUDA0 compute buffer size =   {} MiB"
    parser, _ = parse([LogLine(1.0, "llama_context: constructing llama_context"),
                       LogLine(1.0, text.format("100.00")), LogLine(1.0, text.format("120.00"))])
    assert {r.name: r.compute for r in parser.memory.rows()} == {"CUDA0": 120 * MIB, "Host": 0}


def test_a_second_context_on_the_same_model_is_the_draft_one() -> None:
    parser, _ = parse([LogLine(1.0, text) for text in (
        "load_tensors: CUDA0 model buffer size = 10.00 MiB", "llama_context: constructing llama_context",
        "llama_kv_cache: CUDA0 KV buffer size = 4.00 MiB", "llama_context: constructing llama_context",
        "llama_kv_cache: CUDA0 KV buffer size = 1.00 MiB", "sched_reserve: CUDA0 compute buffer size = 2.00 MiB")])
    assert {r.name: (r.model, r.context) for r in parser.memory.rows()} == {
        "CUDA0": (10 * MIB, 4 * MIB), "Host": (0, 0)}
    assert parser.memory.rows("draft")[0].total == 3 * MIB


def test_loading_again_after_sleep_begins_anew(recorded: Lines) -> None:
    lines = recorded("plain-11434-lv4.log")
    once, _ = parse(lines)
    twice, _ = parse(lines + lines)
    assert twice.memory.rows() == once.memory.rows()


def test_at_plain_verbosity_the_exit_record_is_what_is_known() -> None:
    record = {"type": "fit_memory_breakdown", "data": {"unit": "MiB", "rows": [
        {"kind": "device", "name": "CUDA0", "self": 30, "model": 10, "context": 15, "compute": 5},
        {"kind": "host", "name": "Host", "model": 3, "context": 2, "compute": 1},
        {"kind": "buffer_type", "name": "CPU_REPACK", "model": 4, "context": 0, "compute": 0}]}}
    parser, _ = parse([LogLine(1.0, json.dumps(record, separators=(",", ":")))])
    assert [(r.name, r.model, r.context, r.compute) for r in parser.memory.rows()] == [
        ("CUDA0", 10 * MIB, 15 * MIB, 5 * MIB), ("Host", 7 * MIB, 2 * MIB, MIB)]


def test_the_prompt_cache_stands_apart(recorded: Lines) -> None:
    parser, _ = parse(recorded("plain-11434-lv4.log"))
    assert 30 * MIB < parser.memory.prompt_cache_bytes < 40 * MIB
    assert parser.memory.as_dict()["prompt_cache_bytes"] == parser.memory.prompt_cache_bytes


def test_an_older_build_tells_its_buffers_too(recorded: Lines) -> None:
    parser, _ = parse(recorded("load-10434-lv4.log"))
    (host,) = parser.memory.rows()
    assert host.context == 28.5 * MIB
    assert parser.memory.offloaded == (19, 19)


def test_nothing_told_is_nothing_known() -> None:
    memory = LogParser().memory
    assert not memory.known
    assert memory.rows() == ()
    assert memory.weights_bytes() is None
