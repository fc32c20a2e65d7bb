"""A desk full of invented things for the window's tests and screenshots: runs, sessions, models. No server, no GPU."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from paddock.engine.model import Engine
from paddock.errors import AppError
from paddock.fit.model import Budget, DeviceEstimate, Estimate, Known, Term, Verdict
from paddock.gguf.model import Facts, Kind, ModelFile, Problem, Shard, Tensor
from paddock.hardware.model import Device, DeviceReading, Machine, Reading
from paddock.launch.model import Plan
from paddock.library.model import Entry
from paddock.paths import DataPaths
from paddock.server.model import Diagnosis, Exit, LogLine, Progress, State
from paddock.session import Series
from paddock.session.columns import sample_columns
from paddock.session.model import Event, MarkChange, Request, Sample, SlotSample
from paddock.session.recorder import Snapshot
from paddock.store.defaults import Defaults
from paddock.store.profiles import Profile, Profiles
from paddock.store.rows import SessionDetail, SessionRow
from paddock.store.settings import Settings
from paddock.text import Text
from paddock.work import saving
from paddock.work.ledger import Record
from paddock.work.model import Preview
from paddock.work.opening import Opened, open_profile
from paddock.work.rpc_hosts import RpcHosts

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
    micro_batch: int | None = 512


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

    def mark(self, text: str, at: float | None = None, **data: Any) -> None:
        self.events.append(Event(self.now if at is None else at, "mark", text, data))

    def change_mark(self, mark: Event, text: str | None, **data: Any) -> None:
        at = self.events.index(mark)
        self.events[at:at + 1] = [Event(mark.t, "mark", text, data)] if text is not None else []

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
    started_utc: str = "2026-12-01T10:02:11+00:00"
    preview: Preview = field(default_factory=preview)
    recorder: FakeRecorder = field(default_factory=FakeRecorder)
    state: State = State.READY
    exit: Exit | None = None
    diagnoses: list[Diagnosis] = field(default_factory=list)
    findings: tuple[Any, ...] = ()
    actual: dict[str, Any] | None = None
    log_path: str | None = None
    read_only: bool = False
    is_router: bool = False
    answers_texts: bool = False
    keeps_serving: bool = False
    models: tuple[Any, ...] = ()
    detectors: Any = None
    pid: int | None = None
    after_suspend: Text | None = None
    ready_after_s: float | None = None
    answer: Any = None
    pieces: Sequence[str] = ("Each token must read its 8 chosen experts from memory. ",
                             "On the GPU that memory delivers about 1 TB/s.")
    asked: list[str] = field(default_factory=list)
    stopped: bool = False

    ranks: bool = False
    takes_images: bool = False
    proxy: Any = None
    proxy_fails: AppError | None = None

    def open_proxy(self, port: int = 0, *, keep_texts: bool = False) -> str:
        if self.proxy_fails is not None:
            raise self.proxy_fails
        self.proxy = SimpleNamespace(url=f"http://127.0.0.1:{port or 41234}", keep_texts=keep_texts)
        return str(self.proxy.url)

    def close_proxy(self) -> None:
        self.proxy = None

    def progress(self) -> Progress:
        return Progress(0.42, 3.0)

    def stop(self) -> None:
        self.stopped = True

    def join(self, timeout: float | None = None) -> bool:
        return True

    def keep_readings(self, readings: Any) -> None: ...

    def load_model(self, model_id: str) -> None: ...

    def unload_model(self, model_id: str) -> None: ...

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
    "oom", Text("CUDA0 is out of memory: the server asked for 2,304 MiB more for the KV cache."),
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


def layered_model(name: str, path: str, *, architecture: str = "qwen3moe", quant: str = "Q4_K_M", gib: float = 17.28,
                  layers: int = 48, context: int = 262144, kind: Kind = Kind.MODEL, shards: int = 1, missing: int = 0,
                  experts: int | None = 128, problems: Sequence[Problem] = ()) -> ModelFile:
    """A model with tensors and bytes per layer, as the inspector wants it."""
    each = int(gib * GIB * 0.97 / max(layers, 1))
    tensors, rows = [], []
    for i in range(layers):
        size = int(each * (1.0 if i % 3 else 1.14))
        parts = {"ffn_down_exps" if experts else "ffn_down": ("Q6_K", 0.41), "ffn_up_exps" if experts else "ffn_up":
                 ("Q4_K", 0.28), "ffn_gate_exps" if experts else "ffn_gate": ("Q4_K", 0.28), "attn_q": ("Q4_K", 0.02),
                 "attn_norm": ("F32", 0.01)}
        for part, (type_name, share) in parts.items():
            tensors.append(Tensor(f"blk.{i}.{part}.weight", (2048, 768, experts or 1), 12, type_name, 0,
                                  int(size * share), 0))
        rows.append({"experts" if experts else "ffn": int(size * 0.97), "attention": int(size * 0.03)})
    edge = int(gib * GIB * 0.015)
    facts = Facts(
        name=name, size_label="30B-A3B", quant=quant, parameters=int(gib * 1.77e9), bits_per_weight=4.86, layers=layers,
        embedding=2048, heads=(32,) * layers, kv_heads=(4,) * layers, key_length=128, value_length=128,
        trained_context=context, experts=experts, experts_used=8 if experts else None, vocabulary=151936,
        has_template=True, template_has_tools=True, layer_bytes=tuple(rows), input_bytes=edge, output_bytes=edge)
    size = int(gib * GIB / shards)
    files = tuple(Shard(Path(path), i + 1, None if i >= shards - missing else size, 4096, 10, size)
                  for i in range(shards))
    metadata = {"general.architecture": architecture, "general.name": name, f"{architecture}.block_count": layers,
                f"{architecture}.context_length": context, "tokenizer.chat_template":
                "{%- for message in messages %}\n{{ '<|im_start|>' + message.role + '\\n' + message.content }}\n"
                "{%- endfor %}", "general.tags": ("chat", "text-generation"), "general.file_type": 15}
    return ModelFile(Path(path), 3, architecture, kind, metadata, tuple(tensors), files, facts, tuple(problems),
                     missing == 0, "ab" * 32)


def entries() -> list[Entry]:
    """A library as people have it: many places, kinds, problems, a very long name, one file that cannot be read."""
    halted = Problem("resumed", "warning", Text("The download stopped once and was resumed. Its checksum was never "
                                                "compared."))
    lost = Problem("shard_missing", "error", Text("Part 6 of 6 is missing: llama.cpp will refuse it."))
    table: list[tuple[str, str, str, float, int, str, dict[str, Any]]] = [
        ("bge-reranker-v2-m3", "bert", "Q8_0", 0.59, 8192, "HF cache", {"kind": Kind.RERANKER, "experts": None}),
        ("DeepSeek-R1-Distill-Qwen-32B", "qwen2", "Q4_K_M", 18.48, 131072, "HF cache", {"experts": None}),
        ("DeepSeek-V2-Lite-Chat", "deepseek2", "Q4_K_M", 9.65, 163840, "Ollama", {"problems": [halted]}),
        ("Gemma-3-270m-it", "gemma3", "Q4_K_M", 0.24, 32768, "Sample", {"layers": 18, "experts": None}),
        ("GLM-4.5-Air", "glm4moe", "Q4_K_M", 67.91, 131072, "/mnt/hdd", {"shards": 2}),
        ("gpt-oss-120b", "gpt-oss", "MXFP4", 59.02, 131072, "HF cache", {"shards": 3, "layers": 36}),
        ("gpt-oss-20b", "gpt-oss", "MXFP4", 11.28, 131072, "HF cache", {"layers": 24}),
        ("Llama-3.3-70B-Instruct", "llama", "Q8_0", 69.83, 131072, "/mnt/hdd", {"layers": 80, "experts": None}),
        ("Mistral-Small-3.2-24B-Instruct-2506-abliterated-imatrix-GGUF-with-a-very-long-name", "llama", "Q4_K_M", 13.35,
         131072, "LM Studio", {"layers": 40, "experts": None}),
        ("nomic-embed-v1.5", "nomic-bert", "F16", 0.26, 2048, "Ollama", {"kind": Kind.EMBEDDING, "experts": None}),
        ("mmproj-Qwen2.5-VL", "clip", "F16", 1.26, 0, "HF cache", {"kind": Kind.PROJECTOR, "layers": 0,
                                                                   "experts": None}),
        ("Qwen3-0.6B", "qwen3", "Q8_0", 0.6, 40960, "~/models", {"kind": Kind.DRAFT, "layers": 28, "experts": None}),
        ("Qwen3-30B-A3B-Instruct-2507", "qwen3moe", "Q4_K_M", 17.28, 262144, "~/models", {"problems": [halted]}),
        ("Qwen3-Coder-480B", "qwen3moe", "Q2_K", 150.3, 262144, "/mnt/hdd",
         {"layers": 62, "shards": 6, "missing": 1, "problems": [lost]}),
    ]
    out = []
    for name, architecture, quant, gib, context, place, more in table:
        path = f"/home/ada/models/{name}-{quant}.gguf"
        model = layered_model(name, path, architecture=architecture, quant=quant, gib=gib, context=context, **more)
        twins = (Path("/home/ada/.lmstudio/models/qwen/" + name + ".gguf"),) if "2507" in name else ()
        out.append(Entry(Path(path), place, model, size_bytes=model.size_bytes, duplicates=twins))
    out.append(Entry(Path("/home/ada/Downloads/broken.gguf"), "Downloads", None,
                     AppError(Text("This is not a GGUF file."), why=Text("It starts with “<htm”."),
                              hint=Text("Download it again.")), size_bytes=3 << 20))
    return out


class FakeDatabase:
    def __init__(self, series: Series) -> None:
        self._series = series

    def series(self, _session_id: int) -> Series:
        return self._series

    def tag(self, session_id: int, tags: Sequence[str]) -> None:
        self.tags = {session_id: list(tags)}

    def note(self, session_id: int, note: str) -> None:
        self.notes = {session_id: note}

    def change_mark(self, session_id: int, change: MarkChange) -> None:
        self.mark_changes = [*getattr(self, "mark_changes", ()), (session_id, change)]

    def flush(self) -> None:
        pass

    def query(self, sql: str, params: Any = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        return self.answers(sql)

    def answers(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Two weeks of one profile, an update in their middle that made it slower."""
        if "FROM session" in sql:
            names = ["id", "start_utc", "model", "model_identity", "profile", "engine", "version", "on_devices",
                     "in_ram"]
            return names, [(i, f"2026-11-{i + 10:02}T10:00:00+00:00", "Qwen3-30B-A3B-Instruct-2507", "id", "Chat",
                            "llama.cpp 11434" if i > 7 else "llama.cpp 10434", None, (16.1 + 0.3 * (i > 7)) * GIB, 5e9)
                           for i in range(1, 15)]
        names = ["session_id", "generation_per_s", "prompt_per_s", "ttft_s", "total_s", "acceptance", "context_used",
                 "prompt_tokens", "generated_tokens", "gap_p95_s", "t_start"]
        rows = []
        for i in range(1, 15):
            for k in range(24):
                wave = 1 + 0.05 * math.sin(3.1 * k + i)
                depth = 900 + 1200 * k
                rows.append((i, (44.0 - 4 * (i > 7) - k / 3) * wave, 580.0 * wave, 0.4 / wave, 3.0, None, depth, 900,
                             120, 0.03, 12.0 * k))
        return names, rows


class FakeWorkspace:
    """Answers at once, from what it was given."""

    def __init__(self, root: Path, found: Sequence[Entry] = (), runs: Sequence[FakeRun] = (),
                 past: Sequence[Any] = (), with_engine: bool = True) -> None:
        self.paths = DataPaths.at(root)
        self.settings = Settings()
        self.profiles = Profiles(self.paths.profiles)
        self.defaults = Defaults(self.paths.profiles / ".defaults")
        for name in ("Chat", "Code"):
            self.profiles.save(Profile(name, Plan().with_("ctx-size", 8192)))
        self.notices: list[Text] = []
        self.runs = list(runs)
        self.rpc = RpcHosts(self)  # type: ignore[arg-type]
        self.found = list(found)
        self.past = {detail.row.id: detail for detail in past}
        self.deleted: list[int] = []
        self.saved = 0
        self.asked: list[str] = []
        self.stamp: str | None = "as before"
        self.engine_ = Engine("llama.cpp 11434", Path("/opt/llama"), ("/opt/llama", "serve"), "PATH", build=11434,
                              flags_verified=False)
        self._with_engine = with_engine
        recorder = fill(FakeRecorder())
        self.database = FakeDatabase(recorder.series)

    def corrections(self, model: Any, engine: Any, wanted: bool | None = None) -> tuple[Any, ...]:
        return ()

    def forget_corrections(self) -> int:
        return 0

    def save_settings(self) -> None:
        self.saved += 1

    def busy_endpoints(self) -> set[str]:
        return set()

    def engines(self, refresh: bool = False) -> list[Engine]:
        return [self.engine_] if self._with_engine else []

    def engine(self, selector: str | None = None) -> Engine | None:
        return self.engine_ if self._with_engine else None

    def machine(self, engine: Any = None, **_more: Any) -> Machine:
        return machine()

    def read_model(self, path: Any) -> ModelFile:
        found = next((e.model for e in self.found if str(e.path) == str(path) and e.model is not None), None)
        if found is None:
            raise AppError(Text("There is no file “{path}”.", path=str(path)))
        return found

    def scan(self, progress: Any, cancelled: Any) -> list[Entry]:
        for i in range(len(self.found)):
            progress(i + 1, len(self.found), "")
        return self.found

    def library_stamp(self, cancelled: Any) -> str | None:
        return self.stamp

    def plan_for(self, path: Any) -> Plan:
        return Plan().with_("model", str(path)).with_("ctx-size", 8192)

    def open_profile(self, name: str, known: Any = None) -> Opened:
        return open_profile(self, name, known, carry_over=False)  # type: ignore[arg-type]

    def save_profile(self, name: str, plan: Plan, expected: int | None = None, **details: Any) -> Profile:
        return saving.save_profile(self, name, plan, expected, **details)  # type: ignore[arg-type]

    def preview(self, plan: Plan, **_more: Any) -> Preview:
        model = next((e.model for e in self.found if str(e.path) == plan.get("model")), None)
        shown = estimate(("CUDA0", "CUDA1")) if model is not None else None
        return Preview(plan, self.engine_, machine(), model, None, None, None, shown, (), None)

    def estimate(self, plan: Plan, budgets: Any = None) -> Estimate:
        self.asked.append(plan.get("model") or "")
        size = self.read_model(plan.get("model")).size_bytes / GIB
        verdict = Verdict.FITS if size < 18 else Verdict.TIGHT if size < 68 else Verdict.WONT_FIT
        if size > 100:
            verdict = Verdict.CANT_TELL
        return replace(estimate(), verdict=verdict, reason=Text("CUDA0 keeps {free:.1f} GiB.", free=22.7 - size))

    def sessions(self, search: str = "") -> list[Any]:
        rows = [d.row for d in self.past.values() if d.row.id not in self.deleted]
        words = search.lower().split()
        return [r for r in rows if all(w in f"{r.model} {r.profile} {r.engine} {r.state}".lower() for w in words)]

    def record_for(self, _preview: Any) -> Record:
        return Record(5, -0.4, 1.1, Text("Last 5 launches: −0.4 % to +1.1 %."))

    def query(self, _sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        rows = [(i, 40.0 + i, 580.0) for i, detail in self.past.items() if detail.requests]
        return ["session_id", "per_s", "prompt_per_s"], rows

    def session(self, session_id: int) -> Any:
        if session_id not in self.past:
            raise AppError(Text("There is no session {id}.", id=session_id))
        return self.past[session_id]

    def delete_session(self, session_id: int) -> None:
        self.deleted.append(session_id)

    def report(self, ids: Sequence[int], form: str = "html") -> str:
        return f"{form} of {list(ids)}"

    def leftovers(self) -> list[Any]:
        return []

    def interrupted(self) -> list[Any]:
        return [r for r in self.sessions() if r.state == "interrupted"]

    def close(self) -> None:
        pass


def sessions() -> list[SessionDetail]:
    """A history with every state."""
    recorder = fill(FakeRecorder())
    command = ("/opt/llama", "serve", "-m", "/home/ada/models/Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf", "-c", "32768",
               "--metrics", "-lv", "4")
    table = [("stopped", "Qwen3-30B-A3B-Instruct-2507", "Chat", "2026-12-01T10:02:11.000+00:00", 870.0),
             ("crashed", "Qwen3-30B-A3B-Instruct-2507", "Chat", "2026-12-01T09:41:00.000+00:00", 1100.0),
             ("stopped", "gpt-oss-20b", "Code", "2026-12-01T09:12:00.000+00:00", 1620.0),
             ("failed", "gpt-oss-120b", "Experts in RAM", "2026-11-30T18:03:00.000+00:00", 8.0),
             ("interrupted", "Gemma-3-27b-it", None, "2026-11-27T22:51:00.000+00:00", 360.0)]
    out = []
    for i, (state, model, profile, start, seconds) in enumerate(table):
        end = (datetime.fromisoformat(start) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
        mine = tuple(replace(r, generation_per_s=r.generation_per_s and r.generation_per_s * (0.85 if i == 1 else 1.0))
                     for r in recorder.requests) if state != "failed" else ()
        row = SessionRow(len(table) - i, start, end, state, model, "llama.cpp 11434", len(mine),
                         sum(r.generated_tokens or 0 for r in mine), profile, exit_code=1 if state == "failed" else 0,
                         reason="out of memory on CUDA0" if state in ("failed", "crashed") else "stopped by us")
        plan = Plan().with_("model", "/home/ada/models/m.gguf").with_("ctx-size", 32768)
        if i == 1:
            plan = plan.with_("cache-type-k", "q8_0")
        estimate_ = {"main": [{"name": "CUDA0", "model": int(13 * GIB), "context": int(2.4 * GIB), "compute": int(
            0.5 * GIB)}, {"name": "Host", "model": int(4.4 * GIB), "context": 0, "compute": int(0.1 * GIB)}],
            "overhead": {"CUDA0": int(0.2 * GIB)}, "verdict": "fits", "notes": []}
        actual = {"main": [{"name": "CUDA0", "model": int(12.9 * GIB), "context": int(2.4 * GIB), "compute": int(
            0.55 * GIB)}, {"name": "Host", "model": int(4.39 * GIB), "context": 0, "compute": int(0.1 * GIB)}],
            "overhead": {"CUDA0": int(0.21 * GIB)}, "measured": {"CUDA0": {"process_bytes": 16.1 * GIB},
                                                                 "Host": {"process_bytes": 5.4 * GIB}}}
        environment = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        out.append(SessionDetail(row, command, environment, {"quant": "Q4_K_M"}, None, plan, None,
                                 estimate_, actual if state != "failed" else None, mine, tuple(recorder.events),
                                 "\n".join(line.text for line in recorder.lines[:200])))
    return out


__all__ = ["DEGRADED", "OUT_OF_MEMORY", "FakeRecorder", "FakeRun", "FakeWorkspace", "busy_run", "entries", "estimate",
           "fill", "layered_model", "log_lines", "machine", "model_file", "preview", "sessions"]
