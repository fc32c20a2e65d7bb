"""python -m paddock.session.proxy UPSTREAM PORT [texts] [from=N]: the proxy's own process.

JSON lines on stdout; ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import sys
import threading

from aiohttp import web

from paddock.session.proxy.record import Exchange
from paddock.session.proxy.relay import Relay

_LAST_WORDS_S = 2.0


class Teller:
    """Writes lines to stdout from a thread of its own: a window that does not read for a while fills the pipe, and
    whoever writes then waits. Clients' streams must not."""

    def __init__(self) -> None:
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="teller", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        self._lines.put(line)

    def exchange(self, exchange: Exchange) -> None:
        # As it is now: it goes on changing.
        self.say(exchange.as_json())

    def close(self) -> None:
        """What is still to be said is said, if anybody listens."""
        self._lines.put(None)
        self._thread.join(_LAST_WORDS_S)

    def _write(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
        except OSError:
            return  # nobody listens any more; our stdin ends too


async def _serve(upstream: str, port: int, keep_texts: bool, first: int) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end(*_: object) -> None:
        loop.call_soon_threadsafe(over.set)

    def wait_for_parent() -> None:
        sys.stdin.buffer.read()
        end()

    # Ctrl-C in a terminal reaches us too, but it is our Paddock that decides; it closes our stdin.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    teller = Teller()
    relay = Relay(upstream, teller.exchange, keep_texts=keep_texts, first=first)
    runner = web.AppRunner(relay.app(), handler_cancellation=True, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, shutdown_timeout=1.0)
    try:
        await site.start()
    except OSError as error:
        teller.say(json.dumps({"failed": os.strerror(error.errno) if error.errno else str(error)}))
        await runner.cleanup()
        teller.close()
        return
    address = runner.addresses[0]
    teller.say(json.dumps({"listening": address[1]}))
    threading.Thread(target=wait_for_parent, daemon=True).start()
    await over.wait()
    await runner.cleanup()
    teller.close()


def _first(words: list[str]) -> int:
    return next((int(word.removeprefix("from=")) for word in words if word.startswith("from=")), 1)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), "texts" in sys.argv[3:], _first(sys.argv[3:])))
    # A teller that nobody listens to, or a parent's stdin that stays open after SIGTERM, must not keep us.
    os._exit(0)
