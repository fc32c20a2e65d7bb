"""The real thing: the command as a person runs it, an engine and the sample model."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from paddock.engine import Engine
from paddock.work import Workspace


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The engine that Paddock itself would take."""
    found = Workspace(tmp_path_factory.mktemp("engine-data")).engine()
    if found is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    return found


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Launched:
    """`paddock launch --json` in a process of its own, its events as they come."""

    def __init__(self, args: list[str], env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "paddock", "launch", "--json", *args],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        self.events: list[dict[str, Any]] = []
        self.errors: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._changed:
                self.events.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr
        self.errors.extend(self.process.stderr)

    def wait_for(self, wanted: Callable[[dict[str, Any]], bool], timeout: float = 60) -> dict[str, Any]:
        """The first event that is wanted; fails when the process ends without it."""
        def seen() -> dict[str, Any] | None:
            return next((e for e in self.events if wanted(e)), None)

        with self._changed:
            self._changed.wait_for(lambda: self._ended or seen() is not None, timeout)
        found = seen()
        assert found is not None, f"not seen; {self.events[-3:]} {''.join(self.errors)[-2000:]}"
        return found

    def state(self, name: str, timeout: float = 60) -> dict[str, Any]:
        return self.wait_for(lambda e: e.get("event") == "state" and e["state"] == name, timeout)

    def end(self) -> int:
        """Wait for the end of the process and its readers."""
        code = self.process.wait(60)
        for thread in self._threads:
            thread.join(10)
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for thread in self._threads:
            thread.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


@pytest.fixture
def launched() -> Iterator[Callable[..., Launched]]:
    made: list[Launched] = []

    def make(*args: object, **more: Any) -> Launched:
        made.append(Launched([str(a) for a in args], **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def paddock(*args: object, check: bool = True) -> Any:
    """A command with --json, its document; `check`: exit 0 is required."""
    done = subprocess.run([sys.executable, "-m", "paddock", "--json", *map(str, args)], capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(done.stdout)


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return dict(json.loads(response.read()))
