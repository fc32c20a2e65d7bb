"""Everything that is kept comes back: 0, -1, false, the empty text and the empty list included."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddock.errors import AppError
from paddock.launch.model import Plan
from paddock.store import Profile, Profiles, Settings, load_settings, save_settings
from paddock.store.defaults import Defaults

TEXTS = st.text(max_size=12)
_NUMBERS = {int: st.integers(-2**62, 2**62), float: st.floats(-1e9, 1e9)}
FIELDS = [info for info in msgspec.structs.fields(Settings) if info.name != "schema_version"]


@settings(max_examples=120, deadline=None)
@given(st.builds(Settings, **{info.name: _NUMBERS.get(info.type, st.from_type(info.type)) for info in FIELDS}),
       st.booleans())
def test_every_setting_comes_back(wanted: Settings, joined: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings.toml"
        save_settings(path, wanted, Settings() if joined else None)
        assert load_settings(path) == (wanted, [])


@pytest.mark.parametrize("info", FIELDS, ids=lambda info: info.name)
def test_a_falsy_setting_is_not_replaced_by_its_default(tmp_path: Path, info: msgspec.structs.FieldInfo) -> None:
    falsy = info.type()
    assert not falsy
    wanted = Settings(**{info.name: falsy})
    save_settings(tmp_path / "settings.toml", wanted)
    assert getattr(load_settings(tmp_path / "settings.toml")[0], info.name) == falsy


PROFILES = st.builds(
    Profile, name=st.just("p"), plan=st.just(Plan()), notes=TEXTS, tags=st.lists(TEXTS, max_size=3).map(tuple),
    keep_serving=st.booleans(), restart_limit=st.integers(-9, 9), colour=TEXTS,
    left_out=st.lists(TEXTS, max_size=3).map(tuple), model_identity=st.none() | TEXTS, saved_with=st.none() | TEXTS,
    files=st.dictionaries(TEXTS, TEXTS, max_size=2),
    other=st.dictionaries(TEXTS.map("x-".__add__), st.integers() | st.booleans() | TEXTS | st.lists(TEXTS), max_size=2))


@settings(max_examples=120, deadline=None)
@given(PROFILES)
def test_every_detail_of_a_profile_comes_back_from_disk_history_and_bin(wanted: Profile) -> None:
    with tempfile.TemporaryDirectory() as folder:
        profiles = Profiles(Path(folder))
        saved = profiles.save(wanted)
        assert profiles.load("p") == saved
        assert profiles.history("p")[0].profile == saved
        profiles.delete("p")
        back = profiles.undelete("p")
        for key in ("notes", "tags", "keep_serving", "restart_limit", "colour", "left_out", "model_identity",
                    "saved_with", "files", "other"):
            assert getattr(saved, key) == getattr(wanted, key)
            assert getattr(back, key) == getattr(wanted, key)


def sentence(act: Callable[[], object]) -> str:
    """What it says when it fails; anything but our own error goes through."""
    try:
        act()
    except AppError as error:
        return str(error)
    return "done"


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode) | st.sampled_from(
    [b"[[[[", b"a=" + b"[" * 3000, b"\xef\xbb\xbf", b"\xff\xfe", b"name = 1", b"settings = 3\nname='x'", b"\r\n\r\n"]))
def test_no_file_makes_reading_fail_otherwise_than_with_a_sentence(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("x.toml", "all.toml", "settings.toml"):
            (Path(folder) / name).write_bytes(data)
        profiles = Profiles(Path(folder))
        assert isinstance(profiles.names(), list)
        assert sentence(lambda: profiles.load("x"))
        assert sentence(lambda: Defaults(Path(folder)).load())
        assert sentence(lambda: profiles.import_text(data.decode("utf-8", "surrogateescape")))
        assert isinstance(load_settings(Path(folder) / "settings.toml")[0], Settings)
