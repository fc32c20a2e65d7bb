"""Backends and addresses: ggml's scheduler and graph allocator, on sizes alone."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.fit.replay.nodes import EXPERT_MATMUL, FLASH, GATHER, MATMUL, REUSE, ROPE, Graph, Node, Tensor, View

COPIES = 4
"""Copies of every input with pipeline parallelism (GGML_SCHED_MAX_COPIES)."""
_OFFLOAD_BATCH = 32
_ENDLESS = 1 << 62
_LEFT_OPEN = (ROPE, FLASH)
_IN_PLACE = (REUSE, ROPE)
_SPREAD = (0, 0, 0, 0)
"""The shape of a copy that no result may take over: its rows do not lie as a result's would."""


class Copy:
    """A split's input: the source, and its copy on the split's backend."""

    __slots__ = ("copy", "source")

    def __init__(self, source: Tensor, copy: Node) -> None:
        self.source = source
        self.copy = copy


def peaks(
    graph: Graph,
    devices: int,
    aligns: Sequence[int],
    *,
    pipeline: bool = False,
    offload: int | None = None,
    pins: Sequence[tuple[Node, int]] = (),
    scratch: Sequence[tuple[Node, Sequence[int]]] = (),
) -> list[int]:
    """Bytes of the compute buffer per backend (the devices in order, then the CPU).

    aligns: of each backend. offload: the device that takes large operations on host weights, or None.
    pins: nodes that are held on a backend before anything else (a running server, not the dry run).
    scratch: bytes that a backend adds to a node's block for its own work, per device.
    """
    assign(graph, devices, offload, pins)
    for node, extra in scratch:
        if node.device < devices:
            node.size += extra[node.device]
    sequence, inputs = split(graph, pipeline)
    found = allocate(graph, sequence, inputs, aligns, pipeline)
    graph.release()
    for entry in inputs:
        del entry.copy.base
    return found


def assign(graph: Graph, cpu: int, offload: int | None, pins: Sequence[tuple[Node, int]]) -> None:
    """Passes 1 to 4 of ggml_backend_sched_split_graph. `cpu` is the last backend."""
    loose = False
    for leaf in graph.leafs:
        if leaf.is_input:
            leaf.device = cpu
        elif not leaf.buffered:
            loose = True
    for node, device in pins:
        node.device = device
    nodes = graph.nodes
    for node in nodes:
        if node.device >= 0:
            continue
        base = node.base
        if base.buffered:
            node.device = base.device
            continue
        kind = node.kind
        if kind in _LEFT_OPEN:
            continue
        for s in node.src:
            if s.__class__ is Node and s.weight:
                device = s.device
                if device == cpu and offload is not None and _batch(node) >= _OFFLOAD_BATCH:
                    device = offload
                node.device = device
                break
    _spread(nodes, cpu)
    if loose:
        for node in nodes:
            for s in node.src:
                if s.base.device < 0:
                    s.base.device = node.device


def _batch(node: Node) -> int:
    if node.kind == MATMUL:
        return node.ne[1]
    if node.kind == EXPERT_MATMUL:
        return node.ne[2]
    return 0 if node.kind == GATHER else node.ne[1] * node.ne[2] * node.ne[3]


def _spread(nodes: Sequence[Node], cpu: int) -> None:
    """Unassigned nodes take the device of the node before (then after), the CPU only where nothing else is near."""
    for order in (nodes, nodes[::-1]):
        current = -1
        for node in order:
            device = node.device
            if device >= 0:
                current = -1 if device == cpu else device
            elif current >= 0:
                node.device = current
    for order in (nodes, nodes[::-1]):
        current = -1
        for node in order:
            if node.device >= 0:
                current = node.device
            elif current >= 0:
                node.device = current
    for node in nodes:
        if node.device < 0:
            node.device = 0


def split(graph: Graph, pipeline: bool) -> tuple[list[Node | Copy], list[Copy]]:
    """Pass 5: the graph cut where the backend changes, with a copy of every source that lies elsewhere.

    Returns the nodes in order with each split's copies before its first node, and all copies.
    """
    sequence: list[Node | Copy] = []
    part: list[Node | Copy] = []
    made: dict[tuple[int, int], Node] = {}
    everything: list[Copy] = []
    inputs = 0
    current = graph.nodes[0].device if graph.nodes else 0
    for node in graph.nodes:
        device = node.device
        foreign = False
        for s in node.src:
            if s.base.device != device:
                foreign = True
                break
        fresh = device != current
        if foreign and not fresh and inputs:
            fresh = any(s.__class__ is Node and s.weight and s.device != current for s in node.src)
        if fresh:
            sequence += part
            part = []
            inputs = 0
            current = device
        if foreign:
            sources = list(node.src)
            for i, s in enumerate(sources):
                if s.base.device == current:
                    continue
                key = id(s), current
                copy = made.get(key)
                if copy is None:
                    ne = _SPREAD if s.__class__ is View and s.spread else s.ne
                    copy = made[key] = Node(0, (), s.type, ne, s.size)
                    copy.device = current
                    copy.is_output = pipeline
                    entry = Copy(s, copy)
                    sequence.append(entry)
                    everything.append(entry)
                    inputs += 1
                sources[i] = copy
            node.src = sources
        part.append(node)
    sequence += part
    return sequence, everything


def allocate(
    graph: Graph,
    sequence: Sequence[Node | Copy],
    copies: Sequence[Copy],
    aligns: Sequence[int],
    pipeline: bool,
) -> list[int]:
    """ggml-alloc's simulation: leafs first, then node by node, blocks freed when nothing needs them any more."""
    arenas = [Arena(a) for a in aligns]
    if pipeline:
        for leaf in graph.leafs:
            if leaf.is_input:
                leaf.is_output = True
                arena = arenas[leaf.device]
                _place(leaf, arena)
                for _ in range(COPIES - 1):
                    arena.take(leaf.size)
        for entry in copies:
            arena = arenas[entry.copy.device]
            _place(entry.copy, arena)
            for _ in range(COPIES - 1):
                arena.take(entry.copy.size)
    for leaf in graph.leafs:
        if not leaf.buffered and not leaf.owned:
            _place(leaf, arenas[leaf.device])
    _count(graph, sequence)
    for step in sequence:
        if step.__class__ is Copy:
            _release(step.source.base, arenas)
            if not step.copy.owned:
                _place(step.copy, arenas[step.copy.device])
            continue
        node = step
        assert isinstance(node, Node)
        if node.base is node:
            _settle(node, arenas)
        for s in node.src:
            base = s.base
            if not base.buffered:
                base.uses -= 1
                if base.uses == 0 and base.owned and not base.is_output:
                    arenas[base.device].give(base.address, base.size)
                    base.owned = False
    return [a.peak for a in arenas]


def _place(node: Node, arena: Arena) -> None:
    node.owned = True
    node.address = arena.take(node.size)


def _settle(node: Node, arenas: Sequence[Arena]) -> None:
    """Give a node its block: a source's where it may work in place, else a new one."""
    kind = node.kind
    if kind in _IN_PLACE:
        for s in node.src:
            if (
                s.__class__ is Node
                and s.base is s
                and s.uses == 1
                and s.owned
                and not s.is_output
                and s.ne == node.ne
                and s.size == node.size
                and s.type == node.type
            ):
                node.address = s.address
                node.device = s.device
                node.owned = True
                s.owned = False
                return
    node.owned = True
    node.address = arenas[node.device].take(node.size)


def _count(graph: Graph, sequence: Sequence[Node | Copy]) -> None:
    for step in sequence:
        if step.__class__ is Copy:
            step.source.base.uses += 1
            _consume(step.source)
        elif isinstance(step, Node):
            for s in step.src:
                s.base.uses += 1
                if s.base is not s:
                    _consume(s)
    for writer in graph.writers:
        if not writer.consumed and writer.seen:
            writer.base.uses += 1


def _consume(tensor: Tensor) -> None:
    while not isinstance(tensor, Node):
        tensor = tensor.source
    tensor.consumed = True


def _release(base: Node, arenas: Sequence[Arena]) -> None:
    if base.buffered:
        return
    base.uses -= 1
    if base.uses == 0 and base.owned and not base.is_output:
        arenas[base.device].give(base.address, base.size)
        base.owned = False


class Arena:
    """One backend's address space: best fit among the holes, the open end otherwise."""

    __slots__ = ("align", "free", "peak")

    def __init__(self, align: int) -> None:
        self.align = align
        self.free: list[list[int]] = [[0, _ENDLESS]]
        self.peak = 0

    def take(self, size: int) -> int:
        size = -(-size // self.align) * self.align
        free = self.free
        best, best_size = -1, _ENDLESS
        for i in range(len(free) - 1):
            room = free[i][1]
            if size <= room <= best_size:
                best, best_size = i, room
        block = free[best]
        address = block[0]
        block[0] += size
        block[1] -= size
        if block[1] == 0:
            del free[best]
        if address + size > self.peak:
            self.peak = address + size
        return address

    def give(self, address: int, size: int) -> None:
        size = -(-size // self.align) * self.align
        free = self.free
        end = address + size
        for i, block in enumerate(free):
            start = block[0]
            if start + block[1] == address:
                block[1] += size
                if i + 1 < len(free) and free[i + 1][0] == end:
                    block[1] += free[i + 1][1]
                    del free[i + 1]
                return
            if start == end:
                block[0] = address
                block[1] += size
                return
            if start > end:
                free.insert(i, [address, size])
                return
        free.append([address, size])
