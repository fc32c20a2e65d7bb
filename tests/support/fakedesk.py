"""A desk full of invented things for the window's tests and screenshots: runs, sessions, models. No server, no GPU."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from paddock.fit.model import Budget, DeviceEstimate, Estimate, Known, Term, Verdict
from paddock.gguf.model import Facts, Kind, ModelFile
from paddock.hardware.model import Device, DeviceReading, Machine, Reading
from paddock.launch.model import Plan
from paddock.server.model import Diagnosis, Exit, LogLine, Progress, State
from paddock.session import Series
from paddock.session.model import Event, Request, Sample, SlotSample
from paddock.session.recorder import Snapshot, sample_columns
from paddock.text import Text
from paddock.work.model import Preview

GIB = float(1 << 30)
NAN = math.nan


def device_reading(name: str, used: float, process: float, util: float, power: float, heat: float) -> DeviceReading:
    """A card at one moment; GiB, percent, W, °C."""
    return DeviceReading(name, used * GIB, (24 - used) * GIB, process * GIB, util, util / 2, 1740.0, 9501.0, power,
                         heat, NAN, NAN, ())


def estimate(devices: Sequence[str] = ("CUDA0",), slots: int = 4, context: int = 32768, size: float = 16.0) -> Estimate:
    """Fits; the first device holds `size` GiB, the host half a GiB."""
    rows = []
    for i, name in enumerate((*devices, "Host")):
        share = size if i == 0 else (1.2 if name != "Host" else 0.5)
        parts = [int(share * f * GIB) for f in (0.78, 0.18, 0.04)]
        terms = tuple(Term(t, b, Known.SOURCE, b, b) for t, b in zip(("weights", "kv", "compute"), parts, strict=True))
        rows.append(DeviceEstimate(name, *parts, terms=terms, verdict=Verdict.FITS, other_bytes=int(GIB),
                                   budget=Budget(name, "cuda", int(24 * GIB), int(22.7 * GIB)), margin=1 << 30))
    return Estimate(tuple(rows), Verdict.FITS, Text("Fits with room for 212,000 tokens of context."), context, slots,
                    True, context, 98304.0, (49, 49))


def machine(devices: Sequence[str] = ("CUDA0", "CUDA1")) -> Machine:
    found = tuple(Device(n, "cuda", "NVIDIA GeForce RTX 4090", int(24 * GIB), int(22.7 * GIB)) for n in devices)
    return Machine("Linux", "AMD Ryzen 9 7950X", 16, 32, int(62.7 * GIB), int(51.5 * GIB), 1, 0.4, found)


def model_file(name: str = "Qwen3-30B-A3B-Instruct-2507", path: str = "/home/ada/models/model.gguf") -> ModelFile:
    facts = Facts(name=name, quant="Q4_K_M", parameters=30_532_122_624, layers=48, trained_context=262144)
    return ModelFile(Path(path), 3, "qwen3moe", Kind.MODEL, {}, (), (), facts, (), True, "ab" * 32)


def preview(model: ModelFile | None = None, devices: Sequence[str] = ("CUDA0", "CUDA1"), slots: int = 4,
            context: int = 32768) -> Preview:
    plan = Plan().with_("model", "/home/ada/models/model.gguf").with_("ctx-size", context)
    return Preview(plan, None, machine(devices), model or model_file(), None, None, None,
                   estimate(devices, slots, context), (), None)


def log_lines(count: int = 1284) -> list[LogLine]:
    """A load log, then requests; numbers from 1."""
    head = ["load_tensors: offloading 36 repeating layers to GPU", "load_tensors: offloaded 37/49 layers to GPU",
            "load_tensors:   CPU_Mapped model buffer size =  4492.31 MiB",
            "load_tensors:        CUDA0 model buffer size = 13212.66 MiB",
            "llama_kv_cache:        CPU KV buffer size =   768.00 MiB",
            "slot print_timing: id  3 | task 48 | n_decoded = 842, tg = 45.9 t/s, a line that goes on " + "x" * 160]
    out = []
    for i in range(count):
        level = "W" if i % 400 == 399 else "I"
        text = f"0.{i // 60:02d}.{i % 60:02d}{i % 10}.{(i * 37) % 1000:03d} {level} {head[i % len(head)]}"
        out.append(LogLine(float(i), text, level, i + 1))
    return out


@dataclass
class FakeParser:
    slots: int | None = 4
    context_per_slot: int | None = 32768
    kv_unified: bool | None = True


class FakeRecorder:
    """What the pages pull of a Recorder; everything can be set."""

    def __init__(self) -> None:
        self.series = Series()
        self.parser = FakeParser()
        self.requests: list[Request] = []
        self.events: list[Event] = []
        self.lines: list[LogLine] = []
        self.sample: Sample | None = None
        self.now = 0.0
        self.revision = 0
        self.memory: Any = None

    def add(self, sample: Sample) -> None:
        self.sample = sample
        self.now = sample.t
        self.series.append(sample.t, sample_columns(sample))
        self.revision += 1

    def mark(self, text: str, **data: Any) -> None:
        self.events.append(Event(self.now, "mark", text, data))

    def log(self, after: int = 0, limit: int = 20_000) -> list[LogLine]:
        return [line for line in self.lines if line.number > after][-limit:]

    def snapshot(self) -> Snapshot:
        ended = [r for r in self.requests if r.t_end is not None]
        return Snapshot(
            t=self.now, state=State.READY, exit=None, sample=self.sample, requests=tuple(self.requests),
            request_revision=self.revision, request_count=len(self.requests),
            active_requests=len(self.requests) - len(ended),
            generated_tokens=sum(r.generated_tokens or 0 for r in self.requests), events=tuple(self.events),
            event_revision=len(self.events), log_first=1 if self.lines else 0, log_last=len(self.lines),
            memory=self.memory, last_request=ended[-1] if ended else None)


@dataclass
class FakeRun:
    """A run that does nothing by itself."""

    label: str = "Qwen3-30B-A3B-Instruct-2507"
    url: str = "http://127.0.0.1:8080"
    session_id: int = 7
    preview: Preview = field(default_factory=preview)
    recorder: FakeRecorder = field(default_factory=FakeRecorder)
    state: State = State.READY
    exit: Exit | None = None
    diagnoses: list[Diagnosis] = field(default_factory=list)
    actual: dict[str, Any] | None = None
    log_path: str | None = None
    answer: Any = None
    pieces: Sequence[str] = ("Each token must read its 8 chosen experts from memory. ",
                             "On the GPU that memory delivers about 1 TB/s.")
    asked: list[str] = field(default_factory=list)
    stopped: bool = False

    def progress(self) -> Progress:
        return Progress(0.42, 3.0)

    def stop(self) -> None:
        self.stopped = True

    def ask(self, prompt: str, *, on_text: Any, cancelled: Any, **values: Any) -> Any:
        from paddock.work import Answer
        self.asked.append(prompt)
        for piece in self.pieces:
            if cancelled():
                break
            on_text(piece)
        return self.answer or Answer("".join(self.pieces), "stop", 12, 0, 71, 588.0, 45.9, 0.38, 2.0)


DEGRADED = Diagnosis(
    "degraded", Text("You are degraded: 12 of 49 layers run on the CPU."),
    Text("The profile sets -ngl 37, so --fit left it alone. CUDA0 has 6.6 GiB free and those layers need 5.0."),
    line="offloaded 37/49 layers to GPU", edits=(("gpu-layers", ("auto",)),), fatal=False)
OUT_OF_MEMORY = Diagnosis(
    "oom", Text("out of memory on CUDA0: it asked for 2,304 MiB more for the KV cache"),
    Text("A context of 65,536 tokens fits; so does KV type q8_0 at half the size."),
    line="offloaded 37/49 layers to GPU", edits=(("ctx-size", ("65536",)),), fatal=True)


def fill(recorder: FakeRecorder, seconds: float = 870.0, slots: int = 4, devices: Sequence[str] = ("CUDA0", "CUDA1"),
         step: float = 0.5, seed: int = 1) -> FakeRecorder:
    """Minutes of life: requests on all slots, a silence of 12 s, three events."""
    rng = random.Random(seed)
    recorder.parser.slots = slots
    _requests(recorder, seconds, slots, rng)
    t = 0.0
    while t <= seconds:
        recorder.add(_sample(recorder, t, slots, devices, rng, missed=seconds - 62 < t < seconds - 46))
        t += step
    recorder.events = [Event(seconds - 90, "mark", "note: opened the IDE"),
                       Event(seconds - 50, "log", "clock fell to 1,740 MHz"),
                       Event(seconds - 16, "log", "cache miss in slot 3")]
    recorder.lines = log_lines()
    return recorder


def _requests(recorder: FakeRecorder, seconds: float, slots: int, rng: random.Random) -> None:
    free, number = [0.0] * slots, 0
    while min(free) < seconds:
        slot = free.index(min(free))
        start = free[slot] + rng.uniform(2, 14)
        read, written = rng.uniform(0.3, 9), rng.uniform(6, 30)
        if start > seconds:
            break
        number += 1
        done = start + read + written <= seconds
        status = "active" if not done else "cancelled" if number % 9 == 0 else "failed" if number % 23 == 0 else "done"
        tokens = int(read * 580)
        recorder.requests.append(Request(
            number, number * 3, slot, start, start + read + written if done else None,
            start + read if start + read <= seconds else None, tokens, tokens // 3 if number % 3 == 0 else 0,
            int(written * 45) if start + read <= seconds else None, 560 + rng.uniform(-40, 40),
            45 + rng.uniform(-12, 6) if start + read <= seconds else None,
            read if start + read <= seconds else None, status=status, evaluated_tokens=tokens,
            progress=None if start + read <= seconds else (seconds - start) / read))
        free[slot] = start + read + written
    recorder.requests.sort(key=lambda r: r.t_start)
    for i, request in enumerate(recorder.requests, start=1):
        request.number = i


def _sample(recorder: FakeRecorder, t: float, slots: int, devices: Sequence[str], rng: random.Random,
            missed: bool) -> Sample:
    active = [r for r in recorder.requests if r.t_start <= t and (r.t_end or math.inf) > t]
    reading = [r for r in active if r.t_first_token is None or r.t_first_token > t]
    writing = [r for r in active if r not in reading]
    rows = []
    for i in range(slots):
        mine = [r for r in recorder.requests if r.slot == i and r.t_start <= t]
        used = float(min(7922, 900 + 640 * len(mine))) if mine else 0.0
        busy = any(r.slot == i for r in active)
        rows.append(SlotSample(i, busy, "idle", None, used, 8192.0, NAN, NAN, NAN, NAN, NAN))
    cards = tuple(device_reading(n, 17.4 + 0.02 * math.sin(t / 9) if i == 0 else 1.2, 16.1 if i == 0 else 0.0,
                                 30 + 20 * bool(active) + rng.uniform(-5, 5) if i == 0 else 2.0, 182.0, 61.0)
                  for i, n in enumerate(devices))
    told = Reading(t, 90 + rng.uniform(-4, 4), 20 * GIB, 40 * GIB, 0.0, 800.0, (5.4 if devices else 16.2) * GIB, cards)
    if missed:
        return Sample(t, NAN, NAN, NAN, NAN, NAN, NAN, (), told, False)
    speed = (48 + rng.uniform(-2, 2)) * (0.25 if reading and writing else 1.0) if writing else 0.0
    prompt = 588 + rng.uniform(-30, 30) if reading else NAN
    return Sample(t, speed, prompt, sum(r.context_used for r in rows), float(len(active)), 0.0, NAN, tuple(rows), told,
                  True)


def busy_run(**changes: Any) -> FakeRun:
    run = FakeRun(**changes)
    preview_ = run.preview
    devices = tuple(d.name for d in preview_.machine.devices)
    slots = preview_.estimate.slots if preview_.estimate is not None and preview_.estimate.slots else 1
    fill(run.recorder, slots=slots, devices=devices)
    return run


def columns_of(series: Series) -> dict[str, np.ndarray]:
    """Everything of a series as arrays."""
    return {name: series.view(name)[1] for name in series.names}


__all__ = ["DEGRADED", "OUT_OF_MEMORY", "FakeRecorder", "FakeRun", "busy_run", "columns_of", "estimate", "fill",
           "log_lines", "machine", "model_file", "preview"]
