"""Whose port is it? Before the start: is it free; after it: is the one who answers our own child."""

from __future__ import annotations

import errno
import socket
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil

from paddock.server.model import Diagnosis, ServerSpec
from paddock.text import Text

_RETRY_S = 2.0
_RETRY_STEP_S = 0.1


def check(spec: ServerSpec, wait: Callable[[float], bool]) -> Diagnosis | None:
    """Why a server cannot listen where the spec says; None when it can.

    A port on which nobody listens but which cannot be bound (connections that are just closing) is tried for two
    seconds. `wait(seconds)` returns True to give up early. The system is asked each time: nothing is remembered.
    """
    if spec.unix_socket is not None:
        return check_socket_file(spec.unix_socket)
    if spec.port == 0:
        return None
    if not 0 < spec.port < 65536:
        return Diagnosis("port-range", Text("{port} is not a port number.", port=spec.port),
                         Text("Choose one between 1024 and 65535."), edits=(("port", None),))
    end = time.monotonic() + _RETRY_S
    while True:
        error = _bind_error(spec.host, spec.port)
        if error is None:
            return None
        if error.errno not in (errno.EADDRINUSE, errno.EACCES) or (
                error.errno == errno.EACCES and sys.platform != "win32"):
            return _not_bindable(spec, error)
        if _answers(spec.host, spec.port) or time.monotonic() >= end:
            return _taken(spec)
        if wait(_RETRY_STEP_S):
            return None


def _bind_error(host: str, port: int) -> OSError | None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(family, kind, protocol) as test:
            if sys.platform == "win32":
                test.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            else:
                test.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            test.bind(address)
            test.listen(1)
    except OSError as error:
        return error
    return None


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), 0.25):
            return True
    except OSError:
        return False


def free_port(host: str = "127.0.0.1", near: int | None = None) -> int:
    """A port that can be listened on now: the next free one above `near`, or any."""
    for port in range(near + 1, min(near + 50, 65536)) if near else ():
        if _bind_error(host, port) is None:
            return port
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as any_free:
        any_free.bind((host, 0))
        return int(any_free.getsockname()[1])


def holder(port: int) -> tuple[int, str] | None:
    """(pid, name) of who listens on the port, where the system lets us see it."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
                if connection.pid is None:
                    return None
                return connection.pid, psutil.Process(connection.pid).name()
    except (psutil.Error, OSError):
        return None
    return None


def _taken(spec: ServerSpec) -> Diagnosis:
    other, who = free_port(spec.host, spec.port), holder(spec.port)
    if who is None:
        cause = Text("Port {port} is already taken by another program.", port=spec.port)
    else:
        cause = Text("Port {port} is already taken by {name} (process {pid}).", port=spec.port, name=who[1],
                     pid=who[0])
    return Diagnosis("port-taken", cause, Text("Use another port, {other} is free; or end that program.", other=other),
                     edits=(("port", (str(other),)),))


def refine(found: Diagnosis | None, spec: ServerSpec) -> Diagnosis | None:
    """A server that said it could not listen: name who holds the port, where somebody still does."""
    if found is None or found.id != "port-not-bound" or not 0 < spec.port < 65536:
        return found
    error = _bind_error(spec.host, spec.port)
    return replace(_taken(spec), line=found.line) if error is not None and error.errno == errno.EADDRINUSE else found


def _not_bindable(spec: ServerSpec, error: OSError) -> Diagnosis:
    if error.errno in (errno.EACCES, errno.EPERM):
        return Diagnosis("port-privileged", Text("Port {port} needs rights that you do not have.", port=spec.port),
                         Text("Choose a port of 1024 or above."),
                         edits=(("port", (str(free_port(spec.host, 8079)),)),))
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return Diagnosis("address-not-local", Text("{host} is not an address of this machine.", host=spec.host),
                         Text("Listen on 127.0.0.1, on 0.0.0.0 for the network, or on an address of this machine."),
                         edits=(("host", None),))
    return Diagnosis("port-not-bound", Text("It is not possible to listen on {host}, port {port}: {why}.",
                                            host=spec.host, port=spec.port, why=error.strerror or str(error)),
                     Text("Choose another address or port."))


def check_socket_file(path: Path) -> Diagnosis | None:
    """A socket file left behind is removed, since llama-server would fail on it; one that answers is somebody's."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return Diagnosis("socket-taken", Text("{path} exists and is not a socket.", path=str(path)),
                             Text("Choose another path."))
    except OSError:
        return None
    with socket.socket(socket.AF_UNIX) as test:
        test.settimeout(0.25)
        try:
            test.connect(str(path))
        except OSError:
            unlink_socket(path)
            return None
    return Diagnosis("socket-taken", Text("Another program already listens on {path}.", path=str(path)),
                     Text("Choose another path, or end that program."))


def unlink_socket(path: Path) -> None:
    """Remove a socket file (llama-server leaves it behind); anything else is left alone."""
    try:
        if stat.S_ISSOCK(path.stat().st_mode):
            path.unlink()
    except OSError:
        pass


def tree(pid: int) -> list[psutil.Process]:
    """The process and what it started; empty when it is gone. One walk over the process table: not for every tick."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except (psutil.Error, OSError):
        return []


def owns(pid: int, port: int) -> bool | None:
    """Whether the process, or one that it started, listens on the port; None where the system does not tell."""
    known = False
    for process in tree(pid):
        try:
            connections = process.net_connections("tcp")
        except (psutil.Error, OSError):
            continue
        known = True
        if any(c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port for c in connections):
            return True
    return False if known else None
