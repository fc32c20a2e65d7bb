"""What is exported in one form comes back from it, whatever the values hold; each shell export is run by its shell."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paddock.errors import AppError
from paddock.launch import Plan, Setting, command, parse
from paddock.launch.export import FORMATS, export
from paddock.launch.importing import import_plans
from paddock.launch.quoting import powershell

NASTY = ["", "a b", "it's", '"', "\\", "a\\", "\\\\", '\\"', "$HOME", "${X}", "`id`", "!x", "%PATH%", "100%", "%%", "^",
         "&", "|", ">", "(a|b)", "*", "?", "~", "#x", ";", "é ü 漢字 🙂", "a\tb", "-x", "--y=1", "@a", "{a}", "[b]",
         "a,b", r"blk\.(1|2)\.ffn_.*=CPU", "C:\\dir\\", "’", "\u00a0", "=", "a=b", "$(x)", "$$", "%i", "%h", "\x7f"]
ANY = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
VALUES = st.one_of(st.sampled_from(NASTY), st.builds("".join, st.lists(st.sampled_from(NASTY), max_size=3)), ANY)
TEXT_OPTIONS = ("alias", "chat-template", "grammar", "reasoning-budget-message", "tags")
PLANS = st.builds(
    lambda texts, numbers, patterns, variables, prefix: Plan(
        (*(Setting(name, (value,)) for name, value in texts.items()),
         *(Setting(name, (str(value),)) for name, value in numbers.items()),
         *(Setting("override-tensor", (value,)) for value in patterns), Setting("kv-offload", (), False)),
        tuple(variables.items()), prefix),
    texts=st.dictionaries(st.sampled_from(TEXT_OPTIONS), VALUES, max_size=3),
    numbers=st.dictionaries(st.sampled_from(["ctx-size", "gpu-layers", "seed"]), st.integers(-1, 99999), max_size=2),
    patterns=st.lists(VALUES, max_size=2),
    variables=st.dictionaries(st.sampled_from(["CUDA_VISIBLE_DEVICES", "GGML_X", "FOO_1"]), VALUES, max_size=2),
    prefix=st.sampled_from([(), ("numactl", "--interleave=all"), ("nice", "-n", "10")]))


def texts_of(plan: Plan) -> list[str]:
    return [value for setting in plan for value in setting.values] + [value for _, value in plan.environment]


def back(plan: Plan, form: str) -> Plan:
    (found,) = import_plans(export(plan, form, name="n"))
    return found.plan


@settings(deadline=None, max_examples=150)
@given(PLANS)
def test_a_posix_line_comes_back(plan: Plan) -> None:
    assert parse(export(plan, "posix")) == plan
    assert parse(command(plan, None).own) == plan


@settings(deadline=None, max_examples=150)
@given(PLANS)
def test_a_powershell_script_comes_back(plan: Plan) -> None:
    assert back(plan, "powershell") == plan


@settings(deadline=None, max_examples=150)
@given(PLANS)
def test_a_batch_file_comes_back_or_is_refused_in_words(plan: Plan) -> None:
    if any(set("\r\n") & set(text) for text in texts_of(plan)) or any('"' in v for _, v in plan.environment):
        with pytest.raises(AppError):
            export(plan, "cmd")
    else:
        assert back(plan, "cmd") == plan


@settings(deadline=None, max_examples=150)
@given(PLANS)
def test_a_systemd_unit_comes_back(plan: Plan) -> None:
    found = back(plan, "systemd")
    assert (found.settings, found.environment, found.prefix) == (plan.settings, plan.environment, plan.prefix)


@settings(deadline=None, max_examples=150)
@given(PLANS)
def test_a_llama_swap_entry_comes_back(plan: Plan) -> None:
    assume(not any("${" in text for text in texts_of(plan)))  # a macro there, which no quoting keeps
    if any(set("\r\n") & set(text) for text in texts_of(plan)):
        with pytest.raises(AppError):
            export(plan, "llama-swap")
        return
    found = back(plan, "llama-swap").without("host", "port")
    assert (found.settings, found.environment, found.prefix) == (plan.settings, plan.environment, plan.prefix)


@settings(deadline=None, max_examples=150)
@given(PLANS)
def test_a_docker_command_comes_back(plan: Plan) -> None:
    found = back(plan, "docker").without("host", "port")
    assert found.settings == plan.settings
    assert found.environment == plan.environment


@settings(deadline=None, max_examples=150)
@given(PLANS)
def test_an_argument_list_comes_back(plan: Plan) -> None:
    found = parse(export(plan, "argv"))
    assert (found.settings, found.prefix) == (plan.settings, plan.prefix)


@settings(deadline=None, max_examples=150)
@given(PLANS)
def test_a_preset_comes_back_or_is_refused_in_words(plan: Plan) -> None:
    try:
        found = back(plan, "preset")
    except AppError:
        return
    wanted = {s.option: s.value for s in plan if s.option != "override-tensor"}
    assert {s.option: s.value for s in found if s.option != "override-tensor"} == wanted
    patterns = [s.values[0] for s in plan.all("override-tensor")]
    assert found.get("override-tensor") == (",".join(patterns) if patterns else None)


@pytest.mark.parametrize("form", FORMATS)
@given(key=st.text(st.characters(categories=("L", "N")), min_size=6, max_size=12))
@settings(deadline=None, max_examples=20)
def test_no_export_holds_a_key(form: str, key: str) -> None:
    assume(key not in "llama-server models alias host-port file LLAMA_API_KEY HF_TOKEN")
    plan = parse("llama-server -m a").with_("api-key", key).with_("hf-token", key)
    plan = Plan(plan.settings, (("LLAMA_API_KEY", key),))
    text = export(plan, form)
    assert key not in text
    if form not in ("argv", "preset"):
        assert "LLAMA_API_KEY" in text


# -- under the shells that are here ------------------------------------------------------------------------------------

SHOW = ("import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('FOO_1'), "
        "os.environ.get('LLAMA_API_KEY')]))")


def shown(plan: Plan, folder: Path) -> tuple[Plan, Path]:
    """The plan with a program in place of the engine that shows its words."""
    program = folder / "llama-server"
    program.write_text(f"#!{sys.executable}\n{SHOW}\n", encoding="utf-8")
    program.chmod(0o755)
    return Plan(plan.settings, plan.environment, (), str(program)), program


ALL = Plan((*(Setting("override-tensor", (value,)) for value in NASTY if value), Setting("alias", ("a\nb",)),
            Setting("api-key", ("env:MY_KEY",))), (("FOO_1", "x y'\"$HOME`id`\\"),))


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "ksh", "busybox"])
def test_a_posix_line_means_the_same_to_each_shell(shell: str, tmp_path: Path) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed here")
    plan, _ = shown(ALL, tmp_path)
    made = command(plan, None)
    line = export(made, "posix")
    words = [path, "sh", "-c", line] if shell == "busybox" else [path, "-c", line]
    done = subprocess.run(words, capture_output=True, text=True, check=True, encoding="utf-8",
                          env={"MY_KEY": "k e'y", "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"})
    assert json.loads(done.stdout) == [list(made.own_argv), plan.environment[0][1], "k e'y"]


def test_an_interactive_bash_keeps_exclamation_marks(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed here")
    plan, _ = shown(Plan((Setting("alias", ("wow! !! !x",)),)), tmp_path)
    made = command(plan, None)
    done = subprocess.run([bash, "--norc", "--noprofile", "-c", "set -H\n" + export(made, "posix")], check=True,
                          capture_output=True, text=True, encoding="utf-8", env={"PATH": "/usr/bin:/bin"})
    assert json.loads(done.stdout)[0] == list(made.own_argv)


@pytest.mark.parametrize("program", ["pwsh", "powershell"])
def test_a_powershell_script_means_the_same_to_powershell(program: str, tmp_path: Path) -> None:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed here")
    plan, _ = shown(ALL, tmp_path)
    made = command(plan, None)
    script = tmp_path / "run.ps1"
    script.write_text(export(made, "powershell"), encoding="utf-8-sig")
    done = subprocess.run([path, "-NoProfile", "-File", str(script)], capture_output=True, text=True, check=True,
                          encoding="utf-8", env={"MY_KEY": "k e'y", "PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"})
    assert json.loads(done.stdout)[0] == list(made.own_argv)


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed here")
    plan, _ = shown(ALL, tmp_path)
    unit = tmp_path / "llama.service"
    unit.write_text(export(plan, "systemd"), encoding="utf-8")
    done = subprocess.run([analyze, "verify", "--man=no", "--recursive-errors=no", str(unit)], capture_output=True,
                          text=True, encoding="utf-8", env={"PATH": "/usr/bin:/bin", "SYSTEMD_LOG_LEVEL": "warning"})
    complaints = [line for line in done.stderr.splitlines() if "llama.service" in line]
    assert not complaints


@settings(deadline=None, max_examples=100)
@given(st.lists(VALUES, max_size=5))
def test_docker_would_be_given_the_same_words(words: list[str]) -> None:
    plan = Plan(tuple(Setting("override-tensor", (word,)) for word in words))
    given_to_docker = shlex.split(export(plan, "docker"))
    assert [w for w, flag in zip(given_to_docker[1:], given_to_docker, strict=False) if flag == "-ot"] == words


@given(ANY)
def test_no_word_for_powershell_is_left_open(word: str) -> None:
    assert powershell(word).count("'") % 2 == 0


@pytest.mark.parametrize("sign", ["\x85", "\u2028", "\u2029"])
def test_a_llama_swap_entry_keeps_the_rarer_line_ends(sign: str) -> None:
    plan = Plan((Setting("model", (f"/m/a{sign}b.gguf",)),), (("CUDA_VISIBLE_DEVICES", f"0{sign}1"),))
    found = back(plan, "llama-swap").without("host", "port")
    assert (found.settings, found.environment) == (plan.settings, plan.environment)
