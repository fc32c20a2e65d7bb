"""The page: figures, plots, tables, put into one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from paddock import __version__
from paddock.report import clients
from paddock.report.model import SessionData
from paddock.report.plots import compare_plot, session_plots, spread_plot
from paddock.report.words import in_words
from paddock.text import Text, language
from paddock.units import bytes_text, count_text, number_text, percent_text, rate_text, seconds_text

_FIGURES = (("generation_per_s", rate_text), ("prompt_per_s", rate_text), ("ttft_s", seconds_text))


def page(sessions: Sequence[SessionData]) -> str:
    """One HTML text with everything in it: no script, no request to anywhere. One session or several to compare."""
    from jinja2 import Environment

    template = resources.files("paddock.report").joinpath("page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    words = _words()
    title = str(Text("Session {id}", id=sessions[0].id) if len(sessions) == 1 else Text("Sessions compared"))
    return environment.from_string(template).render(
        title=title, language=language(), version=__version__, words=words,
        sessions=[_session(s) for s in sessions], compared=_compared(sessions) if len(sessions) > 1 else None)


def _words() -> dict[str, str]:
    return {key: str(text) for key, text in {
        "command": Text("Command"), "model": Text("Model"), "engine": Text("Engine"), "machine": Text("Machine"),
        "memory": Text("Memory, predicted and allocated"), "plots": Text("Over time"), "clients": Text("Clients"),
        "spread": Text("Generation of each request, tokens/s"),
        "no_clients": Text("No recording proxy stood in front: clients, endpoints, gaps between tokens and the way "
                           "requests ended are not known."), "requests": Text("Requests"),
        "events": Text("Events"), "differs": Text("What differs"), "results": Text("Results"),
        "figure": Text("Each dot is a request, the bar is the median."), "none": Text("No request was answered."),
        "no_plots": Text("No samples were recorded."), "predicted": Text("Predicted"), "allocated": Text("Allocated"),
        "difference": Text("Difference"), "device": Text("Device"),
        "left_out": Text("Keys, user names and prompt texts are not in this report."),
        "made": Text("Made by Paddock {version}.", version=__version__)}.items()}


def _session(s: SessionData) -> dict[str, Any]:
    r = s.record
    return {
        "id": s.id, "model": r.get("model") or "n/a", "state": in_words(r.get("state")),
        "reason": s.shown(r.get("reason") or ""),
        "when": f"{r.get('start') or ''} – {r.get('end') or ''}", "command": " ".join(s.command),
        "figures": _figures(s), "facts": _facts(s), "memory": [_memory(m) for m in s.memory_rows()],
        "marks": " ".join((*(f"#{tag}" for tag in r.get("tags") or ()), s.shown(r.get("note") or ""))).strip(),
        "plots": session_plots(s), "clients": clients.rows(s), "client_heads": clients.heads(),
        "spread": spread_plot(s, "generation_per_s"),
        "requests": [_request(q) for q in s.requests], "request_heads": _request_heads(),
        "events": [(seconds_text(e.get("t")), in_words(e.get("kind")), s.shown(_event_text(e)))
                   for e in r.get("events") or ()],
    }


def _event_text(event: Mapping[str, Any]) -> str:
    """A finding of the detectors carries its proof and its remedy."""
    data = event.get("data") or {}
    told = in_words(event.get("text")) if event.get("kind") == "state" else event.get("text")
    parts = (told, data.get("proof"), data.get("fix")) if "proof" in data else (told,)
    return " ".join(str(part) for part in parts if part)


def _figures(s: SessionData) -> list[tuple[str, str, str]]:
    """(label, figure, note)."""
    of = str(Text("median of {count} requests", count=len(s.requests)))
    return [
        (str(Text("Generation")), rate_text(s.median("generation_per_s")), of),
        (str(Text("Prompt")), rate_text(s.median("prompt_per_s")), str(Text("full prompts only"))),
        (str(Text("Time to first token")), seconds_text(s.median("ttft_s")), of),
        (str(Text("Generated")), count_text(s.generated), str(Text("tokens"))),
    ]


def _facts(s: SessionData) -> list[tuple[str, list[tuple[str, str]]]]:
    """Model, engine and machine as (title, rows)."""
    r = s.record
    model, engine, machine = (r.get(k) or {} for k in ("model_facts", "engine_facts", "machine"))
    size = bytes_text(model.get("size"))
    devices = [(d["name"], f"{d.get('description') or ''}, {bytes_text(d.get('total'))}")
               for d in machine.get("devices") or ()]
    blocks: list[tuple[str, list[tuple[str, Any]]]] = [
        (str(Text("Model")), [(str(Text("File")), s.shown(model.get("path") or "")),
                              (str(Text("Architecture")), model.get("architecture")),
                              (str(Text("Quantisation")), model.get("quant")),
                              (str(Text("Size")), size if model.get("size") else None),
                              (str(Text("Identity")), r.get("model_identity"))]),
        (str(Text("Engine")), [(str(Text("Name")), r.get("engine")), (str(Text("Version")), engine.get("version")),
                               (str(Text("Path")), s.shown(engine.get("path") or ""))]),
        (str(Text("Machine")), [(str(Text("System")), machine.get("system")), ("CPU", machine.get("cpu")),
                                ("RAM", bytes_text(machine.get("ram_total"))), *devices]),
    ]
    return [(title, [(k, str(v)) for k, v in rows if v]) for title, rows in blocks]


def _memory(row: Mapping[str, Any]) -> dict[str, str]:
    predicted, allocated = row["predicted"], row["allocated"]
    difference = (allocated - predicted) / predicted if predicted and allocated is not None else None
    return {"name": str(row["name"]), "predicted": bytes_text(predicted), "allocated": bytes_text(allocated),
            "difference": percent_text(difference, 1, signed=True)}


def _request_heads() -> list[str]:
    return [str(t) for t in (Text("Request"), Text("Prompt"), Text("Cached"), Text("Generated"), Text("Prompt t/s"),
                             Text("Generation t/s"), Text("First token"), Text("Status"))]


def _request(q: Mapping[str, Any]) -> list[str]:
    return [str(q.get("number")), count_text(q.get("prompt_tokens")), count_text(q.get("cached_tokens")),
            count_text(q.get("generated_tokens")), number_text(q.get("prompt_per_s")),
            number_text(q.get("generation_per_s")), seconds_text(q.get("ttft_s")), str(q.get("status"))]


def _compared(sessions: Sequence[SessionData]) -> dict[str, Any]:
    """Settings that differ beside results that differ."""
    results = [(label, [form(s.median(name)) for s in sessions], compare_plot(sessions, name))
               for label, name, form in zip(
                   (str(Text("Generation")), str(Text("Prompt")), str(Text("Time to first token"))),
                   (n for n, _ in _FIGURES), (f for _, f in _FIGURES), strict=True)]
    return {"heads": [f"#{s.id}" for s in sessions], "differs": _differs(sessions), "results": results}


def _differs(sessions: Sequence[SessionData]) -> list[tuple[str, list[str]]]:
    """Flags (with the words after them), engine and model that are not the same in all."""
    told = [_settings(s) for s in sessions]
    names = dict.fromkeys(name for row in told for name in row)
    rows = [(name, [row.get(name, "–") for row in told]) for name in names]
    return [(name, values) for name, values in rows if len(set(values)) > 1]


def _settings(s: SessionData) -> dict[str, str]:
    out = {str(Text("Model")): str(s.record.get("model")), str(Text("Engine")): str(s.record.get("engine"))}
    name = None
    for word in s.command:
        if word.startswith("-") and not word[1:2].isdigit():
            name = word
            out.setdefault(name, "")
        elif name is not None:
            out[name] = f"{out[name]} {word}".strip()
    return {k: v or str(Text("on")) for k, v in out.items() if k not in ("--port", "--host")}
