"""The real llama-server, with a tiny model: that it behaves as the fake one pretends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tinymodel
from serverkit import QUICK, Kit, Recorder, environment

from paddock import engine
from paddock.errors import AppError
from paddock.server import Client, ServerSpec, State, Supervisor
from paddock.server.client import Stream
from paddock.server.port import free_port

Starter = Callable[..., tuple[Supervisor, Recorder]]


@pytest.fixture(scope="module")
def real() -> engine.Engine:
    for candidate in engine.find():
        found = engine.probe(candidate.path, source=candidate.source)
        if found.error is None:
            return found
    pytest.skip("no llama.cpp here: install the engine extra")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tinymodel.write(tmp_path_factory.mktemp("model") / "tiny.gguf", context=200_000)


@pytest.fixture
def start(kit: Kit, real: engine.Engine, model: Path, tmp_path: Path) -> Starter:
    """Start the real server with flags, and wait until it is ready or has failed."""

    def go(*flags: str, **fields: Any) -> tuple[Supervisor, Recorder]:
        fields.setdefault("port", free_port())
        argv = (*real.serve, "-m", str(model), "-t", "1", "--host", fields.get("host", "127.0.0.1"),
                "--port", str(fields["port"]), *flags)
        env = environment(XDG_CONFIG_HOME=str(tmp_path), **real.environment)
        supervisor, recorder = kit.of(ServerSpec(argv=argv, env=env, **fields), QUICK)
        supervisor.start()
        recorder.wait_for(State.READY, State.FAILED)
        return supervisor, recorder

    return go


def test_it_loads_serves_and_stops_in_order(start: Starter, model: Path) -> None:
    supervisor, recorder = start("--metrics", "-np", "2", model_bytes=model.stat().st_size)
    assert supervisor.state is State.READY, recorder.texts
    with supervisor.client() as client:
        assert client.completion("hello", n_predict=3, ignore_eos=True).data["timings"]["predicted_n"] == 3
        chunks = list(client.stream_completion("hello", n_predict=3, ignore_eos=True))
        assert chunks[-1]["stop"] is True
        metrics, slots, props = client.metrics(), client.slots(), client.props()
    assert metrics.data is not None
    assert metrics.data["tokens_predicted_total"] == 6
    assert slots.data is not None
    assert len(slots.data) == 2
    assert props.data is not None
    assert props.data["model_path"] == str(model)
    supervisor.stop()
    assert supervisor.join(10)
    assert supervisor.exit is not None
    assert supervisor.exit.code == 0
    assert not supervisor.exit.forced


def test_a_key_is_used(start: Starter) -> None:
    supervisor, _ = start("--api-key", "k", key="k")
    assert supervisor.client().slots().ok
    assert Client(supervisor.url).slots().code == 401


def test_a_request_that_runs_does_not_keep_it_from_stopping(start: Starter) -> None:
    supervisor, _ = start("-c", "200000")
    stream = supervisor.client().stream_completion("hello", n_predict=-1, ignore_eos=True)
    begun = threading.Event()
    reader = threading.Thread(target=consume, args=(stream, begun))
    reader.start()
    assert begun.wait(10)
    supervisor.stop()
    assert supervisor.join(10)
    assert supervisor.state is State.STOPPED
    reader.join(5)
    assert not reader.is_alive()


def consume(stream: Stream, begun: threading.Event) -> None:
    try:
        for _ in stream:
            begun.set()
    except AppError:
        pass  # the server went away, as it should


def test_json_logs_become_plain_lines_and_the_memory_table_stays_json(start: Starter, real: engine.Engine) -> None:
    if not real.knows("--log-jsonl"):
        pytest.skip("this engine has no --log-jsonl")
    supervisor, recorder = start("--log-jsonl", "-lv", "4")
    supervisor.stop()
    assert supervisor.join(10)
    levels = {line.level for line in recorder.lines}
    assert "I" in levels
    tables = [json.loads(text) for text in recorder.texts if text.startswith('{"type":"fit_memory_breakdown"')]
    assert tables
    assert tables[0]["data"]["rows"]
    assert [text for text in recorder.texts if "llama_kv_cache: size" in text]


def test_a_unix_socket_is_served_and_removed(start: Starter, tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    supervisor, recorder = start(host=str(path), port=8080)
    assert supervisor.state is State.READY, recorder.texts
    assert supervisor.client().props().ok
    supervisor.stop()
    assert supervisor.join(10)
    assert not path.exists()


def test_any_port_is_read_from_the_log(start: Starter) -> None:
    supervisor, recorder = start(port=0)
    assert supervisor.state is State.READY, recorder.texts
    assert supervisor.port
    assert supervisor.client().health().ok


def test_a_refusal_is_diagnosed(start: Starter) -> None:
    supervisor, _ = start("-fa", "off", "-ctv", "q8_0")
    assert supervisor.join(10)
    assert supervisor.state is State.FAILED
    assert supervisor.exit is not None
    assert supervisor.exit.diagnosis is not None
    assert supervisor.exit.diagnosis.id == "quantised-v-needs-fa"


def test_a_router_and_its_children_end_together(kit: Kit, real: engine.Engine, model: Path, tmp_path: Path) -> None:
    number = free_port()
    argv = (*real.serve, "--models-dir", str(model.parent), "-t", "1", "--port", str(number))
    supervisor, recorder = kit.of(ServerSpec(argv=argv, port=number, env=environment(
        XDG_CONFIG_HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path), **real.environment)), QUICK)
    supervisor.start()
    assert recorder.wait_for(State.READY, State.FAILED) is State.READY, recorder.texts
    assert supervisor.pid is not None
    with supervisor.client(20) as client:
        assert client.completion("hello", n_predict=1, model="tiny", timeout_s=20).ok
    from paddock.server import port
    family = port.tree(supervisor.pid)
    assert len(family) >= 2
    supervisor.stop()
    assert supervisor.join(10)
    assert not [process for process in family if process.is_running() and process.status() != "zombie"]
