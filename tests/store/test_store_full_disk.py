"""A disk that is really full, and a file system that is really read-only."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.store import Profile, Profiles, Settings, load_settings, save_settings

pytestmark = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0 or shutil.which("mount") is None,
                                reason="mounting a small file system needs root")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_a_sentence_and_loses_nothing(disk: Path) -> None:
    profiles = Profiles(disk / "profiles")
    kept = profiles.save(Profile("Chat", Plan().with_("ctx-size", 1)))
    save_settings(disk / "settings.toml", Settings(theme="dark"))
    with pytest.raises(OSError):
        (disk / "filler").write_bytes(b"x" * (1 << 20))
    big = replace(kept, notes="n" * 50_000)
    long = Settings(language="i" * 9999)
    for act in (lambda: profiles.save(big), lambda: save_settings(disk / "settings.toml", long)):
        with pytest.raises(AppError, match="No space left") as caught:
            act()
        assert caught.value.hint
    assert profiles.load("Chat") == kept
    assert load_settings(disk / "settings.toml") == (Settings(theme="dark"), [])
    (disk / "filler").unlink()
    profiles.save(big)
    assert profiles.load("Chat").notes == big.notes
    assert list(disk.rglob("*.tmp")) == []


def test_a_read_only_disk_is_read_and_refuses_a_save_with_a_sentence(disk: Path) -> None:
    profiles = Profiles(disk / "profiles")
    kept = profiles.save(Profile("Chat", Plan().with_("ctx-size", 1)))
    profiles.save(replace(kept, notes="second"))
    (disk / "profiles" / "Chat.toml").write_bytes(b"\0\0")
    save_settings(disk / "settings.toml", Settings(theme="dark"))
    save_settings(disk / "settings.toml", Settings(theme="dark", restart_limit=1))
    (disk / "settings.toml").write_bytes(b"")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    found, notices = load_settings(disk / "settings.toml")
    assert found == Settings(theme="dark")
    assert "could not be set aside" in str(notices[0])
    assert profiles.names() == ["Chat"]
    assert profiles.load("Chat").notes == "second"
    for act in (lambda: profiles.save(Profile("New", Plan())), lambda: profiles.delete("Chat"),
                lambda: profiles.rename("Chat", "Talk"), lambda: save_settings(disk / "settings.toml", Settings())):
        with pytest.raises(AppError, match="Read-only"):
            act()
