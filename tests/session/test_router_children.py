"""A router's models as one session: lanes, sums of counters, and its log."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.server.model import LogLine
from paddock.server.router import RouterModel, read_models
from paddock.session.children import Children, RouterPoller
from paddock.session.log import LogParser


def entry(name: str, state: str, port: int = 0, **status: Any) -> dict[str, Any]:
    return {"id": name, "source": "models_dir", "meta": {"n_ctx": 512, "size": 100} if state == "loaded" else None,
            "status": {"value": state, "args": ["llama", "serve", "--port", str(port), "--model", "x"], **status}}


class Answer:
    def __init__(self, data: Any, code: int | None = 200) -> None:
        self.data, self.code = data, code


class Fake:
    """A server that answers what it is set to, and counts what it was asked."""

    def __init__(self) -> None:
        self.list: Any = {"data": []}
        self.slot_list: Any = []
        self.counters: Any = {}
        self.code: int | None = 200
        self.asked: list[str] = []
        self.closed = False

    def models(self) -> Answer:
        self.asked.append("models")
        return Answer(self.list, self.code)

    def slots(self) -> Answer:
        self.asked.append("slots")
        return Answer(self.slot_list, self.code)

    def metrics(self) -> Answer:
        self.asked.append("metrics")
        return Answer(self.counters, self.code)

    def close(self) -> None:
        self.closed = True


class World:
    def __init__(self) -> None:
        self.now = 0.0
        self.router, self.servers, self.told = Fake(), {}, []
        self.children = Children()
        self.poller = RouterPoller(self.router, self.server, self.children, lambda: self.now, self.told.append)

    def server(self, url: str) -> Fake:
        return self.servers.setdefault(url, Fake())

    def at(self, port: int) -> Fake:
        return self.server(f"http://127.0.0.1:{port}")

    def list(self, *entries: dict[str, Any]) -> None:
        self.router.list = {"data": list(entries)}
        self.now += 1.0


@pytest.fixture
def world() -> World:
    return World()


def test_the_list_of_models_is_read_with_the_port_of_what_runs() -> None:
    found = read_models({"data": [entry("a", "loaded", 4001), entry("b", "unloaded", 4001),
                                  entry("c", "unloaded", 0, failed=True, exit_code=1)]})
    assert found == (RouterModel("a", "loaded", 4001, source="models_dir", size_bytes=100, context=512),
                     RouterModel("b", "unloaded", source="models_dir"),
                     RouterModel("c", "unloaded", failed=True, exit_code=1, source="models_dir"))


@pytest.mark.parametrize("data", [None, [], "x", {"data": [{"id": "gpt"}]}, {"data": "x"}, {"error": {}}])
def test_what_a_single_server_answers_is_no_list_of_a_router(data: Any) -> None:
    assert read_models(data) is None


def test_slots_and_tasks_of_two_models_do_not_collide(world: World) -> None:
    world.list(entry("a", "loaded", 4001), entry("b", "loaded", 4002), entry("c", "loading", 4003))
    for port in (4001, 4002):
        world.at(port).slot_list = [{"id": 0, "id_task": 7, "is_processing": True}, {"id": 1}]
    slots = world.poller.slots().data
    assert [s["id"] for s in slots] == [0, 1, 2, 3]
    assert len({s["id_task"] for s in slots if "id_task" in s}) == 2
    assert world.children.slots == 4
    assert "http://127.0.0.1:4003" not in world.servers


def test_a_sleeping_model_is_not_asked_and_all_asleep_is_asleep(world: World) -> None:
    world.list(entry("a", "sleeping", 4001), entry("b", "loaded", 4002))
    world.poller.slots()
    assert world.at(4001).asked == []
    assert world.poller.props().data == {"is_sleeping": False}
    world.list(entry("a", "sleeping", 4001))
    assert world.poller.props().data == {"is_sleeping": True}
    world.list(entry("a", "unloaded"))
    assert world.poller.props().data == {"is_sleeping": False}, "nothing loaded is idle, not asleep"


def test_sums_never_fall_when_a_model_is_unloaded_and_loaded_again(world: World) -> None:
    world.list(entry("a", "loaded", 4001), entry("b", "loaded", 4002))
    world.at(4001).counters = {"tokens_predicted_total": 100.0, "requests_processing": 1.0}
    world.at(4002).counters = {"tokens_predicted_total": 10.0, "requests_processing": 2.0, "requests_deferred": 3.0}
    first = world.poller.metrics().data
    assert (first["tokens_predicted_total"], first["requests_processing"], first["requests_deferred"]) == (110, 3, 3)
    world.list(entry("a", "unloaded", 4001), entry("b", "loaded", 4002))
    assert world.poller.metrics().data["tokens_predicted_total"] == 110
    assert world.at(4001).closed
    world.list(entry("a", "loaded", 4009), entry("b", "loaded", 4002))
    world.at(4009).counters = {"tokens_predicted_total": 5.0}
    after = world.poller.metrics().data
    assert (after["tokens_predicted_total"], after["requests_processing"]) == (115, 2)


def test_a_model_that_does_not_answer_for_a_moment_keeps_its_counters(world: World) -> None:
    world.list(entry("a", "loaded", 4001), entry("b", "loaded", 4002))
    world.at(4001).counters = world.at(4002).counters = {"n_decode_total": 4.0, "requests_processing": 1.0}
    assert world.poller.metrics().data["n_decode_total"] == 8
    world.at(4001).code = None
    again = world.poller.metrics().data
    assert (again["n_decode_total"], again["requests_processing"]) == (8, 1)


def test_with_nothing_loaded_a_router_is_idle_and_asked_for_its_list_alone(world: World) -> None:
    world.list(entry("a", "unloaded"))
    assert world.poller.slots().data == []
    assert world.poller.metrics().data == {"requests_processing": 0.0, "requests_deferred": 0.0}
    assert world.router.asked == ["models"]
    assert [[m.id for m in models] for models in world.told] == [["a"]]


@pytest.mark.parametrize(("data", "code", "expected"), [({}, 401, 401), ({"data": []}, None, None), ([], 200, None)])
def test_why_the_list_is_not_there_is_passed_on(
    world: World, data: Any, code: int | None, expected: int | None
) -> None:
    world.router.list, world.router.code = data, code
    assert [a.code for a in (world.poller.props(), world.poller.slots(), world.poller.metrics())] == [expected] * 3


def test_a_lane_is_used_again_when_its_server_is_gone() -> None:
    children = Children()
    first, second = children.lane(4001, 2), children.lane(4002, 4)
    children.listed({4001, 4002})
    assert (second.first_slot, children.slots) == (2, 6)
    children.listed({4002})
    third = children.lane(4003, 2)
    assert (third.number, third.first_slot) == (first.number, first.first_slot)
    wider = children.lane(4004, 3)
    assert (wider.number, wider.first_slot) == (2, 6)


def test_a_port_that_the_log_told_first_is_not_given_up_by_an_older_list() -> None:
    children = Children()
    lane = children.lane(4001, 1)
    children.listed(set())
    assert children.lane(4001) == lane


def test_the_log_of_children_is_told_apart_and_has_clocks_of_its_own() -> None:
    parser = LogParser(Children())
    lines = ["[4001] 0.09.000.000 I srv  load_model: initializing, n_slots = 2, n_ctx_slot = 512, kv_unified = 'false'",
             "[4002] 0.00.100.000 I srv  load_model: initializing, n_slots = 1, n_ctx_slot = 512, kv_unified = 'false'",
             "[4001] 0.09.500.000 I slot launch_slot_: id  1 | task 3 | processing task, is_child = 0",
             "[4002] 0.00.600.000 I slot launch_slot_: id  0 | task 3 | processing task, is_child = 0"]
    facts = [f for i, text in enumerate(lines) for f in parser.feed(LogLine(100.0 + i * 0.5, text))]
    launches = [f for f in facts if f.kind == "launch"]
    assert [f.slot for f in launches] == [1, 2]
    assert launches[0].task != launches[1].task
    assert [round(f.t, 1) for f in launches] == [100.5, 101.0]
    assert (parser.slots, parser.tells_requests) == (3, True)


def test_a_plain_server_that_prints_brackets_is_read_as_before() -> None:
    (fact,) = LogParser().feed(LogLine(1.0, "[4001] 0.00.600.000 I slot launch_slot_: id  0 | task 3 | "
                                            "processing task, is_child = 0"))
    assert (fact.slot, fact.task) == (0, 3)
