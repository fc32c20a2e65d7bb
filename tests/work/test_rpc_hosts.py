"""RPC hosts: kept, probed on request alone, left alone while they serve; and a server of our own."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import tinymodel
from pretend_engine import make_program, make_server
from real_engine import engine as _engine
from rpc_servers import rpc_servers

from paddock import engine as engines
from paddock.engine import Engine
from paddock.engine.rpc import Endpoint, Greeting, parse_endpoint
from paddock.errors import AppError
from paddock.launch import Plan
from paddock.launch.parsing import parse_argv
from paddock.server.child import system
from paddock.work import Workspace, rpc_hosts
from paddock.work.conditions import free_port
from paddock.work.rpc_hosts import Reach, probe_endpoint
from paddock.work.rpc_server import RpcOptions, RpcServer, RpcState

engine = _engine


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture
def never_asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were greeted: a test looks that there are none."""
    asked: list[str] = []

    def greet(endpoint: object, **_: object) -> Greeting:
        asked.append(str(endpoint))
        return Greeting("refused")

    monkeypatch.setattr(rpc_hosts, "greet", greet)
    return asked


def test_hosts_are_kept_in_order_once_each_and_survive_a_restart(workspace: Workspace, tmp_path: Path,
                                                                 never_asked: list[str]) -> None:
    for text in ("gpubox", "192.168.1.20:6000", "gpubox:50052"):
        workspace.rpc.add(text)
    assert Workspace(tmp_path / "data").rpc.kept == ["gpubox:50052", "192.168.1.20:6000"]
    workspace.rpc.remove("gpubox")
    assert Workspace(tmp_path / "data").rpc.kept == ["192.168.1.20:6000"]
    with pytest.raises(AppError, match="not among"):
        workspace.rpc.remove("gpubox")
    with pytest.raises(AppError):
        workspace.rpc.add("::1")
    assert never_asked == []


def test_a_host_that_serves_a_session_of_ours_is_not_asked(workspace: Workspace, never_asked: list[str]) -> None:
    preview = SimpleNamespace(plan=parse_argv(["-m", "x.gguf", "--rpc", "127.0.0.1:50171"]))
    run: Any = SimpleNamespace(state="ready", preview=preview, ended_at=None)
    workspace.runs.append(run)
    found = [workspace.rpc.probe(text, None) for text in ("127.0.0.1:50171", "localhost:50171")]
    workspace.runs.clear()
    assert [one.reach for one in found] == [Reach.IN_USE, Reach.IN_USE]
    assert never_asked == []


def test_a_host_that_another_program_of_this_computer_is_connected_to_is_not_asked(
    workspace: Workspace, never_asked: list[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
        code = f"import socket, sys; s = socket.create_connection(('127.0.0.1', {port})); print(); sys.stdin.read()"
        other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert other.stdout
        other.stdout.readline()
        found = workspace.rpc.probe(f"127.0.0.1:{port}", None)
        other.communicate(b"")
    assert found.reach is Reach.IN_USE
    assert str(other.pid) in str(found.text)
    assert never_asked == []


def test_a_plan_s_host_that_another_program_uses_is_not_listed_through_the_engine(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr("paddock.work.machines.reachable", lambda endpoint: tried.append(endpoint) or True)
    monkeypatch.setattr(rpc_hosts, "connected_here", lambda endpoint: "llama-server (pid 1)")
    lent = engines.probe(make_server(tmp_path / "bin"), source="test")
    assert [d.name for d in workspace.machine(lent, rpc=("gpubox:50052",)).devices] == ["CUDA0"]
    assert tried == []


@pytest.mark.parametrize(("state", "detail", "reach", "words"), [
    ("refused", "Connection refused", Reach.SILENT, "Connection refused"),
    ("unreachable", "", Reach.SILENT, "Nobody answers."),
    ("unknown_name", "x", Reach.SILENT, "no computer called"),
    ("mute", "", Reach.MUTE, "does not answer"),
    ("foreign", "", Reach.FOREIGN, "no RPC server"),
    ("failed", "", Reach.SILENT, "Nobody answers"),
])
def test_what_a_greeting_came_to_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch, state: str, detail: str,
                                                         reach: Reach, words: str) -> None:
    monkeypatch.setattr(rpc_hosts, "greet", lambda endpoint, **_: Greeting(state, None, detail))
    found = probe_endpoint(parse_endpoint("gpubox:1"), None)
    assert found.reach is reach
    assert words in str(found.text)
    assert found.hint is not None


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc_hosts, "greet", lambda endpoint, **_: Greeting("answers", "7.0.0"))


@pytest.mark.usefixtures("answering")
def test_an_engine_without_rpc_is_named_and_not_asked(tmp_path: Path) -> None:
    help_text = tmp_path / "help.txt"
    known = engines.probe(make_server(tmp_path / "bin"), source="test")
    help_text.write_text("\n".join(line for line in known.help_text.splitlines() if "--rpc" not in line))
    found = engines.probe(make_server(tmp_path / "other", __help=f"cat '{help_text}'"), source="test")
    told = probe_endpoint(parse_endpoint("gpubox"), found)
    assert (told.reach, told.version, told.devices) == (Reach.ANSWERS_ALONE, "7.0.0", ())
    assert "not in this engine" in str(told.text)
    assert "GGML_RPC" in str(told.hint)


@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize("how", [
    "echo 'RPC server version mismatch: 6.0.0' >&2; echo 'RPC handshake failed for gpubox:50052' >&2; kill -ABRT $$",
    "sleep 60"])
def test_an_engine_that_cannot_use_the_server_is_told_with_its_last_words(tmp_path: Path, how: str) -> None:
    known = engines.probe(make_server(tmp_path / "bin", **{"__rpc gpubox:50052 __list_devices": how}), source="test")
    told = probe_endpoint(parse_endpoint("gpubox"), known, listing_s=1)
    assert told.reach is Reach.ANSWERS_ALONE
    assert "same protocol" in str(told.hint)


@pytest.mark.usefixtures("answering")
def test_only_the_server_s_devices_are_its_devices(tmp_path: Path) -> None:
    lines = ("echo 'Available devices:'; echo '  RPC0: gpubox:50052 (24105 MiB, 24000 MiB free)'; "
             "echo '  RPC1: gpubox:50052 (8192 MiB, 8000 MiB free)'; echo '  CUDA0: Card (100 MiB, 90 MiB free)'")
    known = engines.probe(make_server(tmp_path / "bin", **{"__rpc gpubox:50052 __list_devices": lines}), source="test")
    told = probe_endpoint(parse_endpoint("gpubox"), known)
    assert [d.name for d in told.devices] == ["RPC0", "RPC1"]
    assert told.as_dict()["devices"] == [
        {"name": "RPC0", "description": "gpubox:50052", "total": 24105 << 20, "free": 24000 << 20},
        {"name": "RPC1", "description": "gpubox:50052", "total": 8192 << 20, "free": 8000 << 20}]


def test_a_real_server_is_probed_and_serves_on(workspace: Workspace, engine: Engine) -> None:
    with rpc_servers(engine, 1) as (address,):
        first, second = (workspace.rpc.probe(address, engine) for _ in range(2))
    assert (first.reach, first.version) == (Reach.ANSWERS, second.version)
    assert [d.kind for d in first.devices] == ["rpc"]
    gone = workspace.rpc.probe(address, engine)
    assert gone.reach is Reach.SILENT


def test_a_server_of_our_own_lends_this_computer_until_it_is_stopped(workspace: Workspace, engine: Engine) -> None:
    told: list[str] = []
    options = RpcOptions(port=free_port(), threads=1)
    server = workspace.rpc.start(options, engine, changed=lambda: told.append("changed"))
    assert server.state is RpcState.SERVING
    assert server.pid is not None
    assert workspace.rpc.probe(str(options.endpoint), engine).reach is Reach.ANSWERS
    assert any("Accepted client connection" in line for line in server.lines)
    workspace.rpc.stop(server)
    assert server.state is RpcState.STOPPED
    assert not psutil.pid_exists(server.pid)
    assert workspace.rpc.servers == []
    assert told == ["changed", "changed"]
    server.stop()


def test_closing_the_workspace_ends_its_servers(tmp_path: Path, engine: Engine) -> None:
    workspace = Workspace(tmp_path / "data")
    server = workspace.rpc.start(RpcOptions(port=free_port(), threads=1), engine)
    workspace.close()
    assert server.state is RpcState.STOPPED


def test_a_server_ends_with_a_paddock_that_is_killed(tmp_path: Path, engine: Engine) -> None:
    code = ("import sys, time\nfrom paddock.work import Workspace\nfrom paddock.work.rpc_server import RpcOptions\n"
            "w = Workspace(sys.argv[1])\ns = w.rpc.start(RpcOptions(port=int(sys.argv[2]), threads=1), w.engine())\n"
            "print(s.pid, flush=True)\ntime.sleep(60)")
    paddock = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "data"), str(free_port())],
                               stdout=subprocess.PIPE)
    assert paddock.stdout
    pid = int(paddock.stdout.readline())
    born = system.birth(pid)
    paddock.kill()
    paddock.communicate()
    for _ in range(200):
        if system.birth(pid) != born:
            break
        threading.Event().wait(0.05)
    assert system.birth(pid) != born


def test_a_taken_port_is_told_before_anything_is_started(workspace: Workspace, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        with pytest.raises(AppError, match="in use"):
            workspace.rpc.start(RpcOptions(port=port), with_tool(tmp_path, "exit 0"))


def with_tool(folder: Path, otherwise: str) -> Engine:
    """A pretend engine whose ggml-rpc-server does this."""
    make_program(folder / "bin", "ggml-rpc-server", {}, otherwise)
    return engines.probe(make_server(folder / "bin"), source="test")


def test_a_server_that_ends_by_itself_says_its_last_line(workspace: Workspace, tmp_path: Path) -> None:
    lent = with_tool(tmp_path, "echo starting; echo 'error: unknown device: CUDA9' >&2; exit 1")
    with pytest.raises(AppError, match="unknown device: CUDA9"):
        workspace.rpc.start(RpcOptions(port=free_port(), devices=("CUDA9",)), lent)
    assert workspace.rpc.servers == []


def test_a_server_that_never_listens_is_ended_in_time(tmp_path: Path) -> None:
    server = RpcServer(with_tool(tmp_path, "exec sleep 60"), RpcOptions(port=free_port()))
    with pytest.raises(AppError, match="did not begin to listen"):
        server.start(patience_s=0.3)
    assert server.state is RpcState.STOPPED
    assert server.wait(0)


def test_an_engine_without_the_program_says_how_to_get_it(workspace: Workspace, tmp_path: Path) -> None:
    bare = engines.probe(make_server(tmp_path / "bare"), source="test")
    for one in (bare, None):
        with pytest.raises(AppError, match=r"RPC server|ggml-rpc-server"):
            workspace.rpc.start(RpcOptions(), one)


@pytest.mark.parametrize("changed", [
    {"threads": 0}, {"threads": -1}, {"port": 0}, {"port": 70000}, {"host": ""}, {"host": "::"}, {"devices": ("",)},
    {"devices": ("CUDA0 CUDA1",)}])
def test_options_that_the_program_would_take_amiss_are_refused(tmp_path: Path, changed: dict[str, Any]) -> None:
    with pytest.raises(AppError):
        RpcServer(with_tool(tmp_path, "exit 0"), replace(RpcOptions(), **changed))


def test_the_options_are_the_program_s_own() -> None:
    options = RpcOptions("0.0.0.0", 6000, 3, ("CUDA0", "CPU"), True)
    assert options.arguments() == ("-H", "0.0.0.0", "-p", "6000", "-t", "3", "-d", "CUDA0,CPU", "-c")
    assert RpcOptions().arguments() == ("-H", "127.0.0.1", "-p", "50052")
    assert (options.is_open, RpcOptions().is_open) == (True, False)


def test_a_plan_s_silent_host_stops_the_launch_and_an_edit_asks_nobody(workspace: Workspace, tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refused(endpoint: Endpoint, **_: Any) -> Greeting:
        asked.append(str(endpoint))
        return Greeting("refused", None, "")

    monkeypatch.setattr(rpc_hosts, "greet", refused)
    address = f"127.0.0.1:{free_port()}"
    plan = Plan().with_("rpc", address).with_("model", str(tinymodel.write(tmp_path / "m.gguf")))
    assert not ids(workspace, plan)
    assert asked == []
    with pytest.raises(AppError, match="Nobody answers"):
        workspace.launch(plan)
    assert asked == [address]
    assert ids(workspace, plan) == ["rpc-silent"], "what the launch found stands among the checks"
    assert ids(workspace, plan.without("rpc")) == []
    assert asked == [address]
    monkeypatch.setattr(rpc_hosts, "greet", lambda endpoint, **_: Greeting("answers", "7.0.0"))
    assert ids(workspace, plan, fresh=True) == ids(workspace, plan) == []


def ids(workspace: Workspace, plan: Plan, fresh: bool = False) -> list[str]:
    found = workspace.preview(plan, fresh=fresh).issues
    return [issue.id for issue in found if issue.option == "rpc"]


def test_a_host_that_serves_somebody_here_is_told_busy_and_left_alone(workspace: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        address = "{}:{}".format(*server.getsockname())
        workspace.rpc.ask_before_launch((address, "no address :"))
        assert workspace.rpc.told((address,)) == ((address, "busy"),)
        assert client.getpeername() == server.getsockname()
