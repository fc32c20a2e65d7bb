"""Every form of version line that has been seen in the wild."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.engine.versions import parse_version

DATA = Path(__file__).parent.parent / "data" / "engine"


@pytest.mark.parametrize(("line", "text", "build", "commit"), [
    ("version: 6097 (9515c613)", "6097 (9515c613)", 6097, "9515c613"),
    ("version: 10005 (0a1b2c3d4)", "10005 (0a1b2c3d4)", 10005, "0a1b2c3d4"),
    ("version: 0.1.1-dev (build 10470, commit 7e4c0a9)", "0.1.1-dev (build 10470, commit 7e4c0a9)", 10470, "7e4c0a9"),
    ("version: 0.6.0 (build 11434, commit abcdef1)", "0.6.0 (build 11434, commit abcdef1)", 11434, "abcdef1"),
    ("version: 0 ()", "0 ()", None, None),
    ("version: 0 (unknown)", "0 (unknown)", None, None),
    ("version: 1 (7e4c0a9)", "1 (7e4c0a9)", None, "7e4c0a9"),
    ("version: 0.6.0-dev (build 0, commit unknown)", "0.6.0-dev (build 0, commit unknown)", None, None),
    ("version: b4500 (1234567)", "b4500 (1234567)", 4500, "1234567"),
    ("version: 0.7.0", "0.7.0", None, None),
])
def test_version_line(line: str, text: str, build: int | None, commit: str | None) -> None:
    version = parse_version(f"ggml_vulkan: Found 1 Vulkan devices:\nload_backend: x\n{line}\nbuilt with cc for y\n")
    assert version is not None
    assert (version.text, version.build, version.commit, version.compiler) == (text, build, commit, "cc for y")


@pytest.mark.parametrize("text", ["", "git version 2.39.2", "Python 3.11.2", "error: invalid argument: --version",
                                  "the version: 12 (ab) of nothing"])
def test_the_version_of_another_program_is_none_of_ours(text: str) -> None:
    assert parse_version(text) is None


@pytest.mark.parametrize(("name", "build", "commit"), [
    ("llama-11434-version.txt", None, None), ("llama-11434-serve-version.txt", None, None),
    ("llama-server-10434-version.txt", None, "7e4c0a9")])
def test_recorded_versions_do_not_pretend_to_know_their_build(name: str, build: None, commit: str | None) -> None:
    version = parse_version((DATA / name).read_text())
    assert version is not None
    assert (version.build, version.commit) == (build, commit)
    assert (version.compiler or "").startswith("GNU")
