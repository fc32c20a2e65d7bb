"""Who listens on a port of this computer: a server that can be seen, or only the near end of a tunnel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil

_TUNNELS = frozenset((
    "ssh", "autossh", "sshd", "socat", "kubectl", "docker-proxy", "rootlessport", "slirp4netns", "pasta", "haproxy",
    "nginx", "caddy", "traefik", "envoy", "cloudflared", "tailscaled", "wstunnel", "chisel", "frpc", "stunnel",
))
"""Programs that pass a port on: what they use says nothing about the server behind."""


@dataclass(frozen=True)
class Listening:
    """The process behind an address. `argv` is empty where the system does not show it."""

    pid: int
    argv: tuple[str, ...]


def listening(url: str) -> Listening | None:
    """Who listens on that port here; None where the system does not tell, or where the port is passed on."""
    port = urlsplit(url).port
    try:
        pids = [c.pid for c in psutil.net_connections("tcp")
                if c.status == psutil.CONN_LISTEN and c.pid and c.laddr and c.laddr.port == port]
        if not pids:
            return None
        process = psutil.Process(pids[0])
        name = re.sub(r"\.exe$", "", process.name().lower())
        return None if name in _TUNNELS else Listening(pids[0], tuple(process.cmdline()))
    except (psutil.Error, OSError):
        return None
