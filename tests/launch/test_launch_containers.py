"""`docker run` as what stands before the engine."""

from __future__ import annotations

import pytest

from paddock.engine import Engine
from paddock.launch import Plan, command, effective, parse
from paddock.launch.containers import seen_from_here

PREFIX = ("docker", "run", "--rm", "--gpus", "all", "-v", "/home/me/m:/models:ro", "-p", "127.0.0.1:9000:8080",
          "ghcr.io/ggml-org/llama.cpp:server-cuda")


def plan(*prefix: str) -> Plan:
    return Plan(prefix=prefix or PREFIX).with_("model", "/models/a.gguf")


def test_the_image_brings_the_engine_along(engine: Engine) -> None:
    made = command(plan(), engine)
    assert made.argv[:len(PREFIX)] == PREFIX
    assert made.argv[len(PREFIX):len(PREFIX) + 2] == ("-m", "/models/a.gguf")


def test_a_path_inside_of_the_image_is_started_there(engine: Engine) -> None:
    made = command(Plan(plan().settings, prefix=PREFIX, engine="/app/llama-server"), engine)
    assert made.argv[len(PREFIX):len(PREFIX) + 2] == ("/app/llama-server", "-m")


def test_the_server_is_reached_where_the_container_publishes_it(engine: Engine) -> None:
    made = command(plan(), engine)
    found = effective(made)
    assert (found.host, found.port, found.url) == ("127.0.0.1", 9000, "http://127.0.0.1:9000")
    added = {a.id: a.argv for a in made.additions}
    assert (added["host"], added["port"]) == (("--host", "0.0.0.0"), ("--port", "8080"))
    assert not found.open_to_network


def test_a_port_that_is_published_on_all_addresses_is_open() -> None:
    assert effective(plan("docker", "run", "-p", "9000:8080", "image")).open_to_network


def test_the_network_of_the_machine_needs_no_published_port(engine: Engine) -> None:
    made = command(plan("podman", "run", "--network", "host", "image"), engine)
    assert {a.id: a.argv for a in made.additions}["host"] == ("--host", "127.0.0.1")
    assert effective(made).port == 8080


def test_files_are_looked_for_where_they_lie_outside() -> None:
    assert seen_from_here(plan(), "/models/sub/a.gguf") == "/home/me/m/sub/a.gguf"
    assert seen_from_here(plan(), "/elsewhere/a.gguf") == "/elsewhere/a.gguf"
    assert seen_from_here(Plan(), "/models/a.gguf") == "/models/a.gguf"


@pytest.mark.parametrize("engine_path", [None, "/app/llama-server"])
def test_the_shown_line_gives_the_plan_back(engine: Engine, engine_path: str | None) -> None:
    wanted = Plan(plan().settings, (("A", "b c"),), PREFIX, engine_path)
    assert parse(command(wanted, engine).own) == wanted


def test_other_prefixes_are_no_containers(engine: Engine) -> None:
    made = command(plan("nice", "-n", "5"), engine)
    assert made.argv[:4] == ("nice", "-n", "5", "/opt/llama/llama-server")
