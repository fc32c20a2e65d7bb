"""Lists the devices that an engine sees, in a process of its own: a driver may crash it, never us."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence

from paddock.engine.listing import parse_devices
from paddock.engine.model import Engine, EngineDevice
from paddock.engine.running import Output, ending, probe_environment, run
from paddock.errors import AppError
from paddock.text import Text

_UNKNOWN_FLAG = re.compile(r"(?:invalid|unknown) argument: --list-devices")
_PATIENCE_S = 2.0


def list_devices(
    engine: Engine,
    rpc: Sequence[str] = (),
    *,
    timeout_s: float = 20,
    environ: Mapping[str, str] | None = None,
) -> tuple[EngineDevice, ...]:
    """The devices that this engine sees right now, with free memory; with `rpc` (host:port), those of the servers too.

    Raises AppError where the listing crashed, hung, is unknown to this build, or a server does not answer.
    """
    if engine.knows("--list-devices") is False:
        raise _too_old()
    # Arguments act where they stand: the servers must be known before the list is printed.
    arguments = (*(("--rpc", ",".join(rpc)) if rpc else ()), "--list-devices")
    with probe_environment(os.environ if environ is None else environ, engine.environment) as kept:
        try:
            output = run((*engine.serve, *arguments), timeout_s=timeout_s, environ=kept)
        except OSError as error:
            raise AppError(Text("The engine could not be started to list its devices."),
                           why=Text("It cannot be started: {reason}.", reason=error.strerror or str(error))) from error
    if output.code == 0:
        return parse_devices(output.stdout, output.stderr)
    raise _error(output, timeout_s, rpc)


def _error(output: Output, timeout_s: float, rpc: Sequence[str]) -> AppError:
    if _UNKNOWN_FLAG.search(output.both):
        return _too_old()
    if silent := [server for server in rpc if not _answers(server)]:
        return AppError(Text("No RPC server answers at {servers}.", servers=", ".join(silent)),
                        hint=Text("Start ggml-rpc-server there, or take the address out."))
    how = ending(output.code, timeout_s)
    line = output.last_error_line
    why = Text("{how}: {line}", how=how, line=line) if line else Text("{how}.", how=how)
    return AppError(Text("The engine failed while listing its devices."), why=why,
                    hint=Text("A driver that does not fit this engine is the usual cause."))


def _too_old() -> AppError:
    return AppError(Text("This engine is too old to list its devices."),
                    hint=Text("Update llama.cpp, or name the devices yourself."))


def _answers(server: str) -> bool:
    host, _, port = server.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_S):
            return True
    except (OSError, ValueError, OverflowError):
        return False
