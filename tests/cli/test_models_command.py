"""paddock models: the files of this machine, and Hugging Face on request."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ggufmake as make
import pytest
from fakehub import FakeHub, forget_this_machine

from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.work import Workspace

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture(autouse=True)
def _this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forget_this_machine(monkeypatch, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(Workspace, "engine", lambda self, selector=None: None)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.add("ada/Tiny-GGUF", {"Tiny-Q8_0.gguf": make.file(*make.llama()),
                                  "Tiny-F16.gguf": make.file(*make.llama(kind="f16")),
                                  "mmproj-F16.gguf": b"GGUF" * 50, "mmproj-Q8_0.gguf": b"GGUF" * 30})
        yield hub


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*args: str) -> tuple[int, Any]:
        code = run(["models", *args], Globals(data_dir=str(tmp_path / "data"), json=True))
        return code, json.loads(capsys.readouterr().out or "null")
    return asked


def test_a_search_lists_repositories(server: FakeHub, ask: Ask) -> None:
    assert ask("search", "tiny") == (0, [{"id": "ada/Tiny-GGUF", "downloads": 1000, "likes": 10,
                                          "updated": "2026-11-20T10:00:00.000Z", "gated": False}])


def test_a_repository_is_shown_with_a_verdict_for_each_quantisation(server: FakeHub, ask: Ask) -> None:
    code, told = ask("show", "ada/Tiny-GGUF")
    assert code == 0
    assert [(f["label"], f["kind"], f["verdict"]) for f in told["files"]] == [
        ("Q8_0", "model", "fits"), ("F16", "model", "fits"), ("F16", "projector", None), ("Q8_0", "projector", None)]
    assert told["files"][0]["trained_context"] == 4096
    assert ask("show", "ada/Tiny-GGUF", "--no-fit")[1]["files"][0]["verdict"] is None


def test_a_file_that_cannot_be_read_costs_its_own_row(server: FakeHub, ask: Ask) -> None:
    server.repos["ada/Tiny-GGUF"].files["Broken-Q2_K.gguf"] = b"nothing"
    _, told = ask("show", "ada/Tiny-GGUF")
    assert [(f["label"], bool(f["error"])) for f in told["files"][:3]] == [
        ("Q2_K", True), ("Q8_0", False), ("F16", False)]


def test_a_model_comes_with_its_projector_and_is_listed_then(server: FakeHub, ask: Ask, tmp_path: Path) -> None:
    code, told = ask("get", "ada/Tiny-GGUF", "q8_0")
    folder = tmp_path / "data" / "models" / "ada" / "Tiny-GGUF"
    assert (code, told["files"]) == (0, [str(folder / "Tiny-Q8_0.gguf"), str(folder / "mmproj-F16.gguf")])
    _, listed = ask("list", "tiny", "q8_0")
    assert [(m["path"], m["place"]) for m in listed] == [(str(folder / "Tiny-Q8_0.gguf"), "Paddock")]


@pytest.mark.parametrize(("projector", "names"), [
    ("none", ["Tiny-Q8_0.gguf"]), ("q8_0", ["Tiny-Q8_0.gguf", "mmproj-Q8_0.gguf"]),
    ("mmproj-F16.gguf", ["Tiny-Q8_0.gguf", "mmproj-F16.gguf"])])
def test_the_projector_is_the_persons_choice(server: FakeHub, ask: Ask, tmp_path: Path, projector: str,
                                             names: list[str]) -> None:
    _, told = ask("get", "ada/Tiny-GGUF", "Q8_0", "--projector", projector, "--to", str(tmp_path / "there"))
    assert [Path(p).name for p in told["files"]] == names
    assert all(Path(p).parent == tmp_path / "there" / "ada" / "Tiny-GGUF" for p in told["files"])


@pytest.mark.parametrize("args", [("get", "ada/Tiny-GGUF"), ("get", "ada/Tiny-GGUF", "Q2_K"),
                                  ("get", "ada/Tiny-GGUF", "Q8_0", "--projector", "x"), ("get", "ada/None", "Q8_0"),
                                  ("show", "no name")])
def test_what_cannot_be_chosen_is_said_with_what_can(server: FakeHub, ask: Ask, args: tuple[str, ...]) -> None:
    code, told = ask(*args)
    assert code == 1
    assert told["error"]["hint"]


def test_ctrl_c_pauses_and_the_same_command_goes_on(server: FakeHub, ask: Ask, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    from paddock.library.hub import Download

    real = Download.run

    def interrupted(self: Download, progress: Any = None, stop: Any = None) -> Any:
        def told(done: int, total: int, what: str) -> None:
            raise KeyboardInterrupt
        return real(self, told)

    monkeypatch.setattr(Download, "run", interrupted)
    assert ask("get", "ada/Tiny-GGUF", "Q8_0") == (130, None)
    assert list((tmp_path / "data" / "models").rglob("*.incomplete"))
    monkeypatch.setattr(Download, "run", real)
    assert ask("get", "ada/Tiny-GGUF", "Q8_0")[0] == 0
    assert not list((tmp_path / "data" / "models").rglob("*.incomplete"))


def test_no_connection_is_said_in_words(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        code, told = ask("search", "x")
    assert code == 1
    assert "cannot be reached" in told["error"]["what"]


def test_a_token_is_kept_in_the_keyring_and_sent_from_there(server: FakeHub, ask: Ask, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[tuple[str, str], str] = {}
    monkeypatch.setattr("keyring.set_password", lambda s, n, v: kept.__setitem__((s, n), v))
    monkeypatch.setattr("keyring.get_password", lambda s, n: kept.get((s, n)))
    monkeypatch.setattr("keyring.delete_password", lambda s, n: kept.pop((s, n)))
    server.repos["ada/Tiny-GGUF"].gated = True
    assert ask("get", "ada/Tiny-GGUF", "Q8_0")[0] == 1
    monkeypatch.setattr("sys.stdin", _Pipe(f"{FakeHub.TOKEN}\n"))
    assert ask("token", "set") == (0, {"token": True})
    assert FakeHub.TOKEN not in (tmp_path / "data" / "settings.toml").read_text()
    assert ask("get", "ada/Tiny-GGUF", "Q8_0")[0] == 0
    assert ask("token", "forget") == (0, {"token": False})
    assert kept == {}


def test_without_a_keyring_no_token_is_kept(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    from keyring.errors import NoKeyringError

    def none(*_args: str) -> None:
        raise NoKeyringError

    for name in ("set_password", "get_password", "delete_password"):
        monkeypatch.setattr(f"keyring.{name}", none)
    monkeypatch.setattr("sys.stdin", _Pipe("hf_x"))
    code, told = ask("token", "set")
    assert code == 1
    assert "HF_TOKEN" in told["error"]["hint"]
    assert ask("token") == (0, {"token": False})


@pytest.mark.parametrize("given", ["", "two words", "\n"])
def test_what_is_no_token_is_refused(ask: Ask, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setattr("sys.stdin", _Pipe(given))
    assert ask("token", "set")[0] == 1


def test_problems_are_listed_with_their_reasons(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "models"
    make.write(folder / "good.gguf", *make.llama())
    (folder / "page.gguf").write_bytes(b"<html>")
    code, told = ask("list", "--problems")
    assert (code, [m["name"] for m in told]) == (0, ["page.gguf"])
    assert "web page" in told[0]["problems"][0]["text"]


def test_what_goes_with_a_model_is_told_and_the_persons_word_remembered(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "models"
    path = make.write(folder / "gemma-Q8_0.gguf", *make.llama())
    mine = make.write(folder / "mmproj-F16.gguf", {"general.architecture": "clip", "clip.vision.projection_dim": 64})
    own = {"own_layers": 0, "own_chosen": False}
    found = {"chosen": str(mine), "by_person": False, "options": [str(mine)], **own}
    assert ask("pair", str(path)) == (0, {
        "model": str(path), "projector": found, "draft": {"chosen": None, "by_person": False, "options": [], **own}})
    assert ask("pair", str(path), "--projector", "none")[1]["projector"] == {
        **found, "chosen": None, "by_person": True}
    assert ask("pair", str(path))[1]["projector"]["by_person"]
    assert ask("pair", str(path), "--projector", "auto")[1]["projector"] == found
    assert ask("pair", str(path), "--projector", str(folder / "no.gguf"))[0] == 1


def test_listing_sends_nothing(server: FakeHub, ask: Ask) -> None:
    ask("list")
    assert server.requests == []


class _Pipe:
    def __init__(self, text: str) -> None:
        self._text = text

    def read(self) -> str:
        return self._text

    def isatty(self) -> bool:
        return False
