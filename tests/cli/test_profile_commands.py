"""paddock profiles …: every verb, in text and as JSON."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tinymodel
from recordedengine import Choosing, recorded_engine

from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.launch.model import Plan, Setting
from paddock.store import Profile, Profiles, Secrets
from paddock.work import Workspace

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Runs a command; returns exit code, stdout, stderr."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    chosen = Choosing(recorded_engine())
    monkeypatch.setattr(Workspace, "engine", lambda _self, selector=None: chosen(selector))

    def do(*words: str, code: int = 0) -> tuple[int, str, str]:
        found = run(["profiles", *words], Globals(data_dir=str(tmp_path / "data")))
        told = capsys.readouterr()
        assert found == code, told.err
        return found, told.out, told.err

    return do


@pytest.fixture
def ask(tmp_path: Path, say: Say, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """The same with --json; returns the document."""
    def do(*words: str) -> Any:
        assert run(["profiles", *words], Globals(data_dir=str(tmp_path / "data"), json=True)) == 0
        return json.loads(capsys.readouterr().out)

    return do


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tinymodel.write(tmp_path / "tiny.gguf")


@pytest.fixture
def store(tmp_path: Path) -> Profiles:
    return Profiles(tmp_path / "data" / "profiles")


def test_a_profile_is_saved_edited_copied_renamed_deleted_and_brought_back(say: Say, ask: Callable[..., Any],
                                                                          model: Path, store: Profiles) -> None:
    say("save", "Chat", str(model), "--notes", "für mich", "--tag", "a", "--tag", "b", "--colour", "teal", "--restarts",
        "2", "--", "-c", "1024")
    found = ask("show", "Chat")
    assert (found["notes"], found["tags"], found["colour"], found["restart_limit"]) == ("für mich", ["a", "b"], "teal",
                                                                                       2)
    say("save", "Chat", str(model), "--", "-c", "2048")
    assert ask("show", "Chat")["notes"] == "für mich"
    say("edit", "Chat", "--no-tags", "--colour", "none", "--notes", "")
    found = ask("show", "Chat")
    assert (found["notes"], found["tags"], found["colour"]) == ("", [], None)
    assert ask("duplicate", "Chat")["name"] == "Chat copy"
    assert ask("duplicate", "Chat", "Mine")["name"] == "Mine"
    say("rename", "Chat", "Talk")
    assert [p["name"] for p in ask("list")] == ["Chat copy", "Mine", "Talk"]
    _, _, told = say("delete", "Talk")
    assert "undelete" in told
    assert "Talk" in say("undelete")[1]
    say("undelete", "Talk")
    assert store.load("Talk").plan.get("ctx-size") == "2048"


def test_lists_can_be_narrowed_by_tag_and_model(say: Say, ask: Callable[..., Any], model: Path) -> None:
    say("save", "A", str(model), "--tag", "work")
    say("save", "B", "x.gguf")
    assert [p["name"] for p in ask("list", "--tag", "work")] == ["A"]
    assert [p["name"] for p in ask("list", "--model", "X.GG")] == ["B"]
    assert "No profile is like that" in say("list", "--tag", "none")[2]


def test_the_history_says_what_changed_and_any_state_comes_back(say: Say, ask: Callable[..., Any], model: Path) -> None:
    for words in (["-c", "1024"], ["-c", "0"], ["-c", "0", "--temp", "0"]):
        say("save", "Chat", str(model), "--", *words)
    states = ask("history", "Chat")
    assert [(s["revision"], [c["option"] for c in s["changes"]]) for s in states] == [
        (3, ["temp"]), (2, ["ctx-size"]), (1, [])]
    assert "first saved" in say("history", "Chat")[1]
    assert ask("compare", "Chat", "--state", "1") == [
        {"what": "option", "option": "ctx-size", "before": ["1024"], "after": ["0"]},
        {"what": "option", "option": "temp", "before": [], "after": ["0"]}]
    say("restore", "Chat", "1")
    assert ask("compare", "Chat", "--state", "1") == []
    assert "no saved state 9" in say("restore", "Chat", "9", code=1)[2]


def test_two_profiles_are_compared_with_their_defaults_and_only_what_differs_is_shown(
        say: Say, ask: Callable[..., Any], model: Path) -> None:
    say("save", "A", str(model), "--", "-c", "0", "-ot", "a=CPU", "-ot", "b=CPU")
    say("save", "B", str(model), "--", "-c", "0", "--temp", "1")
    say("defaults", "set", "--", "--temp", "1")
    found = ask("compare", "A", "B")
    assert found == [{"what": "option", "option": "override-tensor", "before": ["a=CPU", "b=CPU"], "after": []}]
    assert "b=CPU" in say("compare", "A", "B")[1]
    assert "the same" in say("compare", "A", "A")[1]
    say("compare", "A", code=2)


def test_where_each_value_comes_from_is_shown(say: Say, ask: Callable[..., Any], model: Path) -> None:
    say("defaults", "set", "--", "--temp", "1", "--top-k", "1")
    say("defaults", "set", "--architecture", "llama", "--", "--top-k", "64")
    say("save", "A", str(model), "--", "-c", "0")
    found = ask("show", "A")
    assert [s["option"] for s in found["settings"]] == ["model", "ctx-size"]
    assert [(s["option"], s["values"], s["from"]) for s in found["inherited"]] == [
        ("top-k", ["64"], "defaults for llama"), ("temp", ["1"], "defaults for all models")]
    assert "defaults for llama" in say("show", "A")[1]


def test_defaults_are_set_shown_and_taken_away(say: Say, ask: Callable[..., Any]) -> None:
    assert ask("defaults") == []
    say("defaults", "set", "--", "--temp", "1", "-fa", "on")
    say("defaults", "set", "--", "--temp", "0")
    found = ask("defaults", "show")
    assert [(s["option"], s["values"]) for s in found[0]["settings"]] == [("temp", ["0"]), ("flash-attn", ["on"])]
    say("defaults", "unset", "--temp")
    assert [s["option"] for s in ask("defaults")[0]["settings"]] == ["flash-attn"]
    assert "no default for temp" in say("defaults", "unset", "temp", code=1)[2]
    say("defaults", "unset", "--all")
    assert ask("defaults") == []
    assert "cannot be a default" in say("defaults", "set", "--", "-m", "x.gguf", code=1)[2]
    say("defaults", "set", code=2)


def test_defaults_go_back_to_any_state(say: Say, ask: Callable[..., Any]) -> None:
    say("defaults", "set", "--", "--temp", "1")
    say("defaults", "set", "--", "--temp", "0", "-t", "1")
    assert [(s["state"], [c["option"] for c in s["changes"]]) for s in ask("defaults", "history")] == [
        (2, ["temp", "threads"]), (1, ["temp"])]
    say("defaults", "restore", "1")
    assert [(s["option"], s["values"]) for s in ask("defaults")[0]["settings"]] == [("temp", ["1"])]
    assert "no saved state 9" in say("defaults", "restore", "9", code=1)[2]


def test_a_use_case_explains_each_setting_and_can_be_saved_in_part(say: Say, ask: Callable[..., Any], model: Path,
                                                                  store: Profiles) -> None:
    assert len(ask("use-cases")) == 10
    found = ask("suggest", "creative", str(model), "--only", "--temp", "--save", "Tales")
    assert all(one["reason"] for one in found["set"])
    assert store.load("Tales").plan.get("temp") == "1"
    assert store.load("Tales").plan.find("min-p") is None
    assert "--dry-multiplier" in say("suggest", "creative", "Tales")[1]
    assert "long-context" in say("suggest", "gaming", str(model), code=1)[2]
    assert "Not suggested" in say("suggest", "chat", str(model), "--only", "rpc", code=1)[2]


def test_a_profile_of_another_age_is_carried_over_and_each_step_said(say: Say, ask: Callable[..., Any], model: Path,
                                                                    store: Profiles) -> None:
    old = Plan((Setting("model", (str(model),)), Setting("--draft-max", ("16",))))
    store.save(Profile("Old", old, saved_with="llama.cpp 4000"))
    store.save(Profile("New", Plan().with_("model", str(model))))
    assert [one["changed"] for one in ask("migrate", "--all", "--dry-run")] == [False, True]
    assert store.load("Old").plan == old
    _, out, _ = say("migrate", "Old")
    assert "--draft 16 became --spec-draft-n-max 16" in out
    assert store.load("Old").plan.get("spec-draft-n-max") == "16"
    assert ask("migrate", "Old")[0]["changed"] is False
    say("restore", "Old", "1")
    assert store.load("Old").plan == old


def test_a_moved_model_is_found_when_the_profile_is_used(say: Say, ask: Callable[..., Any], model: Path,
                                                         tmp_path: Path) -> None:
    say("save", "A", str(model))
    (tmp_path / "new").mkdir()
    shutil.move(model, tmp_path / "new" / "other.gguf")
    _, out, told = say("show", "A")
    assert "other.gguf" in out
    assert "was found as" in told
    assert "found as" in ask("migrate", "A")[0]["notices"][0]
    assert ask("show", "A")["model"] == str(tmp_path / "new" / "other.gguf")


def test_a_damaged_profile_is_named_beside_the_others(say: Say, ask: Callable[..., Any], model: Path,
                                                      store: Profiles) -> None:
    say("save", "Good", str(model))
    (store.folder / "Bad.toml").write_bytes(b"\0\0\0")
    _, out, told = say("list")
    assert "Good" in out
    assert "only zero bytes" in told
    assert [p["name"] for p in ask("list")] == ["Good"]


@pytest.mark.parametrize(("data", "word"), [
    (b"", "nothing in it"), (b"\0\0\0\0", "zero bytes"), (b"\x80\x81\xfe", "not a text file"),
    (b"GGUF\3\0\0\0", "not a text file"), (b"schema_version = 99\nname = 'x'\n[settings]\n", "newer Paddock"),
    (b"<!DOCTYPE html>\n<title>404 schema_version = 1</title>\n[settings]\n", "web page"),
    (b"schema_version = 2\nname = 'x'\n[settings]\nctx-size = \"10", "line 4")])
def test_files_that_cannot_be_imported_say_what_they_are(say: Say, tmp_path: Path, store: Profiles, data: bytes,
                                                         word: str) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(data)
    assert word in say("import", str(file), code=1)[2]
    assert store.names() == []


def test_an_import_in_sixteen_bits_with_dos_line_ends_and_unknown_keys_is_taken(say: Say, tmp_path: Path,
                                                                               store: Profiles) -> None:
    file = tmp_path / "x.toml"
    text = 'schema_version = 1\r\nname = "Größe"\r\nfuture = 7\r\n[settings]\r\nctx-size = 0\r\n'
    file.write_bytes(text.encode("utf-16"))
    _, _, told = say("import", str(file))
    assert "older Paddock" in told
    assert store.load("Größe").plan.get("ctx-size") == "0"
    assert "future = 7" in store.export("Größe")


def test_a_key_in_a_list_of_differences_is_masked(say: Say, ask: Callable[..., Any], model: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    say("save", "A", str(model), "--", "--api-key", "env:MY_KEY")
    monkeypatch.setattr(sys, "stdin", io.StringIO('name = "B"\n[settings]\napi-key = "env:OTHER"\n'))
    say("import", "-")
    assert "env:MY_KEY" in say("compare", "A", "B")[1]


def test_a_key_that_somebody_wrote_into_a_profile_never_comes_out(say: Say, ask: Callable[..., Any], model: Path,
                                                                  store: Profiles) -> None:
    store.folder.mkdir(parents=True)
    (store.folder / "A.toml").write_text(
        'name = "A"\n[settings]\napi-key = "s3cret"\nhf-token = "s3cret"\n[environment]\nLLAMA_API_KEY = "s3cret"\n')
    said = [json.dumps(ask("show", "A")), json.dumps(ask("list")), *say("show", "A"), *say("export", "A"),
            json.dumps(ask("compare", "A", "A"))]
    assert "s3cret" not in "".join(map(str, said))
    text = say("export", "A")[1]
    assert 'api-key = "env:LLAMA_API_KEY"' in text
    assert 'hf-token = "env:HF_TOKEN"' in text


def test_a_key_in_an_imported_profile_becomes_a_reference(say: Say, store: Profiles, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, str] = {}
    monkeypatch.setattr(Secrets, "save", lambda _self, name, value: (kept.update({name: value}), f"keyring:{name}")[1])
    (tmp_path / "A.toml").write_text('name = "A"\n[settings]\napi-key = "s3cret"\n')
    assert "keyring:A/api-key" in say("import", str(tmp_path / "A.toml"))[2]
    assert store.load("A").plan.get("api-key") == "keyring:A/api-key"
    assert kept == {"A/api-key": "s3cret"}
    assert not [path for path in store.folder.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]


def test_a_name_is_found_however_its_accents_are_typed(say: Say, ask: Callable[..., Any], model: Path) -> None:
    say("save", "Gro\u0308\u00dfe", str(model))
    assert ask("show", "Gro\u0308\u00dfe")["name"] == ask("show", "Gr\u00f6\u00dfe")["name"] == "Gr\u00f6\u00dfe"


def test_a_name_is_made_one_line_and_none_is_refused(say: Say, ask: Callable[..., Any], model: Path) -> None:
    say("save", " a\n b ", str(model))
    assert [p["name"] for p in ask("list")] == ["a b"]
    assert "needs a name" in say("save", "  ", str(model), code=1)[2]
    assert "needs a name" in say("rename", "a b", "", code=1)[2]
