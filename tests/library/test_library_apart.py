"""Second processes read beside the first: the same answers, whatever becomes of them, and none is left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ggufmake as make
import psutil
import pytest

from paddock import gguf
from paddock.gguf import ModelFile
from paddock.library import reading, scan
from paddock.library.apart import Apart, apart_for

FILES = 30


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    for number in range(FILES):
        make.write(folder / f"{number:02d} ä.gguf", *make.llama(layers=2, name=f"M{number}"))
    (folder / "broken.gguf").write_bytes(b"<html>")
    return folder


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every scan is a long one, from its beginning."""
    monkeypatch.setattr(reading, "_LOOK_S", 0.0)
    monkeypatch.setattr(reading, "_LONG_S", 0.0)


def slowly(cache: gguf.HeaderCache) -> Callable[[Path], ModelFile]:
    """The first process waits a little where a model is not kept, so that the second has its share."""
    def read(path: Path) -> ModelFile:
        if cache.get(path) is None:
            time.sleep(0.05)
        return gguf.read(path, cache=cache)
    return read


class Watched:
    """Starts real second processes and keeps them in sight."""

    def __init__(self, folder: Path) -> None:
        self.started: list[Apart] = []
        self._start = apart_for(folder)

    def __call__(self) -> Apart:
        assert self._start is not None
        self.started.append(self._start())
        return self.started[-1]

    @property
    def left(self) -> list[int]:
        return [a._process.pid for a in self.started if psutil.pid_exists(a._process.pid)]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[gguf.HeaderCache]:
    made = gguf.HeaderCache(tmp_path / "headers")
    yield made
    made.close()


@pytest.fixture
def start(cache: gguf.HeaderCache) -> Watched:
    return Watched(cache.folder)


def seen(entries: list) -> list[tuple[str, str | None, bool]]:
    return [(e.path.name, e.model.facts.name if e.model else None, e.error is None) for e in entries]


def test_a_scan_with_second_processes_finds_the_same(models: Path, cache: gguf.HeaderCache, start: Watched) -> None:
    found = scan([models], read=slowly(cache), apart=start)
    assert seen(found) == seen(scan([models], read=gguf.read))
    assert len(found) == FILES + 1
    assert start.started
    assert start.left == []


def test_the_second_process_keeps_what_it_reads(models: Path, cache: gguf.HeaderCache) -> None:
    apart = Apart(cache.folder)
    paths = sorted(models.iterdir())
    done = 0
    for path in paths:
        apart.ask(path)
    while done < len(paths):
        done += apart.answered()
    apart.end()
    assert done == FILES + 1
    assert [cache.get(path) is not None for path in paths] == [True] * FILES + [False]


class Dying:
    """A second process that ends after a few answers."""

    def __init__(self, answers: int) -> None:
        self._left = answers
        self.ended = False

    def ask(self, path: Path) -> None:
        if self._left < 0:
            raise BrokenPipeError

    def answered(self) -> int:
        self._left -= 1
        return 1 if self._left >= 0 else 0

    def end(self) -> None:
        self.ended = True


@pytest.mark.parametrize("answers", [0, 1, 5])
def test_one_that_dies_costs_nothing(models: Path, answers: int) -> None:
    dying: list[Dying] = []

    def start() -> Apart:
        dying.append(Dying(answers))
        return dying[-1]  # type: ignore[return-value]

    assert seen(scan([models], read=gguf.read, apart=start)) == seen(scan([models], read=gguf.read))
    assert all(one.ended for one in dying)


def test_one_that_cannot_start_costs_nothing(models: Path) -> None:
    def start() -> Apart:
        raise FileNotFoundError("no Python here")

    assert len(scan([models], read=gguf.read, apart=start)) == FILES + 1


def test_one_that_hangs_is_ended_and_its_files_are_read_here(models: Path, cache: gguf.HeaderCache,
                                                             start: Watched) -> None:
    def asleep() -> Apart:
        apart = start()
        psutil.Process(apart._process.pid).suspend()
        return apart

    found = scan([models], read=slowly(cache), apart=asleep, patience_s=0.3)
    assert seen(found) == seen(scan([models], read=gguf.read))
    assert start.started
    assert start.left == []


def test_cancelling_ends_them(models: Path, cache: gguf.HeaderCache, start: Watched) -> None:
    found = scan([models], read=slowly(cache), apart=start, cancelled=lambda: bool(start.started))
    assert len(found) < FILES
    assert start.left == []


def test_a_short_scan_starts_none(models: Path, start: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LONG_S", 1e9)
    assert len(scan([models], read=gguf.read, apart=start)) == FILES + 1
    assert start.started == []


def test_a_bundle_has_no_python_to_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.frozen", True, raising=False)
    assert apart_for(tmp_path) is None
