"""Where each layer lives: bytes per device, layer and kind, and what every override of the plan moves.

Pure and quick, for a picture that follows each edit. The same rules as the estimate (placement, weights, memory), so
that the cells of a row add up to that row's weights and caches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from paddock.fit.estimator import cant_tell, known, with_open_context
from paddock.fit.levers import Levers
from paddock.fit.memory import Sizes, parts
from paddock.fit.model import Budget
from paddock.fit.overrides import Override
from paddock.fit.placement import HOST, Placement, RefusedError, available, chosen, place
from paddock.fit.quants import padded
from paddock.fit.shape import Shape
from paddock.fit.spelled import canonical
from paddock.fit.weights import INPUT, TensorIndex, Weights
from paddock.gguf.model import ModelFile
from paddock.launch.model import Plan, Setting
from paddock.text import Text

EMBEDDING = INPUT
"""The column of the token embedding; 0… are the layers, `PlacementMap.output` is the output's."""
HOST_NAME = "Host"
CLASSES = ("experts", "ffn", "attention", "kv", "other")
_PATTERN_OPTIONS = ("override-tensor", "cpu-moe", "n-cpu-moe", "n-cpu-ffn")
_FLAGS = {"override-tensor": "-ot", "cpu-moe": "-cmoe", "n-cpu-moe": "-ncmoe", "n-cpu-ffn": "-ncffn"}
_ROPES = -2


@dataclass(frozen=True)
class Cell:
    """What one device holds of one layer, bytes; `tensors`: how many weights (the caches not counted)."""

    experts: int = 0
    ffn: int = 0
    attention: int = 0
    kv: int = 0
    other: int = 0
    tensors: int = 0

    @property
    def weights(self) -> int:
        return self.experts + self.ffn + self.attention + self.other

    @property
    def total(self) -> int:
        return self.weights + self.kv

    def of(self, kind: str) -> int:
        """Bytes of one of CLASSES."""
        return int(getattr(self, kind))


@dataclass(frozen=True)
class MapRow:
    """A device, or "Host" as the last row. `used`: layers may go there."""

    name: str
    description: str = ""
    used: bool = True


@dataclass(frozen=True)
class MovedTensor:
    """A weight that a pattern takes: it lies on `target`, `source` is where it would lie without any pattern."""

    name: str
    type_name: str
    bytes: int
    source: str
    target: str
    column: int
    kind: str

    @property
    def moves(self) -> bool:
        return self.source != self.target


@dataclass(frozen=True)
class Pattern:
    """One override in the order in which llama.cpp tries them; the first that matches a tensor wins.

    `setting` and `part`: which setting of the plan, and which of its comma-separated parts, counted from 0.
    `expression` is the regular expression of -ot, else the value of the flag ("" for -cmoe).
    """

    number: int
    setting: int
    part: int
    flag: str
    expression: str
    target: str
    matched: int = 0
    """Tensors that it finds, also those that an earlier pattern takes first."""
    taken: tuple[MovedTensor, ...] = ()
    late: tuple[tuple[int, int], ...] = ()
    """(number of an earlier pattern, how many of this one's tensors it takes)."""
    problem: Text | None = None

    @property
    def moved(self) -> tuple[MovedTensor, ...]:
        """What it really moves."""
        return tuple(t for t in self.taken if t.moves)

    @property
    def moved_bytes(self) -> int:
        return sum(t.bytes for t in self.moved)

    @property
    def sources(self) -> tuple[str, ...]:
        """The rows that it takes tensors from, in the order of the tensors."""
        return tuple(dict.fromkeys(t.source for t in self.moved))


@dataclass(frozen=True)
class PlacementMap:
    """The picture as values. `problem`: why there is none (then there are no rows); patterns are listed all the same.

    `devices`: names in llama.cpp's order, those that layers are shared among. `layer_device[i]`: the row of layer i
    before any pattern, the output layer last. `first`: the first layer that goes to a device (layers_all + 1: none).
    """

    rows: tuple[MapRow, ...] = ()
    layers: int = 0
    cells: Mapping[tuple[str, int], Cell] = field(default_factory=dict)
    patterns: tuple[Pattern, ...] = ()
    devices: tuple[str, ...] = ()
    layer_device: tuple[str, ...] = ()
    first: int = 0
    has_experts: bool = False
    reads: Mapping[str, int] = field(default_factory=dict)
    """Bytes of weights that one generated token reads from each row: of the experts only the chosen ones."""
    problem: Text | None = None

    @property
    def output(self) -> int:
        """The column of the output layer."""
        return self.layers

    @property
    def columns(self) -> range:
        return range(EMBEDDING, self.layers + 1)

    def cell(self, row: str, column: int) -> Cell:
        return self.cells.get((row, column), Cell())

    def sums(self, row: str) -> tuple[int, int]:
        """(weights, caches) of a row, bytes: the estimate's model and context."""
        found = [c for (name, _), c in self.cells.items() if name == row]
        return sum(c.weights for c in found), sum(c.kv for c in found)

    @property
    def shares(self) -> tuple[int, ...]:
        """Layers per device, the output layer counted: as -ts they give just this split."""
        return tuple(sum(name == d for name in self.layer_device) for d in self.devices)

    @property
    def boundaries(self) -> tuple[int, ...]:
        """For each device but the first: the layer from which on it (or a later one) holds the layers; none if no
        layer goes to a device."""
        if not any(self.shares):
            return ()
        found, at = [], self.first
        for share in self.shares[:-1]:
            at += share
            found.append(at)
        return tuple(found)

    def split_at(self, boundary: int, layer: int) -> tuple[int, ...]:
        """The shares when that boundary is drawn to begin at `layer`; neighbours give way when it passes them."""
        ends = [*self.boundaries, len(self.layer_device)]
        layer = max(self.first, min(layer, len(self.layer_device)))
        ends = [min(e, layer) if i < boundary else max(e, layer) for i, e in enumerate(ends)]
        ends[boundary] = layer
        return tuple(end - start for start, end in zip([self.first, *ends], ends, strict=False))


def placement_map(model: ModelFile, plan: Plan, budgets: Sequence[Budget]) -> PlacementMap:
    """Device by layer by kind, and each pattern's part in it. Never raises for a readable model."""
    listed = list(_listed(plan))
    try:
        facts = known(model)
        unsure = cant_tell(facts.shape)
        if unsure is not None:
            raise RefusedError(unsure)
        levers = Levers.of(plan)
        devices = chosen(levers, available(budgets))
    except RefusedError as error:
        return PlacementMap(patterns=tuple(p for p, _ in listed), problem=error.text)
    except ValueError as error:
        why = Text("Its metadata does not say enough: {why}.", why=error)
        return PlacementMap(patterns=tuple(p for p, _ in listed), problem=why)
    names = tuple(d.name for d in devices)
    index = facts.index("draft-mtp" in levers.spec_types)
    listed = [(_known_target(p, names), overrides) for p, overrides in listed]
    usable = tuple(o for p, overrides in listed if p.problem is None for o in overrides)
    placement = place(replace(levers, overrides=usable), devices, facts.shape.layers_all)
    weights = Weights(index, placement, levers)
    filling = _Filling(index, weights, placement)
    filling.weigh()
    filling.cache(facts.shape, Sizes.of(facts.shape, with_open_context(levers, facts.shape)))
    used = {d.row for d in devices}
    rows = [MapRow(b.name, b.description, i in used) for i, b in enumerate(budgets)]
    start = next((i for i, d in enumerate(placement.layer_device) if d != HOST), len(placement.layer_device))
    return PlacementMap(
        rows=(*rows, MapRow(HOST_NAME)), layers=facts.shape.layers_all, cells=filling.cells(),
        patterns=_effects(listed, filling), devices=names,
        layer_device=tuple(filling.name(d) for d in placement.layer_device), first=start,
        has_experts="experts" in filling.kinds, reads=filling.reads(facts.shape))


def class_of(name: str) -> str:
    """The kind of a weight, by its name: experts, ffn, attention or other."""
    word = name.split(".")[2] if name.startswith(("blk.", "enc.", "dec.")) and name.count(".") >= 2 else ""
    if name.startswith(("enc.blk.", "dec.blk.")):
        word = name.split(".")[3] if name.count(".") >= 3 else ""
    if word.startswith("ffn"):
        return "experts" if "exps" in word else "ffn"
    return "attention" if word.startswith(("attn", "cross_attn")) else "other"


def _listed(plan: Plan) -> list[tuple[Pattern, tuple[Override, ...]]]:
    """Every pattern of the plan in order, with the overrides that it stands for."""
    found: list[tuple[Pattern, tuple[Override, ...]]] = []
    for at, setting in enumerate(plan.settings):
        name, on = canonical(setting)
        if name not in _PATTERN_OPTIONS or not on:
            continue
        texts = ",".join(setting.values).split(",") if name == "override-tensor" else [setting.value or ""]
        for part, text in enumerate(texts):
            values = (text,) if name != "cpu-moe" else ()
            levers = Levers.of(Plan((Setting(name, values),)))
            expression, _, target = text.partition("=") if name == "override-tensor" else (text, "", "CPU")
            made = Pattern(len(found) + 1, at, part, _FLAGS[name], expression, target, problem=levers.problem)
            found.append((made, levers.overrides))
    return found


def _known_target(pattern: Pattern, names: tuple[str, ...]) -> Pattern:
    target = pattern.target.split("[", 1)[0]
    if pattern.problem is not None or target.upper().startswith("CPU") or target in names:
        return pattern
    return replace(pattern, problem=Text("There is no device “{device}” in use.", device=pattern.target))


class _Filling:
    """Adds up what lies in each cell."""

    def __init__(self, index: TensorIndex, weights: Weights, placement: Placement) -> None:
        self.index, self.weights, self.placement = index, weights, placement
        self._bytes: dict[tuple[int, int], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._counts: dict[tuple[int, int], int] = defaultdict(int)
        self.kinds = [class_of(name) for name in index.names]

    def name(self, device: int) -> str:
        return HOST_NAME if device == HOST else self.placement.devices[device].name

    def size(self, i: int, device: int) -> int:
        """Bytes of a tensor in a buffer of that device."""
        if device == HOST:
            return self.index.sizes(32, False)[i]
        found = self.placement.devices[device]
        return self.index.sizes(found.align, found.pads_rows)[i]

    def natural(self, i: int) -> int:
        """Where a tensor lies without any pattern."""
        home = self.index.homes[i]
        return HOST if home == INPUT else self.placement.layer_device[max(home, 0)]

    def column(self, i: int) -> int:
        home = self.index.homes[i]
        return 0 if home == _ROPES else home

    def _add(self, device: int, column: int, kind: str, size: int, tensors: int) -> None:
        self._bytes[device, column][kind] += size
        self._counts[device, column] += tensors

    def weigh(self) -> None:
        """All weights, the copies of rope factors and of a tied embedding included."""
        for i, home in enumerate(self.index.homes):
            if home == _ROPES:
                self._ropes(i)
            else:
                device = self.weights.device_of(i)
                self._add(device, home, self.kinds[i], self.size(i, device), 1)
        self._tied()

    def _ropes(self, i: int) -> None:
        """One copy per device, shown in the first layer that uses it there."""
        shape, moved = self.index.shape, self.weights.moved
        users = [n for n in range(shape.layers) if not (shape.architecture == "gemma4" and shape.swa[n])]
        first: dict[int, int] = {}
        for layer in users:
            first.setdefault(moved.get(i, self.placement.layer_device[layer]), layer)
        if i in moved:
            first.setdefault(moved[i], 0)
        for device, layer in first.items():
            self._add(device, layer, self.kinds[i], self.size(i, device), 1)

    def _tied(self) -> None:
        """The embedding's second copy, as the output, where the weights say that there is one."""
        i = self.index.tied
        if i is None:
            return
        target = self.weights.moved.get(i, self.placement.output_device)
        held = sum(sum(kinds.values()) for (device, _), kinds in self._bytes.items() if device == target)
        if self.weights.by_device.get(target, 0) - held == self.size(i, target):
            self._add(target, self.index.shape.layers_all, self.kinds[i], self.size(i, target), 1)

    def cache(self, shape: Shape, sizes: Sizes) -> None:
        """Keys, values and states of the main context, in the layer that they belong to."""
        for part in parts(shape, sizes):
            device = self.placement.layer_device[part.layer] if sizes.kv_offload else HOST
            align = 32 if device == HOST else self.placement.devices[device].align
            self._add(device, part.layer, "kv", padded(part.nbytes, align), 0)

    def reads(self, shape: Shape) -> dict[str, int]:
        """Weights that the trunk reads for one token (rows looked up in an embedding are not worth counting)."""
        found: dict[str, int] = defaultdict(int)
        for i, home in enumerate(self.index.homes):
            if home < 0 or shape.layers <= home < shape.layers_all:
                continue
            device = self.weights.device_of(i)
            size = self.size(i, device)
            if self.kinds[i] == "experts" and shape.experts and home < shape.layers_all:
                size = size * shape.experts_used[home] // shape.experts
            found[self.name(device)] += size
        tied = self.index.tied
        if tied is not None:
            target = self.weights.moved.get(tied, self.placement.output_device)
            found[self.name(target)] += self.size(tied, target)
        return dict(found)

    def cells(self) -> dict[tuple[str, int], Cell]:
        return {(self.name(d), c): Cell(**kinds, tensors=self._counts[d, c])
                for (d, c), kinds in self._bytes.items() if any(kinds.values()) or self._counts[d, c]}


def _effects(listed: Sequence[tuple[Pattern, tuple[Override, ...]]], filling: _Filling) -> tuple[Pattern, ...]:
    owner: dict[int, int] = {}
    return tuple(_effect(pattern, overrides, filling, owner) for pattern, overrides in listed)


def _effect(pattern: Pattern, overrides: tuple[Override, ...], filling: _Filling, owner: dict[int, int]) -> Pattern:
    if pattern.problem is not None:
        return pattern
    index = filling.index
    found = sorted(set().union(*(index.matches(o.pattern) for o in overrides)))
    late: dict[int, int] = defaultdict(int)
    taken = []
    for i in found:
        if i in owner:
            late[owner[i]] += 1
            continue
        owner[i] = pattern.number
        target = filling.weights.moved[i]
        taken.append(MovedTensor(index.names[i], index.tensors[i].type_name, filling.size(i, target),
                                 filling.name(filling.natural(i)), filling.name(target), filling.column(i),
                                 filling.kinds[i]))
    return replace(pattern, matched=len(found), taken=tuple(taken), late=tuple(sorted(late.items())))
