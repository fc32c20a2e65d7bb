"""The shelf keeps bytes for several processes, and gives up quietly where it cannot."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from paddock.gguf.shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "made" / "kept.sqlite")


def test_what_was_kept_last_is_given(shelf: Shelf) -> None:
    assert shelf.get("a") is None
    assert not shelf.file.parent.exists()  # looking makes nothing
    shelf.put("a", b"1")
    shelf.put("a", b"2")
    shelf.put("b", b"")
    assert (shelf.get("a"), shelf.get("b"), shelf.get("c")) == (b"2", b"", None)
    shelf.close()
    assert shelf.get("a") == b"2"


def test_the_newest_come_first_and_removed_ones_are_gone(shelf: Shelf) -> None:
    for key, when in (("old", 1.0), ("new", 3.0), ("middle", 2.0)):
        shelf.put(key, b"x", when)
    assert shelf.written() == [("new", 3.0), ("middle", 2.0), ("old", 1.0)]
    assert shelf.remove(["old", "never"]) == 1
    assert shelf.get("old") is None


def test_a_file_that_another_program_holds_costs_nothing_but_the_keeping(
        shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.gguf.shelf._BUSY_S", 0.01)
    shelf.put("a", b"1")
    shelf.close()
    other = sqlite3.connect(shelf.file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    shelf.put("a", b"2")
    assert shelf.remove(["a"]) == 0
    other.execute("ROLLBACK")
    other.close()
    assert shelf.get("a") == b"1"


def test_an_error_of_the_caller_passes_and_leaves_the_shelf_usable(shelf: Shelf) -> None:
    def keys():
        yield "a"
        raise KeyError("theirs")

    shelf.put("a", b"1")
    with pytest.raises(KeyError):
        shelf.remove(keys())
    shelf.put("b", b"2")
    assert shelf.get("b") == b"2"


@pytest.mark.skipif(os.name == "nt", reason="a folder of Windows is not closed by its mode")
def test_a_place_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shelf = Shelf(tmp_path / "file" / "kept.sqlite")
    shelf.put("a", b"1")
    assert shelf.get("a") is None
    assert shelf.written() == []


def test_a_foreign_file_is_thrown_away(shelf: Shelf) -> None:
    shelf.file.parent.mkdir()
    shelf.file.write_bytes(b"not a database" * 500)
    assert shelf.get("a") is None
    shelf.put("a", b"1")
    assert shelf.get("a") == b"1"


def test_threads_share_it(shelf: Shelf) -> None:
    def work(number: int) -> None:
        for turn in range(30):
            shelf.put(f"{number}-{turn}", b"%d" % turn)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shelf.written()) == 120
    assert shelf.get("3-29") == b"29"


def test_two_that_make_the_file_at_once_lose_nothing(tmp_path: Path) -> None:
    for turn in range(10):
        shelves = [Shelf(tmp_path / f"{turn}.sqlite") for _ in range(2)]
        together = threading.Barrier(2)

        def work(shelf: Shelf, together: threading.Barrier = together) -> None:
            together.wait()
            for number in range(5):
                shelf.put(f"{id(shelf)}-{number}", b"x" * 9000)

        threads = [threading.Thread(target=work, args=(shelf,)) for shelf in shelves]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(shelves[0].written()) == 10
        for shelf in shelves:
            shelf.close()
