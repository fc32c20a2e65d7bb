"""llama.cpp's RPC servers: what an address of one looks like, and what a server answers to a greeting."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paddock.engine.running import run
from paddock.errors import AppError
from paddock.text import Text

DEFAULT_PORT = 50052
_SCRIPT = Path(__file__).with_name("rpc_hello.py")
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,252}[A-Za-z0-9_.])?")
_HINT = Text("Write HOST:PORT, for example 192.168.1.20:50052.")


@dataclass(frozen=True)
class Endpoint:
    """Where an RPC server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether it is this computer's own loopback, which nobody else can reach."""
        if self.host.lower() == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


@dataclass(frozen=True)
class Greeting:
    """What came of a greeting. `state` as in rpc_hello.py, or "failed"; `version`: "7.0.0"."""

    state: str
    version: str | None = None
    detail: str = ""


def parse_endpoint(text: str) -> Endpoint:
    """"HOST:PORT", or a host alone with the usual port. Raises AppError.

    Only what llama.cpp itself can take: it cuts at the first colon, so an IPv6 address is none.
    """
    words = text.strip()
    for scheme in ("rpc://", "tcp://", "http://", "https://"):
        words = words.removeprefix(scheme)
    words = words.rstrip("/")
    if words.count(":") > 1 or words.startswith("["):
        raise AppError(Text("“{text}” is not the address of an RPC server.", text=text),
                       why=Text("llama.cpp cannot take an IPv6 address here."),
                       hint=Text("Use the machine's name or its IPv4 address."))
    host, colon, port = words.partition(":")
    if not _NAME.fullmatch(host):
        raise AppError(Text("“{text}” is not the address of an RPC server.", text=text), hint=_HINT)
    if colon and not (port.isascii() and port.isdecimal() and 0 < int(port[:9]) < 65536):
        raise AppError(Text("“{port}” is not a port.", port=port), why=Text("A port is a number from 1 to 65535."),
                       hint=_HINT)
    return Endpoint(host, int(port) if colon else DEFAULT_PORT)


def greet(endpoint: Endpoint, *, timeout_s: float = 3.0, environ: Mapping[str, str] | None = None) -> Greeting:
    """Ask a server for its protocol version, in a process of its own: looking up a name may hang. Never raises.

    A connection is a session there: not to be done while somebody uses the server.
    """
    arguments = (endpoint.host, str(endpoint.port), str(timeout_s))
    if getattr(sys, "frozen", False) or not sys.executable:
        from paddock.engine import rpc_hello  # no interpreter to start: then in this process

        return _greeting(json.dumps(rpc_hello.greet(endpoint.host, endpoint.port, timeout_s)))
    try:
        # twice the patience, for the two forms of greeting, and a moment to start
        output = run((sys.executable, "-I", "-S", str(_SCRIPT), *arguments), timeout_s=2 * timeout_s + 3,
                     environ=os.environ if environ is None else environ)
    except OSError as error:
        return Greeting("failed", detail=error.strerror or str(error))
    return _greeting(output.stdout) if output.code == 0 else Greeting("mute" if output.code is None else "failed")


def _greeting(text: str) -> Greeting:
    try:
        told = json.loads(text)
        version = told["version"]
        return Greeting(str(told["state"]), ".".join(map(str, version)) if version else None, str(told["detail"]))
    except (ValueError, KeyError, TypeError):
        return Greeting("failed")
