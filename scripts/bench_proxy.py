"""What the recording proxy adds: latency of small requests, and throughput of eight parallel streams.

An upstream in a process of its own answers small requests at once and streams 10 ms tokens. Direct and proxied requests
alternate. Ends within 45 s. The last line is JSON:

    added_latency_ms_median (+ _ci_low, _ci_high: 95 %, bootstrap), throughput_loss_pct (8 streams), requests, streams,
    first_byte_to_curl_ms_median and _most (curl's time_starttransfer less the recorded first byte; where curl is there)
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import shutil
import statistics
import subprocess
import sys
import time

import aiohttp
import numpy as np
from aiohttp import web

from paddock.session.proxy import Exchange, RecordingProxy

REQUESTS, STREAMS, TOKENS, TOKEN_S, ROUNDS, CURLED = 400, 8, 150, 0.01, 4, 8


def upstream() -> None:
    """The other process: prints its port, then serves until it is killed."""
    async def small(_request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for i in range(TOKENS):
            await asyncio.sleep(TOKEN_S)
            delta = {"choices": [{"delta": {"content": f"token {i} "}}], "model": "m"}
            await response.write(b"data: " + json.dumps(delta).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response

    async def serve() -> None:
        app = web.Application()
        app.router.add_get("/health", small)
        app.router.add_post("/v1/chat/completions", stream)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


async def latency(session: aiohttp.ClientSession, url: str) -> float:
    start = time.perf_counter()
    async with session.get(f"{url}/health") as answer:
        await answer.read()
    return time.perf_counter() - start


async def one_stream(session: aiohttp.ClientSession, url: str) -> None:
    async with session.post(f"{url}/v1/chat/completions", json={"stream": True}) as answer:
        async for _ in answer.content.iter_any():
            pass


async def streams(session: aiohttp.ClientSession, url: str) -> float:
    """Tokens per second of all streams together."""
    start = time.perf_counter()
    await asyncio.gather(*(one_stream(session, url) for _ in range(STREAMS)))
    return STREAMS * TOKENS / (time.perf_counter() - start)


async def measure(direct: str, proxied: str) -> dict[str, float]:
    async with aiohttp.ClientSession() as session:
        for url in (direct, proxied):
            for _ in range(20):
                await latency(session, url)
        added = []
        for i in range(REQUESTS):
            first, second = (direct, proxied) if i % 2 else (proxied, direct)
            took = {first: await latency(session, first), second: await latency(session, second)}
            added.append(1e3 * (took[proxied] - took[direct]))
        losses = []
        for i in range(ROUNDS):
            order = (direct, proxied) if i % 2 else (proxied, direct)
            speed = {url: await streams(session, url) for url in order}
            losses.append(100 * (1 - speed[proxied] / speed[direct]))
            print(f"{STREAMS} streams: direct {speed[direct]:.1f}, proxied {speed[proxied]:.1f} tokens/s", flush=True)
    draws = np.random.default_rng(1).choice(added, (2000, len(added)))
    low, high = np.percentile(np.median(draws, axis=1), (2.5, 97.5))
    return {"added_latency_ms_median": round(statistics.median(added), 3),
            "added_latency_ms_median_ci_low": round(low, 3),
            "added_latency_ms_median_ci_high": round(high, 3),
            "throughput_loss_pct": round(statistics.median(losses), 2), "requests": REQUESTS, "streams": STREAMS}


def first_bytes(url: str, told: queue.Queue[Exchange]) -> list[float]:
    """curl's time to the first byte (from its own start, connecting included) less ours, milliseconds, request by
    request."""
    out = []
    for _ in range(CURLED):
        done = subprocess.run(["curl", "-s", "-o", os.devnull, "-w", "%{time_starttransfer}", "-d", '{"stream": true}',
                               f"{url}/v1/chat/completions"], capture_output=True, text=True, check=True)
        while (exchange := told.get(timeout=30)).outcome == "active" or "curl" not in (exchange.user_agent or ""):
            pass
        assert exchange.first_byte_s is not None
        out.append(1e3 * (float(done.stdout) - exchange.first_byte_s))
    return out


def main() -> int:
    if "--upstream" in sys.argv:
        upstream()
        return 0
    print(__doc__)
    with subprocess.Popen([sys.executable, __file__, "--upstream"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        direct = f"http://127.0.0.1:{int(server.stdout.readline())}"
        told: queue.Queue[Exchange] = queue.Queue()
        proxy = RecordingProxy(direct, told.put)
        proxy.start()
        try:
            figures = asyncio.run(measure(direct, proxy.url))
            if shutil.which("curl"):
                differences = sorted(first_bytes(proxy.url, told))
                figures["first_byte_to_curl_ms_median"] = round(statistics.median(differences), 2)
                figures["first_byte_to_curl_ms_most"] = round(max(map(abs, differences)), 2)
            print(json.dumps(figures))
        finally:
            proxy.stop()
            server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
