"""What watching costs: generation speed with the window open and visible, against the server alone.

One server (sample model, one thread) launched by the real window, its Run page in sight and sampling. It streams one
long answer after another; in turns of 1.6 s the window works and is stopped whole (SIGSTOP, so that the server runs
alone), in the order work, stop, stop, work. Tokens are stamped as they come, and each turn's tokens/s are compared
with those of its neighbour; what comes in the first 0.6 s of a turn is left out, since a window that was stopped has
a backlog that one left alone has not (in turns of 0.8 s it used half as much processor time again). The loss is the
Hodges-Lehmann estimate over the pairs (a neighbour on the machine spoils some pairs, not the figure), its 95 % interval
is that of the signed-rank test. The window's CPU time is read at the end with nothing stopped, visible and then
minimised. Ends within 45 s; --long takes five minutes. The last line is JSON:

    generation_loss_pct (+ _ci_low, _ci_high), window_cpu_pct, minimised_cpu_pct (of one core, while the server
    generates), pairs, alone_per_s_median
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

import psutil

TURN_S, SETTLE_S, CPU_S = 1.6, 0.6, 5.0
SHORT_S, LONG_S = 26.0, 270.0
MOST_S = 2 * LONG_S


def window(data: str) -> None:
    """The other process: the real window, launching the sample, then running until it is killed."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from paddock.desktop.demo import Stage, find_sample
    from paddock.server.model import State
    from paddock.text import Text
    from paddock.work import Workspace

    app = QApplication(["paddock"])
    workspace = Workspace(data)
    stage = Stage(app, workspace, Path(data), quiet=True)
    desk = stage.desk
    desk.find_engines()
    stage.wait(lambda: desk.engines is not None and desk.machine is not None, 60, Text("no engine"))
    desk.open_model(find_sample(workspace))
    stage.wait(lambda: desk.preview is not None, 60, Text("no estimate"))
    for option, value in (("threads", 1), ("ctx-size", 8192), ("cache-ram", 0)):
        desk.set(option, value)
    stage.wait(lambda: desk.preview is not None and desk.preview.plan == desk.plan, 60, Text("no estimate"))
    desk.launch()
    stage.wait(lambda: desk.run is not None and desk.run.state is State.READY, 120, Text("not ready"))
    stage.window.show_page("run")
    assert desk.run is not None
    threading.Thread(target=obey, args=(sys.stdin, stage.window), daemon=True, name="orders").start()
    print(json.dumps({"url": desk.run.url, "server": desk.run.pid}), flush=True)
    QTimer.singleShot(int(1000 * MOST_S), app.quit)
    app.exec()


def obey(orders: IO[str], shown: object) -> None:
    """Minimise, at each line."""
    from PySide6.QtCore import QMetaObject, Qt

    for _ in orders:
        QMetaObject.invokeMethod(shown, "showMinimized", Qt.ConnectionType.QueuedConnection)


BODY = {"prompt": "Once upon a time", "n_predict": 1000, "ignore_eos": True, "cache_prompt": False, "seed": 1,
        "temperature": 0, "stream": True}


class Stream:
    """One long answer after another, each token stamped when it came."""

    def __init__(self, url: str) -> None:
        self._address = url.removeprefix("http://")
        self.stamps: list[float] = []
        threading.Thread(target=self._read, name="client", daemon=True).start()

    def _read(self) -> None:
        while True:
            connection = http.client.HTTPConnection(self._address, timeout=60)
            connection.request("POST", "/completion", json.dumps(BODY), {"Content-Type": "application/json"})
            with connection.getresponse() as answer:
                for line in answer:
                    if line.startswith(b"data"):
                        self.stamps.append(time.monotonic())

    def per_s(self, start: float, end: float) -> float | None:
        """Tokens/s between two moments; None where an answer ended or began, or where too few came."""
        inside = [t for t in self.stamps[-4000:] if start <= t <= end]
        gaps = [after - before for before, after in itertools.pairwise(inside)]
        if len(gaps) < 5 or max(gaps) > 8 * statistics.median(gaps):
            return None
        return len(gaps) / (inside[-1] - inside[0])


def turn(shown: psutil.Process, stream: Stream, watched: bool) -> float | None:
    """Tokens/s of one turn, the window working or stopped."""
    if watched:
        shown.resume()
    else:
        shown.suspend()
    time.sleep(SETTLE_S)
    start = time.monotonic()
    time.sleep(TURN_S - SETTLE_S)
    return stream.per_s(start, time.monotonic())


def measure(shown: psutil.Process, stream: Stream, seconds: float) -> list[tuple[float, float]]:
    """Pairs (watched, alone) of tokens/s."""
    pairs: list[tuple[float, float]] = []
    end = time.monotonic() + seconds
    try:
        for first in itertools.cycle((True, False)):
            if time.monotonic() >= end:
                break
            speed = {watched: turn(shown, stream, watched) for watched in (first, not first)}
            watched_per_s, alone_per_s = speed[True], speed[False]
            if watched_per_s is not None and alone_per_s is not None:
                pairs.append((watched_per_s, alone_per_s))
    finally:
        shown.resume()
    return pairs


def cpu_pct(shown: psutil.Process) -> float:
    """Of one core, all threads of the window's process, over `CPU_S`."""
    time.sleep(1)
    before, start = sum(shown.cpu_times()[:2]), time.monotonic()
    time.sleep(CPU_S)
    return 100 * (sum(shown.cpu_times()[:2]) - before) / (time.monotonic() - start)


def estimate(losses: list[float]) -> tuple[float, float, float]:
    """Hodges-Lehmann estimate and its 95 % interval (Walsh averages, normal approximation of the signed ranks)."""
    n = len(losses)
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(losses, 2))
    cut = max(0, int(n * (n + 1) / 4 - 1.96 * (n * (n + 1) * (2 * n + 1) / 24) ** 0.5))
    return statistics.median(walsh), walsh[cut], walsh[len(walsh) - 1 - cut]


def main() -> int:
    if "--window" in sys.argv:
        window(sys.argv[sys.argv.index("--window") + 1])
        return 0
    print(__doc__)
    env = {**os.environ, "QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM", "offscreen")}
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, __file__, "--window", data]
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdin is not None
            server = None
            try:
                said = json.loads(child.stdout.readline() or "null")
                if said is None:
                    print("the window did not start a server")
                    return 1
                server, shown = psutil.Process(said["server"]), psutil.Process(child.pid)
                stream = Stream(said["url"])
                time.sleep(2)  # warm-up, not counted
                pairs = measure(shown, stream, LONG_S if "--long" in sys.argv else SHORT_S)
                visible = cpu_pct(shown)
                child.stdin.write("minimise\n")
                child.stdin.flush()
                minimised = cpu_pct(shown)
            finally:
                child.kill()
                if server is not None:
                    server.kill()
    loss, low, high = estimate([100 * (1 - watched / alone) for watched, alone in pairs])
    print(json.dumps({"generation_loss_pct": round(loss, 2), "generation_loss_pct_ci_low": round(low, 2),
                      "generation_loss_pct_ci_high": round(high, 2), "window_cpu_pct": round(visible, 1),
                      "minimised_cpu_pct": round(minimised, 1), "pairs": len(pairs),
                      "alone_per_s_median": round(statistics.median(a for _, a in pairs), 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
