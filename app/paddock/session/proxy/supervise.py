"""Start, read and end the proxy's process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable

from paddock.errors import AppError
from paddock.session.proxy.record import Exchange
from paddock.text import Text

START_S = 15.0


class RecordingProxy:
    """A proxy before one server. `sink(exchange)` is called from the reader's thread: when an exchange begins (outcome
    "active") and when it is over. The process ends with ours: its stdin closes.

    start: AppError where the port cannot be had. stop: idempotent; open streams are cut after a second.
    """

    def __init__(self, upstream: str, sink: Callable[[Exchange], None], port: int = 0, *,
                 keep_texts: bool = False) -> None:
        self.upstream = upstream
        self.keep_texts = keep_texts
        self.port = port
        self._sink = sink
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """What clients are given."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Blocks until it listens (well under a second)."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "paddock.session.proxy", self.upstream, str(self.port),
             *(["texts"] if self.keep_texts else [])], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8", errors="replace")
        timer = threading.Timer(START_S, self._process.kill)
        timer.start()
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        timer.cancel()
        timer.join()
        first = json.loads(said) if said else {}
        if "listening" not in first:
            self.stop()
            raise AppError(Text("The recording proxy could not listen on port {port}.", port=self.port),
                           why=first.get("failed"), hint=Text("Choose another port, or 0 for any free one."))
        self.port = first["listening"]
        self._thread = threading.Thread(target=self._read, name="proxy-reader", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                self._sink(Exchange(**json.loads(line)))
            except (ValueError, TypeError):
                continue  # a line cut off by the end of the process

    def stop(self) -> None:
        """End it, and wait: a few seconds at most."""
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
        if self._thread is not None:
            self._thread.join(2)
        if process.stdout is not None:
            process.stdout.close()
