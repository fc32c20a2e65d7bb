"""What watching costs: generation speed with the window open and visible, against the server alone.

One server (sample model, one thread) launched by the real window, its Run page in sight and sampling. Requests
alternate: in one the window works, in the next it is stopped whole (SIGSTOP), so that the server runs alone. The
server's own tokens/s are compared pair by pair. Ends within 45 s; --long takes five minutes. The last line is JSON:

    generation_loss_pct (+ _ci_low, _ci_high: 95 %, paired t), window_cpu_pct (of one core, while it works), pairs
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

TOKENS, SHORT_S, LONG_S = 48, 30.0, 280.0


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
    for option, value in (("threads", 1), ("ctx-size", 4096), ("cache-ram", 0)):
        desk.set(option, value)
    stage.wait(lambda: desk.preview is not None and desk.preview.plan == desk.plan, 60, Text("no estimate"))
    desk.launch()
    stage.wait(lambda: desk.run is not None and desk.run.state is State.READY, 120, Text("not ready"))
    stage.window.show_page("run")
    assert desk.run is not None
    print(json.dumps({"url": desk.run.url, "server": desk.run.pid}), flush=True)
    QTimer.singleShot(int(2000 * LONG_S), app.quit)
    app.exec()


def generation_per_s(url: str) -> float:
    body = {"prompt": "Once upon a time", "n_predict": TOKENS, "ignore_eos": True, "cache_prompt": False, "seed": 1,
            "temperature": 0}
    kind = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/completion", json.dumps(body).encode(), kind)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return float(json.loads(answer.read())["timings"]["predicted_per_second"])


def measure(shown: psutil.Process, url: str, seconds: float) -> tuple[list[tuple[float, float]], float]:
    """Pairs (watched, alone) of tokens/s in alternating order, and the window's CPU in percent of a core."""
    pairs: list[tuple[float, float]] = []
    cpu_s = wall_s = 0.0
    end = time.monotonic() + seconds
    generation_per_s(url)  # warm-up, not counted
    while time.monotonic() < end or len(pairs) < 3:
        speed = {}
        for watched in (True, False) if len(pairs) % 2 == 0 else (False, True):
            if not watched:
                shown.suspend()
            before, start = sum(shown.cpu_times()[:2]), time.monotonic()
            try:
                speed[watched] = generation_per_s(url)
            finally:
                shown.resume()
            if watched:
                cpu_s += sum(shown.cpu_times()[:2]) - before
                wall_s += time.monotonic() - start
        pairs.append((speed[True], speed[False]))
        print(f"pair {len(pairs)}: watched {speed[True]:.2f}, alone {speed[False]:.2f} tokens/s", flush=True)
    return pairs, 100 * cpu_s / wall_s


def main() -> int:
    if "--window" in sys.argv:
        window(sys.argv[sys.argv.index("--window") + 1])
        return 0
    print(__doc__)
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, __file__, "--window", data]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            try:
                said = json.loads(child.stdout.readline() or "null")
                if said is None:
                    print("the window did not start a server")
                    return 1
                seconds = LONG_S if "--long" in sys.argv else SHORT_S
                pairs, cpu = measure(psutil.Process(child.pid), said["url"], seconds)
            finally:
                child.send_signal(signal.SIGCONT)
                child.kill()
    from scipy import stats

    losses = [100 * (1 - watched / alone) for watched, alone in pairs]
    mean, error = statistics.mean(losses), statistics.stdev(losses) / len(losses) ** 0.5
    half = error * float(stats.t.ppf(0.975, len(losses) - 1))
    print(json.dumps({"generation_loss_pct": round(mean, 2), "generation_loss_pct_ci_low": round(mean - half, 2),
                      "generation_loss_pct_ci_high": round(mean + half, 2), "window_cpu_pct": round(cpu, 1),
                      "pairs": len(pairs), "alone_per_s_median": round(statistics.median(a for _, a in pairs), 2)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
