"""What is remote is judged like what is here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import ggufmake as make
import pytest
from fakehub import FakeHub, forget_this_machine

from paddock.errors import AppError
from paddock.hardware.model import Device
from paddock.launch import Plan
from paddock.work import Workspace
from paddock.work.hub import HubDesk


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    forget_this_machine(monkeypatch, tmp_path)
    with FakeHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        yield hub


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A machine with one card of a gigabyte."""
    made = Workspace(tmp_path / "data")
    monkeypatch.setattr(Workspace, "engine", lambda self, selector=None: None)
    real = made.machine(None)
    there = replace(real, devices=(Device("CUDA0", "cuda", "card", 1 << 30, 1 << 30),))
    monkeypatch.setattr(Workspace, "machine", lambda self, engine, again=False, rpc=(): there)
    return made


def projector() -> bytes:
    keys = {"general.architecture": "clip", "clip.vision.projection_dim": 64, "clip.has_vision_encoder": True}
    return make.file(keys, [make.Tensor("v.patch_embd.weight", (1 << 22,))])


def test_the_verdict_of_a_remote_model_is_that_of_the_same_file_here(
        server: FakeHub, workspace: Workspace, tmp_path: Path) -> None:
    data = make.file(*make.llama(4))
    server.add("ada/Tiny", {"Tiny-Q8_0.gguf": data})
    hub = HubDesk(workspace)
    repository = hub.repository("ada/Tiny")
    remote = hub.fit(repository, repository.choices[0], 2048)
    (tmp_path / "Tiny-Q8_0.gguf").write_bytes(data)
    here = workspace.estimate(Plan().with_("model", str(tmp_path / "Tiny-Q8_0.gguf")).with_("ctx-size", 2048))
    assert remote.estimate is not None
    assert [(d.name, d.total, d.verdict) for d in remote.estimate.devices] == [
        (d.name, d.total, d.verdict) for d in here.devices]
    assert (remote.estimate.verdict, remote.context) == (here.verdict, 2048)


def test_the_projector_that_would_come_along_is_counted(server: FakeHub, workspace: Workspace) -> None:
    data = make.file(*make.llama(4))
    server.add("ada/Seeing", {"Seeing-Q8_0.gguf": data, "mmproj-F16.gguf": projector()})
    server.add("ada/Odd", {"Odd-Q8_0.gguf": data, "mmproj-F16.gguf": b"nothing"})
    hub = HubDesk(workspace)
    totals = []
    for name in ("ada/Seeing", "ada/Odd"):
        repository = hub.repository(name)
        found = hub.fit(repository, repository.choices[0])
        assert found.estimate is not None
        totals.append((sum(d.projector for d in found.estimate.devices), found.projector))
    assert totals[0][0] >= 16 << 20
    assert [name for _, name in totals] == ["F16", None]
    assert totals[1][0] == 0


def test_a_header_is_read_once_for_a_commit(server: FakeHub, workspace: Workspace) -> None:
    server.add("ada/Tiny", {"Tiny-Q8_0.gguf": make.file(*make.llama())})
    hub = HubDesk(workspace)
    repository = hub.repository("ada/Tiny")
    hub.fit(repository, repository.choices[0], 512)
    asked = len(server.requests)
    hub.fit(repository, repository.choices[0], 4096)
    assert len(server.requests) == asked


def test_a_file_that_is_no_model_has_no_verdict(server: FakeHub, workspace: Workspace) -> None:
    server.add("ada/Seeing", {"mmproj-F16.gguf": projector()})
    hub = HubDesk(workspace)
    repository = hub.repository("ada/Seeing")
    assert hub.fit(repository, repository.others[0]).estimate is None


def test_a_download_that_an_earlier_paddock_began_is_resumed_from_its_note(
        server: FakeHub, workspace: Workspace, tmp_path: Path) -> None:
    from paddock.library.hub import Paused

    server.add("ada/Tiny", {"Tiny-Q8_0.gguf": make.file(*make.llama())})
    hub = HubDesk(workspace)
    repository = hub.repository("ada/Tiny")
    begun = hub.download(repository, repository.choices)
    assert begun.folder == workspace.paths.root / "models" / "ada" / "Tiny"
    with pytest.raises(Paused):
        begun.run(stop=lambda: True)
    part = begun.targets[0].with_name("Tiny-Q8_0.gguf.incomplete")
    assert HubDesk(workspace).resume(part).run() == begun.targets
    (tmp_path / "x.gguf.incomplete").write_bytes(b"GGUF")
    with pytest.raises(AppError, match="not begun by Paddock"):
        hub.resume(tmp_path / "x.gguf.incomplete")


def test_a_link_is_searched_by_its_name(server: FakeHub, workspace: Workspace) -> None:
    server.add("ada/Tiny-GGUF", {})
    assert [f.id for f in HubDesk(workspace).search(" https://huggingface.co/ada/Tiny-GGUF/tree/main ")] == [
        "ada/Tiny-GGUF"]
