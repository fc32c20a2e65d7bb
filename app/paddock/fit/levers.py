"""The plan's settings that decide memory, resolved to numbers. Everything else in this room uses only `Levers`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from paddock.fit.overrides import Override
from paddock.fit.spelled import Spelled
from paddock.launch.model import Plan
from paddock.text import Text


@dataclass(frozen=True)
class Levers:
    """All that the command line says about memory. `problem`: llama.cpp refuses these arguments, and why."""

    devices: tuple[str, ...] | None = None
    """Names of -dev without [endpoint]; None = all, () = none."""
    split_mode: str = "layer"
    main_gpu: int = 0
    gpu_layers: int = -1
    tensor_split: tuple[float, ...] = ()
    overrides: tuple[Override, ...] = ()
    context: int = 0
    """-c, 0 = the model's own."""
    context_given: bool = False
    slots: int = 4
    slots_given: bool = False
    unified: bool = True
    batch: int = 2048
    ubatch: int = 512
    flash: str = "auto"
    type_k: str = "f16"
    type_v: str = "f16"
    swa_full: bool = False
    kv_offload: bool = True
    op_offload: bool = True
    repack: bool = True
    no_host: bool = False
    embeddings: bool = False
    pooling: str | None = None
    load_mode: str = "auto"
    spec_types: tuple[str, ...] = ()
    draft_max: int = 3
    rollback: int = 0
    """Tokens whose recurrent state is kept for rejected drafts (n_rs_seq)."""
    draft_tokens: int = 0
    """Most tokens that a step verifies besides the next one."""
    draft_model: str | None = None
    draft: Levers | None = field(default=None, repr=False)
    cache_ram_mib: int = 8192
    checkpoints: int = 32
    fit_target_mib: tuple[int, ...] = (1024,)
    fit: bool = True
    projector: bool = False
    projector_device: str | None = None
    projector_offload: bool = True
    backend_sampling: bool = False
    keys: tuple[tuple[str, int | float | bool | str], ...] = ()
    """--override-kv: metadata keys that llama.cpp reads another value for."""
    problem: Text | None = None
    running: bool = False
    """The figures of a running server are wanted, not those of llama.cpp's dry run, which loses some hints."""

    @property
    def mtp(self) -> bool:
        """A second context on the target's own weights (draft-mtp without -md)."""
        return "draft-mtp" in self.spec_types and self.draft_model is None

    @classmethod
    def of(cls, plan: Plan) -> Levers:
        """Read a plan (its LLAMA_ARG_* variables are left aside: the checks show them)."""
        read = Spelled(plan)
        common = _common(read)
        devices = read.names("device")
        draft = Levers(
            **common,
            devices=read.names("spec-draft-device") if "spec-draft-device" in read.found else devices,
            gpu_layers=read.layers("spec-draft-ngl"),
            overrides=tuple(read.small),
            type_k=read.cache_type("spec-draft-type-k"),
            type_v=read.cache_type("spec-draft-type-v"),
        )
        found = Levers(
            **common,
            devices=devices,
            gpu_layers=read.layers("gpu-layers"),
            overrides=tuple(read.main),
            type_k=read.cache_type("cache-type-k"),
            type_v=read.cache_type("cache-type-v"),
            draft=draft,
            **_of_the_target(read, common["spec_types"], common["draft_max"]),
        )
        return replace(found, problem=read.problem)


def _common(read: Spelled) -> dict[str, Any]:
    """What holds for the target and its draft alike."""
    slots = read.integer("parallel", -1)
    if slots == 0:
        read.refuse(Text("--parallel 0 is not allowed."))
    auto = slots < 0
    slots = 4 if auto else slots
    unified = True if auto else read.switch("kv-unified", False)
    types = tuple(t for t in (read.text("spec-type") or "none").split(",") if t)
    draft_max = read.integer("spec-draft-n-max", 3)
    context = read.integer("ctx-size", 0)
    per_slot = read.integer("kv-unified-per-slot", 0)
    if per_slot > 0 and "ctx-size" not in read.found:
        context = slots * per_slot
    batch, ubatch = read.integer("batch-size", 2048), read.integer("ubatch-size", 512)
    return {
        "batch": min(batch, ubatch) if _embeds(read) else batch,
        "split_mode": _split_mode(read),
        "main_gpu": read.integer("main-gpu", 0),
        "tensor_split": read.split(),
        "context": context,
        "context_given": "ctx-size" in read.found,
        "slots": max(1, slots),
        "slots_given": not auto,
        "unified": unified,
        "ubatch": ubatch,
        "flash": read.flash(),
        "swa_full": read.switch("swa-full", False),
        "kv_offload": read.switch("kv-offload", True),
        "op_offload": read.switch("op-offload", True),
        "repack": read.switch("repack", True),
        "no_host": read.switch("no-host", False),
        "load_mode": read.load_mode(),
        "spec_types": types,
        "draft_max": draft_max,
        "keys": tuple(read.keys),
    }


def _of_the_target(read: Spelled, types: tuple[str, ...], draft_max: int) -> dict[str, Any]:
    """What the draft has no part in."""
    needs_rollback = {"draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark"} & set(types)
    return {
        "embeddings": _embeds(read),
        "pooling": "rank" if read.switch("reranking", False) else read.text("pooling"),
        "rollback": max(0, draft_max) if needs_rollback else 0,
        "draft_tokens": read.drafted(types, draft_max),
        "draft_model": read.text("spec-draft-model"),
        "cache_ram_mib": read.integer("cache-ram", 8192),
        "checkpoints": read.integer("ctx-checkpoints", 32),
        "fit_target_mib": read.targets(),
        "fit": read.switch("fit", True),
        "projector": read.text("mmproj") is not None or read.text("mmproj-url") is not None,
        "projector_device": read.text("mmproj-device"),
        "projector_offload": read.switch("mmproj-offload", True),
        "backend_sampling": read.switch("backend-sampling", False),
    }


def _embeds(read: Spelled) -> bool:
    return read.switch("embeddings", False) or read.switch("reranking", False)


def _split_mode(read: Spelled) -> str:
    mode = read.text("split-mode") or "layer"
    if mode not in ("none", "layer", "row", "tensor"):
        read.refuse(Text("“{value}” is not a split mode.", value=mode))
        return "layer"
    return mode
