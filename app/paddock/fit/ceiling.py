"""The speed that memory allows: to generate a token, a device reads all its active weights and the token's past once.

tokens/s ≤ 1 / sum over devices of (bytes read there / bandwidth there): a single answer's layers run one after another.
Only an upper bound with a usual range: real runs reach a part of the peak (`REACHED`), less where the processor cannot
keep up. For one slot; several slots share the reading of the weights and are faster together.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddock.fit import architectures as arch_data
from paddock.fit import estimator
from paddock.fit.bandwidth import Bandwidth, published
from paddock.fit.levers import Levers
from paddock.fit.memory import Sizes, cells_of, parts
from paddock.fit.model import Budget, Known
from paddock.fit.overrides import EXPERTS
from paddock.fit.placement import HOST, Placement, RefusedError, available, chosen, place
from paddock.fit.shape import Shape
from paddock.fit.weights import INPUT, TensorIndex, Weights
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan
from paddock.text import Text

HOST_NAME = "Host"
REACHED = 0.55, 0.85
"""The part of a card's published peak that generation usually reaches, one slot: a judgement, not a measurement. Small
models and the fastest cards reach less: there the time between two kernels counts."""
REACHED_RAM = 0.3, 1.0
"""The part of the RAM's measured reading speed. The low end is one run: a 270M Q4_K_M model on one thread of an EPYC
reached 0.29 of it, bound by arithmetic; more threads come nearer."""
_EXPERT = re.compile(EXPERTS)


@dataclass(frozen=True)
class Ceiling:
    """Tokens per second for one answer at `depth` tokens of context: the usual range, and the bound itself.

    All None when a bandwidth is not known; `basis` says what it rests on, or what is missing.
    """

    low: float | None
    high: float | None
    basis: Text
    depth: int = 0
    bound: float | None = None
    read_bytes: Mapping[str, int] | None = None
    """Bytes read per token, by device name."""
    known: Known = Known.REPORTS
    """MEASURED where past sessions of this machine are the basis, or its RAM's speed alone."""
    sessions: int = 0
    """How many past sessions the range rests on."""


@dataclass(frozen=True)
class Past:
    """One earlier session here: its plan, its devices, tokens/s of single answers at a depth of `context` tokens."""

    plan: Plan
    budgets: tuple[Budget, ...]
    tokens_per_s: float
    context: float


@dataclass(frozen=True)
class Reached:
    """Which part of the bound earlier sessions reached, over how many of them; and bandwidths that follow from them."""

    low: float
    high: float
    sessions: int
    bandwidths: Mapping[str, Bandwidth | None]
    derived: bool = False
    """The device's bandwidth was not known: what the sessions read a second stands for it, and there is no bound."""


SPREAD = 0.1
"""One session is no range: so much more and less may be as usual."""


def bandwidths(budgets: Sequence[Budget], ram_bytes_per_s: float | None) -> dict[str, Bandwidth | None]:
    """By device name: the published figure of a card, the measured one of RAM ("Host"); None = not known.

    A device that shares the host's memory is taken by its own name where it is in the table, else by the RAM's figure.
    """
    ram = None
    if ram_bytes_per_s is not None:
        ram = Bandwidth(ram_bytes_per_s, ram_bytes_per_s, Known.MEASURED, "RAM")
    found: dict[str, Bandwidth | None] = {HOST_NAME: ram}
    for budget in budgets:
        found[budget.name] = published(budget.description) or (ram if budget.integrated else None)
    return found


def reached(model: ModelFile, plan: Plan, budgets: Sequence[Budget], known: Mapping[str, Bandwidth | None],
            past: Sequence[Past]) -> Reached | None:
    """What sessions that read from the same devices as this plan reached; None where there were none.

    Where the only device's bandwidth is not known, what the sessions read a second stands for it.
    """
    here = _read(model, plan, budgets, 0)
    if here is None:
        return None
    names = {name for name, size in here.items() if size}
    cards = {b.name: b.description for b in budgets}
    seen = [(one, read) for one in past if (read := _read(model, one.plan, one.budgets, round(one.context)))
            and {n for n, size in read.items() if size} == names
            and all(cards.get(b.name, b.description) == b.description for b in one.budgets if b.name in names)]
    if not seen or not names:
        return None
    missing = [name for name in names if known.get(name) is None]
    if missing and len(names) > 1:
        return None
    found = dict(known)
    if missing:
        rates = [one.tokens_per_s * read[missing[0]] for one, read in seen]
        found[missing[0]] = Bandwidth(min(rates), max(rates), Known.MEASURED, "past sessions")
    shares = [one.tokens_per_s * sum(size / speed.high for name, size in read.items()
                                     if size and (speed := found[name]) is not None) for one, read in seen]
    low, high = min(shares), max(shares)
    if len(seen) == 1:
        low, high = low * (1 - SPREAD), high * (1 + SPREAD)
    return Reached(low, high, len(seen), found, bool(missing))


def _read(model: ModelFile, plan: Plan, budgets: Sequence[Budget], depth: int) -> dict[str, int] | None:
    try:
        return read_per_token(model, plan, budgets, depth)
    except (RefusedError, ValueError):
        return None


def ceiling(model: ModelFile, plan: Plan, budgets: Sequence[Budget], known: Mapping[str, Bandwidth | None],
            depth: int = 0, past: Reached | None = None) -> Ceiling | None:
    """The range at this depth of context (tokens), or None where the plan or the model says too little.

    `past`: what earlier sessions on this machine reached is the basis, instead of what is usual.
    """
    read = _read(model, plan, budgets, depth)
    if read is None:
        return None
    if past is not None:
        known = past.bandwidths
    slow = fast = least = 0.0
    for name, size in read.items():
        speed = known.get(name)
        if not size:
            continue
        if speed is None:
            what = (Text("how fast this machine's RAM is was not measured yet") if name == HOST_NAME
                    else Text("there is no published figure for {device}", device=_called(name, budgets)))
            return Ceiling(None, None, Text("No speed ceiling: {what}.", what=what), depth, None, read)
        low, high = REACHED_RAM if speed.known is Known.MEASURED else REACHED
        slow += size / (speed.low * low)
        fast += size / (speed.high * high)
        least += size / speed.high
    if not least:
        return None
    if past is not None:
        bound = 1 / least
        return Ceiling(bound * past.low, bound * past.high, _past_basis(past), depth, None if past.derived else bound,
                       read, Known.MEASURED, past.sessions)
    every = all((s := known[n]) is not None and s.known is Known.MEASURED for n, size in read.items() if size)
    return Ceiling(1 / slow, 1 / fast, _basis(read, known), depth, 1 / least, read,
                   Known.MEASURED if every else Known.REPORTS)


def _past_basis(past: Reached) -> Text:
    if past.derived:
        return Text("From a session of this model here.", plural="From {count} sessions of this model here.",
                    count=past.sessions)
    low, high = round(100 * past.low), round(100 * past.high)
    return Text("From a session of this model here, with {low} to {high} % of what memory allows.",
                plural="From {count} sessions of this model here, with {low} to {high} % of what memory allows.",
                count=past.sessions, low=low, high=high)


def _called(name: str, budgets: Sequence[Budget]) -> str:
    found = next((b.description for b in budgets if b.name == name), "")
    return found or name


def _basis(read: Mapping[str, int], known: Mapping[str, Bandwidth | None]) -> Text:
    cards = [n for n, size in read.items() if size and (s := known[n]) is not None and s.known is not Known.MEASURED]
    ram = len(cards) < sum(1 for size in read.values() if size)
    if cards and ram:
        return Text("Bound by memory speed: 55 to 85 % of the cards' published bandwidth, 30 to 100 % of the RAM's "
                    "measured one.")
    if cards:
        return Text("Bound by memory speed: 55 to 85 % of the published bandwidth, as generation usually reaches.")
    return Text("Bound by memory speed: 30 to 100 % of what was measured of this machine's RAM.")


def read_per_token(model: ModelFile, plan: Plan, budgets: Sequence[Budget], depth: int) -> dict[str, int]:
    """Bytes that one generated token reads on each device, by name, "Host" too: active weights, caches, states.

    Raises RefusedError or ValueError as the estimate would.
    """
    facts = estimator.known(model)
    levers, shape = Levers.of(plan), facts.shape
    if levers.problem is not None:
        raise RefusedError(levers.problem)
    placement = place(levers, chosen(levers, available(budgets)), shape.layers_all)
    index = facts.index("draft-mtp" in levers.spec_types)
    found = _weights(index, placement, Weights(index, placement, levers), shape)
    sizes = Sizes.of(shape, estimator.with_open_context(levers, shape))
    for part in parts(shape, sizes):
        device = placement.layer_device[part.layer] if sizes.kv_offload else HOST
        found[device] = found.get(device, 0.0) + part.nbytes * _touched(shape, sizes, part.kind, part.layer, depth)
    names = {i: d.name for i, d in enumerate(placement.devices)} | {HOST: HOST_NAME}
    return {names[i]: round(size) for i, size in found.items()}


def _touched(shape: Shape, sizes: Sizes, kind: str, layer: int, depth: int) -> float:
    """The part of one cache tensor that a token reads (a state is read and written)."""
    if kind == "state":
        return 2 / max(1, sizes.slots * (1 + sizes.states))
    cells, seen = cells_of(shape, sizes, layer), depth
    if shape.windowed and shape.swa[layer]:
        seen = min(depth, shape.window)
    elif kind != "index" and shape.architecture in arch_data.DSA and shape.integer("attention.indexer.top_k"):
        seen = min(depth, shape.integer("attention.indexer.top_k"))
    return min(seen, cells) / max(1, cells * sizes.streams)


_ACTIVE: OrderedDict[int, tuple[TensorIndex, dict[int, float], list[float]]] = OrderedDict()
"""id of a tensor index → (itself, active bytes per home, active bytes per tensor); the last few."""


def _active(index: TensorIndex, shape: Shape) -> tuple[dict[int, float], list[float]]:
    found = _ACTIVE.get(id(index))
    if found is None or found[0] is not index:
        homes: dict[int, float] = {}
        each = []
        for i, tensor in enumerate(index.tensors):
            home = index.homes[i]
            size = 0.0 if home in (INPUT, -2) else float(tensor.nbytes or 0)
            if 0 <= home < shape.layers_all and shape.experts and _EXPERT.search(index.names[i]):
                size *= min(1.0, (shape.experts_used[home] or shape.experts) / shape.experts)
            if shape.layers <= home < shape.layers_all:
                size = 0.0
            each.append(size)
            homes[home] = homes.get(home, 0.0) + size
        _ACTIVE[id(index)] = found = index, homes, each
        while len(_ACTIVE) > 8:
            _ACTIVE.popitem(last=False)
    return found[1], found[2]


def _weights(index: TensorIndex, placement: Placement, weights: Weights, shape: Shape) -> dict[int, float]:
    """Active weight bytes by device index. The token table is looked up, not read; as a head it is read whole."""
    homes, each = _active(index, shape)
    found: dict[int, float] = {}
    for home, size in homes.items():
        if home >= 0:
            device = placement.layer_device[home]
            found[device] = found.get(device, 0.0) + size
    for i, target in weights.moved.items():
        if index.homes[i] >= 0:
            found[placement.layer_device[index.homes[i]]] -= each[i]
            found[target] = found.get(target, 0.0) + each[i]
    head = index.tied
    if head is None and "output.weight" not in index.position:
        head = index.position.get("token_embd.weight")
    if head is not None and shape.causal:
        device = weights.moved.get(head, placement.output_device)
        found[device] = found.get(device, 0.0) + (index.tensors[head].nbytes or 0)
    return found
