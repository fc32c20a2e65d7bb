"""Saved states, undo of a deletion, damaged files with a good state behind them, and two Paddocks at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.errors import AppError
from paddock.launch.model import Plan, Setting
from paddock.store import Profile, Profiles
from paddock.store.locking import locked

Start = Callable[..., "object"]


def plan(context: int | str) -> Plan:
    return Plan().with_("ctx-size", context)


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    return Profiles(tmp_path / "profiles")


def contexts(profiles: Profiles, name: str) -> list[str | None]:
    return [state.profile.plan.get("ctx-size") if state.profile else None for state in profiles.history(name)]


def test_every_save_is_a_state_one_can_go_back_to(profiles: Profiles) -> None:
    for context in (1024, 2048, 4096):
        profiles.save(Profile("Chat", plan(context)))
    assert [state.number for state in profiles.history("Chat")] == [3, 2, 1]
    assert contexts(profiles, "Chat") == ["4096", "2048", "1024"]
    assert profiles.revert("Chat", 1).plan == plan(1024)
    assert contexts(profiles, "Chat") == ["1024", "4096", "2048", "1024"]
    assert profiles.revert("Chat", 3).plan == plan(4096)


def test_going_back_to_a_state_that_is_not_there_is_a_sentence(profiles: Profiles) -> None:
    profiles.save(Profile("Chat", plan(1)))
    with pytest.raises(AppError, match="no saved state 7"):
        profiles.revert("Chat", 7)


def test_a_save_that_changes_nothing_makes_no_state(profiles: Profiles) -> None:
    first = profiles.save(Profile("Chat", plan(1024), notes="n"))
    assert profiles.save(Profile("Chat", plan(1024), notes="n")) == first
    assert len(profiles.history("Chat")) == 1
    profiles.save(replace(first, notes=""))
    assert len(profiles.history("Chat")) == 2


def test_a_file_that_was_edited_by_hand_is_kept_before_it_is_replaced(profiles: Profiles) -> None:
    profiles.save(Profile("Chat", plan(1024)))
    file = profiles.folder / "Chat.toml"
    file.write_text(file.read_text().replace("1024", "7777"))
    profiles.save(replace(profiles.load("Chat"), plan=plan(4096)))
    assert contexts(profiles, "Chat") == ["4096", "7777", "1024"]


def test_the_history_goes_with_a_rename_and_not_with_a_copy(profiles: Profiles) -> None:
    profiles.save(Profile("Chat", plan(1024)))
    profiles.save(Profile("Chat", plan(2048)))
    profiles.rename("Chat", "Talk")
    assert contexts(profiles, "Talk") == ["2048", "2048", "1024"]
    copy = profiles.duplicate("Talk")
    assert copy.name == "Talk copy"
    assert copy.plan == plan(2048)
    assert copy.id != profiles.load("Talk").id
    assert contexts(profiles, "Talk copy") == ["2048"]
    assert profiles.duplicate("Talk").name == "Talk copy (2)"
    assert profiles.names() == ["Talk", "Talk copy", "Talk copy (2)"]


def test_a_copy_made_by_hand_gets_a_history_of_its_own(profiles: Profiles) -> None:
    profiles.save(Profile("A", plan(1)))
    text = (profiles.folder / "A.toml").read_text()
    (profiles.folder / "B.toml").write_text(text.replace('name = "A"', 'name = "B"'))
    profiles.save(replace(profiles.load("B"), plan=plan(2)))
    assert profiles.load("A").id != profiles.load("B").id
    assert contexts(profiles, "A") == ["1"]


def test_a_deleted_profile_comes_back_with_its_history(profiles: Profiles) -> None:
    profiles.save(Profile("Chat", plan(1024), tags=("work",), colour="teal"))
    before = profiles.save(Profile("Chat", plan(2048), tags=("work",), colour="teal"))
    profiles.delete("Chat")
    assert profiles.names() == []
    assert [gone.profile.name for gone in profiles.deleted()] == ["Chat"]
    back = profiles.undelete("Chat")
    assert (back.plan, back.tags, back.colour, back.id) == (before.plan, before.tags, before.colour, before.id)
    assert contexts(profiles, "Chat")[-2:] == ["2048", "1024"]
    assert profiles.deleted() == []
    with pytest.raises(AppError, match="No deleted profile"):
        profiles.undelete("Chat")


def test_a_profile_comes_back_under_a_number_when_its_name_is_in_use(profiles: Profiles) -> None:
    profiles.save(Profile("Chat", plan(1)))
    profiles.delete("Chat")
    profiles.save(Profile("chat", plan(2)))
    assert profiles.undelete("Chat").name == "Chat (2)"
    assert profiles.load("chat").plan == plan(2)


def test_of_several_deleted_ones_of_a_name_the_last_comes_back_first(profiles: Profiles) -> None:
    for context in (1, 2):
        profiles.save(Profile("Chat", plan(context)))
        profiles.delete("Chat")
    assert profiles.undelete("Chat").plan == plan(2)
    assert profiles.undelete("Chat").plan == plan(1)


@pytest.mark.parametrize("damage", [b"", b"\0" * 300, b'name = "Chat"\n[sett', b"<!DOCTYPE html><title>404</title>"])
@pytest.mark.parametrize("kept", ["history", "backup"])
def test_a_damaged_file_gives_its_last_good_state_and_is_set_aside_at_the_next_save(
        profiles: Profiles, damage: bytes, kept: str) -> None:
    profiles.save(Profile("Chat", plan(1024)))
    profiles.save(Profile("Chat", plan(2048)))
    file = profiles.folder / "Chat.toml"
    if kept == "backup":
        for path in (profiles.folder / ".history").rglob("*.revision"):
            path.unlink()
    file.write_bytes(damage)
    found = profiles.load("Chat")
    assert found.plan == plan(2048 if kept == "history" else 1024)
    assert "set aside" in str(found.notices[0])
    assert file.read_bytes() == damage
    assert [path for path, _ in profiles.problems] == [file]
    profiles.save(replace(found, plan=plan(4096)))
    assert profiles.load("Chat").plan == plan(4096)
    assert profiles.problems == []
    aside = [path for path in profiles.folder.iterdir() if ".broken-" in path.name]
    assert [path.read_bytes() for path in aside] == [damage]


def test_a_damaged_file_does_not_hide_the_others(profiles: Profiles) -> None:
    profiles.save(Profile("Good", plan(1)))
    (profiles.folder / "Bad.toml").write_bytes(b'name = "Bad"\n[settings]\nctx-size = "10')
    assert profiles.names() == ["Good"]
    error = profiles.problems[0][1]
    assert "line 3" in str(error.why)
    assert "end too early" in str(error.hint)


@pytest.mark.parametrize(("content", "word"), [
    (b'{"settings": {}}', "JSON"), (b"GGUF\3\0\0\0", "bytes that belong to no text"),
    (b'name = "x"\n\n[settings]\nctx-size = "1\0\0\0"\n', "line 4"), (b"\x1f\x8b\x08\x00\x00", "bytes"),
    (b"<?xml version='1.0'?><a/>", "web page"), (b"\xff\xfe<\0h\0t\0m\0l\0>\0", "web page")])
def test_foreign_files_are_told_apart(profiles: Profiles, content: bytes, word: str) -> None:
    profiles.folder.mkdir(parents=True)
    (profiles.folder / "x.toml").write_bytes(content)
    with pytest.raises(AppError, match=word):
        profiles.load("x")


def test_a_file_in_sixteen_bits_is_read(profiles: Profiles) -> None:
    """What `>` writes in an older PowerShell."""
    profiles.folder.mkdir(parents=True)
    (profiles.folder / "x.toml").write_bytes('name = "Größe"\r\n[settings]\r\nctx-size = "1"\r\n'.encode("utf-16"))
    assert profiles.load("Größe").plan == plan(1)


def test_an_older_form_is_read_and_said_and_becomes_the_new_one_with_the_next_save(profiles: Profiles) -> None:
    profiles.folder.mkdir(parents=True)
    file = profiles.folder / "Old.toml"
    file.write_text('schema_version = 1\nname = "Old"\nmodel_identity = "ab"\n[settings]\nctx-size = "0"\n')
    old = profiles.load("Old")
    assert "older Paddock (form 1, now 2)" in str(old.notices[0])
    assert (old.plan, old.model_identity) == (plan(0), "ab")
    profiles.save(replace(old, notes="n"))
    assert profiles.load("Old").notices == ()
    assert "schema_version = 2" in file.read_text()
    assert contexts(profiles, "Old") == ["0", "0"]


@pytest.mark.parametrize("identity", ["../../../tmp/x", "", "ABC", "0" * 31, "/"])
def test_an_id_that_is_none_names_no_folder(profiles: Profiles, identity: str) -> None:
    profiles.folder.mkdir(parents=True)
    (profiles.folder / "p.toml").write_text(f'name = "p"\nid = "{identity}"\n[settings]\nctx-size = "1"\n')
    saved = profiles.save(replace(profiles.load("p"), notes="n"))
    assert saved.id is not None
    assert [path.name for path in (profiles.folder / ".history").iterdir()] == [saved.id]


def test_a_state_that_another_paddock_saved_meanwhile_is_said_and_kept(profiles: Profiles) -> None:
    mine = profiles.save(Profile("Chat", plan(1)))
    Profiles(profiles.folder).save(replace(mine, plan=plan(2)), expected=mine.revision)
    saved = profiles.save(replace(mine, plan=plan(3)), expected=mine.revision)
    assert "number 2 of its history" in str(saved.notices[0])
    assert contexts(profiles, "Chat") == ["3", "2", "1"]
    assert profiles.save(replace(saved, plan=plan(4)), expected=saved.revision).notices == ()


SAVER = """
import sys
from pathlib import Path
from paddock.launch.model import Plan
from paddock.store import Profile, Profiles
profiles, name = Profiles(Path(sys.argv[1])), sys.argv[2]
for n in range(int(sys.argv[3])):
    profiles.save(Profile(name, Plan().with_("ctx-size", n).with_("alias", sys.argv[4] * 200)))
    print(n, flush=True)
"""


def test_two_paddocks_that_save_at_once_lose_nothing(profiles: Profiles, run_python) -> None:
    both = [run_python(SAVER, str(profiles.folder), "Chat", "12", letter) for letter in "ab"]
    assert [process.wait(60) for process in both] == [0, 0]
    states = profiles.history("Chat")
    assert sorted(state.number for state in states) == list(range(1, 25))
    assert {state.profile.plan.get("alias", "")[0] for state in states if state.profile} == {"a", "b"}
    assert profiles.names() == ["Chat"]


def test_two_paddocks_that_save_new_profiles_under_one_file_name_keep_both(profiles: Profiles, run_python) -> None:
    """"a/b" and "a%2Fb" become one file name."""
    both = [run_python(SAVER, str(profiles.folder), name, "3", "x") for name in ("a/b", "a%2Fb")]
    assert [process.wait(60) for process in both] == [0, 0]
    assert profiles.names() == ["a%2Fb", "a/b"]


@pytest.mark.skipif(os.name == "nt", reason="kills with a POSIX signal")
def test_a_paddock_that_is_killed_while_it_saves_leaves_a_whole_profile_and_no_lock(
        profiles: Profiles, run_python) -> None:
    for round_ in range(4):
        process = run_python(SAVER, str(profiles.folder), "Chat", "100000", "x")
        for _ in range(round_ + 1):
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        assert profiles.load("Chat").plan.get("alias") == "x" * 200
        assert profiles.problems == []
    (profiles.folder / ".Chat.toml.abc.tmp").write_bytes(b"half")
    profiles.save(Profile("Chat", plan("after")))
    assert profiles.load("Chat").plan == plan("after")
    assert [path.name for path in profiles.folder.iterdir() if path.name.endswith(".tmp")] == []


def test_a_lock_that_somebody_else_holds_is_a_sentence(profiles: Profiles) -> None:
    with locked(profiles.folder) as held:
        assert held
        with pytest.raises(AppError, match="Another Paddock"), locked(profiles.folder, wait_s=0):
            pass


def test_a_folder_that_cannot_be_written_is_a_sentence_and_is_still_read(
        profiles: Profiles, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles.save(Profile("Chat", plan(1)))
    before = (profiles.folder / "Chat.toml").read_bytes()

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr("paddock.store.locking.os.open", refuse)
    monkeypatch.setattr("paddock.store.files.tempfile.mkstemp", refuse)
    with pytest.raises(AppError, match="Read-only file system"):
        profiles.save(Profile("Chat", plan(2)))
    assert profiles.load("Chat").plan == plan(1)
    assert (profiles.folder / "Chat.toml").read_bytes() == before


def test_a_full_disk_leaves_the_profile_and_its_history_as_they_were(
        profiles: Profiles, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles.save(Profile("Chat", plan(1)))

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        for act in (lambda: profiles.save(Profile("Chat", plan(2))), lambda: profiles.rename("Chat", "Talk"),
                    lambda: profiles.duplicate("Chat")):
            with pytest.raises(AppError, match="No space left"):
                act()
    assert profiles.names() == ["Chat"]
    assert contexts(profiles, "Chat") == ["1"]
    assert profiles.load("Chat").plan == plan(1)


@pytest.mark.parametrize("key", ["tags", "restart_limit", "colour", "left_out", "revision", "files"])
def test_a_key_of_the_wrong_type_is_named(profiles: Profiles, key: str) -> None:
    profiles.folder.mkdir(parents=True)
    (profiles.folder / "p.toml").write_text(f'name = "p"\n{key} = true\n[settings]\nctx-size = "1"\n')
    with pytest.raises(AppError, match=key):
        profiles.load("p")


def test_details_and_what_is_left_out_come_back(profiles: Profiles) -> None:
    wanted = Profile("p", Plan((Setting("mlock", (), False),)), colour="pink", left_out=("mlock", "CUDA_X", "engine"),
                     saved_with="llama.cpp 11434", files={"mmproj": "ab"}, tags=("", "a b"))
    profiles.save(wanted)
    found = profiles.load("p")
    assert (found.colour, found.left_out, found.saved_with, dict(found.files), found.tags) == (
        "pink", ("mlock", "CUDA_X", "engine"), "llama.cpp 11434", {"mmproj": "ab"}, ("", "a b"))


def test_an_export_holds_no_history_and_becomes_a_profile_of_its_own(profiles: Profiles) -> None:
    first = profiles.save(Profile("p", plan(1)))
    text = profiles.export("p")
    assert first.id not in text
    assert "revision" not in text
    again = profiles.import_text("\ufeff" + text.replace("\n", "\r\n"))
    assert (again.name, again.plan) == ("p (2)", plan(1))
    assert again.id != first.id


def test_the_other_side_of_an_option_written_by_hand_is_that_option_turned_off(profiles: Profiles) -> None:
    profiles.folder.mkdir(parents=True)
    (profiles.folder / "p.toml").write_text("[settings]\nno-mmap = true\nno-warmup = false\nno-such = true\n")
    assert profiles.load("p").plan.settings == (
        Setting("mmap", (), False), Setting("warmup", (), True), Setting("no-such", (), True))
