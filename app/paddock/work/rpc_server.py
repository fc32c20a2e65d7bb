"""An RPC server of our own: started here, watched, and ended with Paddock.

llama.cpp's ggml-rpc-server lends this computer's devices to llama.cpp on another. It is started the way our
llama-servers are (`server.child`): in a process group of its own that dies with us, whatever we die of.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import psutil

from paddock.engine import Engine
from paddock.engine.rpc import DEFAULT_PORT, Endpoint, parse_endpoint
from paddock.errors import AppError
from paddock.server.child import Spawned, system
from paddock.server.reader import Source
from paddock.text import Text
from paddock.work.conditions import port_state

_LINES = 400
_POLL_S = 0.05
_UP_S = 30.0
_GRACE_S = 3.0


class RpcState(StrEnum):
    """starting → serving → stopped; failed: it ended by itself."""

    STARTING = "starting"
    SERVING = "serving"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True)
class RpcOptions:
    """What ggml-rpc-server takes. threads None and devices () leave its own choice: half the cores, all GPUs."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    threads: int | None = None
    devices: tuple[str, ...] = ()
    cache: bool = False
    """Keep received weights in a folder, so that they are not sent again."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return Endpoint(self.host, self.port)

    @property
    def is_open(self) -> bool:
        """Whether other computers can reach it."""
        return not self.endpoint.is_local

    def arguments(self) -> tuple[str, ...]:
        """As ggml-rpc-server reads them; it knows no others, and ends with code 0 at an unknown one."""
        words = ["-H", self.host, "-p", str(self.port)]
        words += ["-t", str(self.threads)] if self.threads is not None else []
        words += ["-d", ",".join(self.devices)] if self.devices else []
        return (*words, "-c") if self.cache else tuple(words)


def program_of(engine: Engine | None) -> tuple[str, ...]:
    """The engine's own ggml-rpc-server. Raises AppError with what to do where it has none."""
    if engine is None:
        raise AppError(Text("No llama.cpp was found, so there is no RPC server to start."))
    program = engine.tool("rpc-server")
    if program is None:
        raise AppError(Text("This engine ({name}) has no ggml-rpc-server beside it.", name=engine.name),
                       why=Text("It is built only where llama.cpp is built with RPC (GGML_RPC=ON)."),
                       hint=Text("Choose an engine that has it, or build one with it."))
    return program


class RpcServer:
    """One server. `changed` is called from its thread after every change of state; it must return at once."""

    def __init__(self, engine: Engine | None, options: RpcOptions, *, changed: Callable[[], object] | None = None,
                 environ: Mapping[str, str] | None = None) -> None:
        """Raises AppError where the engine has no such program, or the options cannot be."""
        program = program_of(engine)
        _check(options)
        self.options = options
        self.argv = (*program, *options.arguments())
        base = os.environ if environ is None else environ
        self._env = {**base, **(engine.environment if engine else {})}
        self._env.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        self._changed = changed
        self._lock = threading.Condition()
        self._state = RpcState.STARTING
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._stopping = threading.Event()
        self._child: Spawned | None = None
        self._problem: AppError | None = None
        self._thread = threading.Thread(target=self._live, name="rpc-server", daemon=True)

    @property
    def state(self) -> RpcState:
        return self._state

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    @property
    def lines(self) -> tuple[str, ...]:
        """What it printed last. It prints little, and on a pipe nothing before its first client."""
        return tuple(self._lines)

    @property
    def problem(self) -> AppError | None:
        """Why it is `failed`."""
        return self._problem

    def start(self, patience_s: float = _UP_S) -> None:
        """Start it and wait until it listens. Raises AppError where it does not come up. Blocks: not for the GUI."""
        _free(self.options)
        self._thread.start()
        with self._lock:
            self._lock.wait_for(lambda: self._state is not RpcState.STARTING, patience_s)
        if self._state is RpcState.STARTING:
            self.stop()
            raise AppError(Text("The RPC server did not begin to listen within {seconds} s.",
                                seconds=f"{patience_s:g}"), why=self._last_line())
        if self._problem is not None:
            raise self._problem

    def stop(self) -> None:
        """End it and wait for its end. May be called twice, and before it was started."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for its end; whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    # -- its thread: the process is its child and dies with it (Linux), so it lives as long

    def _live(self) -> None:
        try:
            process = system.spawn(self.argv, self._env, None)
        except OSError as error:
            self._end(AppError(Text("The RPC server could not be started."), why=error.strerror or str(error)))
            return
        child = self._child = Spawned(process)
        output = child.output()
        reader = threading.Thread(target=self._read, args=(output,), name="rpc-server-log", daemon=True)
        reader.start()
        until = 0.0
        while not child.ended():
            if self._stopping.is_set():
                if not until:
                    system.ask_to_end(child.pid)
                    until = time.monotonic() + _GRACE_S
                elif time.monotonic() > until:
                    system.kill_all(child.pid)
            elif self._state is RpcState.STARTING and _listens(child.pid, self.options.port):
                self._become(RpcState.SERVING)
            self._stopping.wait(_POLL_S) if not self._stopping.is_set() else time.sleep(_POLL_S)
        reader.join(1.0)  # the last lines say why it ended; then something else holds the pipe open
        if reader.is_alive():
            output.cancel()
            reader.join()
        output.close()
        child.let_go()
        self._end(None if self._stopping.is_set() else self._why(child.code))

    def _read(self, output: Source) -> None:
        rest = b""
        while part := output.read():
            *lines, rest = (rest + part).split(b"\n")
            self._lines.extend(line.decode("utf-8", "replace").rstrip() for line in lines)
        if rest:
            self._lines.append(rest.decode("utf-8", "replace"))

    def _why(self, code: int | None) -> AppError:
        return AppError(Text("The RPC server ended by itself (exit code {code}).", code=code), why=self._last_line())

    def _last_line(self) -> str | None:
        return next((line for line in reversed(self._lines) if line.strip()), None)

    def _end(self, problem: AppError | None) -> None:
        self._problem = problem
        self._become(RpcState.FAILED if problem else RpcState.STOPPED)

    def _become(self, state: RpcState) -> None:
        with self._lock:
            self._state = state
            self._lock.notify_all()
        if self._changed is not None:
            self._changed()


def _check(options: RpcOptions) -> None:
    parse_endpoint(f"{options.host}:{options.port}")
    if options.threads is not None and not 1 <= options.threads <= 4096:
        raise AppError(Text("{count} is no number of threads.", count=options.threads),
                       hint=Text("Write 1 or more, or leave it out: half the cores."))
    for name in options.devices:
        if not name or any(sign in name for sign in ",/ \t\n"):
            raise AppError(Text("“{name}” is not the name of a device.", name=name),
                           hint=Text("paddock devices lists the names."))


def _free(options: RpcOptions) -> None:
    """The program ends with code 0 where its port is taken: ask before. AppError with who has it."""
    free, holder = port_state(options.host, options.port)
    if free is False:
        raise AppError(Text("Port {port} is in use.", port=options.port),
                       why=Text("It is held by {holder}.", holder=holder) if holder else None,
                       hint=Text("Choose another port."))


def _listens(pid: int, port: int) -> bool:
    """Whether that process listens: looked up, not tried, because a connection would be a session there."""
    try:
        connections = psutil.Process(pid).net_connections("tcp")
    except (psutil.Error, OSError):
        return False
    return any(one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port for one in connections)
