"""What a help text says about each option, in the forms of several builds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.engine import Engine, EngineOption, parse_help

DATA = Path(__file__).parent.parent / "data" / "engine"


def recorded(name: str) -> str:
    return (DATA / name).read_text("utf-8")


def by_flag(name: str) -> dict[str, EngineOption]:
    return {flag: option for option in parse_help(recorded(name))[0] for flag in (*option.names, *option.negations)}


@pytest.fixture(scope="module")
def new() -> dict[str, EngineOption]:
    return by_flag("llama-11434-serve-help.txt")


@pytest.fixture(scope="module")
def older() -> dict[str, EngineOption]:
    return by_flag("handwritten-older-help.txt")


@pytest.mark.parametrize(("build", "help_file"), [
    ("llama-11434", "llama-11434-serve-help.txt"), ("llama-server-10434", "llama-server-10434-help.txt")])
def test_every_spelling_that_the_program_completes_is_found_and_no_other(build: str, help_file: str) -> None:
    options, verified = parse_help(recorded(help_file))
    assert verified
    assert [name for option in options for name in option.names] == recorded(
        f"{build}-completion-names.txt").split()


def test_the_two_builds_differ_by_exactly_the_flags_that_are_known_to_differ() -> None:
    new, old = set(by_flag("llama-11434-serve-help.txt")), set(by_flag("llama-server-10434-help.txt"))
    assert old - new == {"--mmap", "--no-mmap", "--mlock", "-dio", "--direct-io", "-ndio", "--no-direct-io"}
    assert new - old == {
        "--kv-unified-per-slot", "-lzm", "--lazy-mode", "--log-jsonl", "--no-log-jsonl", "-mmdev", "--mmproj-device",
        "-ncffn", "--n-cpu-ffn", "--spec-draft-sampling", "--spec-synth-len", "--spec-synth-rates", "--video-fps",
        "--video-timestamp-interval", "--video-ffmpeg-dir"}


@pytest.mark.parametrize(("flag", "names", "negations"), [
    ("--kv-offload", ("-kvo", "--kv-offload"), ("-nkvo", "--no-kv-offload")),
    ("--repack", ("--repack",), ("-nr", "--no-repack")),
    ("--kv-unified", ("-kvu", "--kv-unified"), ("-no-kvu", "--no-kv-unified")),
    ("--mmproj-auto", ("--mmproj-auto",), ("--no-mmproj", "--no-mmproj-auto")),
    ("--webui", ("--ui", "--webui"), ("--no-ui", "--no-webui")),
    ("--agent", ("-ag", "--agent"), ("-no-ag", "--no-agent")),
    ("--no-host", ("--no-host",), ()),
    ("-ncmoe", ("-ncmoe", "--n-cpu-moe"), ()),
    ("-np", ("-np", "--parallel"), ()),
])
def test_negations_are_told_from_names(
    new: dict[str, EngineOption], flag: str, names: tuple[str, ...], negations: tuple[str, ...]
) -> None:
    assert (new[flag].names, new[flag].negations) == (names, negations)


@pytest.mark.parametrize(("flag", "hint", "count"), [
    ("--metrics", None, 0),
    ("--warmup", None, 0),
    ("-c", "N", 1),
    ("-ot", "<tensor name pattern>=<buffer type>,...", 1),
    ("-dr", "[<repo>/]<model>[:quant]", 1),
    ("--spec-draft-override-tensor", "<tensor name pattern>=<buffer type>,...", 1),
    ("-l", "TOKEN_ID(+/-)BIAS", 1),
    ("--control-vector-layer-range", "START END", 2),
])
def test_the_value_is_read_from_its_placeholder(
    new: dict[str, EngineOption], flag: str, hint: str | None, count: int
) -> None:
    assert (new[flag].hint, new[flag].value_count) == (hint, count)


@pytest.mark.parametrize(("flag", "choices"), [
    ("-fa", ("on", "off", "auto")),
    ("--cpu-strict", ("0", "1")),
    ("--poll", ()),
    ("-sm", ("none", "layer", "row", "tensor")),
    ("-ctk", ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")),
    ("-lm", ("auto", "none", "mmap", "mlock", "mmap+mlock", "dio")),
    ("-lv", ("0", "1", "2", "3", "4", "5")),
    ("--numa", ("distribute", "isolate", "numactl")),
    ("-dev", ()),
    ("-ts", ()),
    ("--tools", ()),
])
def test_choices_are_read_in_every_form(new: dict[str, EngineOption], flag: str, choices: tuple[str, ...]) -> None:
    assert new[flag].choices == choices


def test_a_placeholder_that_is_itself_the_list_gives_the_choices(new: dict[str, EngineOption]) -> None:
    assert new["--spec-type"].choices[:3] == ("none", "draft-simple", "draft-eagle3")
    assert new["--spec-type"].choices[-1] == "ngram-cache"


@pytest.mark.parametrize(("flag", "default"), [
    ("-c", "0"),
    ("-t", "-1"),
    ("-C", ""),
    ("-fa", "auto"),
    ("-sm", "layer"),
    ("-fitt", "1024"),
    ("-fit", "on"),
    ("--poll", "50"),
    ("-tb", "same as --threads"),
    ("-cram", "8192"),
    ("-ctxcp", "32"),
    ("--sleep-idle-seconds", "-1"),
    ("--cors-methods", "GET, POST, DELETE, OPTIONS"),
    ("--samplers", "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"),
    ("--yarn-orig-ctx", "0"),
    ("-devd", "follows --device"),
    ("-rea", "auto"),
    ("--path", ""),
    ("-m", None),
    ("--numa", None),
    ("-ngl", "auto"),
])
def test_defaults_lose_their_quotes_and_explanations(
    new: dict[str, EngineOption], flag: str, default: str | None
) -> None:
    assert new[flag].default == default


def test_sections_and_environment_variables_are_kept(new: dict[str, EngineOption]) -> None:
    assert [new[flag].section for flag in ("-c", "--temp", "--spec-type", "--port")] == [
        "common", "sampling", "speculative", "example-specific"]
    assert [new[flag].env for flag in ("-c", "-hft", "--api-key", "-mmdev", "--seed")] == [
        "LLAMA_ARG_CTX_SIZE", "HF_TOKEN", "LLAMA_API_KEY", "MTMD_BACKEND_DEVICE", None]


def test_the_help_loses_its_wrapping_but_keeps_its_own_lines(new: dict[str, EngineOption]) -> None:
    assert new["-sm"].help.splitlines() == [
        "how to split the model across multiple GPUs, one of:",
        "- none: use one GPU only",
        "- layer (default): split layers and KV across GPUs (pipelined)",
        "- row: split weight across GPUs by rows (parallelized)",
        "- tensor: split weights and KV across GPUs (parallelized, EXPERIMENTAL)",
    ]
    assert "(env:" not in new["-c"].help


@pytest.mark.parametrize(("flag", "replacement"), [
    ("--draft-max", "--spec-draft-n-max or --spec-ngram-mod-n-max"),
    ("--draft-min", "--spec-draft-n-min or --spec-ngram-mod-n-min"),
    ("--spec-ngram-size-n", "the respective --spec-ngram-*-size-n or --spec-ngram-mod-n-match"),
])
def test_a_removed_option_is_no_support_and_names_its_replacement(flag: str, replacement: str) -> None:
    options, verified = parse_help(recorded("llama-11434-serve-help.txt"))
    engine = Engine("e", Path("e"), ("e",), "test", options=options, flags_verified=verified)
    assert engine.knows(flag) is False
    assert engine.removed[flag].replacement == replacement


def test_flash_attention_of_an_older_build_takes_no_value(older: dict[str, EngineOption]) -> None:
    assert older["-fa"].value_count == 0
    assert older["-fa"].default == "disabled"
    assert older["-fa"].env == "LLAMA_ARG_FLASH_ATTN"


def test_a_lonely_negation_of_an_older_build_is_an_option_of_its_own(older: dict[str, EngineOption]) -> None:
    assert older["--no-mmap"].names == ("--no-mmap",)
    assert older["-nkvo"].names == ("-nkvo", "--no-kv-offload")
    assert older["-nocb"].names == ("-nocb", "--no-cont-batching")
    assert older["--lora-scaled"].value_count == 2
    assert older["-ctk"].choices == ("f32", "f16", "q8_0")


def test_an_older_help_is_verified() -> None:
    assert parse_help(recorded("handwritten-older-help.txt"))[1]


def test_a_fork_is_read_as_far_as_it_goes_and_not_taken_for_complete() -> None:
    options, verified = parse_help(recorded("handwritten-fork-help.txt"))
    flags = {name: option for option in options for name in option.names}
    assert not verified
    assert flags["--port"].hint == "PORT"
    assert flags["--port"].default == "8080"
    assert flags["-fa"].choices == ("0", "1")
    assert flags["--flash-attn"].default == "1"
    assert flags["-m"].section == "model"
    assert flags["-ngl"].names == ("-ngl", "--gpu-layers")


def test_a_help_that_was_cut_off_is_not_taken_for_complete() -> None:
    text = recorded("llama-11434-serve-help.txt")
    options, verified = parse_help(text[:len(text) // 2])
    assert len(options) > 100
    assert not verified


def test_an_engine_with_unverified_flags_says_neither_yes_nor_no() -> None:
    options, verified = parse_help(recorded("handwritten-fork-help.txt"))
    engine = Engine("e", Path("e"), ("e",), "test", options=options, flags_verified=verified)
    assert engine.knows("--metrics") is None


@given(st.text(alphabet=st.sampled_from(list("-- \n\tab,N[]{}()<>|=.:0default envéż")), max_size=400))
def test_no_text_breaks_the_parser(text: str) -> None:
    options, verified = parse_help(text)
    assert all(option.names for option in options)
    assert not verified
