"""What the window costs to look at: redraws of a day of samples, a flood of log lines, the first picture.

24 hours at 5 Hz (invented, two cards, four slots, a thousand requests, a mark every hour) stand on all plots; then new
samples come, and each time from the frame to the last painted pixel is taken. A million log lines come from a child
process through the real supervisor into the Run page, while a 5 ms timer looks for gaps in the event loop; the log
file's lines are counted. First paint is from the start of the process to the first painted window (warm: the second
start counts). Offscreen. The last line is JSON:

    redraw_ms_median, redraw_ms_p95 (drawn whole), frame_ms_p95, frame_ms_worst (what a new sample costs on the Run
    page, which draws a day anew only when the picture can change), redraw_rss_growth_mb, rss_mb (the whole process
    with the day on the plots), flood_lines, flood_s, flood_gap_ms_max, flood_gap_ms_p99, flood_lines_in_file,
    first_paint_ms, qt_ratio (first paint over a bare QtWidgets window in the same kind of process)
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SUPPORT = ROOT / "tests" / "support"
sys.path[:0] = [str(ROOT / "app"), str(SUPPORT)]
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

HOURS, HZ, DEVICES, SLOTS = 24, 5, ("CUDA0", "CUDA1"), 4
REDRAWS, LINES, REQUESTS = 120, 1_000_000, 1_000


def day() -> Any:
    """A series of a day at 5 Hz: everything that the plots draw."""
    import numpy as np

    from paddock.session import Series

    count = HOURS * 3600 * HZ
    t = np.arange(count) / HZ
    rng = np.random.default_rng(3)

    def noisy(level: float, spread: float) -> Any:
        return (level + spread * rng.standard_normal(count)).astype(np.float32)

    busy = (t % 90) < 60
    columns = {"generation_per_s": np.where(busy, noisy(45, 2), 0),
               "prompt_per_s": np.where(busy, np.nan, noisy(580, 9)),
               "context_used": noisy(9000, 400), "requests_processing": busy * 2.0, "acceptance": noisy(0.7, 0.05),
               "cpu_pct": noisy(60, 8), "ram_used_bytes": noisy(2e10, 1e8), "process_rss_bytes": noisy(5e9, 1e7),
               "ram_available_bytes": noisy(4e10, 1e8), "swap_used_bytes": noisy(0, 0), "process_cpu_pct": noisy(90, 5)}
    for device in DEVICES:
        for name, level in (("used_bytes", 1.7e10), ("process_bytes", 1.6e10), ("utilisation_pct", 60.0),
                            ("sm_clock_mhz", 2600.0), ("power_w", 280.0), ("temperature_c", 66.0)):
            columns[f"{device}.{name}"] = noisy(level, level / 100)
    for slot in range(SLOTS):
        columns[f"slot.{slot}.context_used"] = noisy(2200, 50)
        columns[f"slot.{slot}.context_limit"] = noisy(8192, 0)
        columns[f"slot.{slot}.phase"] = np.where(busy, 2.0, 0.0)
        columns[f"slot.{slot}.generation_per_s"] = noisy(12, 1)
        columns[f"slot.{slot}.task"] = np.floor(t / 90)
    return Series.of(t, columns)


def requests_of_the_day() -> tuple[Any, ...]:
    """As many finished requests as a recorder keeps, on all slots."""
    from paddock.session.model import Request

    each = HOURS * 3600.0 / REQUESTS
    return tuple(Request(n + 1, n, n % SLOTS, n * each, n * each + 60.0, n * each + 1.5, status="done")
                 for n in range(REQUESTS))


def events_of_the_day() -> tuple[Any, ...]:
    from paddock.session.model import Event

    return tuple(Event(hour * 3600.0, "mark", f"Hour {hour}") for hour in range(HOURS))


def settle(app: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        app.processEvents()
        time.sleep(0.002)


def give_back() -> None:
    """What inventing the day took beside the day itself goes back to the system: it is no part of what is measured."""
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)


def redraws(app: Any) -> dict[str, float]:
    """Milliseconds from a new frame to its last painted pixel, everything in sight ("All")."""
    import psutil

    from paddock.desktop.plots import Frame, PlotStack, Setup

    stack = PlotStack()
    stack.resize(1040, 560)
    stack.show()
    series = day()
    row, requests = {name: series.last(name) for name in series.names}, requests_of_the_day()
    events = events_of_the_day()
    stack.configure(Setup(DEVICES, SLOTS, 32768.0, {"CUDA0": 1.6e10}))
    stack.set_span(None)
    now = HOURS * 3600.0
    stack.set_frame(Frame(series, requests, events, now))
    settle(app, 0.5)
    gc.collect()
    give_back()
    process = psutil.Process()
    before = process.memory_info().rss
    took = []
    for _ in range(REDRAWS):
        now += 1 / HZ
        series.append(now, row)
        start = time.perf_counter()
        stack.set_frame(Frame(series, requests, events, now), labels=False)
        app.processEvents()  # the updates that were asked for are painted here, each once
        took.append(1e3 * (time.perf_counter() - start))
    taken = []
    for _ in range(REDRAWS):  # as the Run page does it: what cannot move the picture is not drawn
        now += 1 / HZ
        series.append(now, row)
        start = time.perf_counter()
        stack.take(Frame(series, requests, events, now))
        app.processEvents()
        taken.append(1e3 * (time.perf_counter() - start))
    took.sort()
    taken.sort()
    rss = process.memory_info().rss
    print(f"redraw: median {statistics.median(took):.2f} ms, series {series.bytes / 1e6:.0f} MB", flush=True)
    stack.close()
    return {"redraw_ms_median": round(statistics.median(took), 2), "redraw_ms_p95": round(took[int(0.95 * REDRAWS)], 2),
            "frame_ms_p95": round(taken[int(0.95 * REDRAWS)], 2), "frame_ms_worst": round(taken[-1], 2),
            "redraw_rss_growth_mb": round((rss - before) / 1e6, 1), "rss_mb": round(rss / 1e6, 1)}


class Feeder:
    """The supervisor's listener: everything goes to the recorder."""

    def __init__(self, recorder: Any) -> None:
        self.on_line, self.on_state = recorder.on_line, recorder.on_state

    def on_progress(self, *_: object) -> None: ...


def flood(app: Any, folder: Path, lines: int) -> dict[str, float]:
    """A child that prints so many lines as fast as it can, watched by the Run page."""
    import fakedesk as fake
    from PySide6.QtCore import Qt, QTimer

    from paddock.desktop.pages.run import RunPage
    from paddock.desktop.state import Desk
    from paddock.server import ServerSpec, Supervisor
    from paddock.session import Recorder

    log = folder / "flood.log"
    recorder = Recorder()
    run = fake.FakeRun(recorder=recorder, log_path=str(log))  # type: ignore[arg-type]
    desk = Desk(fake.FakeWorkspace(folder, runs=(run,)))  # type: ignore[arg-type]
    desk.run = run  # type: ignore[assignment]
    page = RunPage(desk)
    page.resize(1214, 700)
    page.show()
    settle(app, 0.5)
    gaps: list[float] = []
    last = [time.perf_counter()]

    def tick() -> None:
        now = time.perf_counter()
        gaps.append(1e3 * (now - last[0]))
        last[0] = now

    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(tick)
    argv = (sys.executable, str(SUPPORT / "fakeserver.py"), "--port", "0", "--flood", str(lines))
    spec = ServerSpec(argv=argv, env=dict(os.environ), port=0, log_path=log, log_cap_bytes=1 << 30)
    supervisor = Supervisor(spec, listener=Feeder(recorder))
    start = last[0] = time.perf_counter()
    timer.start(5)
    supervisor.start()
    while recorder.snapshot().log_last < lines and time.perf_counter() - start < 120:
        app.processEvents()
        time.sleep(0.0005)
    took = time.perf_counter() - start
    settle(app, 0.3)
    timer.stop()
    supervisor.stop()
    supervisor.join(20)
    written = sum(1 for _ in log.open("rb")) if log.exists() else 0
    page.close()
    desk.workspace.runs.clear()
    desk.close()
    print(f"flood: {lines} lines in {took:.1f} s, largest gap {max(gaps):.0f} ms", flush=True)
    return {"flood_lines": lines, "flood_s": round(took, 2), "flood_gap_ms_max": round(max(gaps), 1),
            "flood_gap_ms_p99": round(sorted(gaps)[int(0.99 * len(gaps))], 1), "flood_lines_in_file": written}


WINDOW = """
import sys, time
sys.path.insert(0, {app!r})
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication
class Watch(QObject):
    def eventFilter(self, target, event):
        if event.type() is QEvent.Type.Paint:
            QTimer.singleShot(0, self.say)
        return False
    said = False
    def say(self):
        if not self.said:
            self.said = True
            print("painted", flush=True)
            QApplication.closeAllWindows()
            QApplication.quit()
"""
OURS = WINDOW + """
app = QApplication(["paddock"])
watch = Watch()
from paddock.desktop.app import main
from paddock.desktop.window import MainWindow
show = MainWindow.show
MainWindow.show = lambda window: (window.installEventFilter(watch), show(window))
main(data_dir={data!r})
"""
BARE = WINDOW + """
from PySide6.QtWidgets import QLabel
app = QApplication(["bare"])
watch = Watch()
shown = QLabel("bare")
shown.installEventFilter(watch)
shown.resize(1280, 800)
shown.show()
app.exec()
"""


def first_paint(data: str) -> dict[str, float]:
    """Milliseconds from the start of a process to its first picture, ours and a bare window's in turn."""
    # An installed copy has byte code; a checkout may be told not to write any, which would triple our figure alone.
    written = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    written["PYTHONPYCACHEPREFIX"] = str(Path(data) / "byte-code")
    took: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(6):
        for name, code in (("ours", OURS), ("bare", BARE)):
            start = time.perf_counter()
            with subprocess.Popen([sys.executable, "-c", code.format(app=str(ROOT / "app"), data=data)],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=written) as child:
                assert child.stdout is not None
                said = child.stdout.readline()
                passed = 1e3 * (time.perf_counter() - start)
                child.wait(30)
            if said.strip() == "painted":
                took[name].append(passed)
    ours, bare = (statistics.median(took[name][1:]) for name in ("ours", "bare"))
    print(f"first paint: {ours:.0f} ms, a bare window {bare:.0f} ms", flush=True)
    return {"first_paint_ms": round(ours), "qt_ratio": round(ours / bare, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=LINES, help="log lines of the flood")
    options = parser.parse_args()
    print(__doc__)
    from PySide6.QtWidgets import QApplication

    from paddock.desktop.app import keep_responsive
    from paddock.desktop.theme import theme

    keep_responsive()
    app = QApplication(["bench"])
    theme().use("light")
    with tempfile.TemporaryDirectory() as folder:
        figures: dict[str, float] = first_paint(str(Path(folder) / "data"))
        figures |= redraws(app)
        figures |= flood(app, Path(folder), options.lines)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
