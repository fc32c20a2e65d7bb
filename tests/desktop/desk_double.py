"""A workspace that answers at once and from memory: two cards, one model, an estimate by rule of thumb."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paddock.desktop.whatif import WhatIf, ideas, kv_bytes
from paddock.engine.model import Engine, EngineDevice, EngineOption
from paddock.errors import AppError
from paddock.fit.model import Budget, DeviceEstimate, Estimate, Fix, Verdict
from paddock.gguf.model import Facts, Kind, ModelFile, Shard
from paddock.hardware.model import Device, GpuProcess, Machine
from paddock.launch.model import Addition, Command, Issue, Plan, Severity
from paddock.paths import DataPaths
from paddock.server.model import Progress, State
from paddock.session import Recorder
from paddock.store.defaults import Defaults
from paddock.store.profiles import Profile, Profiles
from paddock.store.settings import Settings
from paddock.text import Text
from paddock.work import saving
from paddock.work.ledger import Record, record
from paddock.work.model import Preview
from paddock.work.opening import Opened, open_profile
from paddock.work.rpc_hosts import RpcHosts

GIB = 1 << 30
MIB = 1 << 20


def model_at(path: str | Path = "/models/Qwen3-30B-A3B-Instruct-2507-Q4_K_M.gguf", **facts: Any) -> ModelFile:
    base = Facts(name="Qwen3-30B-A3B-Instruct-2507", quant="Q4_K_M", layers=48, experts=128, experts_used=8,
                 trained_context=262144, vocabulary=151936, parameters=30_532_122_624)
    return ModelFile(path=Path(path), version=3, architecture="qwen3moe", kind=Kind.MODEL, metadata={}, tensors=(),
                     shards=(Shard(Path(path), 1, int(17.28 * GIB), 0, 579, int(17.28 * GIB)),),
                     facts=replace(base, **facts), problems=(), complete=True, identity="0" * 64)


def engine_at(path: str = "/opt/llama/llama-server", **values: Any) -> Engine:
    option = EngineOption(("-c", "--ctx-size"), (), "N", 1, (), "0", None, "common", "", False)
    kind = EngineOption(("--spec-type",), (), "TYPE", 1, (), "none", None, "common", "", False)
    base = Engine(name="llama.cpp 11434, CUDA 12.8", path=Path(path), serve=(path,), source="PATH",
                  version="0.6.0", build=11434, options=(option,) * 257 + (kind,),
                  devices=(EngineDevice("CUDA0", "NVIDIA GeForce RTX 4090", 24 * GIB, 23 * GIB),
                           EngineDevice("CUDA1", "NVIDIA GeForce RTX 3060", 12 * GIB, 11 * GIB)), flags_verified=True)
    return replace(base, **values)


def machine_at() -> Machine:
    def card(name: str, what: str, total: float, held: tuple[tuple[str, float], ...]) -> Device:
        used = sum(size for _, size in held)
        return Device(name, "cuda", what, int(total * GIB), int((total - used) * GIB),
                      processes=tuple(GpuProcess(100 + i, who, int(size * GIB)) for i, (who, size) in enumerate(held)))
    return Machine("Linux", "AMD Ryzen 9 7950X", 16, 32, int(62.7 * GIB), int(51.5 * GIB), 1, 0.4,
                   (card("CUDA0", "NVIDIA GeForce RTX 4090", 24, (("Firefox", 0.61), ("Xorg", 0.44), ("code", 0.2))),
                    card("CUDA1", "NVIDIA GeForce RTX 3060", 12, (("ComfyUI", 0.92), ("kwin", 0.2)))))


def estimate_for(plan: Plan, machine: Machine) -> Estimate:
    context = plan.integer("ctx-size") or 262144
    each = 98304 * {"f16": 1.0, "q8_0": 0.53, "q4_0": 0.28}.get(plan.get("cache-type-k", "f16") or "f16", 1.0)
    kv, rows = context * each, []
    for device, share, compute in zip(machine.devices, (0.68, 0.32), (0.45, 0.9), strict=True):
        total = int(17.1 * share * GIB) + int(kv * share) + int(compute * GIB) + 400 * MIB
        left = (device.free_bytes or 0) - total
        verdict = Verdict.WONT_FIT if left < 0 else Verdict.TIGHT if left < GIB else Verdict.FITS
        rows.append(DeviceEstimate(
            device.name, int(17.1 * share * GIB), int(kv * share), int(compute * GIB), overhead=400 * MIB,
            budget=Budget(device.name, "cuda", device.total_bytes, device.free_bytes), margin=GIB, verdict=verdict,
            other_bytes=(device.total_bytes or 0) - (device.free_bytes or 0)))
    rows.append(DeviceEstimate("Host", int(0.3 * GIB), 0, int(0.2 * GIB), overhead=8 * GIB,
                               budget=Budget("Host", "cpu", machine.ram_total_bytes, machine.ram_available_bytes),
                               other_bytes=machine.ram_total_bytes - machine.ram_available_bytes, verdict=Verdict.FITS))
    order = [Verdict.FITS, Verdict.TIGHT, Verdict.WONT_FIT]
    worst = max(rows[:2], key=lambda r: order.index(r.verdict))
    reason = Text("{device} keeps {left} GiB free, the margin is 1.00.", device=worst.name,
                  left=f"{(worst.left or 0) / GIB:.2f}")
    if worst.verdict is Verdict.WONT_FIT:
        reason = Text("{device} is {over} GiB short.", device=worst.name, over=f"{-(worst.left or 0) / GIB:.2f}")
    return Estimate(tuple(rows), worst.verdict, reason, context, plan.integer("parallel") or 4,
                    plan.integer("parallel") is None, context, each, (49, 49))


@dataclass
class RunDouble:
    """A run whose state the test sets."""

    preview: Preview
    listener: Any = None
    state: State = State.STARTING
    exit: Any = None
    label: str = "Qwen3-30B-A3B-Instruct-2507"
    url: str = "http://127.0.0.1:8080"
    session_id: int = 1
    started_utc: str = "2026-01-31T12:00:00Z"
    diagnoses: list[Any] = field(default_factory=list)
    findings: tuple[Any, ...] = ()
    detectors: Any = None
    actual: dict[str, Any] | None = None
    fraction: float | None = 0.42
    stopped: bool = False
    supervisor: Any = None
    log_path: str | None = None
    recorder: Recorder = field(default_factory=Recorder)
    read_only: bool = False
    answers_texts: bool = False
    ranks: bool = False
    takes_images: bool = False
    models: tuple[Any, ...] = ()
    pid: int | None = None
    proxy: Any = None
    after_suspend: Text | None = None
    ready_after_s: float | None = None

    @property
    def keeps_serving(self) -> bool:
        return bool(self.supervisor is not None and self.supervisor.spec.keep_serving)

    def progress(self) -> Progress:
        return Progress(self.fraction, 2.5)

    def stop(self) -> None:
        self.stopped = True
        self.become(State.STOPPING)

    def join(self, timeout: float | None = None) -> bool:
        return True

    def ask(self, prompt: str, **values: Any) -> Any:
        raise AppError(Text("This server answers nothing."))

    def open_proxy(self, port: int = 0, *, keep_texts: bool = False) -> str:
        raise AppError(Text("This server has no proxy."))

    def close_proxy(self) -> None:
        self.proxy = None

    def keep_readings(self, readings: Any) -> None: ...

    def load_model(self, model_id: str) -> None: ...

    def unload_model(self, model_id: str) -> None: ...

    def become(self, state: State, exit_: Any = None) -> None:
        self.state, self.exit = state, exit_
        if self.listener is not None:
            self.listener.on_state(self, state, exit_)


class WorkspaceDouble:
    """What the desk asks of `work.Workspace`, answered from memory."""

    def __init__(self, root: Path, *, engines: list[Engine] | None = None, entries: list[Any] | None = None) -> None:
        self.paths = DataPaths.at(root)
        self.settings = Settings()
        self.profiles = Profiles(self.paths.profiles)
        self.defaults = Defaults(self.paths.profiles / ".defaults")
        self.notices: list[Text] = []
        self.runs: list[Any] = []
        self.rpc = RpcHosts(self)  # type: ignore[arg-type]
        self.found = [engine_at()] if engines is None else engines
        self.entries = entries or []
        self.hardware = machine_at()
        self.issues: tuple[Issue, ...] = ()
        self.launched: list[dict[str, Any]] = []
        self.saved_settings = 0
        self.forgotten = 0

    def corrections(self, model: Any, engine: Any, wanted: bool | None = None) -> tuple[Any, ...]:
        return ()

    def forget_corrections(self) -> int:
        self.forgotten += 1
        return 3

    def save_settings(self) -> None:
        self.saved_settings += 1

    def busy_endpoints(self) -> set[str]:
        return set()

    def engines(self, refresh: bool = False) -> list[Engine]:
        return self.found

    def engine(self, selector: str | None = None) -> Engine | None:
        return next((e for e in self.found if e.error is None), None)

    def machine(self, engine: Engine | None, again: bool = False) -> Machine:
        return self.hardware if engine is not None else replace(self.hardware, devices=())

    def read_model(self, path: str | Path) -> ModelFile:
        if "broken" in str(path):
            raise AppError(Text("“{path}” is not a GGUF file.", path=Path(path).name), why=Text("It is all zeros."))
        return model_at(path)

    def plan_for(self, path: str | Path) -> Plan:
        return Plan().with_("model", str(path)).with_("ctx-size", 65536)

    def scan(self, progress: Any, cancelled: Any) -> list[Any]:
        for index in range(3):
            progress(index + 1, 3, "reading")
        return self.entries

    def library_stamp(self, cancelled: Any) -> str | None:
        return None

    def preview(self, plan: Plan, *, engine: Engine | None = None, machine: Machine | None = None, fresh: bool = False,
                additions_off: Any = None) -> Preview:
        engine = self.engine()
        machine = machine or self.machine(engine)
        model, error, path = None, None, plan.get("model")
        if path:
            try:
                model = self.read_model(path)
            except AppError as found:
                error = found
        additions = tuple(a for a in (
            Addition("metrics", ("--metrics",), reason=Text("Figures for the Run page.")),
            Addition("verbosity", ("-lv", "4"), reason=Text("The log then shows where memory went.")),
        ) if a.id not in self.settings.additions_off)
        words = tuple(w for s in plan.settings for w in (f"--{s.option}", *s.values))
        own = " ".join(("llama-server", *words))
        command = Command(("llama-server",), words, additions, own=own) if engine else None
        estimate = estimate_for(plan, machine) if model is not None and machine.devices else None
        return Preview(plan=plan, engine=engine, machine=machine, model=model, model_error=error, draft=None,
                       projector=None, estimate=estimate, issues=self.issues, command=command)

    def export(self, plan: Plan, form: str, additions: bool = False) -> str:
        return f"{form}: llama-server"

    def save_profile(self, name: str, plan: Plan, expected: int | None = None, **details: Any) -> Profile:
        return saving.save_profile(self, name, plan, expected, **details)  # type: ignore[arg-type]

    def open_profile(self, name: str, known: Any = None) -> Opened:
        return open_profile(self, name, known, carry_over=False)  # type: ignore[arg-type]

    def import_profiles(self, text: str, name: str | None = None, hint: str = "") -> list[Profile]:
        return saving.import_profiles(self, text, name, hint)  # type: ignore[arg-type]

    def launch(self, plan: Plan, **options: Any) -> RunDouble:
        errors = [i for i in self.issues if i.severity is Severity.ERROR]
        if errors and not options.get("anyway"):
            raise AppError(errors[0].text)
        self.launched.append({"plan": plan, **options})
        made = RunDouble(self.preview(plan), options.get("listener"))
        self.runs.append(made)
        return made

    def leftovers(self) -> list[Any]:
        return []

    def sessions(self, search: str = "") -> list[Any]:
        return []

    def record_for(self, preview: Preview) -> Record:
        return record(())

    def query(self, sql: str) -> tuple[list[str], list[Any]]:
        return [], []

    def interrupted(self) -> list[Any]:
        return []

    def close(self) -> None:
        self.runs.clear()


def what_if_at_once(workspace: Any, preview: Preview, cancelled: Any) -> WhatIf:
    """Limits by the same rule of thumb; one fix where it does not fit."""
    plan, before = preview.plan, preview.estimate
    if before is None:
        return WhatIf(plan)

    def most(allowed: tuple[Verdict, ...]) -> int:
        sizes = range(1024, 262145, 1024)
        good = [n for n in sizes if estimate_for(plan.with_("ctx-size", n), preview.machine).verdict in allowed]
        return good[-1] if good else 0
    fits = most((Verdict.FITS,))
    found = WhatIf(plan, (), fits, most((Verdict.FITS, Verdict.TIGHT)), int(kv_bytes(before) * 0.47))
    if before.verdict is Verdict.FITS:
        return replace(found, fixes=ideas(preview, found))
    fixes = (Fix("context", Text("Context {tokens}", tokens=fits), Text("−2.25 GiB, same speed"),
                 plan.with_("ctx-size", fits)),
             Fix("kv", Text("KV type q8_0"), Text("−5.62 GiB, −2 % t/s"),
                 plan.with_("cache-type-k", "q8_0").with_("cache-type-v", "q8_0")))
    return replace(found, fixes=fixes)
