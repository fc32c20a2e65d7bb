"""The scheduler and the allocator on graphs small enough to follow by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from paddock.fit import Budget, estimate
from paddock.fit.replay.nodes import F32, Graph, Node
from paddock.fit.replay.plan import Arena, assign, peaks, split
from paddock.gguf import ModelFile
from paddock.launch import parse_argv

GIB = 1 << 30
X = 4 * 64 * 8


def weight(device: int, *ne: int) -> Node:
    shape = (*ne, 1, 1, 1)[:4]
    node = Node(0, (), F32, (shape[0], shape[1], shape[2], shape[3]), 4)
    node.buffered = node.weight = True
    node.device = device
    return node


def test_the_best_fitting_hole_is_taken_and_the_end_only_grows_when_none_fits() -> None:
    arena = Arena(32)
    first, second, third = arena.take(100), arena.take(1000), arena.take(32)
    assert (first, second, third) == (0, 128, 1152)
    arena.give(first, 100)
    arena.give(second, 1000)
    assert arena.take(900) == 0
    assert arena.take(200) == 928
    assert arena.take(500) == 1184
    assert arena.peak == 1696


def test_neighbouring_holes_become_one() -> None:
    arena = Arena(32)
    blocks = [arena.take(32) for _ in range(4)]
    for block in (blocks[0], blocks[2], blocks[1]):
        arena.give(block, 32)
    assert arena.take(96) == 0
    assert arena.peak == 128


def chain(device: int = 0, second: int = 0) -> tuple[Graph, list[Node]]:
    """input -> product on one device -> scale -> product on another."""
    g = Graph()
    x = g.input(F32, 64, 8)
    a = g.mm(weight(device, 64, 64), x)
    b = g.same(a)
    c = g.mm(weight(second, 64, 64), b)
    c.is_output = True
    g.expand(c)
    return g, [x, a, b, c]


def test_operations_run_where_their_weights_are_and_others_with_their_neighbours() -> None:
    g, nodes = chain(0, 1)
    assign(g, 2, None, ())
    assert [n.device for n in nodes] == [2, 0, 0, 1]
    g, nodes = chain(2, 0)
    assign(g, 2, None, ())
    assert [n.device for n in nodes] == [2, 2, 0, 0]


def test_a_source_on_another_device_is_copied_once_before_its_split() -> None:
    g, nodes = chain(0, 1)
    assign(g, 2, None, ())
    _, copies = split(g, False)
    assert [(c.source, c.copy.device) for c in copies] == [(nodes[0], 0), (nodes[2], 1)]


def test_in_place_operations_take_no_block_of_their_own() -> None:
    g, _ = chain()
    assert peaks(g, 1, [32, 32]) == [2 * X, X]


def test_pipelining_keeps_four_copies_of_every_input() -> None:
    g, _ = chain(0, 1)
    assert peaks(g, 2, [32, 32, 32], pipeline=True) == [4 * X + X, 4 * X + X, 4 * X]


def test_large_products_with_host_weights_are_done_on_the_device_that_offloads() -> None:
    g = Graph()
    out = g.mm(weight(1, 64, 64), g.input(F32, 64, 32))
    g.expand(out)
    assign(g, 1, 0, ())
    assert out.device == 0
    small = Graph()
    few = small.mm(weight(1, 64, 64), small.input(F32, 64, 8))
    small.expand(few)
    assign(small, 1, 0, ())
    assert few.device == 1


def compute(model: ModelFile, text: str, kind: str = "rpc", count: int = 1, pins: bool = False) -> list[int]:
    budgets = tuple(Budget(f"D{i}", kind, 24 * GIB, 24 * GIB) for i in range(count))
    found = estimate(
        model,
        parse_argv(["--no-repack", "-c", "8192", *text.split()]),
        budgets,
        host_total=GIB,
        host_free=GIB,
        pins=pins,
    )
    return [d.compute for d in found.devices]


def test_the_host_holds_four_activations_and_the_mask_when_all_is_offloaded(llama: Callable[..., ModelFile]) -> None:
    activation, mask = 4 * 512 * 1024, 2 * 512 * 8192
    assert abs(compute(llama(), "")[-1] - (4 * activation + mask)) < 32768


def test_a_model_of_many_equal_layers_needs_what_one_of_few_needs(llama: Callable[..., ModelFile]) -> None:
    assert compute(llama(keys={"block_count": 40}), "") == compute(llama(keys={"block_count": 9}), "")


def test_a_larger_micro_batch_takes_more_and_flash_attention_less(llama: Callable[..., ModelFile]) -> None:
    base = compute(llama(), "")[0]
    assert compute(llama(), "-ub 1024")[0] > 1.9 * base
    assert compute(llama(), "-fa off")[0] > 4 * 512 * 8 * 8192 > base


def test_a_running_server_needs_less_on_later_devices_than_the_dry_run_says(llama: Callable[..., ModelFile]) -> None:
    dry, real = compute(llama(), "", count=2), compute(llama(), "", count=2, pins=True)
    assert dry[0] == real[0]
    assert dry[1] - real[1] == 4 * 4 * 512 * 1024


def test_a_running_server_attends_on_the_cpu_where_the_dry_run_forgets_to(llama: Callable[..., ModelFile]) -> None:
    text = "-nkvo -fa off"
    dry, real = compute(llama(), text), compute(llama(), text, pins=True)
    scores = 4 * 512 * 8 * 8192
    assert dry[0] > scores > real[0]
    assert real[-1] > scores > dry[-1]


def test_hints_change_nothing_where_every_layer_is_on_one_device(llama: Callable[..., ModelFile]) -> None:
    assert compute(llama(), "") == compute(llama(), "", pins=True)


@pytest.mark.parametrize("arch", ["llama", "qwen2", "newcomer"])
def test_graphs_are_replayed_for_plain_architectures(llama: Callable[..., ModelFile], arch: str) -> None:
    found = estimate(
        llama(arch), parse_argv(["-c", "4096"]), (Budget("RPC0", "rpc", GIB, GIB),), host_total=GIB, host_free=GIB
    )
    device = found.device("RPC0")
    assert device is not None
    term = next(t for t in device.terms if t.id == "compute")
    assert term.low == term.bytes == term.high > 0
