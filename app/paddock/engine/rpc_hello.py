"""Greets an RPC server; run as a script by `rpc.greet` in a process of its own, never imported by it.

    python -I -S rpc_hello.py HOST PORT SECONDS

Prints one JSON object: {"state": …, "version": [major, minor, patch] or null, "detail": text}. States: answers, refused
(nobody listens), unreachable, unknown_name, mute (it took the connection and said nothing), foreign (it speaks
something else). Only the standard library: it must start at once, and end by itself.

Source of the form: RPC_CMD_HELLO (14) in llama.cpp's ggml/src/ggml-rpc/ggml-rpc.cpp. A request is the command (one
byte), the size of what follows (eight bytes, little-endian), and that: 24 bytes of capabilities in protocol 7. A server
that hangs up on it is greeted once more without them. An answer is its size (eight bytes) and major, minor, patch (a
byte each). A connection is a session there: the server has one client at a time, and this one leaves at once.
"""

import json
import socket
import struct
import sys

_HELLO = 14
_CAPABILITIES = 24
_MOST = 64


def greet(host: str, port: int, seconds: float) -> dict[str, object]:
    """The newer form first; a server that hangs up on it may be an older one."""
    found = _greet(host, port, seconds, _CAPABILITIES)
    if found["state"] == "foreign":
        older = _greet(host, port, seconds, 0)
        if older["state"] == "answers":
            return older
    return found


def _greet(host: str, port: int, seconds: float, size: int) -> dict[str, object]:
    try:
        link = socket.create_connection((host, port), seconds)
    except socket.gaierror as error:
        return _said("unknown_name", str(error.strerror or error))
    except ConnectionRefusedError as error:
        return _said("refused", str(error.strerror or error))
    except (OSError, OverflowError) as error:
        return _said("unreachable", str(getattr(error, "strerror", None) or error))
    with link:
        try:
            link.sendall(struct.pack("<BQ", _HELLO, size) + bytes(size))
            answer = _exactly(link, 8)
            length = struct.unpack("<Q", answer)[0] if len(answer) == 8 else 0
            body = _exactly(link, length) if 3 <= length <= _MOST else b""
        except TimeoutError:
            return _said("mute", "")
        except OSError as error:
            return _said("foreign", str(error.strerror or error))
    if len(body) < 3:
        return _said("foreign", "")
    return {"state": "answers", "version": list(body[:3]), "detail": ""}


def _exactly(link: socket.socket, count: int) -> bytes:
    """So many bytes, or fewer where the other side hung up."""
    parts = b""
    while len(parts) < count and (part := link.recv(count - len(parts))):
        parts += part
    return parts


def _said(state: str, detail: str) -> dict[str, object]:
    return {"state": state, "version": None, "detail": detail}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(greet(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))) + "\n")
