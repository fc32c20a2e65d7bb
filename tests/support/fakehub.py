"""A hub on 127.0.0.1 that speaks what Paddock uses of huggingface.co: search, one repository, files with ranges.

    with FakeHub() as hub:
        hub.add("owner/Tiny-GGUF", {"Tiny-Q8_0.gguf": data})
        client = Hub(hub.url)

The shapes are those of the public API: /api/models?search=, /api/models/ID(/revision/R)?blobs=true, /ID/resolve/R/FILE
with ETag, X-Repo-Commit, X-Linked-Size, X-Linked-Etag, Accept-Ranges; X-Error-Code for what is refused. Large files
are redirected to a second port, as the real hub redirects them to its storage. No xet.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass
class Repo:
    """What the hub has of one repository."""

    id: str
    files: dict[str, bytes]
    downloads: int = 1000
    likes: int = 10
    gated: bool = False
    private: bool = False
    commit: str = "c0ffee" + "0" * 34
    _hashes: dict[str, str] = field(default_factory=dict)

    def sha256(self, name: str) -> str:
        """Of the content that the file had when it was first asked for; `files` is replaced whole by a new commit."""
        if name not in self._hashes:
            self._hashes[name] = hashlib.sha256(self.files[name]).hexdigest()
        return self._hashes[name]

    def info(self, blobs: bool) -> dict[str, Any]:
        siblings = []
        for name, data in self.files.items():
            item: dict[str, Any] = {"rfilename": name}
            if blobs:
                item |= {"size": len(data), "blobId": "b" * 40}
                if name.endswith(".gguf"):
                    item["lfs"] = {"sha256": self.sha256(name), "size": len(data), "pointerSize": 134}
            siblings.append(item)
        return {"_id": "0" * 24, "id": self.id, "modelId": self.id, "sha": self.commit, "private": self.private,
                "gated": "auto" if self.gated else False, "downloads": self.downloads, "likes": self.likes,
                "tags": ["gguf"], "lastModified": "2026-11-20T10:00:00.000Z", "siblings": siblings}


@dataclass
class Manners:
    """How the hub behaves; tests set it."""

    cut_after: int | None = None
    """The connection ends after so many bytes of a file, `cuts` times."""
    cuts: int = 0
    no_ranges: bool = False
    """Answers 200 with the whole file to every range."""
    wrong_bytes: bool = False
    """What is given is not what was hashed."""
    status: int | None = None
    """Every answer is this error."""
    body: bytes | None = None
    """Every answer of the API is this."""
    hold: threading.Event | None = None
    """File bodies stop half way until this is set."""
    redirect: bool = True


class FakeHub:
    """Two servers on free ports, the hub and its storage. `requests`: (method, path, headers in lower case) of both."""

    TOKEN = "hf_good"

    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.manners = Manners()
        self.requests: list[tuple[str, str, Mapping[str, str]]] = []
        self.sent_bytes = 0
        self._servers = [_Server(self, stored) for stored in (False, True)]
        self.url, self.storage = (f"http://127.0.0.1:{s.server_port}" for s in self._servers)

    def __enter__(self) -> FakeHub:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.manners.hold is not None:
            self.manners.hold.set()
        for server in self._servers:
            server.shutdown()
            server.hang_up()
            server.server_close()

    def add(self, repo_id: str, files: dict[str, bytes], **more: Any) -> Repo:
        self.repos[repo_id] = made = Repo(repo_id, files, **more)
        return made

    def asked(self, part: str) -> list[tuple[str, str, Mapping[str, str]]]:
        """Requests whose path holds this."""
        return [r for r in self.requests if part in r[1]]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub: FakeHub, stored: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub, self.stored = hub, stored
        self._open: list[socket.socket] = []

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._open.append(connection)
        return connection, address

    def hang_up(self) -> None:
        """Clients keep connections open; their threads end now."""
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is part of many tests."""


@dataclass
class _Wanted:
    repo: Repo
    name: str
    data: bytes
    headers: dict[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub, address = self.server.hub, urlsplit(self.path)
        hub.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
        path, query = unquote(address.path), parse_qs(address.query)
        if hub.manners.status is not None:
            self._refuse(hub.manners.status)
        elif self.server.stored:
            self._stored(path)
        elif path == "/api/models":
            words = query.get("search", [""])[0].lower().split()
            found = [r for r in hub.repos.values() if all(w in r.id.lower() for w in words) and not r.private]
            limit = int(query.get("limit", ["100"])[0])
            self._json([r.info(False) for r in sorted(found, key=lambda r: -r.downloads)[:limit]])
        elif path.startswith("/api/models/"):
            repo = self._repo(path.removeprefix("/api/models/").partition("/revision/")[0])
            if repo is not None:
                self._json(repo.info("blobs" in query))
        elif "/resolve/" in path:
            self._resolve(path)
        else:
            self._refuse(404)

    def _known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {FakeHub.TOKEN}"

    def _repo(self, name: str) -> Repo | None:
        repo = self.server.hub.repos.get(name)
        if repo is None or (repo.private and not self._known()):
            self._refuse(401 if not self._known() else 404, "RepoNotFound")
            return None
        return repo

    def _resolve(self, path: str) -> None:
        name, _, tail = path.strip("/").partition("/resolve/")
        repo = self._repo(name)
        if repo is None:
            return
        if repo.gated and not self._known():
            self._refuse(403 if self.headers.get("Authorization") else 401, "GatedRepo")
            return
        file = tail.partition("/")[2]
        if file not in repo.files:
            self._refuse(404, "EntryNotFound")
            return
        data = repo.files[file]
        about = {"X-Repo-Commit": repo.commit, "X-Linked-Size": str(len(data)), "Accept-Ranges": "bytes",
                 "X-Linked-Etag": f'"{repo.sha256(file)}"', "ETag": '"0123456789abcdef"'}
        if self.server.hub.manners.redirect:
            self._head(302, {**about, "Location": f"{self.server.hub.storage}/{name}/{file}", "Content-Length": "0"})
        else:
            self._file(data, about)

    def _stored(self, path: str) -> None:
        owner, name, file = path.strip("/").split("/", 2)
        repo = self.server.hub.repos.get(f"{owner}/{name}")
        if repo is None or file not in repo.files:
            self._refuse(404)
        else:
            self._file(repo.files[file], {"Accept-Ranges": "bytes"})

    def _file(self, data: bytes, about: Mapping[str, str]) -> None:
        manners, start, end, status = self.server.hub.manners, 0, len(data), 200
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes=") and not manners.no_ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, end, status = int(first), int(last) + 1 if last else len(data), 206
            if start >= len(data):
                self._refuse(416)
                return
        body = data[start:min(end, len(data))]
        if manners.wrong_bytes:
            body = bytes(b ^ 0xFF for b in body[:1]) + body[1:]
        ranged = {"Content-Range": f"bytes {start}-{start + len(body) - 1}/{len(data)}"} if status == 206 else {}
        self._head(status, {**about, **ranged, "Content-Length": str(len(body)),
                            "Content-Type": "application/octet-stream"})
        if self.command == "GET":
            self._body(body, manners)

    def _body(self, body: bytes, manners: Manners) -> None:
        with contextlib.suppress(OSError):
            if manners.cut_after is not None and manners.cuts > 0:
                manners.cuts -= 1
                self._send(body[:manners.cut_after])
                self.close_connection = True
                return
            if manners.hold is not None and len(body) > 1:
                self._send(body[:len(body) // 2])
                manners.hold.wait(20)
                body = body[len(body) // 2:]
            self._send(body)

    def _send(self, body: bytes) -> None:
        self.server.hub.sent_bytes += len(body)
        self.wfile.write(body)
        self.wfile.flush()

    def _json(self, value: Any) -> None:
        body = self.server.hub.manners.body
        data = json.dumps(value).encode() if body is None else body
        self._head(200, {"Content-Type": "application/json", "Content-Length": str(len(data))})
        if self.command == "GET":
            self.wfile.write(data)

    def _refuse(self, status: int, code: str = "") -> None:
        more = {"X-Error-Code": code, "X-Error-Message": code} if code else {}
        self._head(status, {**more, "Content-Length": "0"})

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def forget_this_machine(monkeypatch: Any, folder: Any) -> None:
    """No token, proxy or switch of the machine that the tests run on."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "HF_ENDPOINT", "http_proxy", "HTTP_PROXY",
                 "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(folder / "no-token"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
