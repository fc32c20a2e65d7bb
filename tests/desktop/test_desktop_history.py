"""The estimate against what was measured, over the last launches."""

from __future__ import annotations

from types import SimpleNamespace

from paddock.desktop.history import Record, record_of


def answer(model: int, context: int = 0) -> dict[str, object]:
    return {"main": [{"name": "CUDA0", "model": model, "context": context, "compute": 0}], "overhead": {"CUDA0": 7}}


class Past:
    """Sessions by id, the newest first."""

    def __init__(self, *details: tuple[str, object, object]) -> None:
        self.details = details

    def sessions(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(id=i, model_identity=d[0]) for i, d in enumerate(self.details)]

    def session(self, number: int) -> SimpleNamespace:
        return SimpleNamespace(estimate=self.details[number][1], actual=self.details[number][2])


def test_it_reads_the_launches_of_this_model_that_were_measured() -> None:
    past = Past(("a", answer(102), answer(100)), ("b", answer(9), answer(1)), ("a", answer(99), answer(90, 10)),
                ("a", answer(5), None))
    found = record_of(past, "a")  # type: ignore[arg-type]
    assert [round(off, 3) for off in found.off] == [0.02, -0.01]
    assert found.sentence() == "Last 2 launches: the estimate was −1.0 % to +2.0 % off."


def test_five_launches_are_enough() -> None:
    past = Past(*[("a", answer(100), answer(100))] * 9)
    assert len(record_of(past, "a").off) == 5  # type: ignore[arg-type]


def test_a_first_launch_is_said_to_be_unchecked() -> None:
    assert "unchecked" in Record("a").sentence()
    assert Record("a", (0.006,)).sentence() == "Last launch: the estimate was +0.6 % off."
