"""The tensors of a graph as the allocator sees them, and the operations that make them."""

from __future__ import annotations

from collections.abc import Sequence

KEEP = 0
"""A new block always."""
REUSE = 1
"""May take over a source's block (ggml_op_can_inplace)."""
ROPE = 2
"""As REUSE, but its weights do not choose the backend."""
FLASH = 3
"""As KEEP, but its weights do not choose the backend."""
MATMUL = 4
EXPERT_MATMUL = 5
GATHER = 6
ARANGE = 7
"""An operation without sources."""

F32, F16, I32, I64 = 4, 2, 3, 8
"""Type marks; I32 differs from F32 so that the two never share a block in place."""
_BYTES = {F32: 4, F16: 2, I32: 4, I64: 8}


class NotDescribedError(Exception):
    """A graph that this program cannot build: a tensor that it counts on is not in the file."""


Shape4 = tuple[int, int, int, int]


class Node:
    """A tensor with memory of its own: a leaf (weight, cache, input) or the result of an operation.

    `base` is the tensor whose block it uses: itself, or the one that it writes into (SET_ROWS, CPY).
    """

    __slots__ = (
        "address",
        "base",
        "buffered",
        "consumed",
        "device",
        "is_input",
        "is_output",
        "kind",
        "ne",
        "owned",
        "seen",
        "size",
        "src",
        "type",
        "uses",
        "weight",
    )

    def __init__(self, kind: int, src: Sequence[Tensor], type_: int, ne: Shape4, size: int) -> None:
        self.kind = kind
        self.src = src
        self.type = type_
        self.ne = ne
        self.size = size
        self.base: Node = self
        self.device = -1
        self.buffered = False
        self.weight = False
        self.is_input = False
        self.is_output = False
        self.seen = False
        self.owned = False
        self.consumed = False
        self.uses = 0
        self.address = 0


class View:
    """Another look at a tensor's block (reshape, permute, slice). `size` is the span that a copy of it takes."""

    __slots__ = ("base", "consumed", "ne", "size", "source", "spread", "type")

    def __init__(self, source: Tensor, ne: Shape4, size: int, spread: bool = False) -> None:
        self.source = source
        self.base: Node = source.base
        self.type: int = source.type
        self.ne = ne
        self.size = size
        self.spread = spread
        """Its rows may not lie beside each other: a copy keeps that layout."""
        self.consumed = False


Tensor = Node | View


def bytes_of(type_: int, ne: Shape4) -> int:
    return _BYTES[type_] * ne[0] * ne[1] * ne[2] * ne[3]


class Graph:
    """Nodes in the order in which llama.cpp expands them, leafs in the order in which they are first reached."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.leafs: list[Node] = []
        self.writers: list[Node] = []

    def expand(self, tensor: Tensor) -> None:
        """Depth first over the sources, in their order; then the node itself (ggml_build_forward_expand)."""
        node = tensor if isinstance(tensor, Node) else self._owner(tensor)
        if not node.seen:
            self._visit(node)

    @staticmethod
    def _owner(view: View) -> Node:
        source = view.source
        while isinstance(source, View):
            source = source.source
        return source

    def _visit(self, node: Node) -> None:
        node.seen = True
        for s in node.src:
            while not isinstance(s, Node):
                s = s.source
            if not s.seen:
                self._visit(s)
        if node.src or node.kind == ARANGE:
            self.nodes.append(node)
        else:
            self.leafs.append(node)

    def release(self) -> None:
        """Let go of the tensors' references to themselves, so that all are freed at once and not by the collector."""
        for node in self.nodes:
            del node.base
        for leaf in self.leafs:
            del leaf.base

    def input(self, type_: int, ne0: int, ne1: int = 1, ne2: int = 1, ne3: int = 1) -> Node:
        ne = ne0, ne1, ne2, ne3
        node = Node(KEEP, (), type_, ne, bytes_of(type_, ne))
        node.is_input = True
        return node

    # operations -------------------------------------------------------------------------------------------------

    def same(self, *src: Tensor) -> Node:
        """An element-wise operation that may work in place; the shape of its first source."""
        a = src[0]
        ne = a.ne
        return Node(REUSE, src, a.type, ne, _BYTES[a.type] * ne[0] * ne[1] * ne[2] * ne[3])

    def fresh(self, a: Tensor, *more: Tensor) -> Node:
        """The shape of its first source, always in a block of its own (NORM, CONT, DUP, SUM over …)."""
        ne = a.ne
        return Node(KEEP, (a, *more), F32, ne, 4 * ne[0] * ne[1] * ne[2] * ne[3])

    def new(self, src: Sequence[Tensor], ne0: int, ne1: int = 1, ne2: int = 1, ne3: int = 1, type_: int = F32) -> Node:
        """Any operation with a block of its own."""
        return Node(KEEP, src, type_, (ne0, ne1, ne2, ne3), _BYTES[type_] * ne0 * ne1 * ne2 * ne3)

    def mm(self, w: Tensor, x: Tensor) -> Node:
        """MUL_MAT: [w1, x1, x2, x3]."""
        n = x.ne
        ne = w.ne[1], n[1], n[2], n[3]
        return Node(MATMUL, (w, x), F32, ne, 4 * ne[0] * ne[1] * ne[2] * ne[3])

    def mm_id(self, w: Tensor, x: Tensor, ids: Tensor) -> Node:
        """MUL_MAT_ID: [w1, experts used, tokens]."""
        ne = w.ne[1], ids.ne[0], x.ne[2], 1
        return Node(EXPERT_MATMUL, (w, x, ids), F32, ne, 4 * ne[0] * ne[1] * ne[2])

    def rope(self, a: Tensor, *more: Tensor) -> Node:
        ne = a.ne
        return Node(ROPE, (a, *more), F32, ne, 4 * ne[0] * ne[1] * ne[2] * ne[3])

    def rows(self, a: Tensor, ids: Tensor) -> Node:
        """GET_ROWS: [a0, ids0, ids1, ids2]."""
        ne = a.ne[0], ids.ne[0], ids.ne[1], ids.ne[2]
        type_ = I32 if a.type == I32 else F32
        return Node(GATHER, (a, ids), type_, ne, 4 * ne[0] * ne[1] * ne[2] * ne[3])

    def write(self, target: Tensor, *src: Tensor) -> Node:
        """SET_ROWS, CPY or an in-place operation: the result lives in `target`'s block."""
        node = Node(KEEP, (target, *src), target.type, target.ne, target.size)
        node.base = target.base
        self.writers.append(node)
        return node

    def store(self, cache: Node, value: Tensor, ids: Tensor) -> Node:
        """SET_ROWS into a cache: sources are the value, the indexes, then the cache."""
        node = Node(KEEP, (value, ids, cache), cache.type, cache.ne, cache.size)
        node.base = cache.base
        return node

    def cont(self, a: Tensor, ne: Shape4 | None = None) -> Node:
        return Node(KEEP, (a,), a.type, ne or a.ne, bytes_of(a.type, ne or a.ne))

    @staticmethod
    def view(a: Tensor, ne0: int, ne1: int = 1, ne2: int = 1, ne3: int = 1, size: int | None = None) -> View:
        ne = ne0, ne1, ne2, ne3
        return View(a, ne, bytes_of(a.type, ne)) if size is None else View(a, ne, size, True)
