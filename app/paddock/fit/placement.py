"""Which device holds which layer and which tensor: llama.cpp's -dev, -sm, -ngl, -ts and overrides.

Rules from src/llama.cpp, src/llama-model.cpp (load_tensors) and src/llama-model-loader.cpp (create_tensor), b11434.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from paddock.fit.levers import Levers
from paddock.fit.model import Budget
from paddock.fit.overrides import Override
from paddock.text import Text

HOST = -1
"""The device index of row "Host"."""
_ALIGN = {
    "cuda": 128,
    "rocm": 128,
    "hip": 128,
    "musa": 128,
    "sycl": 128,
    "cann": 128,
    "vulkan": 64,
    "metal": 32,
    "rpc": 32,
}
_PADS_ROWS = frozenset({"cuda", "rocm", "hip", "musa", "sycl"})
_HOST_BUFFERS = frozenset({"cuda", "rocm", "hip", "musa", "vulkan", "sycl", "cann"})
_OFFLOADS_OPS = frozenset({"cuda", "rocm", "hip", "musa", "vulkan", "sycl", "metal", "cann"})
_SYNCHRONOUS = frozenset({"opencl", "blas"})
_NOT_DEVICES = frozenset({"cpu", "host", "accel", "blas"})


@dataclass(frozen=True, slots=True)
class Device:
    """A device that may hold layers. `row` is its place in the budgets."""

    name: str
    kind: str
    row: int
    free: int | None
    integrated: bool
    twin: bool = False
    """The same card as an earlier device."""

    @property
    def align(self) -> int:
        """Bytes that every tensor is padded to."""
        return _ALIGN.get(self.kind, 32)

    @property
    def pads_rows(self) -> bool:
        """Quantised rows are padded to 512 elements, once per tensor."""
        return self.kind in _PADS_ROWS

    @property
    def host_buffer(self) -> bool:
        """Weights left on the CPU lie in this backend's pinned memory, not rearranged."""
        return self.kind in _HOST_BUFFERS

    @property
    def offloads_ops(self) -> bool:
        """Runs large batches of operations whose weights lie on the CPU."""
        return self.kind in _OFFLOADS_OPS

    @property
    def pipelines(self) -> bool:
        """Asynchronous and with events: layers on several devices work on several batches at once."""
        return self.kind not in _SYNCHRONOUS


@dataclass(frozen=True)
class Placement:
    """`layer_device[i]`: index into `devices` or HOST; the last entry is the output layer."""

    devices: tuple[Device, ...]
    layer_device: tuple[int, ...]
    offloaded: int
    """Layers given to devices, the output layer counted (llama.cpp's effective -ngl)."""
    overrides: tuple[Override, ...]
    shares_known: bool = True

    @property
    def output_device(self) -> int:
        return self.layer_device[-1]


class RefusedError(Exception):
    """llama.cpp does not start with this combination; `text` says why."""

    def __init__(self, text: Text) -> None:
        super().__init__(str(text))
        self.text = text


def available(budgets: Sequence[Budget]) -> list[Device]:
    """The budgets that are devices to llama.cpp (host and CPU rows left out)."""
    return [
        Device(b.name, b.kind.lower(), i, b.free_bytes if b.free_bytes is not None else b.total_bytes, b.integrated,
               b.same_as is not None)
        for i, b in enumerate(budgets)
        if b.kind.lower() not in _NOT_DEVICES and b.name not in ("Host", "CPU")
    ]


def chosen(levers: Levers, devices: Sequence[Device]) -> tuple[Device, ...]:
    """The devices in use, in llama.cpp's order. Raises RefusedError."""
    if levers.devices is None:
        remote = [d for d in devices if d.kind == "rpc"]
        local = [d for d in devices if d.kind != "rpc" and not d.twin]
        own = [d for d in local if not d.integrated] or local[:1]
        picked = remote + own
    else:
        by_name = {d.name: d for d in devices}
        picked = []
        for name in levers.devices:
            if name not in by_name:
                raise RefusedError(Text("There is no device “{name}”.", name=name))
            if by_name[name] not in picked:
                picked.append(by_name[name])
    if levers.split_mode == "none" and picked:
        if levers.main_gpu >= len(picked):
            raise RefusedError(
                Text(
                    "--main-gpu {index} does not exist: there are {count} devices.",
                    index=levers.main_gpu,
                    count=len(picked),
                )
            )
        picked = [picked[levers.main_gpu]] if levers.main_gpu >= 0 else []
    return tuple(picked)


def place(levers: Levers, devices: tuple[Device, ...], layers_all: int) -> Placement:
    """Give every layer its device (llama-model.cpp: layers count from the end, output last)."""
    wanted = levers.gpu_layers if levers.gpu_layers >= 0 else layers_all + 1
    active = min(wanted, layers_all + 1) if devices else 0
    start = max(layers_all + 1 - wanted, 0)
    bounds, known = _bounds(levers.tensor_split, devices)
    found = []
    for layer in range(layers_all + 1):
        if layer < start or layer - start >= active:
            found.append(HOST)
        else:
            found.append(_upper(bounds, _single((layer - start) / active)))
    return Placement(devices, tuple(found), active, levers.overrides, known)


def _bounds(split: tuple[float, ...], devices: Sequence[Device]) -> tuple[list[float], bool]:
    """Running sums of the devices' shares in single precision, and whether every share is known."""
    shares = [split[i] if i < len(split) else 0.0 for i in range(len(devices))]
    known = True
    if not any(shares):
        known = all(d.free is not None for d in devices)
        shares = [float(d.free or 0) for d in devices] if known else [1.0] * len(devices)
        if not any(shares):
            shares = [1.0] * len(devices)
    total, sums = 0.0, []
    for share in shares:
        total = _single(total + _single(share))
        sums.append(total)
    return [_single(s / total) if total else 1.0 for s in sums], known


def _upper(bounds: Sequence[float], value: float) -> int:
    """The first device whose bound is strictly greater: a tie goes to the next device."""
    return next((i for i, bound in enumerate(bounds) if bound > value), len(bounds) - 1)


def _single(value: float) -> float:
    """Rounded to single precision, as the C++ code computes."""
    return float(struct.unpack("f", struct.pack("f", value))[0])
