"""The hub: searched, looked at, read by ranges; refusals and silence said in words."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import ggufmake as make
import pytest
from fakehub import FakeHub

from paddock import gguf
from paddock.errors import AppError
from paddock.gguf import Kind
from paddock.library.hub import Hub, OfflineError, RemoteFile
from paddock.library.hub import ranges as hub_ranges
from paddock.library.hub.client import checked_id
from paddock.library.hub.grouping import grouped, quant_label


def tiny(**more: object) -> bytes:
    return make.file(*make.llama(**more))  # type: ignore[arg-type]


@pytest.fixture
def server() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        yield hub


def test_a_search_finds_repositories_the_most_downloaded_first(server: FakeHub) -> None:
    server.add("ada/Tiny-GGUF", {}, downloads=5)
    server.add("bob/Tiny-big-GGUF", {}, downloads=50, gated=True)
    server.add("cam/Other", {})
    found = Hub(server.url).search("tiny")
    assert [(f.id, f.downloads, f.gated) for f in found] == [
        ("bob/Tiny-big-GGUF", 50, True), ("ada/Tiny-GGUF", 5, False)]
    (request,) = server.requests
    assert "filter=gguf" in request[1]
    assert "authorization" not in request[2]


def test_nothing_is_sent_before_somebody_asks(server: FakeHub) -> None:
    Hub(server.url, token="hf_good")
    assert server.requests == []


def test_every_request_is_one_that_was_asked_for(server: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """huggingface_hub asks for a list of programs when it makes its own headers."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.url)
    monkeypatch.setattr("huggingface_hub.utils._detect_agent._registry", None)
    server.add("ada/Tiny", {"Tiny-Q8_0.gguf": tiny()})
    hub = Hub(server.url, token="hf_good")
    repository = hub.repository("ada/Tiny")
    hub.search("tiny")
    hub.metadata(repository, repository.choices[0].files[0])
    assert [(method, path.partition("?")[0]) for method, path, _ in server.requests] == [
        ("GET", "/api/models/ada/Tiny"), ("GET", "/api/models"),
        ("HEAD", f"/ada/Tiny/resolve/{repository.commit}/Tiny-Q8_0.gguf")]


def test_size_and_hash_of_a_file_are_those_of_its_content(server: FakeHub) -> None:
    data = tiny()
    server.add("ada/Tiny", {"Tiny-Q8_0.gguf": data})
    hub = Hub(server.url)
    repository = hub.repository("ada/Tiny")
    for redirect in (True, False):
        server.manners.redirect = redirect
        told = hub.metadata(repository, repository.choices[0].files[0])
        assert (told.size, told.etag) == (len(data), hashlib.sha256(data).hexdigest())


def test_a_repository_is_told_by_its_quantisations_with_sizes(server: FakeHub) -> None:
    server.add("ada/Tiny-GGUF", {
        "README.md": b"x", "Tiny-Q8_0.gguf": b"x" * 80, "Tiny-Q4_K_M.gguf": b"x" * 40, "mmproj-F16.gguf": b"x" * 9,
        "BF16/Tiny-BF16-00001-of-00002.gguf": b"x" * 90, "BF16/Tiny-BF16-00002-of-00002.gguf": b"x" * 70})
    found = Hub(server.url).repository("ada/Tiny-GGUF")
    assert [(c.label, c.size_bytes, len(c.files)) for c in found.choices] == [
        ("Q4_K_M", 40, 1), ("Q8_0", 80, 1), ("BF16", 160, 2)]
    assert [(c.label, c.kind) for c in found.others] == [("F16", Kind.PROJECTOR)]
    assert found.projector == found.others[0]
    assert found.choices[0].files[0].sha256 is not None
    assert found.choice("q4_k_m") == found.choices[0]
    assert found.choice("Tiny-Q8_0.gguf") == found.choices[1]
    assert found.choice("Q2_K") is None


@pytest.mark.parametrize(("path", "label"), [
    ("Qwen3-30B-A3B-Q4_K_M.gguf", "Q4_K_M"), ("x-UD-Q2_K_XL.gguf", "UD-Q2_K_XL"), ("model.IQ3_XXS.gguf", "IQ3_XXS"),
    ("gpt-oss-20b-mxfp4.gguf", "MXFP4"), ("model-fp16.gguf", "F16"), ("Q6_K/m-00001-of-00003.gguf", "Q6_K"),
    ("ggml-model.gguf", "ggml-model"), ("T5-Q8-large.gguf", "Q8"), ("big-TQ1_0.gguf", "TQ1_0")])
def test_the_name_tells_the_quantisation(path: str, label: str) -> None:
    assert quant_label(path) == label


def test_two_models_of_one_quantisation_are_told_apart_by_name() -> None:
    files = [RemoteFile(f"{name}-Q4_0.gguf", 10) for name in ("small", "large")]
    models, others = grouped([*files, RemoteFile("mmproj-a-F16.gguf", 1), RemoteFile("mmproj-b-F16.gguf", 1)])
    assert [c.label for c in models] == ["large-Q4_0", "small-Q4_0"]
    assert [c.label for c in others] == ["mmproj-a-F16", "mmproj-b-F16"]


def test_a_set_with_missing_parts_says_so() -> None:
    models, _ = grouped([RemoteFile(f"m-Q4_0-0000{n}-of-00004.gguf", 10) for n in (1, 3)])
    assert [(c.label, c.missing) for c in models] == [("Q4_0", 2)]


# -- the remote header -----------------------------------------------------------------------------------------------


def test_a_model_is_read_from_its_remote_header_alone(server: FakeHub, tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3, vocabulary=60_000)
    tensors.append(make.Tensor("output.bias", (1 << 20,), "f32"))
    data = make.file(metadata, tensors)
    server.add("ada/Tiny-GGUF", {"Tiny-Q8_0.gguf": data})
    hub = Hub(server.url)
    repository = hub.repository("ada/Tiny-GGUF")
    told = hub.model(repository, repository.choices[0])
    (tmp_path / "Tiny-Q8_0.gguf").write_bytes(data)
    here = gguf.read(tmp_path / "Tiny-Q8_0.gguf")
    assert (told.facts, told.tensors, told.identity, told.complete) == (here.facts, here.tensors, here.identity, True)
    assert told.problems == ()
    assert server.sent_bytes < len(data) / 2


def test_a_split_model_is_read_from_all_its_parts(server: FakeHub, tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3)
    paths = make.split(tmp_path, "Big-Q8_0", metadata, [[], tensors[:5], tensors[5:]])
    server.add("ada/Big", {p.name: p.read_bytes() for p in paths})
    hub = Hub(server.url)
    repository = hub.repository("ada/Big")
    told = hub.model(repository, repository.choices[0])
    assert told.facts == gguf.read(paths[0]).facts
    assert (len(told.shards), told.complete) == (3, True)


def test_a_remote_set_with_a_missing_part_is_no_complete_model(server: FakeHub, tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3)
    paths = make.split(tmp_path, "Big-Q8_0", metadata, [tensors[:5], tensors[5:]])
    server.add("ada/Big", {paths[0].name: paths[0].read_bytes()})
    hub = Hub(server.url)
    repository = hub.repository("ada/Big")
    assert not hub.model(repository, repository.choices[0]).complete


def test_the_token_goes_to_the_hub_and_not_to_its_storage(server: FakeHub) -> None:
    server.add("ada/Tiny", {"Tiny-Q8_0.gguf": tiny()}, gated=True)
    hub = Hub(server.url, token="hf_good")
    repository = hub.repository("ada/Tiny")
    assert hub.model(repository, repository.choices[0]).architecture == "llama"
    for method, path, headers in server.requests:
        stored = path.startswith("/ada/") and "/resolve/" not in path
        assert ("authorization" in headers) is not stored, (method, path)


def test_a_header_that_never_ends_is_not_read_for_ever(server: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_ranges, "MOST_HEADER_BYTES", 600_000)
    server.add("ada/Huge", {"Huge-Q8_0.gguf": make.file(*make.llama(vocabulary=200_000))})
    hub = Hub(server.url)
    repository = hub.repository("ada/Huge")
    with pytest.raises(AppError, match="larger than"):
        hub.model(repository, repository.choices[0])
    assert server.sent_bytes < 700_000


def test_a_server_that_gives_whole_files_only_is_not_read(server: FakeHub) -> None:
    server.add("ada/Tiny", {"Tiny-Q8_0.gguf": make.file(*make.llama(vocabulary=90_000))})
    server.manners.no_ranges = True
    hub = Hub(server.url)
    repository = hub.repository("ada/Tiny")
    with pytest.raises(AppError, match="parts of files"):
        hub.model(repository, repository.choices[0])


def test_reading_a_header_can_be_cancelled(server: FakeHub) -> None:
    server.add("ada/Tiny", {"Tiny-Q8_0.gguf": tiny(vocabulary=90_000)})
    hub = Hub(server.url)
    repository = hub.repository("ada/Tiny")
    with pytest.raises(AppError, match="Cancelled"):
        hub.model(repository, repository.choices[0], lambda: True)


def test_a_file_that_is_no_model_is_said_to_be_none(server: FakeHub) -> None:
    server.add("ada/Odd", {"Odd-Q8_0.gguf": b"<html>" * 99})
    hub = Hub(server.url)
    repository = hub.repository("ada/Odd")
    with pytest.raises(AppError, match="not a GGUF"):
        hub.model(repository, repository.choices[0])


# -- refusals --------------------------------------------------------------------------------------------------------


def test_no_connection_is_offline_with_a_reason() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        hub = Hub(f"http://127.0.0.1:{closed.getsockname()[1]}")
        with pytest.raises(OfflineError, match="cannot be reached") as told:
            hub.search("x")
    assert "work without" in str(told.value.hint)


def test_a_hub_that_does_not_answer_is_offline(server: FakeHub) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(OfflineError, match="did not answer in time"):
            Hub(f"http://127.0.0.1:{silent.getsockname()[1]}", patience_s=0.2).search("x")


def test_the_offline_switch_of_hugging_face_is_kept_to(server: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(OfflineError, match="switched off"):
        Hub(server.url).search("x")
    assert server.requests == []


def test_a_gated_repository_says_what_to_do(server: FakeHub) -> None:
    server.add("ada/Gated", {"Gated-Q8_0.gguf": tiny()}, gated=True)
    for token in (None, "hf_other"):
        hub = Hub(server.url, token=token)
        repository = hub.repository("ada/Gated")
        assert repository.gated
        with pytest.raises(AppError, match="gated") as told:
            hub.model(repository, repository.choices[0])
        assert "token" in str(told.value.hint)


@pytest.mark.parametrize(("status", "words"), [(404, "There is no"), (401, "There is no"), (429, "asks to wait"),
                                               (500, "error \\(500\\)"), (503, "error \\(503\\)")])
def test_every_refusal_has_its_words(server: FakeHub, status: int, words: str) -> None:
    server.manners.status = status
    with pytest.raises(AppError, match=words) as told:
        Hub(server.url).repository("ada/Tiny")
    assert not isinstance(told.value, OfflineError)


def test_a_private_repository_needs_the_token(server: FakeHub) -> None:
    server.add("ada/Secret", {"Secret-Q8_0.gguf": tiny()}, private=True)
    with pytest.raises(AppError, match="There is no ada/Secret"):
        Hub(server.url).repository("ada/Secret")
    assert Hub(server.url, token="hf_good").repository("ada/Secret").id == "ada/Secret"


@pytest.mark.parametrize("body", [b"<html>log in</html>", b"[]", b"{}", b"null", b'{"sha": 5}'])
def test_an_answer_that_makes_no_sense_is_said_so(server: FakeHub, body: bytes) -> None:
    server.add("ada/Tiny", {})
    server.manners.body = body
    with pytest.raises(AppError, match="makes no sense"):
        Hub(server.url).repository("ada/Tiny")


def test_odd_entries_of_a_listing_do_no_harm(server: FakeHub) -> None:
    server.add("a/b", {})
    server.manners.body = (b'{"id": "a/b", "sha": "1", "siblings": [{"rfilename": "../evil.gguf"}, {"rfilename": 5}, 7,'
                           b'{"rfilename": "C:\\\\x.gguf"}, {"rfilename": "/etc/x.gguf"},'
                           b'{"rfilename": "ok-Q8_0.gguf", "size": -1, "lfs": "no"}]}')
    found = Hub(server.url).repository("a/b")
    assert [f.path for c in found.choices for f in c.files] == ["ok-Q8_0.gguf"]
    assert found.choices[0].size_bytes is None


@pytest.mark.parametrize(("given", "name"), [
    ("ada/Tiny-GGUF", "ada/Tiny-GGUF"), (" 'ada/Tiny' ", "ada/Tiny"), ("hf.co/ada/Tiny", "ada/Tiny"),
    ("https://huggingface.co/ada/Tiny-GGUF/tree/main?x=1", "ada/Tiny-GGUF"), ("https://hf.co/ada/Tiny", "ada/Tiny")])
def test_names_and_links_of_repositories_are_understood(given: str, name: str) -> None:
    assert checked_id(given) == name


@pytest.mark.parametrize("given", ["", "ada", "../etc", "ada/..", "ada/-x", "C:\\models\\m.gguf", "a/b c", "a/ä"])
def test_other_names_are_refused_before_a_request(server: FakeHub, given: str) -> None:
    with pytest.raises(AppError, match="not the name of a repository"):
        Hub(server.url).repository(given)
    assert server.requests == []
