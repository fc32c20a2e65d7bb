"""What the checks are told of the world."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from paddock.launch import Plan
from paddock.work import previewing
from paddock.work.conditions import disk_free, free_port, gather, port_state


def test_a_port_that_somebody_holds_is_told_with_the_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        free, who = port_state("127.0.0.1", holder.getsockname()[1])
    assert free is False
    assert who is not None
    assert str(os.getpid()) in who


def test_a_free_port_is_free_and_the_preferred_one_is_taken_when_it_can_be() -> None:
    port = free_port()
    assert port_state("127.0.0.1", port) == (True, None)
    assert free_port("127.0.0.1", port) == port
    with socket.create_server(("127.0.0.1", port)):
        other = free_port("127.0.0.1", port)
        assert other != port
        assert free_port("127.0.0.1", port) == other  # a plan that is looked at twice is the same plan


@pytest.mark.parametrize("port", [0, -1, 99999])
def test_a_port_out_of_range_is_not_judged(port: int) -> None:
    assert port_state("127.0.0.1", port) == (None, None)


def test_an_address_that_is_not_ours_is_not_judged() -> None:
    assert port_state("203.0.113.1", 8080) == (None, None)


def test_missing_files_named_in_the_plan_are_told(tmp_path: Path) -> None:
    there = tmp_path / "there.gguf"
    there.write_bytes(b"x")
    plan = Plan().with_("model", str(there)).with_("mmproj", str(tmp_path / "gone.gguf"))
    conditions = gather(plan, "127.0.0.1", None, {})
    assert conditions.model_exists is True
    assert conditions.missing_paths == (str(tmp_path / "gone.gguf"),)
    assert gather(Plan().with_("model", "nowhere.gguf"), None, None, {}).model_exists is False
    assert gather(Plan(), None, None, {}).model_exists is None


def test_inherited_variables_and_config_files_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "llama.cpp"
    folder.mkdir()
    (folder / "config.ini").write_text("ctx-size = 99\n")
    env = {"LLAMA_ARG_CTX_SIZE": "1", "CUDA_VISIBLE_DEVICES": "0", "SHELL": "sh", "XDG_CONFIG_HOME": str(tmp_path)}
    conditions = gather(Plan(), None, None, env)
    assert dict(conditions.environment) == {"LLAMA_ARG_CTX_SIZE": "1", "CUDA_VISIBLE_DEVICES": "0"}
    assert conditions.config_ini["ctx-size"] == "99"


def test_free_space_is_told_for_a_folder_that_is_yet_to_be_made(tmp_path: Path) -> None:
    assert (disk_free(tmp_path / "a" / "b") or 0) > 0


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "no such host", "host.invalid"])
@pytest.mark.parametrize("port", [None, 8080])
def test_an_address_that_is_not_ours_breaks_no_check(host: str, port: int | None) -> None:
    """The server says later that it cannot listen there; until then the plan can be judged."""
    plan = Plan().with_("host", host)
    found = previewing.conditions_of(plan if port is None else plan.with_("port", port))
    assert found.port_free is None
    assert port is not None or found.free_port
