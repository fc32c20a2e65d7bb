"""Downloads: whole, paused, resumed, broken off, checked against the hub's hash, never without space."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import filelock
import ggufmake as make
import pytest
from fakehub import FakeHub

from paddock import gguf, library
from paddock.errors import AppError
from paddock.library.hub import Download, Hub, OfflineError, Paused
from paddock.library.hub import download as hub_download
from paddock.library.hub.download import CHECKING, WAITING, pending

PLENTY = 1 << 50


@pytest.fixture
def data() -> bytes:
    """A model of about a megabyte."""
    metadata, tensors = make.llama()
    return make.file(metadata, [*tensors, make.Tensor("big", (1 << 18,))])


@pytest.fixture
def server(data: bytes) -> Iterator[FakeHub]:
    with FakeHub() as hub:
        hub.add("ada/Tiny", {"sub/Tiny-Q8_0.gguf": data, "mmproj-F16.gguf": data[:5000]})
        yield hub


def download(server: FakeHub, folder: Path, free: int | None = PLENTY, repo: str = "ada/Tiny") -> Download:
    hub = Hub(server.url, token=FakeHub.TOKEN)
    repository = hub.repository(repo)
    files = [f for c in (*repository.choices, *repository.others) for f in c.files]
    return Download(hub, repository, files, folder, free_bytes=lambda _: free, wait=lambda _: None)


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_files_come_whole_under_their_names_with_progress(server: FakeHub, tmp_path: Path, data: bytes) -> None:
    told: list[tuple[int, int, str]] = []
    paths = download(server, tmp_path / "d").run(lambda *news: told.append(news))
    assert [p.name for p in paths] == ["Tiny-Q8_0.gguf", "mmproj-F16.gguf"]
    assert [p.read_bytes() for p in paths] == [data, data[:5000]]
    assert left(tmp_path / "d") == ["Tiny-Q8_0.gguf", "mmproj-F16.gguf"]
    assert [n for n, _, _ in told] == sorted(n for n, _, _ in told)
    assert told[-1] == (len(data) + 5000, len(data) + 5000, "")


def test_a_split_model_comes_with_all_parts_and_is_complete(server: FakeHub, tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3)
    parts = make.split(tmp_path / "made", "Big-Q8_0", metadata, [tensors[:5], tensors[5:]])
    server.add("ada/Big", {p.name: p.read_bytes() for p in parts})
    first, _ = download(server, tmp_path / "d", repo="ada/Big").run()
    assert gguf.read(first).complete


def test_a_pause_keeps_what_came_and_resuming_asks_for_the_rest_only(
        server: FakeHub, tmp_path: Path, data: bytes) -> None:
    first = download(server, tmp_path)
    with pytest.raises(Paused):
        first.run(stop=lambda: first.here_bytes > 300_000)
    part = tmp_path / "Tiny-Q8_0.gguf.incomplete"
    came = part.stat().st_size
    assert 300_000 < came < len(data)
    note = pending(tmp_path / "Tiny-Q8_0.gguf.incomplete.json")
    assert (note["repository"], note["file"]) == ("ada/Tiny", "sub/Tiny-Q8_0.gguf")
    server.sent_bytes = 0
    whats: set[str] = set()
    paths = download(server, tmp_path).run(lambda _done, _total, what: whats.add(what))
    assert paths[0].read_bytes() == data
    assert server.sent_bytes == len(data) - came + 5000
    assert CHECKING in whats
    assert left(tmp_path) == ["Tiny-Q8_0.gguf", "mmproj-F16.gguf"]


def test_an_unfinished_download_is_listed_as_one(server: FakeHub, tmp_path: Path) -> None:
    first = download(server, tmp_path)
    with pytest.raises(Paused):
        first.run(stop=lambda: first.here_bytes > 300_000)
    (entry,) = library.scan([tmp_path], read=gguf.read)
    assert entry.model is not None
    assert "unfinished-download" in [p.id for p in entry.model.problems]


def test_discarding_leaves_nothing(server: FakeHub, tmp_path: Path) -> None:
    first = download(server, tmp_path)
    with pytest.raises(Paused):
        first.run(stop=lambda: True)
    first.discard()
    assert left(tmp_path) == []


def test_a_connection_that_breaks_is_taken_up_again(server: FakeHub, tmp_path: Path, data: bytes) -> None:
    server.manners.cut_after, server.manners.cuts = 200_000, 4
    paths = download(server, tmp_path).run()
    assert paths[0].read_bytes() == data
    assert server.sent_bytes < len(data) + 5000 + 4 * (64 << 10)  # what was on its way when the connection broke


def test_a_connection_that_keeps_breaking_is_given_up_and_resumed_later(
        server: FakeHub, tmp_path: Path, data: bytes) -> None:
    server.manners.cut_after, server.manners.cuts = 0, 1000
    whats: list[str] = []
    with pytest.raises(OfflineError):
        download(server, tmp_path).run(lambda _d, _t, what: whats.append(what))
    assert WAITING in whats
    assert server.manners.cuts == 1000 - 6
    server.manners.cuts = 0
    assert download(server, tmp_path).run()[0].read_bytes() == data


def test_waiting_for_the_connection_can_be_stopped(server: FakeHub, tmp_path: Path) -> None:
    server.manners.cut_after, server.manners.cuts = 0, 1000
    waiting = threading.Event()
    with pytest.raises(Paused):
        download(server, tmp_path).run(lambda _d, _t, what: waiting.set() if what == WAITING else None, waiting.is_set)
    assert server.manners.cuts == 999


def test_a_server_without_ranges_begins_anew(server: FakeHub, tmp_path: Path, data: bytes) -> None:
    first = download(server, tmp_path)
    with pytest.raises(Paused):
        first.run(stop=lambda: first.here_bytes > 300_000)
    server.manners.no_ranges = True
    assert download(server, tmp_path).run()[0].read_bytes() == data


def test_a_file_that_changed_meanwhile_begins_anew(server: FakeHub, tmp_path: Path, data: bytes) -> None:
    first = download(server, tmp_path)
    with pytest.raises(Paused):
        first.run(stop=lambda: first.here_bytes > 300_000)
    other = data[:-9] + b"different"
    server.add("ada/Tiny", {"sub/Tiny-Q8_0.gguf": other, "mmproj-F16.gguf": data[:5000]}, commit="d" * 40)
    assert download(server, tmp_path).run()[0].read_bytes() == other


def test_other_bytes_than_the_hub_hashed_are_thrown_away(server: FakeHub, tmp_path: Path) -> None:
    server.manners.wrong_bytes = True
    with pytest.raises(AppError, match="its hash differs"):
        download(server, tmp_path).run()
    assert left(tmp_path) == []


def test_a_part_that_was_damaged_on_disk_is_noticed(server: FakeHub, tmp_path: Path) -> None:
    first = download(server, tmp_path)
    with pytest.raises(Paused):
        first.run(stop=lambda: first.here_bytes > 300_000)
    part = tmp_path / "Tiny-Q8_0.gguf.incomplete"
    content = bytearray(part.read_bytes())
    content[1000] ^= 1
    part.write_bytes(content)
    with pytest.raises(AppError, match="its hash differs"):
        download(server, tmp_path).run()


def test_nothing_begins_without_the_space(server: FakeHub, tmp_path: Path, data: bytes) -> None:
    with pytest.raises(AppError, match="not enough space") as told:
        download(server, tmp_path, free=len(data)).run()
    assert "smaller quantisation" in str(told.value.hint)
    assert left(tmp_path) == []
    assert server.asked("/resolve/") == []
    assert download(server, tmp_path, free=None).run()


def test_a_full_disk_says_so_and_keeps_what_came(server: FakeHub, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AppError, match="disk is full"):
        download(server, tmp_path).run()
    assert "Tiny-Q8_0.gguf.incomplete" in left(tmp_path)


def test_a_folder_that_cannot_be_written_says_so(server: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AppError, match="could not be written"):
        download(server, tmp_path / "file" / "d").run()


def test_what_is_here_already_is_not_loaded_again(server: FakeHub, tmp_path: Path) -> None:
    download(server, tmp_path).run()
    server.requests.clear()
    download(server, tmp_path).run()
    assert server.asked("/resolve/") == []


def test_another_file_of_that_name_is_never_overwritten(server: FakeHub, tmp_path: Path) -> None:
    (tmp_path / "Tiny-Q8_0.gguf").write_bytes(b"mine")
    with pytest.raises(AppError, match="another file called"):
        download(server, tmp_path).run()
    assert (tmp_path / "Tiny-Q8_0.gguf").read_bytes() == b"mine"


def test_a_file_that_the_hub_gives_to_its_own_program_only_says_so(
        server: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_download, "MOST_HTTP_BYTES", 100_000)
    with pytest.raises(AppError, match="larger than 50 GB") as told:
        download(server, tmp_path).run()
    assert "hf download ada/Tiny sub/Tiny-Q8_0.gguf" in str(told.value.hint)
    assert left(tmp_path) == []


def test_two_downloads_of_one_file_do_not_mix(server: FakeHub, tmp_path: Path) -> None:
    with filelock.FileLock(tmp_path / ".Tiny-Q8_0.gguf.lock"), pytest.raises(AppError, match="downloaded already"):
        download(server, tmp_path).run()


def test_gated_files_come_with_the_token_only(server: FakeHub, tmp_path: Path, data: bytes) -> None:
    server.repos["ada/Tiny"].gated = True
    open_hub = Hub(server.url)
    repository = open_hub.repository("ada/Tiny")
    refused = Download(open_hub, repository, repository.choices[0].files, tmp_path, free_bytes=lambda _: None)
    with pytest.raises(AppError, match="gated"):
        refused.run()
    assert download(server, tmp_path).run()[0].read_bytes() == data


def test_a_damaged_note_starts_anew(server: FakeHub, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "Tiny-Q8_0.gguf.incomplete").write_bytes(b"left by something else")
    (tmp_path / "Tiny-Q8_0.gguf.incomplete.json").write_text("{")
    assert download(server, tmp_path).run()[0].read_bytes() == data
    assert pending(tmp_path / "none.json") == {}
    (tmp_path / "list.json").write_text(json.dumps([1]))
    assert pending(tmp_path / "list.json") == {}
