"""How the machine is set up: clocks, power, memory banks, other programs' load, and what stands before the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.launch.checks.question import Question, error, hint, warning
from paddock.launch.model import PREFIX, Card, Issue
from paddock.text import Text

_OWN_CLOCKS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
"""Drivers whose "powersave" leaves the clock to the processor (kernel: admin-guide/pm, intel_pstate and amd-pstate)."""
_LIMITED = 0.9
_IN_CACHE = 0.2
_INTERLEAVED = ("numactl", "--interleave=all")
_WORKS_ON_CPU = ("cpu-moe", "n-cpu-moe", "n-cpu-ffn", "override-tensor")


def free_cores(q: Question) -> Iterator[Issue]:
    """Threads meet at a barrier after each operation: one that shares its core with another program holds up all."""
    load, machine = q.conditions.load_1min, q.machine
    if machine is None or load is None:
        return
    cores = machine.logical_cores
    if load < max(1.0, cores * 0.25):
        return
    free = max(1, int(cores - load))
    asked = q.number("threads")
    if asked is not None and free < asked <= cores:
        yield warning("threads-above-free", "threads",
                      Text("-t {count} on a busy machine: {free} of {cores} cores are free (load {load}). The threads "
                           "wait for the slowest one at every step: with one core short, generation can drop to a "
                           "fraction.", count=asked, free=free, load=round(load, 1), cores=cores),
                      Text("Use {free}, or end what keeps the machine busy.", free=free), (("threads", (str(free),)),))
    elif asked is None and load >= cores * 0.75:
        yield hint("busy-machine", None,
                   Text("The machine is busy (load {load} on {cores} cores): speeds will be lower than usual.",
                        load=round(load, 1), cores=cores), Text("End what keeps it busy, or expect less."))


def governor(q: Question) -> Iterator[Issue]:
    """"powersave" of a driver that knows no better keeps the lowest clock (kernel: admin-guide/pm/cpufreq)."""
    slow = [driver for driver, name in q.conditions.governors if name == "powersave" and driver not in _OWN_CLOCKS]
    if slow and _uses_cpu(q):
        yield warning("cpu-governor", "threads",
                      Text("The processor is told to keep its lowest clock (governor powersave, driver {driver}): what "
                           "runs on it is slow.", driver=slow[0]),
                      Text("Choose “performance” or “schedutil”: sudo cpupower frequency-set -g performance."))


def _uses_cpu(q: Question) -> bool:
    if q.devices is None or not q.devices or any(q.plan.find(name) is not None for name in _WORKS_ON_CPU):
        return True
    asked, blocks = q.number("gpu-layers"), q.model.facts.layers if q.model is not None else None
    return asked is not None and blocks is not None and 0 <= asked <= blocks


def power_limit(q: Question) -> Iterator[Issue]:
    """A card that may draw less than its maker's default."""
    for card in _used(q):
        if card.limit_w is not None and card.default_limit_w and card.limit_w < card.default_limit_w * _LIMITED:
            yield hint("power-limit", None,
                       Text("{card} is limited to {limit} W of {usual} W: prompts take longer, generation hardly.",
                            card=card.name, limit=round(card.limit_w), usual=round(card.default_limit_w)),
                       Text("If it is not meant so: sudo nvidia-smi -pl {usual}.", usual=round(card.default_limit_w)))


def persistence(q: Question) -> Iterator[Issue]:
    """Without persistence the Linux driver lets go of a card when its last user ends (NVIDIA: driver persistence)."""
    off = [card.name for card in _used(q) if card.persistence is False]
    if off and q.machine is not None and q.machine.system == "Linux":
        yield hint("persistence-off", None,
                   Text("The driver lets go of {cards} between launches: each start takes seconds longer, and limits "
                        "of power or clocks that were set are lost.", cards=", ".join(off)),
                   Text("Turn persistence mode on: sudo nvidia-smi -pm 1."))


def _used(q: Question) -> tuple[Card, ...]:
    """The cards that the launch will use: all of them where CUDA is in use at all."""
    return q.conditions.cards if q.devices and any(device.kind == "cuda" for device in q.devices) else ()


def direct_copies(q: Question) -> Iterator[Issue]:
    """P2P behind an IOMMU crashes or corrupts on some boards (llama.cpp: docs/build.md, docs/multi-gpu.md)."""
    if "GGML_CUDA_P2P" not in q.environment or not q.conditions.iommu:
        return
    yield warning("p2p-with-iommu", None,
                  Text("GGML_CUDA_P2P lets cards copy directly, and an IOMMU is on: on some boards that crashes or "
                       "gives wrong answers."),
                  Text("Take the variable out, or turn the IOMMU off in the firmware."),
                  (("env:GGML_CUDA_P2P", None),) if q.plan.variable("GGML_CUDA_P2P") is not None else ())


def collective_library(q: Question) -> Iterator[Issue]:
    """-sm tensor adds up results of all cards several times a layer; NCCL does that fast (docs/multi-gpu.md)."""
    cards = [device for device in q.devices or () if device.kind == "cuda"]
    if q.text("split-mode") == "tensor" and len(cards) > 1 and q.conditions.nccl is False:
        yield warning("nccl-missing", "split-mode",
                      Text("This engine was built without NCCL: with -sm tensor the cards exchange results slowly."),
                      Text("Use an engine with NCCL, or -sm layer."), (("split-mode", ("layer",)),))


def memory_banks(q: Question) -> Iterator[Issue]:
    """--numa on machines with one bank and with several; what llama.cpp's own help says about the page cache."""
    kind = q.text("numa")
    nodes = q.machine.numa_nodes if q.machine is not None else None
    if kind and nodes == 1:
        yield hint("one-numa-node", "numa", Text("This machine has one bank of memory: --numa does nothing."),
                   Text("Take it out."), (("numa", None),))
        return
    wrapped = any(re.split(r"[/\\]", word)[-1] == "numactl" for word in q.plan.prefix)
    if kind == "numactl" and not wrapped:
        yield warning("numactl-without-prefix", "numa",
                      Text("--numa numactl keeps to the CPUs that numactl hands on, and numactl does not stand before "
                           "the engine."), Text("Put numactl --interleave=all before it."), ((PREFIX, _INTERLEAVED),))
    elif wrapped and kind != "numactl":
        yield hint("numactl-without-option", "numa",
                   Text("numactl stands before the engine, and llama.cpp is not told to keep to its choice."),
                   Text("Add --numa numactl."), (("numa", ("numactl",)),))
    cached = q.conditions.cached_fraction
    if kind and cached is not None and cached > _IN_CACHE:
        yield hint("page-cache-before-numa", "numa",
                   Text("{percent} % of the model lie in the page cache already, on the bank where they were read "
                        "first: --numa does not move them.", percent=round(100 * cached)),
                   Text("Drop the page cache once before: sync; echo 3 | sudo tee /proc/sys/vm/drop_caches."))
    if kind and q.conditions.numa_balancing:
        yield warning("numa-balancing", "numa",
                      Text("The kernel moves pages between banks by itself (numa_balancing), which slows llama.cpp "
                           "down."), Text("Turn it off: echo 0 | sudo tee /proc/sys/kernel/numa_balancing."))


def prefix_program(q: Question) -> Iterator[Issue]:
    """What stands before the engine must be there, or nothing starts."""
    if q.plan.prefix and q.conditions.prefix_found is False:
        yield error("prefix-missing", None, Text("{program} is to start the engine, and it was not found here.",
                                                 program=q.plan.prefix[0]),
                    Text("Install it, or take the prefix out."), ((PREFIX, None),))
