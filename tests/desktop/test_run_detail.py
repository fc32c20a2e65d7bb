"""Slots, devices and speed of Run, as words and pictures, on invented runs."""

from __future__ import annotations

import math
import threading
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import fakedesk as fake
import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from paddock.desktop.pages.run.ask import AskPane
from paddock.desktop.pages.run.context_depth import (
    SpeedPane,
    acceptance_chart,
    cache_words,
    depth_chart,
    depth_words,
)
from paddock.desktop.pages.run.context_detail import DetailPane
from paddock.desktop.pages.run.context_model import prompts_left_s, slots_of, waiting_words
from paddock.desktop.pages.run.context_slots import SlotsPane
from paddock.desktop.pages.run.devices_model import devices_of, jump_words, throttle_words
from paddock.desktop.pages.run.devices_pane import DevicesPane
from paddock.desktop.pages.run.requests import RequestsModel, RequestsView
from paddock.hardware.pressure import HostPressure
from paddock.session import Series
from paddock.session.detectors.jumps import Jump
from paddock.session.model import Event, Request, SlotSample
from paddock.session.recorder import DevicePeak
from paddock.text import Text

NAN = math.nan
GIB = 1 << 30


def slot(number: int = 0, phase: str = "idle", used: float = 1000.0, limit: float = 8192.0,
         **more: float) -> SlotSample:
    values = {"prompt_done": NAN, "generated": NAN, "generation_per_s": NAN, "prompt_per_s": NAN, "cached": 0.0} | more
    return SlotSample(number, phase != "idle", phase, 40 + number, used, limit, values["prompt_done"],
                      values["generated"], values["generation_per_s"], values["prompt_per_s"], NAN, values["cached"])


def snapshot(*slots: SlotSample, requests: tuple[Request, ...] = (), waiting: float = 0.0,
             sleeping: bool = False) -> Any:
    sample = SimpleNamespace(slots=slots, requests_waiting=waiting, sleeping=sleeping, reading=None)
    return SimpleNamespace(sample=sample, requests=requests, events=(), peaks={}, t=900.0, request_revision=1,
                           event_revision=1)


def request(number: int = 1, task: int = 40, **more: Any) -> Request:
    return Request(number, task, 0, 0.0, **({"status": "active"} | more))


# -- slots


def test_the_table_of_requests_says_how_long_a_prompt_is_read_still(qtbot) -> None:
    one = request(1, 40, prompt_tokens=4000, progress=0.5)
    others = (request(2, 41, prompt_tokens=100), request(3, 42, status="done", t_end=9.0))
    now = snapshot(slot(phase="prompt", prompt_done=1000.0, cached=1000.0, prompt_per_s=150.0),
                   requests=(one, *others))
    assert prompts_left_s(now) == {1: 14.0}
    assert prompts_left_s(snapshot(slot(), requests=others[1:])) == {}
    model = RequestsModel()
    model.show_requests(now.requests)
    told: list[tuple[int, int]] = []
    model.dataChanged.connect(lambda first, last, *_: told.append((first.row(), last.row())))
    for left in ({1: 14.0}, {1: 14.0}, {1: 13.0}):
        model.show_requests(now.requests, left)
    assert told == [(2, 2), (2, 2)], "only when it changes"
    cell = model.index(2, RequestsView.STATE)
    assert model.data(cell) == "50 %, 13 s"
    assert model.data(cell, int(Qt.ItemDataRole.ToolTipRole)) == "Its prompt is read in about 13 s."
    assert model.data(model.index(0, RequestsView.STATE)) == "done"
    model.show_requests(now.requests)
    assert model.data(cell) == "50 %"


def test_a_prompt_is_told_in_percent_with_the_time_left_and_its_cached_part() -> None:
    shown, = slots_of(snapshot(slot(phase="prompt", prompt_done=2000.0, cached=1000.0, prompt_per_s=500.0),
                               requests=(request(prompt_tokens=4000),)))
    assert (shown.progress, shown.cached) == (0.75, 0.25)
    assert shown.words == "request 1, reads its prompt: 75 %, ≈ 2.00 s left, 1,000 from the cache"


def test_the_time_left_falls_back_on_the_speed_of_the_last_prompt() -> None:
    done = request(9, 9, status="done", prompt_per_s=1000.0, evaluated_tokens=500)
    shown, = slots_of(snapshot(slot(phase="prompt", prompt_done=0.0),
                               requests=(done, request(prompt_tokens=5000))))
    assert "≈ 5.00 s left" in shown.words


def test_the_logs_own_progress_may_be_ahead() -> None:
    shown, = slots_of(snapshot(slot(phase="prompt", prompt_done=512.0),
                               requests=(request(prompt_tokens=4096, progress=0.5),)))
    assert shown.progress == 0.5


def test_without_the_length_of_the_prompt_there_is_no_percentage() -> None:
    shown, = slots_of(snapshot(slot(phase="prompt", prompt_done=512.0)))
    assert math.isnan(shown.progress)
    assert shown.words == "reads its prompt: 512 tokens so far"


def test_a_writing_slot_tells_tokens_and_speed() -> None:
    shown, = slots_of(snapshot(slot(phase="generating", generated=842.0, generation_per_s=45.9),
                               requests=(request(47),)))
    assert shown.words == "request 47, writes: 842 tokens, 45.9 t/s"


@pytest.mark.parametrize(("used", "tone"), [(6000.0, "text"), (6144.0, "warn"), (8191.0, "warn"), (8192.0, "bad"),
                                            (NAN, "text")])
def test_the_marks_are_at_three_quarters_and_at_the_limit(used: float, tone: str) -> None:
    shown, = slots_of(snapshot(slot(used=used)))
    assert shown.tone == tone


def test_what_is_not_told_is_not_invented() -> None:
    shown, = slots_of(snapshot(slot(used=NAN, limit=NAN)))
    assert shown.figures == "not told"
    assert slots_of(SimpleNamespace(sample=None, requests=())) == []
    assert waiting_words(snapshot(waiting=NAN)) == ""


def test_the_pane_shows_all_slots_and_who_waits(qtbot) -> None:
    pane = SlotsPane()
    qtbot.addWidget(pane)
    pane.show_snapshot(snapshot(slot(0, "generating", generated=3.0), slot(1), waiting=2.0))
    assert [r.name.text() for r in pane.rows] == ["Slot 0", "Slot 1"]
    assert pane.note.full_text() == "2 requests wait for a slot"
    assert pane.rows[1].bar.accessibleName() == "Slot 1: idle. Context 1,000 of 8,192, 12 %."
    pane.grab()


def test_of_very_many_slots_those_that_work_are_shown(qtbot) -> None:
    pane = SlotsPane()
    qtbot.addWidget(pane)
    pane.show_snapshot(snapshot(*(slot(i, "generating" if i in (7, 130) else "idle") for i in range(200))))
    assert [r.name.text() for r in pane.rows if not r.isHidden()] == ["Slot 7", "Slot 130"]
    assert "198 of 200 slots are idle" in pane.note.full_text()


def test_a_server_without_slots_says_why_there_are_none(qtbot) -> None:
    pane = SlotsPane()
    qtbot.addWidget(pane)
    pane.show_snapshot(snapshot())
    assert "--no-slots" in pane.note.full_text()
    pane.show_snapshot(snapshot(sleeping=True))
    assert "sleeps" in pane.note.full_text()


# -- devices


def reading_of(run: fake.FakeRun) -> Any:
    return run.recorder.sample.reading


def test_a_cards_memory_is_split_into_ours_others_and_free_with_its_peak() -> None:
    run = fake.busy_run()
    shown = devices_of(run, reading_of(run), {"CUDA0": DevicePeak(process_bytes=17.5 * GIB)})
    assert [d.name for d in shown] == ["CUDA0", "CUDA1", "Host, RAM"]
    card = shown[0]
    assert card.memory.startswith("this server 16.10, others 1.")
    assert card.memory.endswith("of 24.00 GiB; peak 17.50")
    assert card.bar.terms == (("weights", int(16.1 * GIB)),)
    assert card.bar.other == pytest.approx(1.3 * GIB, abs=0.1 * GIB)


def test_what_the_log_told_is_shown_by_parts_and_the_rest_as_overhead() -> None:
    run = fake.busy_run()
    run.actual = {"main": [{"name": "CUDA0", "model": 12 * GIB, "context": 2 * GIB, "compute": GIB}]}
    terms = dict(devices_of(run, reading_of(run), {})[0].bar.terms)
    assert (terms["weights"], terms["kv"], terms["compute"]) == (12 * GIB, 2 * GIB, GIB)
    assert terms["overhead"] == pytest.approx(1.1 * GIB, abs=1 << 20)


def test_a_driver_that_names_no_processes_makes_no_zero() -> None:
    run = fake.busy_run()
    reading = reading_of(run)
    silent = replace(reading, devices=(replace(reading.devices[0], process_bytes=NAN),))
    card = devices_of(run, silent, {})[0]
    assert card.memory.startswith("this server: not told, all programs 17.4")
    assert card.bar.other is None


def test_memory_that_the_driver_does_not_tell_by_process_is_called_about() -> None:
    run = fake.busy_run()
    reading = reading_of(run)
    grown = replace(reading, devices=(replace(reading.devices[0], process_bytes=2.0 * GIB, process_assumed=True),))
    assert devices_of(run, grown, {})[0].memory.startswith("this server about 2.00 (what the card’s use grew by")


def test_what_a_server_holds_on_all_cards_is_the_sum_of_them() -> None:
    run = fake.busy_run()
    reading = reading_of(run)
    both = replace(reading, devices=tuple(replace(d, process_bytes=size * GIB) for d, size in zip(
        reading.devices, (16.0, 4.0), strict=True)))
    assert dict(devices_of(run, both, {})[-1].facts)["On all cards"] == "20.00 GiB"
    one_unknown = replace(both, devices=(both.devices[0], replace(both.devices[1], process_bytes=NAN)))
    assert "On all cards" not in dict(devices_of(run, one_unknown, {})[-1].facts)


def test_missing_readings_are_not_there_and_reasons_are_words() -> None:
    run = fake.busy_run()
    facts = dict(devices_of(run, reading_of(run), {})[0].facts)
    assert facts["Clock"] == "1,740 MHz"
    assert facts["PCIe link"] == "n/a"
    assert throttle_words(None) == "n/a"
    assert throttle_words(()) == "nothing"
    assert throttle_words(("sw_thermal_slowdown", "brand_new")) == "heat, brand new"


def test_the_host_tells_cores_swap_page_cache_and_disk() -> None:
    run = fake.busy_run()
    pressure = HostPressure((10.0, 90.0), 0.0, 5.0, 3e6, 2.0 * (1 << 20), 0.0, 0.0, 0.97)
    host = devices_of(run, replace(reading_of(run), pressure=pressure), {})[-1]
    facts = dict(host.facts)
    assert host.cores == (10.0, 90.0)
    assert (facts["Model in cache"], facts["Server reads"]) == ("≈ 97 %", "2 MiB/s")
    assert (facts["Runnable threads"], facts["Stolen (steal)"]) == ("5", "0 %")


def test_a_reading_that_is_missing_says_why() -> None:
    run = fake.busy_run()
    reading = reading_of(run)
    told = {f.name: 4.0 for f in fields(reading.devices[0]) if f.type == "float"}
    full = replace(reading.devices[0], throttle=(), **told)
    silent = replace(full, power_w=NAN, pcie_rx_bytes_per_s=NAN, process_bytes=NAN)
    why = {"CUDA0": {"power": Text("The driver keeps it to itself."), "processes": Text("It needs root.")}}
    card = devices_of(run, replace(reading, devices=(silent,)), {}, why)[0]
    assert card.reasons == {"Power": "The driver keeps it to itself.", "This server’s memory": "It needs root.",
                            "PCIe in": "The driver does not tell it for this card."}
    assert "Power: n/a. The driver keeps it to itself." in card.untold
    all_lacking = devices_of(run, replace(reading, devices=(silent,)), {}, {"CUDA0": {"*": Text("Elsewhere.")}})[0]
    assert all_lacking.untold == "Power, PCIe in, This server’s memory: n/a. Elsewhere."
    assert devices_of(run, replace(reading, devices=(silent,)), {})[0].untold == "", "not asked yet"
    assert devices_of(run, replace(reading, devices=(full,)), {}, {})[0].untold == ""


def test_the_reasons_are_asked_off_the_gui_thread_and_shown(qtbot, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fake.busy_run()
    asked: list[str] = []

    def explain(_machine: object) -> dict[str, Any]:
        asked.append(threading.current_thread().name)
        return {"CUDA0": {"power": Text("It needs root.")}}

    monkeypatch.setattr("paddock.desktop.pages.run.devices_pane.explain", explain)
    pane = DevicesPane()
    qtbot.addWidget(pane)
    pane.start(run)
    qtbot.waitUntil(lambda: pane._why is not None)
    assert asked != [threading.current_thread().name]
    reading = reading_of(run)
    silent = replace(reading, devices=(replace(reading.devices[0], power_w=NAN),))
    run.recorder.sample = replace(run.recorder.sample, reading=silent)
    pane.show_run(run, run.recorder.snapshot())
    assert "It needs root." in pane.blocks[0].untold.full_text()
    values = [value for name, value in pane.blocks[0]._cells if name.full_text() == "Power"]
    assert [value.toolTip() for value in values] == ["It needs root."]


def test_one_card_of_two_backends_is_shown_once() -> None:
    run = fake.busy_run()
    reading = reading_of(run)
    twin = replace(reading.devices[0], device="Vulkan0", twin=True)
    names = [d.name for d in devices_of(run, replace(reading, devices=(*reading.devices, twin)), {})]
    assert "Vulkan0" not in names


def test_steps_of_memory_name_their_request() -> None:
    said = jump_words([Jump(61.0, "Host", -3e8, None), Jump(75.0, "CUDA0", 2.0 * GIB, 47)])
    assert said.splitlines() == ["01:15  CUDA0 +2.00 GiB, request 47", "01:01  RAM −286 MiB, no single request"]


def test_the_pane_reads_ten_times_a_second_only_while_it_is_asked_to(qtbot, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fake.busy_run()
    run.pid = 1  # type: ignore[attr-defined]
    read, closed = threading.Semaphore(0), threading.Event()

    class Readings:
        def __init__(self, machine: object, pids: object, files: object) -> None: ...

        def read(self) -> Any:
            read.release()
            return reading_of(run)

        def close(self) -> None:
            closed.set()

    monkeypatch.setattr("paddock.work.close_look.CloseLook.__init__.__defaults__", ((), Readings))
    pane = DevicesPane()
    qtbot.addWidget(pane)
    pane.start(run)
    pane.show()
    pane.fast.click()
    for _ in range(5):
        assert read.acquire(timeout=20)
    qtbot.waitUntil(lambda: bool(pane.blocks))
    assert pane.spark.isVisible()
    pane.spark.grab()
    pane.hide()
    assert closed.wait(20)
    assert not pane.fast.isChecked()
    kept: list[Any] = []
    run.keep_readings = kept.extend  # type: ignore[attr-defined]
    assert not pane.offer.isHidden()
    assert "readings of the cards" in pane.offer.words.full_text()
    pane.offer.keep.click()
    qtbot.waitUntil(lambda: pane.offer.words.full_text() == "Kept with the session.")
    assert len(kept) >= 5
    assert pane.offer.keep.isHidden()
    pane.start(fake.busy_run())
    assert pane.offer.isHidden()
    pane.offer.show_readings(fake.FakeRun(session_id=None), kept)  # type: ignore[arg-type]
    assert pane.offer.isHidden()


def test_without_a_process_there_is_nothing_to_look_at_closely(qtbot) -> None:
    pane = DevicesPane()
    qtbot.addWidget(pane)
    pane.start(fake.busy_run())
    assert not pane.fast.isEnabled()


# -- speed


def series(speeds: list[float], drafts: float = NAN) -> Series:
    made = Series()
    for i, speed in enumerate(speeds):
        made.append(i * 1.0, {"slot.0.context_used": 100.0 * i, "slot.0.generation_per_s": speed, "acceptance": drafts,
                              "requests_processing": 1.0})
    return made


def test_each_sample_of_an_answer_is_a_point_at_its_depth() -> None:
    chart = depth_chart(series([NAN, 50.0, 0.0, 48.0]), 1, [(200.0, 51.0), (9e9, 1.0)], (80.0, 40.0, 8192), 8192.0)
    assert chart.now == ((100.0, 50.0), (300.0, 48.0))
    assert chart.before == ((200.0, 51.0),)
    assert chart.bound[0] == (0.0, 80.0)
    assert all(a[1] > b[1] for a, b in zip(chart.bound, chart.bound[1:], strict=False))
    assert depth_words(chart).startswith("● this run, 48.0 t/s at 300 tokens last")


def test_many_points_are_thinned() -> None:
    assert len(depth_chart(series([50.0] * 9000), 1, [], None, None).now) <= 1500


def test_acceptance_is_a_line_over_time_and_absent_without_drafts() -> None:
    assert not acceptance_chart(series([50.0] * 9)).now
    chart = acceptance_chart(series([50.0] * 9, drafts=0.62))
    assert chart.now[-1][1] == pytest.approx(62.0, abs=0.01)
    assert chart.top_y == 100.0


def test_the_cache_is_told_prompt_by_prompt_with_the_reason() -> None:
    requests = [request(1, 7, prompt_tokens=1000, cached_tokens=0),
                request(2, 9, prompt_tokens=1000, cached_tokens=900), request(3, 11)]
    events = [Event(1.0, "cache", "No slot held a prompt yet.", {"task": 7})]
    assert cache_words(events, requests).splitlines() == [
        "2: 900 of 1,000 from the cache, 90 %.", "1: 0 of 1,000 from the cache, 0 %. No slot held a prompt yet."]


def test_the_pane_says_what_it_waits_for(qtbot) -> None:
    run = fake.FakeRun()
    pane = SpeedPane()
    qtbot.addWidget(pane)
    pane.show_run(run, run.recorder.snapshot())
    assert pane.cache.text() == "No prompt has been read yet."
    assert pane.acceptance.isHidden()
    pane.resize(380, 300)
    pane.grab()


def test_only_the_part_in_sight_is_brought_up_to_date(qtbot) -> None:
    run = fake.busy_run()
    pane = DetailPane(AskPane())
    qtbot.addWidget(pane)
    pane.resize(400, 340)
    pane.show()
    pane.refresh(run, run.recorder.snapshot())
    assert not pane.slots.rows
    pane.choice.option("slots").click()
    assert pane.slots.rows
    pane.select("devices")
    assert [b.name.text() for b in pane.devices.blocks] == ["CUDA0", "CUDA1", "Host, RAM"]
    pane.select("speed")
    assert any("from the cache" in label.text() for label in pane.speed.findChildren(QLabel))
    assert np.isfinite(pane.speed.by_depth.height())
