"""Look at the world around a plan, once, so that the checks can stay pure."""

from __future__ import annotations

import configparser
import os
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

from paddock.launch.containers import seen_from_here
from paddock.launch.model import Conditions, Plan
from paddock.work.filesystems import file_system
from paddock.work.standing import cached_fraction, standing

_VARIABLES = ("LLAMA_", "GGML_", "CUDA_", "HIP_", "HSA_", "ROCR_", "ONEAPI_", "ZE_", "SYCL_", "HF_TOKEN", "MTMD_")
_PATH_OPTIONS = (
    "model", "spec-draft-model", "model-draft", "mmproj", "lora", "control-vector", "grammar-file", "json-schema-file",
    "chat-template-file", "api-key-file", "ssl-key-file", "ssl-cert-file", "models-dir", "models-preset",
    "slot-save-path", "media-path", "path",
)


def gather(plan: Plan, host: str | None, port: int | None, environ: Mapping[str, str] | None = None) -> Conditions:
    """Files, port, file system, limits and inherited variables, as they are right now."""
    env = os.environ if environ is None else environ
    model = os.path.expanduser(seen_from_here(plan, plan.get("model") or "")) or None
    missing = [v for s in plan if s.option in _PATH_OPTIONS for v in s.values
               if v and not Path(seen_from_here(plan, v)).expanduser().exists()]
    kind, remote = file_system(model) if model and Path(model).exists() else (None, None)
    free, holder = port_state(host or "127.0.0.1", port) if port else (None, None)
    machine = standing()
    return Conditions(
        model_exists=Path(model).is_file() if model else None,
        model_is_folder=bool(model) and Path(model or "").is_dir(),
        missing_paths=tuple(missing),
        port_free=free,
        port_holder=holder,
        file_system=kind,
        remote_file_system=remote,
        load_1min=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        memlock_bytes=_memlock(),
        environment={k: v for k, v in env.items() if k.startswith(_VARIABLES)},
        config_ini=config_ini(env),
        prefix_found=shutil.which(plan.prefix[0]) is not None if plan.prefix else None,
        governors=machine.governors,
        cards=machine.cards,
        iommu=machine.iommu,
        numa_balancing=machine.numa_balancing,
        cached_fraction=cached_fraction(Path(model)) if model and kind and plan.get("numa") else None,
    )


def port_state(host: str, port: int) -> tuple[bool | None, str | None]:
    """Whether the port can be bound now, and by the name and pid of whom it is held, where the system tells."""
    free = _bindable(host, port)
    return free, _holder(port) if free is False else None


def _bindable(host: str, port: int) -> bool | None:
    """None where it cannot be judged: no port, an address that is not ours, or a name."""
    if not 0 < port < 65536:
        return None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            if sys.platform != "win32":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
        return True
    except PermissionError:
        return False
    except OSError as error:
        return False if error.errno in _IN_USE else None


_IN_USE = {98, 48, 10048}


def _holder(port: int) -> str | None:
    try:
        for connection in psutil.net_connections("inet"):
            address = connection.laddr
            if connection.status == psutil.CONN_LISTEN and address and address.port == port and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    except (psutil.Error, OSError):
        pass
    return None


def reachable(endpoint: str, patience_s: float = 0.3) -> bool:
    """Whether anything listens at HOST:PORT."""
    host, _, port = endpoint.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), patience_s):
            return True
    except (OSError, ValueError):
        return False


_NEXT_PORTS = 16


def free_port(host: str = "127.0.0.1", preferred: int | None = None) -> int:
    """The preferred port if it can be bound, else one of the next few, else one that the system picks.

    For an address that is not this machine's, one that is free on loopback: it will not be listened on anyway.
    """
    if preferred:
        # The same answer each time while the world stays as it is: a preview is made on every edit.
        for port in range(preferred, min(preferred + _NEXT_PORTS, 65536)):
            if _bindable(host, port):
                return port
    try:
        return _any_port(host)
    except OSError:
        return _any_port("127.0.0.1")


def _any_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _memlock() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY else soft


def config_ini(env: Mapping[str, str]) -> dict[str, str]:
    """Options in llama.cpp's config files, system then user: they change what runs (contract 1.5)."""
    if sys.platform == "win32":
        folders = [env.get("PROGRAMDATA"), env.get("APPDATA")]
    else:
        folders = ["/etc", env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")]
    found: dict[str, str] = {}
    for folder in folders:
        path = Path(folder or "") / "llama.cpp" / "config.ini"
        if not folder or not path.is_file():
            continue
        parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
        parser.optionxform = str  # type: ignore[assignment,method-assign]  # names of variables are keys too
        try:
            parser.read_string("[top]\n" + path.read_text(encoding="utf-8-sig", errors="replace"))
        except configparser.Error:
            continue
        for section in parser.sections():
            found.update({k: v or "" for k, v in parser.items(section)})
    return found


def disk_free(path: Path) -> int | None:
    """Free bytes where this path lies or would lie."""
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None
