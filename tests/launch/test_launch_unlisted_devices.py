"""An engine whose device list crashed: said before the launch, and never an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from paddock.engine import Engine
from paddock.hardware.model import Gpu, Machine
from paddock.launch import Conditions, Severity, check, parse
from paddock.text import Text


@pytest.mark.parametrize(("flags", "said"), [("", True), ("-ngl 20", True), ("-dev none", False), ("-ngl 0", False)])
def test_it_is_a_warning_with_the_reason_unless_the_processor_was_chosen(
    make_engine: Callable[..., Engine], flags: str, said: bool
) -> None:
    engine = replace(make_engine(devices=()), devices_error=Text("it crashed (SIGSEGV)"))
    found = [i for i in check(parse(f"-m /m/a.gguf {flags}"), None, engine, None, Conditions())
             if i.id == "devices-unlisted"]
    assert bool(found) is said
    if said:
        assert found[0].severity is Severity.WARNING
        assert "SIGSEGV" in str(found[0].text)


def test_an_engine_that_listed_its_devices_is_left_alone(make_engine: Callable[..., Engine]) -> None:
    issues = check(parse("-m /m/a.gguf"), None, make_engine(devices=()), None, Conditions())
    assert "devices-unlisted" not in {i.id for i in issues}


@pytest.mark.parametrize(("integrated", "said"), [(True, False), (False, True), (None, True)])
def test_graphics_of_the_processor_alone_are_no_reason_to_change_the_engine(
    make_engine: Callable[..., Engine], integrated: bool | None, said: bool
) -> None:
    card = Gpu(0, None, "0000:00:02.0", "UHD Graphics 770", None, maker="intel", integrated=integrated)
    machine = Machine("Linux", None, 8, 16, 64 << 30, 48 << 30, 1, 0.1, (), gpus=(card,))
    issues = check(parse("-m /m/a.gguf"), None, make_engine(devices=()), machine, Conditions())
    assert ("engine-without-gpu" in {i.id for i in issues}) is said
