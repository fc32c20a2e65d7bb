"""Memory as the engine's load log tells it (-lv 4), per model and device, in the terms of llama.cpp's breakdown.

Buffer lines: `load_tensors` (model), `llama_kv_cache…` and `llama_memory_recurrent` (context), `sched_reserve`
(compute), `llama_context` (output: the logits, which lie outside the breakdown). Dry-run and exit breakdowns:
common/fit.cpp. Lines of one key are added up (two KV pools of a sliding-window model); only compute and output
buffers of the same context replace each other, since reserving again frees the old one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paddock.fit.quants import BLOCK_BY_ID

_MIB = 1 << 20
_PRINTED = _MIB // 25
"""What sizes printed to 0.01 MiB may be off together."""
_TERMS = {"model": "model", "KV": "context", "RS": "context", "state": "context", "compute": "compute",
          "output": "output", "LoRA": "lora"}
_BUFFER = re.compile(r"^([\w:]+): +(\S+) +(?:DSV4 .*?)?(model|KV|RS|state|compute|output|LoRA)"
                     r" buffer size = +([\d.]+) MiB")
_FILE = re.compile(r"^print_info: file size +=\s+([\d.]+) (MiB|GiB)")
_TABLE = re.compile(r"^print_info: n_(embd|vocab) +=\s+(\d+)$")
_OFFLOADED = re.compile(r"^load_tensors: offloaded (\d+)/(\d+) layers to GPU")
_USING = re.compile(r"using device (\S+) \((.*)\) \((\S+|unknown id)\) - (\d+) MiB free")
_LISTED = re.compile(r"^(?:cmn +\w+: )? +- (RPC\d+) *: (\S+) \(\d+ MiB")
_RPC = re.compile(r"^RPC(\d+)\[(.+)\]$")
_ROW = re.compile(r"\| +- ([^|]+?) *\| *(?:(\d+) = +(\d+) \+ +\( *)?(\d+) = +(\d+) \+ +(-?\d+) \+ +(-?\d+)"
                  r"(?:\) \+ +(-?\d+))? *\|")
_CACHE = re.compile(r"cache state: \d+ prompts?, ([\d.]+) MiB")
_FIGURES = ("print_info: n_", ": offloaded ", ": file size", "using device ", " - RPC", "cache state: ")
_PROJECTOR = ("alloc_compute_meta", "load_hparams", "clip", "reserve_compute_meta")


@dataclass(frozen=True)
class Buffer:
    """One buffer. `role`: main, draft or projector; `device`: the engine's device name or Host.

    `mapped`: pages of the model file, not memory of its own. `index` counts the contexts of the role.
    """

    role: str
    name: str
    device: str
    term: str
    bytes: int
    mapped: bool = False
    index: int = 0


@dataclass(frozen=True)
class DeviceUse:
    """One device's share, bytes. `mapped_bytes` is the file range mapped there, part of `model` only where needed."""

    name: str
    model: int = 0
    context: int = 0
    compute: int = 0
    mapped_bytes: int = 0

    @property
    def total(self) -> int:
        return self.model + self.context + self.compute


@dataclass(frozen=True)
class UsedDevice:
    """A line `using device …`: the engine's name, description, bus id (None where unknown), free bytes then."""

    name: str
    description: str
    bus_id: str | None
    free_bytes: int


@dataclass(frozen=True)
class ActualMemory:
    """What one server really allocated. Empty where the log did not tell (less than -lv 4)."""

    buffers: tuple[Buffer, ...] = ()
    offloaded: tuple[int, int] | None = None
    draft_offloaded: tuple[int, int] | None = None
    file_bytes: Mapping[str, int] = field(default_factory=dict)
    """By role: size of the tensors in the file, as the loader printed it (rounded to 0.01 MiB)."""
    planned: Mapping[str, tuple[DeviceUse, ...]] = field(default_factory=dict)
    """The engine's own dry run before the load, by role, whole MiB."""
    at_exit: tuple[DeviceUse, ...] = ()
    """The engine's breakdown at exit, whole MiB; its Host row counts the mapped file."""
    devices: tuple[UsedDevice, ...] = ()
    prompt_cache_bytes: int = 0
    """Largest size of the host prompt cache so far (RAM, outside every other figure)."""
    planned_host: Mapping[str, int] = field(default_factory=dict)
    """By role: its row Host alone, without the host's own buffer types (repacked weights), whole MiB."""
    table: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By role: width and vocabulary, the size of the token table."""

    @property
    def known(self) -> bool:
        return bool(self.buffers or self.at_exit)

    def rows(self, role: str = "main") -> tuple[DeviceUse, ...]:
        """Per device, Host last. A mapped file counts as weights only for what no other buffer holds."""
        mine = [b for b in self.buffers if b.role == role]
        if not mine:
            return self.at_exit if role == "main" else ()
        names = dict.fromkeys([d.name for d in self.devices])
        names.update(dict.fromkeys(b.device for b in mine if b.device != "Host"))
        credit = self._mapped_credit(role, mine)
        used = {b.device for b in mine}
        rows = []
        for name in (*(n for n in names if n in used), "Host"):
            sums = {"model": 0, "context": 0, "compute": 0, "mapped": 0}
            for b in mine:
                if b.device == name and b.term in sums:
                    sums["mapped" if b.mapped else b.term] += b.bytes
            model = sums["model"] + credit.get(name, 0)
            rows.append(DeviceUse(name, model, sums["context"], sums["compute"], sums["mapped"]))
        return tuple(rows)

    def weights_bytes(self, role: str = "main") -> int | None:
        """The model's weights in all, never more than the file where its size is known."""
        rows = self.rows(role)
        if not rows:
            return None
        total = sum(r.model for r in rows)
        return min(total, self.file_bytes[role]) if role in self.file_bytes else total

    def _mapped_credit(self, role: str, mine: list[Buffer]) -> dict[str, int]:
        """Bytes of each device's mapped range that really serve as weights.

        The mapping spans from the first to the last tensor kept there, other devices' tensors in between included.
        What the file holds and no other buffer does is exact, unless tensors were loaded twice (tied embeddings on
        two devices), or the file's size was printed in GiB: then the engine's dry run, which allocates nothing twice
        by mapping, says more.
        """
        mapped: dict[str, int] = {}
        for b in mine:
            if b.mapped and b.term == "model":
                mapped[b.device] = mapped.get(b.device, 0) + b.bytes
        own = sum(b.bytes for b in mine if b.term == "model" and not b.mapped)
        rest = max(0, self.file_bytes[role] - own) if role in self.file_bytes else sum(mapped.values())
        credit = {}
        planned = {row.name: row.model for row in self.planned.get(role, ())}
        for name, size in mapped.items():
            own_here = sum(b.bytes for b in mine if b.device == name and b.term == "model" and not b.mapped)
            share = min(size, rest)
            if not self._as_planned(role, mine):
                pass
            elif name == "Host" and len(mapped) == 1 and role in self.planned_host:
                share = min(size, self._host_share(role, rest))
            elif name in planned and planned[name] - own_here - share > _MIB:
                share = min(size, planned[name] - own_here)
            credit[name], rest = share, max(0, rest - share)
        return credit

    def _as_planned(self, role: str, mine: list[Buffer]) -> bool:
        """The dry run was of the plan that was loaded: every other device's weights are the same to the MiB."""
        for row in self.planned.get(role, ()):
            own = sum(b.bytes for b in mine if b.device == row.name and b.term == "model" and not b.mapped)
            if row.name != "Host" and abs(row.model - own) > 1.02 * _MIB:
                return False
        return True

    def _host_share(self, role: str, rest: int) -> int:
        """The host's weights that are mapped: what is left of the file, where that is what the dry run rounded down;
        else with the token table once more, of the one type that makes it so; else the dry run's own figure."""
        floor = self.planned_host[role]

        def agrees(size: int) -> bool:
            return floor - _PRINTED <= size < floor + _MIB + _PRINTED

        if agrees(rest):
            return rest
        width, rows = self.table.get(role, (0, 0))
        twice = [rest + width // block * size * rows for block, size in BLOCK_BY_ID.values() if width % block == 0]
        fitting = {size for size in twice if rows and agrees(size)}
        return fitting.pop() if len(fitting) == 1 else floor

    def output_bytes(self) -> dict[str, int]:
        """Logits buffers by device, all models: outside llama.cpp's breakdown."""
        out: dict[str, int] = {}
        for b in self.buffers:
            if b.term in ("output", "lora") or b.role == "projector":
                out[b.device] = out.get(b.device, 0) + b.bytes
        return out

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, shaped like an answer of `fit`: main, draft, overhead; bytes."""
        def plain(rows: tuple[DeviceUse, ...]) -> list[dict[str, Any]]:
            return [{"name": r.name, "model": r.model, "context": r.context, "compute": r.compute,
                     **({"mapped": r.mapped_bytes} if r.mapped_bytes else {})} for r in rows]

        out: dict[str, Any] = {"main": plain(self.rows()), "overhead": self.output_bytes()}
        draft = self.rows("draft")
        if draft:
            out["draft"] = plain(draft)
        for name, value in (("offloaded", self.offloaded), ("draft_offloaded", self.draft_offloaded)):
            if value is not None:
                out[name] = list(value)
        if self.at_exit:
            out["at_exit"] = plain(self.at_exit)
        if self.prompt_cache_bytes:
            out["prompt_cache_bytes"] = self.prompt_cache_bytes
        weights = self.weights_bytes()
        if weights is not None:
            out["weights_bytes"] = weights
        return out


class MemoryLog:
    """Collects one load's lines (without level and stamp) into an `ActualMemory`."""

    def __init__(self) -> None:
        self._buffers: list[Buffer] = []
        self._role = "main"
        self._contexts = {"main": 0, "draft": 0}
        self._offloaded: dict[str, tuple[int, int]] = {}
        self._file: dict[str, int] = {}
        self._planned: dict[str, list[DeviceUse]] = {}
        self._planned_host: dict[str, int] = {}
        self._tables: dict[str, dict[str, int]] = {}
        self._at_exit: list[DeviceUse] = []
        self._table: list[DeviceUse] | None = None
        self._dry_role: str | None = None
        self._devices: dict[str, UsedDevice] = {}
        self._endpoints: dict[str, list[str]] = {}
        self._cache = 0
        self._value: ActualMemory | None = None

    def actual(self) -> ActualMemory:
        if self._value is None:
            self._value = ActualMemory(
                tuple(self._buffers), self._offloaded.get("main"), self._offloaded.get("draft"), dict(self._file),
                {role: tuple(rows) for role, rows in self._planned.items()}, tuple(self._at_exit),
                tuple(self._devices.values()), self._cache, planned_host=dict(self._planned_host),
                table={role: (t["embd"], t["vocab"]) for role, t in self._tables.items() if len(t) == 2})
        return self._value

    def feed(self, text: str) -> bool:
        """True when the line said something about memory."""
        told = self._feed(text)
        if told:
            self._value = None
        return told

    def _feed(self, text: str) -> bool:
        if " buffer size = " in text:
            return self._buffer(text)
        if "memory_breakdown" in text:
            return self._breakdown_line(text)
        if "getting device memory data for" in text:
            self._dry_role = "draft" if "extra model" in text else "main"
            return False
        if "loading draft model" in text:
            self._role, self._dry_role = "draft", None
            return False
        if "constructing llama_context" in text:
            self._context()
            return False
        return self._figures(text)

    def _context(self) -> None:
        self._dry_role = None
        # A second context without another model is the MTP one: llama.cpp counts it as the draft.
        if self._role == "main" and self._contexts["main"]:
            self._role = "draft"
        self._contexts[self._role] += 1

    def _figures(self, text: str) -> bool:
        if not any(part in text for part in _FIGURES):
            return False
        found = _OFFLOADED.match(text)
        if found is not None:
            self._offloaded[self._role] = (int(found[1]), int(found[2]))
            return True
        found = _TABLE.match(text)
        if found is not None:
            self._tables.setdefault(self._role, {})[found[1]] = int(found[2])
            return False
        found = _FILE.match(text)
        if found is not None:
            self._file[self._role] = round(float(found[1]) * (_MIB if found[2] == "MiB" else _MIB << 10))
            return True
        found = _USING.search(text)
        if found is not None:
            bus = None if found[3] == "unknown id" else found[3]
            self._devices[found[1]] = UsedDevice(found[1], found[2], bus, int(found[4]) * _MIB)
            if found[1].startswith("RPC"):
                self._endpoint(found[2], found[1])
            return True
        found = _LISTED.match(text)
        if found is not None:
            self._endpoint(found[2], found[1])
            return False
        found = _CACHE.search(text)
        if found is not None:
            self._cache = max(self._cache, round(float(found[1]) * _MIB))
            return True
        return False

    def _endpoint(self, endpoint: str, name: str) -> None:
        known = self._endpoints.setdefault(endpoint, [])
        if name not in known:
            known.append(name)

    def _buffer(self, text: str) -> bool:
        found = _BUFFER.match(text)
        if found is None:
            return False
        function, name, term = found[1], found[2], _TERMS[found[3]]
        role = "projector" if function.startswith(_PROJECTOR) else self._role
        index = self._contexts.get(role, 0)
        new = Buffer(role, name, self._device(name), term, round(float(found[4]) * _MIB), "_Mapped" in name, index)
        if term in ("compute", "output"):
            same = (role, name, term, index)
            self._buffers = [b for b in self._buffers if (b.role, b.name, b.term, b.index) != same]
        self._buffers.append(new)
        return True

    def _device(self, buffer: str) -> str:
        """The engine's device name of a buffer type's name."""
        rpc = _RPC.match(buffer)
        if rpc is not None:
            names = self._endpoints.get(rpc[2], [])
            return names[int(rpc[1])] if int(rpc[1]) < len(names) else buffer
        if buffer.startswith(("CPU", "AMX", "BLAS")) or buffer.endswith("_Host") or buffer == "Host":
            return "Host"
        for ending in ("_Mapped", "_Split", "_Private"):
            buffer = buffer.removesuffix(ending)
        return buffer

    def _breakdown_line(self, text: str) -> bool:
        if "memory breakdown [MiB]" in text:
            self._table = []
            if self._dry_role is not None:
                self._planned[self._dry_role] = self._table
            else:
                self._at_exit = self._table
            return False
        found = _ROW.search(text)
        if found is None or self._table is None:
            return False
        name = found[1].split(" (")[0].strip()
        model, context, compute = (int(found[i]) * _MIB for i in (5, 6, 7))
        if name == "Host" and self._dry_role is not None:
            self._planned_host[self._dry_role] = model
        self._add_row(self._table, name, model, context, compute)
        return True

    def _add_row(self, table: list[DeviceUse], name: str, model: int, context: int, compute: int) -> None:
        device = self._device(name) if "[" not in name else name
        for i, row in enumerate(table):
            if row.name == device:
                table[i] = DeviceUse(device, row.model + model, row.context + context, row.compute + compute)
                return
        table.append(DeviceUse(device, model, context, compute))

    def breakdown_record(self, data: Mapping[str, Any]) -> None:
        """A --log-jsonl record `fit_memory_breakdown`: the same figures as the table that it follows."""
        table: list[DeviceUse] = []
        for row in data.get("rows") or ():
            figures = [int(row.get(key) or 0) * _MIB for key in ("model", "context", "compute")]
            if row.get("name") == "Host" and self._dry_role is not None:
                self._planned_host[self._dry_role] = figures[0]
            self._add_row(table, str(row.get("name", "")), *figures)
        if self._dry_role is not None:
            self._planned[self._dry_role] = table
        else:
            self._at_exit = table
        self._value = None
