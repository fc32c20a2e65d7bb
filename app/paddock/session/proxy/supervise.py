"""Start, read and end the proxy's process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from paddock.errors import AppError
from paddock.session.proxy.record import Exchange
from paddock.text import Text

START_S = 15.0
RESTARTS = 3


class RecordingProxy:
    """A proxy before one server. `sink(exchange)` is called from the reader's thread: when an exchange begins (outcome
    "active") and when it is over. The process ends with ours: its stdin closes.

    start: AppError where the port cannot be had. stop: idempotent; open streams are cut after a second. Where the
    process ends by itself, what was open is told as failed, and it is started again at the same port, `RESTARTS` times
    at most; `on_lost(text, gone)` is told each time, from the reader's thread. `first`: the number of the first
    exchange, where the session has some already.
    """

    def __init__(self, upstream: str, sink: Callable[[Exchange], None], port: int = 0, *, keep_texts: bool = False,
                 first: int = 1, on_lost: Callable[[Text, bool], object] = lambda text, gone: None) -> None:
        self.upstream = upstream
        self.keep_texts = keep_texts
        self.port = port
        self.next_id = first
        """The number of the next exchange, as far as was told."""
        self._sink = sink
        self._on_lost = on_lost
        self._open: dict[int, Exchange] = {}
        self._restarts = RESTARTS
        self._lock = threading.Lock()
        self._stopping = False
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """What clients are given."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process else None

    def start(self) -> None:
        """Blocks until it listens (well under a second)."""
        try:
            process = self._launch()
        except AppError:
            self.stop()
            raise
        self._thread = threading.Thread(target=self._read, args=(process,), name="proxy-reader", daemon=True)
        self._thread.start()

    def _launch(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopping:
                raise AppError(Text("The recording proxy was ended."))
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "paddock.session.proxy", self.upstream, str(self.port), f"from={self.next_id}",
                 *(["texts"] if self.keep_texts else [])], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8", errors="replace")
        timer = threading.Timer(START_S, process.kill)
        timer.start()
        assert process.stdout is not None
        said = process.stdout.readline()
        timer.cancel()
        timer.join()
        first = json.loads(said) if said else {}
        if "listening" not in first:
            raise AppError(Text("The recording proxy could not listen on port {port}.", port=self.port),
                           why=first.get("failed"), hint=Text("Choose another port, or 0 for any free one."))
        self.port = first["listening"]
        return process

    def _read(self, process: subprocess.Popen[str]) -> None:
        while True:
            assert process.stdout is not None
            for line in process.stdout:
                self._told(line)
            self._cut_off()
            again = self._again(process)
            if again is None:
                return
            process = again

    def _told(self, line: str) -> None:
        try:
            exchange = Exchange(**json.loads(line))
        except (ValueError, TypeError):
            return  # a line cut off by the end of the process
        self.next_id = max(self.next_id, exchange.id + 1)
        if exchange.outcome == "active":
            self._open[exchange.id] = exchange
        else:
            self._open.pop(exchange.id, None)
        self._sink(exchange)

    def _cut_off(self) -> None:
        """What was open when the process ended is over too."""
        now = time.monotonic()
        for exchange in self._open.values():
            total = None if exchange.arrived is None else max(0.0, now - exchange.arrived)
            self._sink(replace(exchange, outcome="failed", error="The recording proxy ended.", total_s=total))
        self._open.clear()

    def _again(self, ended: subprocess.Popen[str]) -> subprocess.Popen[str] | None:
        if self._stopping:
            return None
        _close(ended)
        process = None
        if self._restarts > 0:
            self._restarts -= 1
            try:
                process = self._launch()
            except (AppError, OSError):
                self._end()
        if self._stopping:
            return process
        if process is None:
            self._on_lost(Text("The recording proxy ended and could not be started again: clients that use {url} get "
                               "no answer.", url=self.url), True)
        else:
            self._on_lost(Text("The recording proxy ended and was started again at {url}. What passed through it just "
                               "then was cut.", url=self.url), False)
        return process

    def stop(self) -> None:
        """End it, and wait: a few seconds at most."""
        with self._lock:
            self._stopping = True
        self._end()

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(2)
        _close(process)


def _close(process: subprocess.Popen[str]) -> None:
    """Reap it, and let go of its pipes."""
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
