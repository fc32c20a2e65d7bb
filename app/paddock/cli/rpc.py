"""paddock rpc: the RPC hosts that are kept, what answers there, and a server of this computer's own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from paddock.cli.arguments import Globals, Seconds
from paddock.cli.output import document, line, note
from paddock.errors import AppError
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.work import Workspace
    from paddock.work.rpc_hosts import Probe
    from paddock.work.rpc_server import RpcServer

_LOOK_S = 0.2


@click.group()
def rpc() -> None:
    """Devices of other computers, through llama.cpp's RPC servers.

    Nothing is probed unless you ask for it: a connection is a session there. RPC servers ask for no password and
    encrypt nothing: only in a network whose every member you trust.
    """


def _workspace(options: Globals) -> Workspace:
    return options.workspace()


@rpc.command("list")
@click.pass_obj
def list_hosts(options: Globals) -> int:
    """The kept hosts, unasked."""
    kept = _workspace(options).rpc.kept
    if options.json:
        document([{"endpoint": name} for name in kept])
        return 0
    for name in kept:
        line(name)
    if not kept:
        note(Text("No RPC host is kept. Add one: paddock rpc add HOST:PORT"))
    return 0


@rpc.command()
@click.argument("endpoints", nargs=-1, required=True, metavar="HOST:PORT…")
@click.pass_obj
def add(options: Globals, endpoints: Sequence[str]) -> int:
    """Keep hosts; they are not asked."""
    from paddock.work.rpc_hosts import WARNING

    hosts = _workspace(options).rpc
    added = [hosts.add(text) for text in endpoints]
    if options.json:
        document([{"endpoint": name} for name in added])
    else:
        for name in added:
            line(name)
    note(WARNING)
    return 0


@rpc.command()
@click.argument("endpoints", nargs=-1, required=True, metavar="HOST:PORT…")
@click.pass_obj
def remove(options: Globals, endpoints: Sequence[str]) -> int:
    """Forget hosts."""
    hosts = _workspace(options).rpc
    removed = [hosts.remove(text) for text in endpoints]
    if options.json:
        document([{"endpoint": name} for name in removed])
    else:
        for name in removed:
            line(name)
    return 0


@rpc.command()
@click.argument("endpoints", nargs=-1, metavar="[HOST:PORT…]")
@click.pass_obj
def probe(options: Globals, endpoints: Sequence[str]) -> int:
    """Ask hosts (all kept ones, where none is named): reachability, version, devices, memory. Exit 1 if one cannot be
    used."""
    workspace = _workspace(options)
    asked = list(endpoints) or workspace.rpc.kept
    if not asked:
        raise AppError(Text("No RPC host is kept, and none was named."),
                       hint=Text("Write paddock rpc probe HOST:PORT."))
    engine = workspace.engine()
    found = [workspace.rpc.probe(text, engine) for text in asked]
    if options.json:
        document([one.as_dict() for one in found])
    else:
        for one in found:
            _show(one)
    return 0 if all(one.reach in ("answers", "in_use") for one in found) else 1


def _show(found: Probe) -> None:
    from paddock.work.rpc_hosts import device_lines

    line(f"{found.endpoint}: {found.text}")
    for words in device_lines(found.devices):
        line(f"  {words}")
    if found.hint is not None:
        line(f"  {found.hint}")


@rpc.command()
@click.option("-H", "--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("-p", "--port", default=50052, show_default=True, type=click.IntRange(1, 65535), help="Port.")
@click.option("-t", "--threads", type=click.IntRange(1), help="Threads of the processor's device (default: half).")
@click.option("-d", "--device", default="", metavar="NAME,…", help="Devices to lend (default: all GPUs, else the CPU).")
@click.option("-c", "--cache", is_flag=True, help="Keep received weights, so that they are not sent again.")
@click.option("--for", "seconds", type=Seconds(), metavar="SECONDS", help="End after so long; else with Ctrl-C.")
@click.pass_obj
def serve(options: Globals, host: str, port: int, threads: int | None, device: str, cache: bool,
          seconds: float | None) -> int:
    """Lend this computer's devices: the engine's ggml-rpc-server, ended with this command."""
    from paddock.work.rpc_hosts import WARNING
    from paddock.work.rpc_server import RpcOptions

    workspace = _workspace(options)
    names = tuple(part.strip() for part in device.replace("/", ",").split(",")) if device else ()
    wanted = RpcOptions(host, port, threads, names, cache)
    if wanted.is_open:
        note(WARNING)
    server = workspace.rpc.start(wanted, workspace.engine())
    try:
        if options.json:
            document({"endpoint": str(wanted.endpoint), "pid": server.pid, "argv": list(server.argv)})
        else:
            line(Text("Serving at {endpoint} (pid {pid}). Ctrl-C ends it.", endpoint=wanted.endpoint, pid=server.pid))
        _until_the_end(server, seconds)
    finally:
        workspace.close()
    if server.problem is not None:
        raise server.problem
    return 0


def _until_the_end(server: RpcServer, seconds: float | None) -> None:
    """Short waits: Ctrl-C is seen between them on every system."""
    shown = 0
    left = threading.Event()
    waited = 0.0
    while not server.wait(0) and (seconds is None or waited < seconds):
        left.wait(_LOOK_S)
        waited += _LOOK_S
        lines = server.lines
        for words in lines[shown:]:
            note(words)
        shown = len(lines)
