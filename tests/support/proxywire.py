"""A recording proxy between real sockets: a fake llama-server behind it, plain HTTP clients before it."""

from __future__ import annotations

import http.client
import json
import queue
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from paddock.session.proxy import Exchange, RecordingProxy

FAKE = Path(__file__).with_name("fakeserver.py")


class Wire:
    """A proxy before a fake server, and what it told."""

    def __init__(self, *flags: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.server = subprocess.Popen([sys.executable, str(FAKE), "--port", str(self.port), *flags],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self.server.stderr is not None
        for line in self.server.stderr:
            if "listening" in line:
                break
        # The server must not freeze on a full pipe.
        self.drain = threading.Thread(target=self.server.stderr.read, daemon=True)
        self.drain.start()
        self.told: queue.Queue[Exchange] = queue.Queue()
        self.proxy = RecordingProxy(f"http://127.0.0.1:{self.port}", self.told.put)
        self.proxy.start()

    def over(self) -> Exchange:
        """The next exchange that is over."""
        while True:
            found = self.told.get(timeout=15)
            if found.outcome != "active":
                return found

    def ask(self, path: str, body: dict[str, Any] | None = None, port: int | None = None,
            **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", port or self.proxy.port, timeout=20)
        data = json.dumps(body) if body is not None else None
        connection.request("POST" if data else "GET", path, data, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        out = answer.status, answer.read()
        connection.close()
        return out

    def close(self) -> None:
        self.proxy.stop()
        self.server.kill()
        self.server.wait()
        self.drain.join(5)
        if self.server.stderr:
            self.server.stderr.close()
