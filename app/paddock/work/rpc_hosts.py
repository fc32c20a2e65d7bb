"""RPC hosts: the addresses that a person keeps, what answers there, and the servers that we lend to others.

Nothing is probed unless it was asked for, and never while somebody here uses the server: it has one client at a time,
so a connection is a session there, and an engine that cannot connect aborts. Whatever is asked of an engine is asked in
a process of its own with a time limit.
"""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import psutil

from paddock.engine import Engine, EngineDevice, list_devices
from paddock.engine.rpc import Endpoint, greet, parse_endpoint
from paddock.errors import AppError
from paddock.text import Text
from paddock.work.rpc_server import RpcOptions, RpcServer, RpcState

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace

WARNING = Text("RPC servers ask for no password and encrypt nothing: whoever reaches the port can use them, read what "
               "is sent, and crash them. Only in a network whose every member you trust.")
_GREETING_S = 3.0
_BEFORE_LAUNCH_S = 1.5
_LISTING_S = 15.0


_STATES = {"refused": "silent", "unreachable": "silent", "unknown_name": "silent", "failed": "silent",
           "mute": "busy", "foreign": "foreign"}
"""What a greeting means for a launch; one that answers is not listed."""


class Reach(StrEnum):
    """What came of a probe."""

    ANSWERS = "answers"
    ANSWERS_ALONE = "answers_alone"
    """It answers, but this engine cannot use it: no RPC in it, or another protocol."""
    IN_USE = "in_use"
    """Not asked: a session here uses it."""
    MUTE = "mute"
    """It took the connection and said nothing: most likely it serves another client."""
    FOREIGN = "foreign"
    """Something listens that is no RPC server."""
    SILENT = "silent"
    """Nobody answers."""


@dataclass(frozen=True)
class Probe:
    """One address asked. devices: as this engine sees them, with their memory; empty where it could not ask."""

    endpoint: str
    reach: Reach
    text: Text
    hint: Text | None = None
    version: str | None = None
    devices: tuple[EngineDevice, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {"endpoint": self.endpoint, "reach": str(self.reach), "version": self.version, "text": str(self.text),
                "hint": str(self.hint) if self.hint else None,
                "devices": [{"name": d.name, "description": d.description, "total": d.total_bytes,
                             "free": d.free_bytes} for d in self.devices]}


def probe_endpoint(endpoint: Endpoint, engine: Engine | None, *, greeting_s: float = _GREETING_S,
                   listing_s: float = _LISTING_S) -> Probe:
    """Reachability and version by a greeting, devices and memory through the engine. Never raises; may take seconds."""
    told = greet(endpoint, timeout_s=greeting_s)
    name = str(endpoint)
    if told.state == "answers":
        return _through_engine(endpoint, engine, told.version, listing_s)
    if told.state == "mute":
        return Probe(name, Reach.MUTE, Text("It takes the connection but does not answer."),
                     Text("It serves one client at a time: it may be busy with another. Or it is no RPC server."))
    if told.state == "foreign":
        return Probe(name, Reach.FOREIGN, Text("Something listens there that is no RPC server of llama.cpp."),
                     Text("Check the port: ggml-rpc-server takes 50052 unless it is told another."))
    if told.state == "unknown_name":
        return Probe(name, Reach.SILENT, Text("There is no computer called “{host}”.", host=endpoint.host),
                     Text("Check the name, or write its IPv4 address."))
    why = told.detail or None
    text = Text("Nobody answers ({why}).", why=why) if why else Text("Nobody answers.")
    hint = Text("Start one here, from Settings or with paddock rpc serve.") if endpoint.is_local else Text(
        "Start ggml-rpc-server there with -H and the address of its network, and let its firewall pass the port.")
    return Probe(name, Reach.SILENT, text, hint)


def _through_engine(endpoint: Endpoint, engine: Engine | None, version: str | None, limit_s: float) -> Probe:
    name = str(endpoint)
    if engine is None:
        return Probe(name, Reach.ANSWERS_ALONE, Text("It answers, but no llama.cpp was found here to use it with."),
                     version=version)
    if engine.knows("--rpc") is False:
        return Probe(name, Reach.ANSWERS_ALONE, Text("It answers, but RPC is not in this engine ({engine}).",
                                                     engine=engine.name),
                     Text("It must be built with RPC (GGML_RPC=ON); choose another engine, or build one."), version)
    try:
        listed = list_devices(engine, (name,), timeout_s=limit_s)
    except AppError as error:
        return Probe(name, Reach.ANSWERS_ALONE, Text("It answers, but this engine cannot use it: {why}", why=error),
                     Text("Both sides need llama.cpp of the same protocol: install the same build on both."), version)
    devices = tuple(device for device in listed if device.kind == "rpc")
    return Probe(name, Reach.ANSWERS, Text("It answers: protocol {version}.", version=version or "?"), None, version,
                 devices)


def connected_here(endpoint: Endpoint) -> str | None:
    """Who on this computer has a connection to it: "llama-server (pid 4242)"; None where nobody, or it is not told.

    Only for addresses in figures and localhost: a name would have to be looked up.
    """
    host = "127.0.0.1" if endpoint.host.lower() == "localhost" else endpoint.host
    try:
        ipaddress.ip_address(host)
        for one in psutil.net_connections("tcp"):
            if (one.status == psutil.CONN_ESTABLISHED and one.raddr and one.pid
                    and (one.raddr.ip.removeprefix("::ffff:"), one.raddr.port) == (host, endpoint.port)):
                return f"{psutil.Process(one.pid).name()} (pid {one.pid})"
    except (ValueError, psutil.Error, OSError):
        pass
    return None


class RpcHosts:
    """The kept addresses of one workspace, and the servers that it lends out. Methods may be called from any thread."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._servers: list[RpcServer] = []
        self._told: dict[str, str] = {}

    # -- addresses

    @property
    def kept(self) -> list[str]:
        """In the order in which they were added."""
        return list(self._workspace.settings.rpc_hosts)

    def add(self, text: str) -> str:
        """Keep an address; returns it in its usual form. Raises AppError for what is none. Nothing is probed."""
        name = str(parse_endpoint(text))
        with self._lock:
            if name not in self._workspace.settings.rpc_hosts:
                self._workspace.settings.rpc_hosts = [*self._workspace.settings.rpc_hosts, name]
                self._workspace.save_settings()
        return name

    def remove(self, text: str) -> str:
        """Forget an address. Raises AppError where it is not kept."""
        name = text if text in self.kept else str(parse_endpoint(text))
        with self._lock:
            if name not in self._workspace.settings.rpc_hosts:
                raise AppError(Text("“{name}” is not among the kept RPC hosts.", name=name))
            self._workspace.settings.rpc_hosts = [
                one for one in self._workspace.settings.rpc_hosts if one != name]
            self._workspace.save_settings()
        return name

    def probe(self, text: str, engine: Engine | None) -> Probe:
        """Ask one address now, unless somebody here uses it. Raises AppError for what is no address."""
        endpoint = parse_endpoint(text)
        if user := self.user(endpoint):
            return Probe(str(endpoint), Reach.IN_USE,
                         Text("It serves {user} now, and one client at a time: it was not asked.", user=user),
                         Text("Stop that session to ask it."))
        return probe_endpoint(endpoint, engine)

    def user(self, endpoint: Endpoint) -> str | None:
        """Who here uses it now: a session of this Paddock, or any program of this computer that is connected to it."""
        busy = {_plain(one) for one in self._workspace.busy_endpoints()}
        if _plain(str(endpoint)) in busy:
            return str(Text("a session of yours"))
        return connected_here(endpoint)

    def in_use(self, names: Sequence[str]) -> bool:
        """Whether somebody here uses one of them; what is no address is used by nobody."""
        for name in names:
            try:
                if self.user(parse_endpoint(name)) is not None:
                    return True
            except AppError:
                continue
        return False

    def ask_before_launch(self, names: Sequence[str]) -> None:
        """Greet what a plan names, so that `told` can answer. Seconds for each that is silent: for a launch or on
        request, not for an edit. Whoever is used from here is not asked, and what is no address is left to the checks.
        """
        for name in names:
            try:
                endpoint = parse_endpoint(name)
            except AppError:
                continue
            state = "busy" if self.user(endpoint) else _STATES.get(greet(endpoint, timeout_s=_BEFORE_LAUNCH_S).state)
            with self._lock:
                self._told.pop(name, None)
                if state is not None:
                    self._told[name] = state

    def told(self, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """(address, state) of those that would not serve when they were last asked, as `Conditions.rpc_hosts` has it.

        Asks nobody: what was found at a launch stands until it is asked again, or until it was seen to answer."""
        with self._lock:
            return tuple((name, self._told[name]) for name in names if name in self._told)

    def answered(self, names: Sequence[str]) -> None:
        """These were seen to take a connection: what was told of silence holds no longer."""
        with self._lock:
            for name in names:
                if self._told.get(name) == "silent":
                    del self._told[name]

    # -- servers of our own

    @property
    def servers(self) -> list[RpcServer]:
        """Those that run, and those that failed since they were last looked after."""
        with self._lock:
            return list(self._servers)

    def start(self, options: RpcOptions, engine: Engine | None, *, changed: Callable[[], object] | None = None) -> (
            RpcServer):
        """Start a server here and wait until it listens. Raises AppError. Blocks: not for the GUI thread."""
        server = RpcServer(engine, options, changed=changed)
        server.start()
        with self._lock:
            self._servers = [one for one in self._servers if one.state is RpcState.SERVING] + [server]
        return server

    def stop(self, server: RpcServer) -> None:
        """End one and wait for its end."""
        server.stop()
        with self._lock:
            self._servers = [one for one in self._servers if one is not server]

    def close(self) -> None:
        """End them all."""
        for server in self.servers:
            self.stop(server)


def _plain(name: str) -> str:
    return name.replace("localhost:", "127.0.0.1:")


def device_lines(devices: Sequence[EngineDevice]) -> list[str]:
    """What a server lends, for people: "RPC0, 23.54 GiB, 20.10 GiB free"."""
    from paddock.units import bytes_text

    return [", ".join((d.name, bytes_text(d.total_bytes), str(Text("{free} free", free=bytes_text(d.free_bytes)))))
            for d in devices]
