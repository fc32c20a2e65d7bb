"""HTTP over TCP, TLS or a Unix socket, where every call has one deadline over all its parts.

`http.client` times single socket operations, so a server that sends a byte a second is waited for without end. Here the
socket knows the moment by which the whole answer must be there, and gives each operation what is left.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit


class _Deadline:
    """A moment (time.monotonic) shared by a connection and its streams; None waits for ever."""

    def __init__(self) -> None:
        self.at: float | None = None

    def left(self) -> float | None:
        """Seconds left; raises TimeoutError when none are."""
        if self.at is None:
            return None
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError("deadline passed")
        return left


class _Raw(io.RawIOBase):
    """The reading side for one answer."""

    def __init__(self, owner: _Socket) -> None:
        self._owner = owner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._owner.receive(buffer)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._owner.released()


class _Socket:
    """What http.client wants of a socket. It stays open while an answer is being read: http.client closes it as soon as
    it knows that the server will, with the body still to come.
    """

    def __init__(self, connected: socket.socket, deadline: _Deadline) -> None:
        self.connected, self._deadline = connected, deadline
        self._readers, self._closing = 0, False

    def makefile(self, mode: str = "rb", *_: Any, **__: Any) -> io.BufferedReader:
        assert "r" in mode
        self._readers += 1
        return io.BufferedReader(_Raw(self))

    def receive(self, buffer: Any) -> int:
        self.connected.settimeout(self._deadline.left())
        return self.connected.recv_into(buffer)

    def sendall(self, data: Any) -> None:
        self.connected.settimeout(self._deadline.left())
        self.connected.sendall(data)

    def released(self) -> None:
        self._readers -= 1
        if self._closing and self._readers == 0:
            self.connected.close()

    def close(self) -> None:
        self._closing = True
        if self._readers == 0:
            self.connected.close()


class Wire(http.client.HTTPConnection):
    """One connection to a base URL: http://H:P[/prefix], https://…, unix:///path.sock. Not thread-safe, but `sever`.

    trust_any: accept any certificate (our own child's self-signed one).
    """

    def __init__(self, base_url: str, *, trust_any: bool = False) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https", "unix"):
            raise ValueError(f"not an http, https or unix URL: {base_url}")
        path, sock, prefix = parts.path.partition(".sock")
        self._unix_path = path + sock if parts.scheme == "unix" else None
        self._tls = parts.scheme == "https"
        self._trust_any = trust_any
        self._deadline = _Deadline()
        self._severed = False
        self._connected: _Socket | None = None
        self.prefix = (prefix if self._unix_path else parts.path).rstrip("/")
        port = parts.port or (443 if self._tls else 80)
        super().__init__("localhost" if self._unix_path else parts.hostname or "localhost", port)
        self.auto_open = 0  # every call decides itself when to connect

    @property
    def open(self) -> bool:
        return self.sock is not None

    def connect(self) -> None:
        """Connect within the deadline."""
        left = self._deadline.left()
        if self._unix_path is not None:
            connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connected.settimeout(left)
            try:
                connected.connect(self._unix_path)
            except OSError:
                connected.close()
                raise
        else:
            connected = socket.create_connection((self.host, self.port), left)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls:
            connected = self._wrapped(connected)
        self.sock = self._connected = _Socket(connected, self._deadline)

    def _wrapped(self, connected: socket.socket) -> socket.socket:
        context = ssl.create_default_context()
        if self._trust_any:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        try:
            connected.settimeout(self._deadline.left())
            return context.wrap_socket(connected, server_hostname=self.host)
        except OSError:
            connected.close()
            raise

    def send_request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str],
                     timeout_s: float | None) -> http.client.HTTPResponse:
        """Send and read the head of the answer, all within timeout_s, which also bounds reading the body.

        A connection kept alive that the server has closed meanwhile (it does after 5 s idle) is opened anew, once, for
        GET; for other methods it is opened anew from the start where it stood idle, since they must not be sent twice.
        """
        self._deadline.at = None if timeout_s is None else time.monotonic() + timeout_s
        reused = self.open
        if reused and method != "GET":
            self.close()
            reused = False
        try:
            return self._exchange(method, path, body, headers)
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, http.client.CannotSendRequest):
            self.close()
            if not reused:
                raise
        return self._exchange(method, path, body, headers)

    def _exchange(self, method: str, path: str, body: bytes | None,
                  headers: Mapping[str, str]) -> http.client.HTTPResponse:
        if not self.open:
            self.connect()
        if self._severed:
            raise ConnectionAbortedError("cancelled")
        self.request(method, self.prefix + path, body, dict(headers))
        return self.getresponse()

    def extend(self, timeout_s: float | None) -> None:
        """A new deadline for what is still to be read."""
        self._deadline.at = None if timeout_s is None else time.monotonic() + timeout_s

    def sever(self) -> None:
        """From any thread: whoever waits on this connection is woken at once."""
        self._severed = True
        if self._connected is not None:
            try:
                self._connected.connected.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # not connected any more


def read_all(response: http.client.HTTPResponse, limit_bytes: int) -> bytes:
    """The body, at most limit_bytes; raises ValueError where it is longer."""
    data = response.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise ValueError(f"more than {limit_bytes} bytes")
    return data
