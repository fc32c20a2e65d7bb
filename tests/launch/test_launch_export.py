"""A command for other programs."""

from __future__ import annotations

import configparser
import json
import shlex
import subprocess
import sys

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from paddock.engine import Engine
from paddock.errors import AppError
from paddock.launch import Plan, check, command, parse
from paddock.launch.export import FORMATS, export
from paddock.launch.quoting import batch, powershell, unit

LINE = """CUDA_VISIBLE_DEVICES=1 FOO='a b%c' numactl -N 0 /opt/llama/llama-server -m '/m/my model.gguf' -c 4096
  -ot 'blk.(1|2)=CPU' -ot x=CPU -nkvo --api-key env:MY_KEY --host 0.0.0.0 --port 8090
  --chat-template-kwargs '{"a": "100% $x"}' -a home""".replace("\n", " ")
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=15)


def test_argv_is_one_json_array() -> None:
    words = json.loads(export(parse(LINE), "argv"))
    assert words[:6] == ["numactl", "-N", "0", "/opt/llama/llama-server", "-m", "/m/my model.gguf"]


@pytest.mark.parametrize("format", FORMATS)
def test_keys_are_names_of_variables_only(format: str) -> None:
    made = command(parse("-m a --api-key keyring:home --hf-token abc123"), None, secrets={"keyring:home": "s3cret"})
    text = export(made, format)
    assert "s3cret" not in text
    assert "abc123" not in text
    assert "keyring" not in text


@pytest.mark.parametrize("format", FORMATS)
def test_additions_are_left_out_unless_asked_for(format: str) -> None:
    made = command(parse("-m a"), None)
    assert "metrics" not in export(made, format)
    assert "metrics" in export(made, format, additions=True)


def test_a_posix_line_runs_in_a_shell() -> None:
    program = [sys.executable, "-c", "import json,os,sys;print(json.dumps([sys.argv[1:],os.environ['LLAMA_API_KEY'],"
                                     "os.environ['FOO']]))"]
    plan = parse(LINE)
    made = command(Plan(plan.settings, plan.environment, tuple(program)), None)
    text = export(made, "posix").replace(" llama-server ", " ", 1)
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True, env={"MY_KEY": "k e y"})
    words, key, foo = json.loads(done.stdout)
    assert tuple(words) == made.own_argv
    assert (key, foo) == ("k e y", "a b%c")


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_posix_gives_the_plan_back(words: list[str], value: str) -> None:
    plan = Plan(environment=(("A", value),)).with_("alias", *(words[:1] or ["x"]))
    assert parse(export(plan, "posix")) == plan


def _c_words(line: str) -> list[str]:
    """How a C program on Windows takes its command line apart."""
    words: list[str] = []
    word, quoted, begun, at = "", False, False, 0
    while at < len(line):
        slashes = len(line[at:]) - len(line[at:].lstrip("\\"))
        if slashes:
            at += slashes
            quote = line[at:at + 1] == '"'
            word += "\\" * (slashes // 2 if quote else slashes)
            begun = True
            if quote and slashes % 2:
                word += '"'
                at += 1
            continue
        char = line[at]
        at += 1
        if char == '"':
            quoted, begun = not quoted, True
        elif char in " \t" and not quoted:
            if begun:
                words.append(word)
            word, begun = "", False
        else:
            word, begun = word + char, True
    return [*words, word] if begun else words


def _cmd_line(line: str) -> str:
    """What cmd.exe makes of a line of a batch file: percent signs, then carets outside quotes."""
    line = line.replace("%%", "\0")
    assert "%" not in line
    out, quoted, at = "", False, 0
    while at < len(line):
        char = line[at]
        if char == "^" and not quoted:
            at += 1
            out += line[at]
        else:
            assert quoted or char not in "&|<>()", "cmd would act on it"
            quoted = quoted != (char == '"')
            out += char
        at += 1
    return out.replace("\0", "%")


@given(st.lists(TEXTS.filter(lambda t: not set("\r\n") & set(t)), min_size=1, max_size=4))
def test_a_batch_file_passes_every_word(words: list[str]) -> None:
    assert _c_words(_cmd_line(" ".join(batch(word) for word in words))) == words


def test_a_line_break_cannot_go_into_a_batch_file_or_a_preset() -> None:
    plan = parse("-m a --grammar 'a\nb'")
    for format in ("cmd", "preset"):
        with pytest.raises(AppError):
            export(plan, format)


@pytest.mark.parametrize(("word", "quoted"), [
    ("-m", "-m"), ("a b", "'a b'"), ("it's", "'it''s'"), ("a,b", "'a,b'"), ("$x", "'$x'"), ("-a.b", "'-a.b'"),
    ("", "''"), ("-1", "-1"), ("C:\\x\\y.gguf", "C:\\x\\y.gguf"), ("@x", "'@x'"), ("--port", "--port"),
])
def test_powershell_words(word: str, quoted: str) -> None:
    assert powershell(word) == quoted


@pytest.mark.parametrize(("word", "quoted"), [
    ("-m", "-m"), ("a b", '"a b"'), ("100%", '"100%%"'), ("$x", '"$$x"'), ('"', '"\\""'), ("a\\b", '"a\\\\b"'),
    (";", "\\;"), ("a\nb", '"a\\nb"'), ("", '""'),
])
def test_unit_words(word: str, quoted: str) -> None:
    assert unit(word) == quoted


def test_systemd_unit() -> None:
    text = export(parse(LINE), "systemd")
    assert 'Environment="FOO=a b%%c"' in text
    assert "ExecStart=numactl -N 0 /opt/llama/llama-server -m" in text
    assert '"{\\"a\\": \\"100%% $$x\\"}"' in text
    assert "EnvironmentFile=" in text


def test_preset_is_an_ini_that_llama_cpp_reads() -> None:
    text = export(parse(LINE), "preset")
    reader = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    reader.read_string(text.replace("version = 1", "", 1))
    assert dict(reader["home"]) == {
        "model": "/m/my model.gguf", "ctx-size": "4096", "override-tensor": "blk.(1|2)=CPU,x=CPU",
        "kv-offload": "false", "chat-template-kwargs": '{"a": "100% $x"}', "alias": "home"}
    assert "; left out: port 8090" in text


def test_llama_swap_chooses_the_port() -> None:
    entry = yaml.safe_load(export(parse(LINE), "llama-swap"))["models"]["home"]
    words = shlex.split(entry["cmd"])
    assert words[-4:] == ["--host", "127.0.0.1", "--port", "${PORT}"]
    assert "8090" not in words
    assert entry["env"] == ["CUDA_VISIBLE_DEVICES=1", "FOO=a b%c", "LLAMA_API_KEY=${env.MY_KEY}"]


def test_docker_mounts_the_folders_of_the_files(engine: Engine) -> None:
    words = shlex.split(export(parse(LINE), "docker", engine=engine))
    assert words[words.index("-v") + 1] == "/m:/m:ro"
    assert "127.0.0.1:8090:8090" in words
    assert words[-4:] == ["--host", "0.0.0.0", "--port", "8090"]
    assert "numactl" not in words


def test_an_unknown_format_is_said() -> None:
    with pytest.raises(AppError, match="fish"):
        export(Plan(), "fish")


@pytest.mark.parametrize("format", FORMATS)
def test_a_name_that_could_be_a_command_is_never_written(format: str) -> None:
    plan = Plan(environment=(("$(touch x)", "1"),)).with_("model", "a")
    with pytest.raises(AppError, match="no name of a variable"):
        export(plan, format)
    assert "touch" not in command(plan, None).own


@pytest.mark.parametrize("format", FORMATS)
def test_keys_of_other_services_and_of_containers_do_not_leave_either(format: str) -> None:
    plan = Plan(environment=(("OPENAI_API_KEY", "s3cret"), ("FOO", "bar")),
                prefix=("docker", "run", "-e", "HF_TOKEN=t0ken", "--env=MY_SECRET=h1dden", "image")).with_("model", "a")
    made = command(plan, None)
    text = export(made, format)
    assert not any(key in text + made.own for key in ("s3cret", "t0ken", "h1dden"))
    assert made.env["OPENAI_API_KEY"] == "s3cret"
    assert "HF_TOKEN=t0ken" in made.argv
    if format not in ("argv", "preset"):
        assert "OPENAI_API_KEY" in text


def test_a_pasted_container_does_not_keep_its_keys_as_words() -> None:
    plan = parse("docker run -e HF_TOKEN=t0ken -e A=b ghcr.io/x/llama -m /a.gguf")
    assert plan.environment == (("HF_TOKEN", "t0ken"), ("A", "b"))
    assert not any("t0ken" in word for word in plan.extra)
    assert "literal-key" in {issue.id for issue in check(plan, None, None, None)}


def test_a_windows_folder_is_mounted_where_a_container_can_have_it() -> None:
    plan = parse("-m 'D:\\models\\a b\\x.gguf' -c 512 -ot 'a\\.b=CPU'")
    text = export(plan, "docker")
    assert "-v 'D:\\models\\a b:/mnt/d/models/a b:ro'" in text
    assert "-m '/mnt/d/models/a b/x.gguf'" in text
    assert parse(text).without("port").settings == plan.settings
