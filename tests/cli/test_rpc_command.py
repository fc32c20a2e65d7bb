"""paddock rpc: what it says, in words and in JSON, and how it ends."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pretend_engine import make_program, make_server

from paddock.cli.arguments import Globals
from paddock.cli.main import run
from paddock.engine.rpc import Greeting
from paddock.work import rpc_hosts

Command = Callable[..., Any]


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command; (exit code, stdout or its document, stderr)."""
    engine = make_server(tmp_path / "bin", **{
        "__rpc gpubox:50052 __list_devices":
            "echo 'Available devices:'; echo '  RPC0: gpubox:50052 (24105 MiB, 22000 MiB free)'"})
    monkeypatch.setattr(rpc_hosts, "greet", lambda endpoint, **_: Greeting(
        "answers", "7.0.0") if endpoint.host == "gpubox" else Greeting("refused", None, "Connection refused"))

    def answer(*words: str, as_json: bool = False) -> tuple[int, Any, str]:
        code = run(["rpc", *words], Globals(str(tmp_path / "data"), str(engine), as_json))
        shown = capsys.readouterr()
        return code, json.loads(shown.out) if as_json else shown.out, shown.err

    return answer


def test_hosts_are_kept_and_forgotten_and_the_warning_is_said(command: Command) -> None:
    code, out, err = command("add", "gpubox", "10.0.0.7:6000")
    assert (code, out.split()) == (0, ["gpubox:50052", "10.0.0.7:6000"])
    assert "no password" in err
    assert command("list", as_json=True)[1] == [{"endpoint": "gpubox:50052"}, {"endpoint": "10.0.0.7:6000"}]
    assert command("remove", "gpubox")[0] == 0
    assert command("list")[1].split() == ["10.0.0.7:6000"]


def test_a_probe_shows_version_devices_and_memory(command: Command) -> None:
    code, out, _ = command("probe", "gpubox")
    assert code == 0
    assert "protocol 7.0.0" in out
    assert "RPC0, 23.54 GiB, 21.48 GiB free" in out


def test_a_probe_of_the_kept_hosts_ends_with_1_where_one_does_not_answer(command: Command) -> None:
    command("add", "gpubox", "10.0.0.7:6000")
    code, found, _ = command("probe", as_json=True)
    assert code == 1
    assert [(one["reach"], one["version"]) for one in found] == [("answers", "7.0.0"), ("silent", None)]
    assert found[1]["hint"]


def test_nothing_to_probe_says_what_to_write(command: Command) -> None:
    code, _, err = command("probe")
    assert code == 1
    assert "paddock rpc probe HOST:PORT" in err


@pytest.mark.parametrize("words", [("add", "::1"), ("add", "h:99999"), ("remove", "gpubox"), ("probe", "a b")])
def test_what_is_no_host_is_one_sentence(command: Command, words: tuple[str, ...]) -> None:
    code, found, err = command(*words, as_json=True)
    assert code == 1
    assert found["error"]["what"]
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [("serve", "-p", "0"), ("serve", "-t", "0"), ("add",), ("serve", "--for", "-1")])
def test_wrong_usage_is_2(command: Command, words: tuple[str, ...]) -> None:
    assert command(*words)[0] == 2


def test_an_engine_without_the_server_says_how_to_get_it(command: Command) -> None:
    code, _, err = command("serve")
    assert code == 1
    assert "GGML_RPC" in err


def test_a_taken_port_is_said_and_the_open_address_warned_of(tmp_path: Path, command: Command) -> None:
    make_program(tmp_path / "bin", "ggml-rpc-server", {}, "exit 0")
    with socket.create_server(("0.0.0.0", 0)) as taken:
        code, _, err = command("serve", "-H", "0.0.0.0", "-p", str(taken.getsockname()[1]))
    assert code == 1
    assert "in use" in err
    assert "no password" in err
