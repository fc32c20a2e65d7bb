"""How cards are set up, by the driver's word: power limits and persistence, as the checks are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Driver = Callable[..., Any]

CARDS = """
from paddock.work.standing import cards
answer = [dataclasses.asdict(card) for card in cards()]
"""


def test_limits_and_persistence_are_told_where_the_driver_tells_them(with_driver: Driver) -> None:
    told = with_driver(CARDS)
    assert len(told) == 2
    assert told[0]["limit_w"] == 300.0
    assert told[0]["default_limit_w"] == 450.0
    assert told[0]["persistence"] is False
    assert (told[1]["limit_w"], told[1]["default_limit_w"], told[1]["persistence"]) == (None, None, None)


def test_without_a_driver_there_are_no_cards(with_driver: Driver) -> None:
    assert with_driver(CARDS, "notloaded") == []
