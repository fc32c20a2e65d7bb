"""The relay itself: one handler for every path. Runs in the proxy's own process."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import hdrs, web
from yarl import URL

from paddock.session.proxy.record import Exchange, Reader, read_settings
from paddock.session.proxy.reuse import PromptMemory

BODY_LIMIT = 256 << 20
HOP = frozenset(("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
                 "transfer-encoding", "upgrade", "host", "content-length", "expect"))
"""Headers that belong to one leg of the way (RFC 9110, 7.6.1) and those that are made anew, or were answered by us."""
_OURS = (hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.USER_AGENT, hdrs.CONTENT_TYPE)
"""Headers that our HTTP client would add where the person's client sent none: what passes is not changed."""
_NAMES = ("127.0.0.1", "localhost", "::1")


class Relay:
    """Passes requests to `upstream` and tells `sink` of each exchange: once when it begins, once when it is over.

    `first`: the number of its first exchange, where a session had some already.
    """

    def __init__(self, upstream: str, sink: Callable[[Exchange], None],
                 clock: Callable[[], float] = time.monotonic, keep_texts: bool = False, first: int = 1) -> None:
        self._socket, self._upstream = _split(upstream)
        self._prefix = urlsplit(self._upstream).path
        self._keep_texts = keep_texts
        self._sink, self._clock = sink, clock
        self._numbers = itertools.count(first)
        self._prompts = PromptMemory()
        self._session: aiohttp.ClientSession | None = None

    def app(self) -> web.Application:
        """The application to serve."""
        made = web.Application(client_max_size=BODY_LIMIT)
        made.router.add_route("*", "/{path:.*}", self.handle)
        made.cleanup_ctx.append(self._client)
        return made

    async def _client(self, _app: web.Application):  # type: ignore[no-untyped-def]
        # A connection for each request: one kept open may be closed by the server just when it is written to.
        connector: aiohttp.BaseConnector = (
            aiohttp.UnixConnector(self._socket, limit=0, force_close=True) if self._socket is not None
            else aiohttp.TCPConnector(limit=0, ssl=False, force_close=True))
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False,
                                              skip_auto_headers=_OURS, cookie_jar=aiohttp.DummyCookieJar())
        yield
        await self._session.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One exchange. Refused: a page of another site, and a name that was bent to us (DNS rebinding)."""
        refusal = _refused(request)
        if refusal:
            raise web.HTTPForbidden(text=refusal)
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._two_ways(request)
        start = self._clock()
        exchange = self._begin(request)
        reader = Reader(exchange, self._keep_texts)
        body = b""
        try:
            body = await request.read() if request.can_read_body else b""
            read_settings(body, exchange, self._keep_texts)
            self._sink(exchange)
            response = await self._pass_on(request, body, exchange, reader, start)
            exchange.outcome = "failed" if (exchange.status or 500) >= 400 or exchange.error else "done"
        except (asyncio.CancelledError, ConnectionResetError):
            # A client that has read the status of a refusal need not read on.
            exchange.outcome = "failed" if (exchange.status or 0) >= 400 else "cancelled"
            raise
        except web.HTTPException as denied:  # too large
            exchange.outcome, exchange.status, exchange.error = "failed", denied.status, denied.reason
            raise
        except aiohttp.ClientError as error:
            exchange.outcome, exchange.error = "failed", str(error) or type(error).__name__
            if exchange.status is not None:  # the client has part of it: it must see that the rest is missing
                if request.transport is not None:
                    request.transport.abort()
                raise
            exchange.status = 502
            return web.json_response({"error": {"message": f"The server does not answer: {exchange.error}",
                                                "type": "unavailable_error", "code": 502}}, status=502)
        finally:
            reader.end(self._clock() - start)
            self._prompts.explain(body, exchange)
            self._sink(exchange)
        return response

    async def _pass_on(self, request: web.Request, body: bytes, exchange: Exchange, reader: Reader,
                       start: float) -> web.StreamResponse:
        assert self._session is not None
        headers = [(k, v) for k, v in request.headers.items() if k.lower() not in HOP]
        async with self._session.request(request.method, self._address(request), data=body or None,
                                         headers=headers, allow_redirects=False) as answer:
            reader.head(answer.status, answer.headers.get("Content-Type", ""), self._clock() - start)
            kept = [(k, v) for k, v in answer.headers.items() if k.lower() not in HOP]
            response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=kept)
            length = answer.headers.get("Content-Length")
            if length is not None and request.method != "HEAD":
                response.content_length = int(length)
            await response.prepare(request)
            async for data in answer.content.iter_any():
                reader.feed(data, self._clock() - start)
                before = self._clock()
                await response.write(data)
                exchange.client_wait_s += self._clock() - before
            await response.write_eof()
            return response

    def _address(self, request: web.Request) -> URL:
        """Where it goes: path and query as the client wrote them, with the server's --api-prefix or without it. A
        target in absolute form (RFC 9112, 3.2.2) is for us all the same."""
        target = request.rel_url.raw_path_qs
        if self._prefix and target.startswith(self._prefix + "/"):
            target = target.removeprefix(self._prefix)
        return URL(self._upstream + target, encoded=True)

    async def _two_ways(self, request: web.Request) -> web.StreamResponse:
        """A WebSocket: its messages pass both ways. Any other Upgrade is not taken up, as RFC 9110 (7.8) allows."""
        assert self._session is not None
        exchange = self._begin(request)
        start = self._clock()
        protocols = [p.strip() for p in request.headers.get("Sec-WebSocket-Protocol", "").split(",") if p.strip()]
        headers = [(k, v) for k, v in request.headers.items()
                   if k.lower() not in HOP and not k.lower().startswith("sec-websocket-")]
        try:
            async with self._session.ws_connect(self._address(request), headers=headers, autoping=False,
                                                protocols=protocols, max_msg_size=BODY_LIMIT) as server:
                client = web.WebSocketResponse(autoping=False, max_msg_size=BODY_LIMIT,
                                               protocols=[server.protocol] if server.protocol else [])
                await client.prepare(request)
                exchange.status = 101
                exchange.first_byte_s = self._clock() - start
                try:
                    await _until_one_closes(client, server)
                finally:
                    # A client that said goodbye and hung up at once has our handler cancelled: it is over all the same.
                    exchange.outcome = "cancelled" if client.close_code in (None, 1006) else "done"
                return client
        except aiohttp.WSServerHandshakeError as error:
            exchange.outcome, exchange.status, exchange.error = "failed", error.status, error.message
            return web.Response(status=error.status)
        except aiohttp.ClientError as error:
            exchange.outcome, exchange.status, exchange.error = "failed", 502, str(error) or type(error).__name__
            return web.Response(status=502)
        finally:
            if exchange.outcome == "active":
                exchange.outcome = "cancelled"
            exchange.total_s = self._clock() - start
            self._sink(exchange)

    def _begin(self, request: web.Request) -> Exchange:
        return Exchange(next(self._numbers), datetime.now(UTC).isoformat(timespec="milliseconds"), request.method,
                        request.path, request.remote or "", request.headers.get("User-Agent"),
                        arrived=time.monotonic())


async def _until_one_closes(client: Any, server: Any) -> None:
    """Messages both ways; when one side closes, the other is closed the same way."""
    ways = {asyncio.ensure_future(_messages(client, server)): (client, server),
            asyncio.ensure_future(_messages(server, client)): (server, client)}
    try:
        over, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in over:
            source, target = ways[way]
            if way.exception() is None:
                await target.close(code=source.close_code or aiohttp.WSCloseCode.OK)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _messages(source: Any, target: Any) -> None:
    """Everything that `source` says, told to `target`, until it is closed."""
    async for message in source:
        if message.type is aiohttp.WSMsgType.TEXT:
            await target.send_str(message.data)
        elif message.type is aiohttp.WSMsgType.BINARY:
            await target.send_bytes(message.data)
        elif message.type is aiohttp.WSMsgType.PING:
            await target.ping(message.data)
        elif message.type is aiohttp.WSMsgType.PONG:
            await target.pong(message.data)


def _split(upstream: str) -> tuple[str | None, str]:
    """The socket's path of unix:///path.sock/prefix, None for another address; and the base of all addresses."""
    if not upstream.startswith("unix://"):
        return None, upstream.rstrip("/")
    path, suffix, prefix = upstream.removeprefix("unix://").partition(".sock")
    return path + suffix, "http://localhost" + prefix.rstrip("/")


def _refused(request: web.Request) -> str | None:
    host = request.headers.get("Host")
    # Without one it is HTTP/1.0 and no browser, so no name can have been bent.
    if (host is not None or request.version >= aiohttp.HttpVersion11) and _host_of(f"//{host}") not in _NAMES:
        return "This port answers to 127.0.0.1 and localhost only.\n"
    origin = request.headers.get("Origin")
    if origin and not _may_ask(origin):
        return "Pages of other sites may not use this port.\n"
    return None


def _may_ask(origin: str) -> bool:
    """Pages of this computer, and programs whose windows are pages (app://…, chrome-extension://…). Not "null": any
    site can have it, from a frame in a sandbox."""
    scheme, separator, _ = origin.partition("://")
    if separator and scheme.lower() not in ("http", "https"):
        return True
    return _host_of(origin) in _NAMES


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:  # a bracket that is never closed
        return None
