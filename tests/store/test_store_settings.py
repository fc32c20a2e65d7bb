from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.errors import AppError
from paddock.store import Settings, load_settings, save_settings
from paddock.store.files import atomic_write


def test_a_missing_file_gives_the_defaults_without_a_notice(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "settings.toml") == (Settings(), [])


def test_only_what_differs_from_the_defaults_is_written(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    save_settings(path, Settings(theme="dark", model_folders=["/models"]))
    text = path.read_text()
    assert 'theme = "dark"' in text
    assert "font_scale" not in text
    loaded, notices = load_settings(path)
    assert loaded == Settings(theme="dark", model_folders=["/models"])
    assert notices == []


def test_a_value_set_back_to_its_default_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    save_settings(path, Settings(theme="dark", font_scale=1.5))
    save_settings(path, Settings(font_scale=1.5))
    assert "theme" not in path.read_text()


def test_falsy_values_come_back(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    wanted = Settings(confirm_stop=False, follow_plots=False, log_cap_mib=0, restart_limit=-1)
    save_settings(path, wanted)
    assert load_settings(path)[0] == wanted


def test_unknown_keys_survive_a_save(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('theme = "dark"\nfrom_the_future = 7\n[future_table]\nx = [1, 2]\n')
    settings, _ = load_settings(path)
    settings.theme = "light"
    save_settings(path, settings)
    text = path.read_text()
    assert "from_the_future = 7" in text
    assert "[future_table]" in text
    assert load_settings(path)[0].theme == "light"


def test_byte_order_mark_and_dos_line_ends_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(b'\xef\xbb\xbftheme = "dark"\r\nfont_scale = 2.0\r\n')
    settings, notices = load_settings(path)
    assert (settings.theme, settings.font_scale, notices) == ("dark", 2.0, [])


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b'theme = "da', b"<!DOCTYPE html><html></html>"])
def test_a_damaged_file_is_set_aside_and_the_last_good_copy_used(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.toml"
    save_settings(path, Settings(theme="dark"))
    save_settings(path, Settings(theme="dark", font_scale=1.25))
    path.write_bytes(content)
    settings, notices = load_settings(path)
    assert settings.theme == "dark"
    assert len(notices) == 1
    aside = [p for p in tmp_path.iterdir() if ".broken-" in p.name]
    assert [p.read_bytes() for p in aside] == [content]
    assert aside[0].name in str(notices[0])
    assert load_settings(path) == (settings, [])


def test_a_damaged_file_without_a_copy_gives_the_defaults_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("theme = [\n\nx = 1")
    settings, notices = load_settings(path)
    assert settings == Settings()
    assert "defaults" in str(notices[0])
    assert "line 3" in str(notices[0])


def test_a_value_of_the_wrong_type_falls_back_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('theme = "dark"\nfont_scale = "big"\n')
    settings, notices = load_settings(path)
    assert settings == Settings(theme="dark")
    assert "font_scale" in str(notices[0])
    assert any(".broken-" in p.name for p in tmp_path.iterdir())


def test_a_newer_form_is_told_and_not_turned_back(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('schema_version = 9\ntheme = "dark"\n')
    settings, notices = load_settings(path)
    assert settings.theme == "dark"
    assert "newer" in str(notices[0])
    save_settings(path, settings)
    assert "schema_version = 9" in path.read_text()


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    atomic_write(path, b"old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AppError, match="No space left"):
        atomic_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["settings.toml"]


def test_writing_follows_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text("a = 1\n")
    link = tmp_path / "link.toml"
    link.symlink_to(real)
    atomic_write(link, b"a = 2\n")
    assert link.is_symlink()
    assert real.read_text() == "a = 2\n"


def test_an_unwritable_folder_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AppError) as caught:
        atomic_write(tmp_path / "file" / "settings.toml", b"")
    assert caught.value.hint
