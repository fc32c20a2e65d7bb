"""One line of `fit --batch`: what it must say, what may be left out, and how the RAM is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tinymodel import write

from paddock.errors import AppError
from paddock.work import Workspace

GIB = 1 << 30


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    workspace = Workspace(tmp_path / "data")
    model = str(write(tmp_path / "tiny.gguf"))

    def asked(*devices: Any, **more: Any) -> dict[str, Any]:
        return workspace.answer({"id": 7, "model": model, "devices": list(devices), "args": ["-c", "4096"], **more})

    return asked


def test_a_request_about_cards_alone_is_judged_by_the_cards(ask: Any) -> None:
    assert ask({"name": "CUDA0", "total": 24 * GIB, "free": 20 * GIB})["verdict"] == "fits"
    assert ask({"name": "CUDA0", "total": 24 * GIB, "free": 1024})["verdict"] == "wont_fit"
    assert ask()["verdict"] == "cant_tell", "without cards the RAM decides, and nobody told it"


@pytest.mark.parametrize("ram", [{"name": "Host"}, {"name": "Host", "kind": "host"}, {"name": "CPU", "kind": "cpu"}])
def test_the_ram_may_be_told_as_a_device_and_stays_the_last_row(ask: Any, ram: dict[str, Any]) -> None:
    found = ask({**ram, "total": 8 * GIB, "free": 7 * GIB}, {"name": "CUDA0", "total": 24 * GIB, "free": 20 * GIB})
    assert [row["name"] for row in found["main"]] == ["CUDA0", "Host"]
    assert ask({**ram, "total": 8 * GIB, "free": 7 * GIB})["verdict"] in ("fits", "tight")
    assert ask({**ram, "total": 8 * GIB, "free": 100})["verdict"] in ("tight", "wont_fit")


def test_the_backend_follows_from_the_name(ask: Any) -> None:
    plain, said = ask({"name": "CUDA0", "total": GIB}), ask({"name": "CUDA0", "kind": "cuda", "total": GIB})
    assert plain["main"] == said["main"]
    assert plain["overhead"] == said["overhead"]


@pytest.mark.parametrize("devices", [
    ["CUDA0"], [{}], [{"name": ""}], [{"name": 5}], [{"name": "CUDA0", "total": "24G"}],
    [{"name": "CUDA0", "free": -1}], [{"name": "CUDA0", "free": True}], [{"name": "CUDA0", "total": 1.5}],
    [{"name": "CUDA0", "total": 1 << 60}]])
def test_what_is_no_device_is_said_in_words(ask: Any, devices: list[Any]) -> None:
    with pytest.raises(AppError):
        ask(*devices)


def test_devices_must_be_a_list(ask: Any) -> None:
    with pytest.raises(AppError, match="must be a list"):
        ask(devices="CUDA0")
