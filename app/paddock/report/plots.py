"""The plots of a report as SVG text. matplotlib is imported here, when a report is made, and nowhere at start."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paddock.report.model import Floats, SessionData
from paddock.text import Text
from paddock.units import GIB

# Readable on white and on dark alike; each line has a dash of its own besides.
COLOURS = ("#4477cc", "#c9751f", "#8a5cc2", "#2f9c8f", "#b8477f", "#7d848d")
DASHES = ("-", (0, (5, 3)), (0, (1, 3)), (0, (7, 2, 1.5, 2)), (0, (10, 4)), (0, (3, 2)))
INK = "#808690"


@dataclass(frozen=True)
class Line:
    """One curve: its name, the session, the column and a factor."""

    label: str
    column: str
    scale: float = 1.0


def session_plots(session: SessionData) -> list[tuple[str, str]]:
    """(title, SVG) of everything that was recorded, in the order of the Run page; nothing for what was not."""
    devices = sorted({n.split(".")[0] for n in session.series if n.endswith(".process_bytes")})
    memory = [Line(d, f"{d}.process_bytes", 1 / GIB) for d in devices]
    memory.append(Line(str(Text("RAM")), "process_rss_bytes", 1 / GIB))
    load = [Line(d, f"{d}.utilisation_pct") for d in devices] + [Line("CPU", "cpu_pct")]
    slots = sorted({int(n.split(".")[1]) for n in session.series if re.fullmatch(r"slot\.\d+\.context_used", n)})
    wanted = [
        (str(Text("Generation, tokens/s")), [Line(str(Text("Generation")), "generation_per_s")]),
        (str(Text("Prompt, tokens/s")), [Line(str(Text("Prompt")), "prompt_per_s")]),
        (str(Text("Context, tokens")),
         [Line(str(Text("Slot {id}", id=i)), f"slot.{i}.context_used") for i in slots[:6]]),
        (str(Text("Memory of the server, GiB")), memory),
        (str(Text("Load, %")), load),
    ]
    out = []
    for title, lines in wanted:
        told = [line for line in lines if _told(session.series.get(line.column))]
        if told:
            out.append((title, time_plot(session.series, told, session)))
    return out


def _told(values: Floats | None) -> bool:
    return values is not None and any(v is not None for v in values)


def time_plot(series: Mapping[str, Floats], lines: Sequence[Line], session: SessionData | None = None) -> str:
    """Lines over the session's seconds; gaps stay gaps. With the session's marks, where it is given."""
    figure, axes = _figure(9.0, 1.9)
    t = series["t"]
    for i, line in enumerate(lines):
        values = [float("nan") if v is None else v * line.scale for v in series[line.column]]
        axes.plot(t, values, color=COLOURS[i % 6], linestyle=DASHES[i % 6], linewidth=1.1, label=line.label)
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    if session is not None:
        _marks(axes, session)
    axes.xaxis.set_major_formatter(lambda x, _pos: f"{int(x) // 60}:{int(x) % 60:02d}")
    if len(lines) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.05), frameon=False, labelcolor=INK, fontsize=8)
    return _svg(figure)


def spread_plot(session: SessionData, name: str) -> str | None:
    """A histogram of the finished requests' figures, the median as a line; None with fewer than five."""
    values = [float(r[name]) for r in session.requests if r.get("status") == "done" and r.get(name) is not None]
    if len(values) < 5:
        return None
    figure, axes = _figure(9.0, 1.6)
    axes.hist(values, bins=min(30, max(5, len(values) // 3)), color=COLOURS[0], edgecolor=COLOURS[0], alpha=0.75)
    axes.axvline(session.median(name), color=INK, linestyle="--", linewidth=1.2)
    axes.yaxis.get_major_locator().set_params(integer=True)
    return _svg(figure)


def _marks(axes: Any, session: SessionData) -> None:
    """Events that a person or a detector set, as fine lines."""
    for event in session.record.get("events") or ():
        if event.get("kind") in ("mark", "finding") and event.get("t") is not None:
            axes.axvline(event["t"], color=INK, linestyle=":", linewidth=0.9)


def compare_plot(sessions: Sequence[SessionData], name: str) -> str | None:
    """Every request's figure, session beside session, with the median as a bar; None where nobody tells it."""
    groups = [[float(r[name]) for r in s.requests if r.get("status") == "done" and r.get(name) is not None]
              for s in sessions]
    if not any(groups):
        return None
    figure, axes = _figure(9.0, 0.6 + 0.4 * len(groups))
    for i, values in enumerate(groups):
        axes.plot(values, [i] * len(values), "o", color=COLOURS[i % 6], markersize=4, alpha=0.55)
        median = sessions[i].median(name)
        if median is not None:
            axes.plot([median, median], [i - 0.3, i + 0.3], color=COLOURS[i % 6], linewidth=2.5)
    axes.set_yticks(range(len(groups)), [f"#{s.id}" for s in sessions])
    axes.set_ylim(len(groups) - 0.5, -0.5)
    axes.set_xlim(left=0)
    return _svg(figure)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.tick_params(colors=INK, labelsize=8)
    axes.grid(visible=True, color=INK, alpha=0.2, linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    return figure, axes


def _svg(figure: Any) -> str:
    """SVG without a background and without the date, so that the same data give the same bytes."""
    import matplotlib as mpl

    out = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "paddock", "font.family": "sans-serif"}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg"):]
