"""python -m paddock.session.proxy UPSTREAM PORT [texts]: the proxy's own process.

JSON lines on stdout; ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading

from aiohttp import web

from paddock.session.proxy.record import Exchange
from paddock.session.proxy.relay import Relay


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _tell(exchange: Exchange) -> None:
    _say(exchange.as_json())


async def _serve(upstream: str, port: int, keep_texts: bool) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_parent() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(over.set)

    relay = Relay(upstream, _tell, keep_texts=keep_texts)
    runner = web.AppRunner(relay.app(), handler_cancellation=True, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, shutdown_timeout=1.0)
    try:
        await site.start()
    except OSError as error:
        _say(json.dumps({"failed": error.strerror or str(error)}))
        await runner.cleanup()
        return
    address = runner.addresses[0]
    _say(json.dumps({"listening": address[1]}))
    threading.Thread(target=wait_for_parent, daemon=True).start()
    await over.wait()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), "texts" in sys.argv[3:]))
