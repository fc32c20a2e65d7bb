"""Pasted command lines become plans."""

from __future__ import annotations

import pytest

from paddock.errors import AppError
from paddock.launch import Plan, Setting, parse, parse_argv


def settings(text: str) -> list[tuple[str, tuple[str, ...], bool]]:
    return [(s.option, s.values, s.on) for s in parse(text)]


def test_short_long_and_underscored_spellings_are_one_option() -> None:
    for text in ("-c 4096", "--ctx-size 4096", "--ctx_size 4096"):
        assert settings(text) == [("ctx-size", ("4096",), True)]


def test_underscores_in_short_spellings_are_not_touched() -> None:
    assert parse("-ctx_size 1").settings[0].option == "-ctx_size"


def test_negations_turn_a_pair_off() -> None:
    assert settings("--no-kv-offload -kvu -nr") == [
        ("kv-offload", (), False), ("kv-unified", (), True), ("repack", (), False)]


def test_a_bare_fa_does_not_swallow_the_next_flag() -> None:
    assert settings("-fa --temp 0") == [("flash-attn", ("on",), True), ("temp", ("0",), True)]
    assert settings("-m a.gguf -fa") == [("model", ("a.gguf",), True), ("flash-attn", ("on",), True)]
    assert settings("-fa off -c 1") == [("flash-attn", ("off",), True), ("ctx-size", ("1",), True)]
    assert settings("-fa -1") == [("flash-attn", ("-1",), True)]


def test_negative_numbers_are_values() -> None:
    assert settings("-n -1 --seed -1 --top-nsigma -1.0") == [
        ("predict", ("-1",), True), ("seed", ("-1",), True), ("top-nsigma", ("-1.0",), True)]


def test_a_range_takes_two_words() -> None:
    assert settings("--control-vector-layer-range 10 31 -c 1") == [
        ("control-vector-layer-range", ("10", "31"), True), ("ctx-size", ("1",), True)]


def test_unknown_flags_stay_word_for_word_with_what_follows() -> None:
    assert settings("--weird_flag a -2 -c 1 --other") == [
        ("--weird_flag", ("a", "-2"), True), ("ctx-size", ("1",), True), ("--other", (), True)]


def test_repeated_flags_stay_in_order() -> None:
    plan = parse("-ot a=CPU -c 1 -ot b=CUDA0 -c 2")
    assert [s.value for s in plan.all("override-tensor")] == ["a=CPU", "b=CUDA0"]
    assert plan.get("ctx-size") == "2"


def test_a_whole_pasted_block() -> None:
    plan = parse("""
        # start the big one
        $ export GGML_VK_VISIBLE_DEVICES=0;
        CUDA_VISIBLE_DEVICES=1,0 LLAMA_ARG_CTX_SIZE=8192 \\
          numactl --interleave=all ./build/bin/llama-server \\
          -m '/models/my model.gguf' \\
          -ot "blk\\.(1|2)\\.ffn_.*_exps=CPU,output=CUDA0" --metrics > server.log 2>&1 &
    """)
    assert plan.environment == (("GGML_VK_VISIBLE_DEVICES", "0"), ("CUDA_VISIBLE_DEVICES", "1,0"),
                                ("LLAMA_ARG_CTX_SIZE", "8192"))
    assert plan.prefix == ("numactl", "--interleave=all")
    assert plan.engine == "./build/bin/llama-server"
    assert plan.settings == (
        Setting("model", ("/models/my model.gguf",)),
        Setting("override-tensor", ("blk\\.(1|2)\\.ffn_.*_exps=CPU,output=CUDA0",)),
        Setting("metrics"))
    assert plan.extra == (">", "server.log", "2>&1", "&")


@pytest.mark.parametrize(("text", "engine", "prefix"), [
    ("llama-server -c 1", None, ()),
    ("llama serve -c 1", None, ()),
    ("/opt/llama serve -c 1", "/opt/llama", ()),
    ("~/bin/llama-server -c 1", "~/bin/llama-server", ()),
    ("./server -c 1", "./server", ()),
    ("-c 1", None, ()),
    ("nohup taskset -c 0-3 llama-server -c 1", None, ("nohup", "taskset", "-c", "0-3")),
    ("sudo -u bob /opt/x/run.sh -c 1", "/opt/x/run.sh", ("sudo", "-u", "bob")),
    ("mywrapper llama-server -c 1", None, ("mywrapper",)),
    ("'C:\\llama.cpp\\llama-server.exe' -c 1", "C:\\llama.cpp\\llama-server.exe", ()),
    ("C:\\llama.cpp\\llama-server.exe -c 1", "C:\\llama.cpp\\llama-server.exe", ()),
    ("cd /opt && ./llama-server -c 1", "./llama-server", ()),
    ("time llama-server -c 1 | tee log", None, ("time",)),
])
def test_program_and_prefix(text: str, engine: str | None, prefix: tuple[str, ...]) -> None:
    plan = parse(text)
    assert (plan.engine, plan.prefix, plan.get("ctx-size")) == (engine, prefix, "1")


def test_env_in_front_becomes_environment() -> None:
    plan = parse("env A=1 B='x y' numactl -N 0 llama-server -c 1")
    assert plan.environment == (("A", "1"), ("B", "x y"))
    assert plan.prefix == ("numactl", "-N", "0")


def test_containers_keep_only_the_flags_behind_the_image() -> None:
    plan = parse("docker run --gpus all -v /m:/m ghcr.io/ggml-org/llama.cpp:server-cuda -m /m/a.gguf -c 512")
    assert [s.option for s in plan] == ["model", "ctx-size"]
    assert plan.extra[:2] == ("docker", "run")


def test_windows_paths_in_quotes_survive() -> None:
    assert parse('-m "C:\\models\\new\\x.gguf" -c 1').get("model") == "C:\\models\\new\\x.gguf"
    assert parse('--media-path "C:\\media\\" -c 1').get("media-path") == "C:\\media\\"


def test_line_ends_of_windows_and_its_continuations() -> None:
    plan = parse("llama-server ^\r\n  -m a.gguf `\r\n  -c 1\r\n")
    assert (plan.get("model"), plan.get("ctx-size")) == ("a.gguf", "1")


def test_stray_words_are_kept_and_not_launched() -> None:
    plan = parse("llama-server model.gguf -c 1 --metrics what")
    assert plan.extra == ("model.gguf", "what")
    assert [s.option for s in plan] == ["ctx-size", "metrics"]


def test_another_command_is_not_a_plan() -> None:
    plan = parse("ls -la /models")
    assert plan.settings == ()
    assert plan.extra == ("ls", "-la", "/models")
    assert parse("") == Plan()


def test_a_quote_that_is_never_closed_is_said() -> None:
    with pytest.raises(AppError, match="never closed"):
        parse("llama-server -m 'a.gguf")


def test_key_from_a_shell_variable_is_a_reference() -> None:
    assert parse('llama-server --api-key "$KEY"').get("api-key") == "env:KEY"
    assert parse("LLAMA_API_KEY=${KEY} llama-server").variable("LLAMA_API_KEY") == "env:KEY"


def test_a_value_that_looks_like_a_flag_is_taken_as_llama_cpp_takes_it() -> None:
    assert settings("-r -n") == [("reverse-prompt", ("-n",), True)]
    assert settings("-c") == [("ctx-size", (), True)]


def test_argv_is_read_like_text() -> None:
    assert parse_argv(["/x/llama", "serve", "-m", "a b"]) == parse("/x/llama serve -m 'a b'")
    assert parse_argv(["-m", "a;b", ">"]).settings == (Setting("model", ("a;b",)),)


def test_any_name_of_an_option_is_its_id() -> None:
    assert Setting("n-gpu-layers", ("9",)) == Setting("gpu-layers", ("9",)) == Setting("-ngl", ("9",))
    plan = Plan().with_("n-gpu-layers", 9).with_("-ngl", 10)
    assert plan.settings == (Setting("gpu-layers", ("10",)),)
    assert plan.without("ngl") == Plan()


def test_what_powershell_writes() -> None:
    plan = parse("$env:CUDA_VISIBLE_DEVICES = '1'\n$env:LLAMA_API_KEY = $env:KEY\n& .\\llama\\llama-server.exe -c 1\n")
    assert plan.environment == (("CUDA_VISIBLE_DEVICES", "1"), ("LLAMA_API_KEY", "env:KEY"))
    assert (plan.engine, plan.get("ctx-size"), plan.extra) == (".\\llama\\llama-server.exe", "1", ())
    assert parse("$env:A=\"b c\"; llama-server").environment == (("A", "b c"),)


def test_a_json_array_of_words() -> None:
    assert parse('["llama-server", "-m", "a b", "-c", "1"]') == parse("llama-server -m 'a b' -c 1")
    assert parse("[1]").settings == ()


@pytest.mark.parametrize("text", [
    "llama-server -m a \\  # the model\n  -c 1", "llama-server -m a\n  -c 1\n", "bash -c 'llama-server -m a -c 1'",
    "llama-server \\\n\\\n-m a -c 1",
])
def test_lines_as_people_paste_them(text: str) -> None:
    assert parse(text) == Plan((Setting("model", ("a",)), Setting("ctx-size", ("1",))))


def test_a_second_command_on_the_next_line_is_left_out() -> None:
    assert parse("llama-server -m a\ncurl http://x").extra == ("curl", "http://x")


@pytest.mark.parametrize("text", [
    'llama-server.exe -m "\\\\nas\\share\\m 1.gguf"', "llama-server -m '\\\\nas\\share\\m 1.gguf'",
    'llama-server -m "\\\\\\\\nas\\\\share\\\\m 1.gguf"'])
def test_a_windows_share_keeps_its_backslashes(text: str) -> None:
    assert parse(text).get("model") == "\\\\nas\\share\\m 1.gguf"


def test_a_windows_share_without_quotes_keeps_its_backslashes() -> None:
    assert parse("llama-server -m \\\\nas-1\\c$\\m.gguf -c 1").get("model") == "\\\\nas-1\\c$\\m.gguf"


@pytest.mark.parametrize("space", ["\u00a0", "\u2007", "\u202f"])
def test_spaces_that_do_not_break_part_words_unless_quoted(space: str) -> None:
    plan = parse(f"llama-server{space}-m{space}'a{space}b.gguf' -c{space}1")
    assert (plan.get("model"), plan.get("ctx-size"), plan.extra) == (f"a{space}b.gguf", "1", ())
