"""The tensors of a model by the layer they belong to, and their bytes on each device."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from paddock.fit import architectures as arch_data
from paddock.fit.levers import Levers
from paddock.fit.overrides import DENSE, EXPERTS, compiled
from paddock.fit.placement import HOST, Device, Placement, RefusedError
from paddock.fit.quants import BLOCK_BY_ID, REPACKED_IDS, UNQUANTISED_IDS, padded
from paddock.fit.shape import Shape
from paddock.gguf.model import ModelFile, Tensor
from paddock.text import Text

INPUT = -1
_BLOCK = re.compile(r"^(?:enc\.|dec\.)?(?:blk|posnet|convnext)\.(\d+)\.")
_INPUTS = ("token_embd.weight", "position_embd", "token_types", "per_layer_token_embd", "ple_embd", "ple_token_embd")
_FIRST = (
    "token_embd_norm",
    "per_layer_model_proj",
    "per_layer_proj_norm",
    "hrm.z_l_init",
    "z_l_init",
    "conv1d.",
    "nextn.pre_projection",
)
_ROPES = ("rope_freqs", "rope_factors_long", "rope_factors_short")
_DROPPED = ("masked_embd_centroids", "masked_embd_ordering", "masked_embd")
_STATE_PARTS = re.compile(r"\.(ssm_\w+|attn_(q|k|v|output))\.?")
"""What GLM 5 Next loads of a block with a state, whether it is skipped or not."""
_OF_BLOCK = re.compile(r"^blk\\\.(\d+)(.*)$")


class TensorIndex:
    """Tensors that a context loads (`mtp`: MTP blocks too), with their homes. Built once per model."""

    def __init__(self, model: ModelFile, shape: Shape, mtp: bool) -> None:
        self.shape = shape
        self.names: list[str] = []
        self.tensors: list[Tensor] = []
        self.homes: list[int] = []
        """INPUT, a block's number, or layers_all for the output layer."""
        self.ropes: list[int] = []
        self.tied: int | None = None
        """Index of the token embedding if it is loaded a second time as the output."""
        self.unknown = 0
        self.signs: dict[bool, list[int]] = {}
        """Per layer a number that is equal for equal layers (see replay.runs)."""
        self._sizes: dict[tuple[int, bool], list[int]] = {}
        self._sums: dict[tuple[int, bool], dict[int, int]] = {}
        self._matches: dict[str, frozenset[int]] = {}
        self.by_block: dict[int, list[int]] = defaultdict(list)
        for tensor in model.tensors:
            self._add(tensor, mtp)
        self.position = {name: i for i, name in enumerate(self.names)}
        has_head = "output.weight" in self.position or shape.architecture in arch_data.NO_HEAD
        if not has_head and "token_embd.weight" in self.position:
            self.tied = self.position["token_embd.weight"]

    def _add(self, tensor: Tensor, mtp: bool) -> None:
        shape, name = self.shape, tensor.name
        match = _BLOCK.match(name)
        if match:
            home = int(match[1])
            if self._skipped(home, name, mtp):
                return
            home = min(home, shape.layers_all)
        elif name.startswith(_ROPES):
            self.ropes.append(len(self.names))
            home = -2
        elif name.startswith(_DROPPED):
            return
        elif name.startswith(_INPUTS):
            home = INPUT
        elif name.startswith(_FIRST) and not (shape.architecture in ("lfm2", "lfm2moe") and "token_embd_norm" in name):
            home = 0
        else:
            home = shape.layers_all
        if "cross_attn_rel_b" in name and name.startswith("dec."):
            return
        if tensor.nbytes is None:
            self.unknown += 1
        self.by_block[home].append(len(self.names))
        self.names.append(name)
        self.tensors.append(tensor)
        self.homes.append(home)

    def _skipped(self, block: int, name: str, mtp: bool) -> bool:
        shape = self.shape
        if shape.nextn == 0 or block < shape.layers or block >= shape.layers_all:
            return False
        if shape.architecture in arch_data.NEXTN_NEVER:
            return True
        if mtp or shape.architecture not in arch_data.NEXTN_LOADABLE:
            return False
        if shape.architecture == "glm5-next" and not shape.kv_heads[block] and _STATE_PARTS.search(name):
            return False
        return not any(part in name for part in arch_data.NEXTN_KEPT.get(shape.architecture, ()))

    def suffix(self, i: int) -> str:
        """A block tensor's name without its block."""
        name = self.names[i]
        match = _BLOCK.match(name)
        return name[match.end() :] if match else name

    def sizes(self, align: int, pads_rows: bool) -> list[int]:
        """Bytes of each tensor in a buffer with this alignment."""
        key = align, pads_rows
        if key not in self._sizes:
            self._sizes[key] = [padded(_allocated(t, pads_rows), align) for t in self.tensors]
        return self._sizes[key]

    def sums(self, align: int, pads_rows: bool) -> dict[int, int]:
        """Bytes per home."""
        key = align, pads_rows
        if key not in self._sums:
            total: dict[int, int] = defaultdict(int)
            for home, size in zip(self.homes, self.sizes(align, pads_rows), strict=True):
                total[home] += size
            self._sums[key] = total
        return self._sums[key]

    def matches(self, pattern: str) -> frozenset[int]:
        """The tensors whose name an override's expression finds. Raises RefusedError for a bad expression."""
        if pattern not in self._matches:
            self._matches[pattern] = frozenset(self._search(pattern))
        return self._matches[pattern]

    def _search(self, pattern: str) -> Iterable[int]:
        within: Iterable[int] = range(len(self.names))
        match = _OF_BLOCK.match(pattern)
        if match and match[2] in (EXPERTS, DENSE):
            within = self.by_block.get(int(match[1]), ())
        expression = compiled(pattern)
        if expression is None:
            raise RefusedError(Text("“{pattern}” is not a valid expression.", pattern=pattern))
        return [i for i in within if expression.search(self.names[i])]


def _allocated(tensor: Tensor, pads_rows: bool) -> int:
    size = tensor.nbytes or 0
    if pads_rows and tensor.type_id not in UNQUANTISED_IDS and tensor.shape[0] % 512:
        block, width = BLOCK_BY_ID.get(tensor.type_id, (1, 0))
        size += (512 - tensor.shape[0] % 512) // block * width
    return size


class Weights:
    """Bytes per device (HOST included) and which tensors an override moved."""

    def __init__(self, index: TensorIndex, placement: Placement, levers: Levers) -> None:
        self.index = index
        self.placement = placement
        self.moved: dict[int, int] = {}
        """tensor -> device index or HOST."""
        for override in placement.overrides:
            target = _target(override.target, placement)
            for i in index.matches(override.pattern):
                if i not in self.moved:
                    if target is None:
                        raise RefusedError(
                            Text(
                                "--override-tensor sends {tensor} to {device}, which is not in use.",
                                tensor=index.names[i],
                                device=override.target,
                            )
                        )
                    self.moved[i] = target
        self.by_device = self._sum(levers)

    def device_of(self, i: int) -> int:
        """The device index of a tensor."""
        if i in self.moved:
            return self.moved[i]
        home = self.index.homes[i]
        return HOST if home == INPUT else self.placement.layer_device[max(home, 0)]

    def _sizes(self, device: int) -> tuple[int, bool]:
        if device == HOST:
            return 32, False
        found: Device = self.placement.devices[device]
        return found.align, found.pads_rows

    def _sum(self, levers: Levers) -> dict[int, int]:
        index, layer_device = self.index, self.placement.layer_device
        total: dict[int, int] = defaultdict(int)
        blocks = [INPUT, *range(index.shape.layers_all + 1)]
        for home in blocks:
            device = HOST if home == INPUT else layer_device[home]
            total[device] += index.sums(*self._sizes(device)).get(home, 0)
        for i, target in self.moved.items():
            home = index.homes[i]
            if home == -2:
                continue
            device = HOST if home == INPUT else layer_device[home]
            total[device] -= index.sizes(*self._sizes(device))[i]
            total[target] += index.sizes(*self._sizes(target))[i]
        self._ropes(total)
        self._tied(total, levers)
        return dict(total)

    def _ropes(self, total: dict[int, int]) -> None:
        """Rope factors: one copy per buffer type over the layers that use them."""
        shape = self.index.shape
        users = [
            self.placement.layer_device[i]
            for i in range(shape.layers or shape.layers_all)
            if not (shape.architecture in ("gemma4", "gemma4-assistant") and shape.swa[i])
        ]
        for i in self.index.ropes:
            for device in {self.moved[i]} if i in self.moved else set(users):
                total[device] += self.index.sizes(*self._sizes(device))[i]

    def _tied(self, total: dict[int, int], levers: Levers) -> None:
        i = self.index.tied
        if i is None:
            return
        target = self.moved.get(i, self.placement.output_device)
        once = target == self.device_of(i) and not (i not in self.moved and self._repacked(i, levers))
        if not once or self.index.shape.architecture in arch_data.HEAD_FIRST:
            total[target] += self.index.sizes(*self._sizes(target))[i]

    def _repacked(self, i: int, levers: Levers) -> bool:
        """The output's copy would be rearranged for the CPU, so it cannot be the embedding's."""
        pinned = not levers.no_host and any(d.host_buffer for d in self.placement.devices)
        tensor = self.index.tensors[i]
        return levers.repack and not pinned and tensor.type_id in REPACKED_IDS and tensor.shape[-1] % 8 == 0


def _target(name: str, placement: Placement) -> int | None:
    if name.upper().startswith("CPU"):
        return HOST
    return next((i for i, d in enumerate(placement.devices) if d.name == name), None)
