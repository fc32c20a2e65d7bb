"""What the machine does now, per card and for the host, in words and bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paddock.desktop.parts.memory import BarValues, bar_of, measured
from paddock.desktop.plots.scale import clock_text
from paddock.desktop.tr import tr
from paddock.fit.model import Verdict
from paddock.hardware.model import DeviceReading, Reading
from paddock.hardware.telling import throttle_text
from paddock.session.detectors.jumps import Jump
from paddock.text import Text
from paddock.units import MINUS, NA, bytes_text, gib_text, missing, number_text, percent_text

Facts = list[tuple[str, str]]
Why = Mapping[str, Text]
"""`hardware.readings.explain` of one device: field → why its reading is missing; "*" for all."""


@dataclass(frozen=True)
class DeviceShown:
    """One card or the host: its bar, one line about its memory, its readings as (name, value)."""

    name: str
    title: str
    bar: BarValues
    memory: str
    facts: Facts
    cores: tuple[float, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Name of a fact that is n/a → why."""
    untold: str = ""
    """The same in sentences, each reason once."""


def _value(number: float, unit: str, digits: int = 0) -> str:
    return tr("n/a") if missing(number) else f"{number_text(number, digits)} {unit}"


def _rate(number: float) -> str:
    return tr("n/a") if missing(number) else f"{bytes_text(number, 1)}/s"


def card_of(run: Any, reading: DeviceReading, peak: Any, actual: Mapping[str, Any] | None,
            why: Why | None = None) -> DeviceShown:
    """A card: what is ours by parts where the log told them, what others hold, what is free, the peak so far. `why`:
    None where it was not asked (yet)."""
    device = next((d for d in run.preview.machine.devices if d.name == reading.device), None)
    estimate = run.preview.estimate.device(reading.device) if run.preview.estimate is not None else None
    total = _total(reading, device)
    ours, used = reading.process_bytes, reading.used_bytes
    if estimate is not None and actual:
        terms = measured(bar_of(estimate), actual).terms
    else:
        terms = ()
    held = sum(size for _, size in terms)
    if not missing(ours) and terms and ours > held:
        # What the driver counts and no buffer of the log explains is the backend's own.
        terms = (*terms, ("overhead", int(ours - held)))
    elif not missing(ours):
        terms = (("weights", int(ours)),) if ours else ()
    other = None if missing(used) or missing(ours) else max(0, int(used - ours))
    bar = BarValues(reading.device, terms, other, None if total is None else int(total),
                    verdict=Verdict.FITS, unknown="" if total else tr("its memory is not told"))
    title = device.description if device is not None else ""
    facts = _card_facts(reading)
    reasons = _reasons(facts, missing(ours), why) if why is not None else {}
    return DeviceShown(reading.device, title, bar, _memory_words(reading, total, peak), facts, reasons=reasons,
                       untold=_untold(reasons))


def _reasons(facts: Facts, memory_untold: bool, why: Why) -> dict[str, str]:
    fields = {tr("GPU load"): "load", tr("Memory load"): "memory_load", tr("Clock"): "clocks",
              tr("Memory clock"): "clocks", tr("Power"): "power", tr("Temperature"): "temperature",
              tr("Clocks held by"): "throttle", tr("PCIe link"): "link", tr("PCIe in"): "pcie", tr("PCIe out"): "pcie"}
    lacking = [(name, fields[name]) for name, value in facts if value in (NA, tr("n/a"))]
    if memory_untold:
        lacking.append((tr("This server’s memory"), "processes"))
    nobody = Text("The driver does not tell it for this card.")
    return {name: str(why.get(key) or why.get("*") or nobody) for name, key in lacking}


def _untold(reasons: Mapping[str, str]) -> str:
    """One line a reason: "Power, Temperature: the driver …"."""
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(name)
    return "\n".join(tr("{names}: n/a. {reason}", names=", ".join(group), reason=reason)
                     for reason, group in names.items())


def _total(reading: DeviceReading, device: Any) -> float | None:
    if not missing(reading.used_bytes) and not missing(reading.free_bytes):
        return reading.used_bytes + reading.free_bytes
    return device.total_bytes if device is not None else None


def _memory_words(reading: DeviceReading, total: float | None, peak: Any) -> str:
    ours = reading.process_bytes
    parts = [_ours_words(reading)]
    if not missing(ours) and not missing(reading.used_bytes):
        parts.append(tr("others {size}", size=gib_text(max(0.0, reading.used_bytes - ours))))
    elif not missing(reading.used_bytes):
        parts.append(tr("all programs {size}", size=gib_text(reading.used_bytes)))
    if not missing(reading.free_bytes):
        parts.append(tr("free {size}", size=gib_text(reading.free_bytes)))
    said = ", ".join(parts)
    if total is not None:
        said = tr("{parts} of {total} GiB", parts=said, total=gib_text(total))
    top = peak.process_bytes if peak is not None else None
    if not missing(top):
        said = tr("{memory}; peak {peak}", memory=said, peak=gib_text(top))
    if not missing(reading.shared_used_bytes) and reading.shared_used_bytes > 0:
        said = tr("{memory}; {size} of RAM borrowed", memory=said, size=gib_text(reading.shared_used_bytes))
    return said


def _ours_words(reading: DeviceReading) -> str:
    ours = reading.process_bytes
    if missing(ours):
        return tr("this server: not told")
    if reading.process_assumed:
        return tr("this server about {size} (what the card’s use grew by since the launch)", size=gib_text(ours))
    return tr("this server {size}", size=gib_text(ours))


def _card_facts(r: DeviceReading) -> Facts:
    link = tr("n/a")
    if not missing(r.pcie_generation) and not missing(r.pcie_width):
        link = tr("gen {generation} × {lanes}", generation=number_text(r.pcie_generation, 0),
                  lanes=number_text(r.pcie_width, 0))
    return [(tr("GPU load"), _value(r.utilisation_pct, "%")),
            (tr("Memory load"), _value(r.memory_utilisation_pct, "%")),
            (tr("Clock"), _value(r.sm_clock_mhz, "MHz")), (tr("Memory clock"), _value(r.memory_clock_mhz, "MHz")),
            (tr("Power"), _value(r.power_w, "W")), (tr("Temperature"), _value(r.temperature_c, "°C")),
            (tr("Clocks held by"), throttle_words(r.throttle)), (tr("PCIe link"), link),
            (tr("PCIe in"), _rate(r.pcie_rx_bytes_per_s)), (tr("PCIe out"), _rate(r.pcie_tx_bytes_per_s))]


def throttle_words(reasons: tuple[str, ...] | None) -> str:
    """The driver's reasons for lowered clocks in words."""
    return throttle_text(reasons)


def host_of(run: Any, reading: Reading, peak: Any) -> DeviceShown:
    """Processor and RAM."""
    total = reading.ram_used_bytes + reading.ram_available_bytes
    ours = reading.process_rss_bytes
    known = not missing(ours)
    other = max(0, int(reading.ram_used_bytes - ours)) if known and not missing(reading.ram_used_bytes) else None
    bar = BarValues("Host", (("weights", int(ours)),) if known and ours else (), other,
                    None if missing(total) else int(total), verdict=Verdict.FITS)
    words = [tr("this server {size}", size=gib_text(ours)) if known else tr("this server: not told"),
             tr("others {size}", size=gib_text(other)) if other is not None else "",
             tr("available {size}", size=gib_text(reading.ram_available_bytes))]
    memory = tr("{parts} of {total} GiB", parts=", ".join(w for w in words if w), total=gib_text(total))
    if peak is not None and not missing(peak.process_bytes):
        memory = tr("{memory}; peak {peak}", memory=memory, peak=gib_text(peak.process_bytes))
    pressure = reading.pressure
    return DeviceShown(tr("Host, RAM"), run.preview.machine.cpu_name or "", bar, memory, _host_facts(reading),
                       pressure.cores_pct if pressure is not None else ())


def _host_facts(reading: Reading) -> Facts:
    p = reading.pressure
    cores = tr("n/a") if missing(reading.process_cpu_pct) else tr(
        "{cores} cores", cores=number_text(reading.process_cpu_pct / 100))
    rows: Facts = [(tr("CPU load"), _value(reading.cpu_pct, "%")), (tr("This server"), cores),
                   (tr("Swap, all"), tr("n/a") if missing(reading.swap_used_bytes) else
                    bytes_text(reading.swap_used_bytes))]
    if p is None:
        return rows
    swapped = tr("n/a") if missing(p.process_swap_bytes) else bytes_text(p.process_swap_bytes)
    cached = tr("n/a") if missing(p.model_cached) else tr("≈ {percent}", percent=percent_text(p.model_cached))
    return [*rows, (tr("Swap, server"), swapped),
            (tr("Runnable threads"), _value(p.run_queue, "").strip()),
            (tr("Stolen (steal)"), _value(p.steal_pct, "%")), (tr("Model in cache"), cached),
            (tr("Server reads"), _rate(p.process_read_bytes_per_s)),
            (tr("Page waits"), tr("n/a") if missing(p.process_faults_per_s) else
             tr("{faults}/s", faults=number_text(p.process_faults_per_s, 0))),
            (tr("Disks read"), _rate(p.disk_read_bytes_per_s))]


def jump_words(jumps: Sequence[Jump], most: int = 5) -> str:
    """The newest steps of memory, one a line."""
    lines = []
    for jump in reversed(jumps[-most:]):
        sign = "+" if jump.bytes > 0 else MINUS
        size = f"{sign}{bytes_text(abs(jump.bytes))}"
        name = tr("RAM") if jump.device == "Host" else jump.device
        cause = tr("no single request")
        if jump.request is not None:
            cause = tr("request {number}", number=str(jump.request))
        lines.append(tr("{time}  {device} {size}, {cause}", time=clock_text(jump.t), device=name, size=size,
                        cause=cause))
    return "\n".join(lines)


def devices_of(run: Any, reading: Reading | None, peaks: Mapping[str, Any],
               why: Mapping[str, Why] | None = None) -> list[DeviceShown]:
    """Cards in the engine's order, the same card once, then the host; empty without a reading. `why`: by device."""
    if reading is None:
        return []
    cards = [card_of(run, d, peaks.get(d.device), run.actual, why.get(d.device, {}) if why is not None else None)
             for d in reading.devices if not d.twin]
    host = host_of(run, reading, peaks.get("Host"))
    together = reading.process_device_bytes
    if len(cards) > 1 and not missing(together):
        host = replace(host, facts=[(tr("On all cards"), bytes_text(together)), *host.facts])
    return [*cards, host]
