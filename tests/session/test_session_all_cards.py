"""What a server holds on its cards: a column a card, and their sum."""

from __future__ import annotations

import dataclasses
import math

import pytest

from paddock.hardware.model import DeviceReading, Reading
from paddock.server.model import LogLine
from paddock.session.columns import reading_columns
from paddock.session.recorder import Recorder

NAN = math.nan


def card(name: str, held: float, *, twin: bool = False) -> DeviceReading:
    return DeviceReading(name, NAN, NAN, held, *(NAN,) * 8, None, twin=twin)


def reading(*cards: DeviceReading) -> Reading:
    return Reading(1.0, 0, 0, 0, 0, 0, 0, cards)


def test_every_card_has_its_column_and_the_total_is_their_sum() -> None:
    columns = reading_columns(reading(card("CUDA0", 3e9), card("CUDA1", 4e9), card("Vulkan0", 4e9, twin=True)))
    assert (columns["CUDA0.process_bytes"], columns["CUDA1.process_bytes"]) == (3e9, 4e9)
    assert columns["process_device_bytes"] == 7e9


@pytest.mark.parametrize("cards", [(), (card("CUDA0", 3e9), card("CUDA1", NAN))])
def test_a_part_is_no_total(cards: tuple[DeviceReading, ...]) -> None:
    assert math.isnan(reading_columns(reading(*cards))["process_device_bytes"])


def test_growth_of_a_card_s_use_is_no_peak_of_the_server() -> None:
    recorder = Recorder(lambda row: None)
    for held, assumed in ((5e9, True), (3e9, False)):
        one = dataclasses.replace(card("CUDA0", held), process_assumed=assumed)
        recorder._measure(reading(one))
    assert recorder.snapshot().peaks["CUDA0"].process_bytes == 3e9


def test_the_bus_of_each_device_is_known_once_the_log_has_told_it() -> None:
    recorder = Recorder(lambda row: None)
    assert recorder.buses() == {}
    for text in ("using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:21:00.0) - 23871 MiB free",
                 "using device RPC0 (h:1) (unknown id) - 23871 MiB free"):
        recorder.on_line(LogLine(1.0, f"llama_prepare_model_devices: {text}"))
    assert recorder.buses() == {"CUDA0": "0000:21:00.0"}
