"""A stamp that changes when a scan would find something else, and only then."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import ggufmake as make
import pytest

from paddock.library import Place
from paddock.library.watching import stamp


def of(folder: Path, patience_s: float = 10) -> str | None:
    return stamp([Place(folder, "x")], lambda: False, patience_s)


def tiny(path: Path) -> Path:
    return make.write(path, *make.llama())


def test_it_changes_with_every_file_that_comes_goes_grows_or_is_renamed(tmp_path: Path) -> None:
    first = tiny(tmp_path / "deep" / "a.gguf")
    seen = [of(tmp_path)]
    tiny(tmp_path / "deep" / "b.gguf")
    seen.append(of(tmp_path))
    first.write_bytes(first.read_bytes() + b"\0")
    seen.append(of(tmp_path))
    first.rename(first.with_name("c.gguf"))
    seen.append(of(tmp_path))
    (tmp_path / "deep" / "b.gguf").unlink()
    seen.append(of(tmp_path))
    os.utime(tmp_path / "deep" / "c.gguf", ns=(1, 1))
    seen.append(of(tmp_path))
    assert None not in seen
    assert len(set(seen)) == len(seen)


def test_it_stays_while_nothing_that_is_listed_changes(tmp_path: Path) -> None:
    tiny(tmp_path / "a.gguf")
    part = tmp_path / "b.gguf.incomplete"
    part.write_bytes(b"GGUF")
    before = of(tmp_path)
    part.write_bytes(b"GGUF and more")
    (tmp_path / "notes.txt").write_text("x")
    assert of(tmp_path) == before
    part.rename(tmp_path / "b.gguf")
    assert of(tmp_path) != before


def test_no_stamp_of_a_place_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, real = threading.Event(), os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: gate.wait(20) and real(folder))
    try:
        assert of(tmp_path, patience_s=0.2) is None
    finally:
        gate.set()


def test_no_stamp_when_cancelled(tmp_path: Path) -> None:
    assert stamp([Place(tmp_path, "x")], lambda: True) is None
