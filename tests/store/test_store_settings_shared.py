"""Settings that two Paddocks write."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from paddock.store import Settings, load_settings, save_settings


def test_two_paddocks_that_change_different_settings_keep_both(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    save_settings(path, Settings(theme="dark", model_folders=["/a", "/b"], dock_folded={"run": True}))
    mine, theirs, base = (load_settings(path)[0] for _ in range(3))
    mine.theme, mine.model_folders, mine.dock_folded = "light", ["/a", "/mine"], {"run": False}
    theirs.font_scale, theirs.model_folders, theirs.dock_folded = 1.5, ["/a", "/b", "/theirs"], {"run": True, "m": True}
    save_settings(path, theirs, base)
    save_settings(path, mine, base)
    found = load_settings(path)[0]
    assert (found.theme, found.font_scale) == ("light", 1.5)
    assert found.model_folders == ["/a", "/mine", "/theirs"]
    assert found.dock_folded == {"run": False, "m": True}


def test_a_setting_put_back_to_its_default_is_a_change_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    save_settings(path, Settings(confirm_stop=False, restart_limit=3, model_folders=["/a"]))
    mine = load_settings(path)[0]
    base = copy.deepcopy(mine)
    mine.confirm_stop, mine.restart_limit, mine.model_folders = True, 0, []
    save_settings(path, mine, base)
    assert load_settings(path)[0] == Settings()


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b"theme = ["])
def test_a_file_that_broke_meanwhile_is_written_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.toml"
    base, mine = Settings(theme="dark"), Settings(theme="light")
    path.write_bytes(content)
    save_settings(path, mine, base)
    assert load_settings(path) == (Settings(theme="light"), [])


def test_an_order_that_was_changed_here_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    base = Settings(recent_models=["a", "b", "c"])
    save_settings(path, base)
    mine = Settings(recent_models=["c", "a", "b"])
    save_settings(path, mine, base)
    assert load_settings(path)[0].recent_models == ["c", "a", "b"]


CHANGER = """
import copy, sys
from pathlib import Path
from paddock.store import load_settings, save_settings
path, field = Path(sys.argv[1]), sys.argv[2]
settings, _ = load_settings(path)
base = copy.deepcopy(settings)
for n in range(1, 31):
    setattr(settings, field, n)
    save_settings(path, settings, base)
    print(n, flush=True)
"""


def test_two_paddocks_that_save_at_once_both_have_their_last_word(tmp_path: Path, run_python) -> None:
    path = tmp_path / "settings.toml"
    save_settings(path, Settings(theme="dark"))
    both = [run_python(CHANGER, str(path), field) for field in ("restart_limit", "log_cap_mib")]
    assert [process.wait(60) for process in both] == [0, 0]
    assert load_settings(path) == (Settings(theme="dark", restart_limit=30, log_cap_mib=30), [])


def test_a_paddock_that_is_killed_while_it_saves_leaves_whole_settings(tmp_path: Path, run_python) -> None:
    path = tmp_path / "settings.toml"
    save_settings(path, Settings(theme="dark"))
    for lines in (1, 3, 7):
        process = run_python(CHANGER.replace("31", "100000"), str(path), "restart_limit")
        for _ in range(lines):
            assert process.stdout.readline()
        process.kill()
        process.wait(30)
        settings, notices = load_settings(path)
        assert (settings.theme, notices) == ("dark", [])
        assert settings.restart_limit >= lines
    (tmp_path / ".settings.toml.abc.tmp").write_bytes(b"half")
    (tmp_path / ".settings.toml.bak.abc.tmp").write_bytes(b"half")
    save_settings(path, settings)
    assert list(tmp_path.glob(".*.tmp")) == []
