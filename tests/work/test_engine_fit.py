"""Reading the engine's own figures, and leaving nothing of it behind."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from paddock.engine import Engine
from paddock.errors import AppError
from paddock.launch import Plan
from paddock.launch.parsing import parse_argv
from paddock.server import State
from paddock.work import Workspace
from paddock.work.dry_run import dry_run
from paddock.work.engine_fit import FitRow, differences_of, measured, separate_slots

MIB = 1 << 20
RECORD = (
    '{"type":"fit_memory_breakdown","data":{"unit":"MiB","rows":[{"kind":"device","name":"RPC0","description":"h:1",'
    '"total":24105,"free":24000,"self":121,"model":35,"context":26,"compute":58,"unaccounted":-121},'
    '{"kind":"host","name":"Host","self":208,"model":170,"context":0,"compute":38},'
    '{"kind":"buffer_type","name":"CPU_REPACK","self":12,"model":12,"context":0,"compute":0}]}}')
BEGIN = "0.00.020.445 I common_params_fit_impl: getting device memory data for initial parameters:"
EXTRA = "0.00.02.4 I common_params_fit_impl: getting device memory data for the extra model at a context size of 4096:"
TABLE = (
    "0.00.440.937 I common_memory_breakdown_print: | memory breakdown [MiB]     | total   free    self   model "
    "  context   compute    unaccounted |",
    "0.00.440.958 I common_memory_breakdown_print: |   - RPC0 (127.0.0.1:50871) | 24105 = 24105 + ( 121 =    35 "
    "+      26 +      58) +        -121 |",
    "0.00.440.958 I common_memory_breakdown_print: |   - Host                   |                   208 =   170 "
    "+       0 +      38                |",
)
OVER = "0.00.476.932 I common_params_fit_impl: projected to use 296 MiB of device memory vs. 24105 MiB of free"


def test_the_first_record_is_taken_and_the_rest_is_not_waited_for() -> None:
    lines = iter([BEGIN, RECORD, "never read"])
    tables, loading = measured(lines, has_draft=False)
    assert [row["name"] for row in tables["main"]] == ["RPC0", "Host", "CPU_REPACK"]
    assert not loading
    assert next(lines) == "never read"


def test_with_a_draft_both_measurements_are_waited_for() -> None:
    tables, _ = measured(iter([BEGIN, RECORD, EXTRA, RECORD.replace('"model":35', '"model":7'), OVER]), has_draft=True)
    assert tables["main"][0]["model"] == 35
    assert tables["draft"][0]["model"] == 7


def test_an_older_build_prints_the_same_as_a_table() -> None:
    tables, loading = measured(iter([BEGIN, *TABLE, OVER]), has_draft=False)
    assert [(r["name"], r["model"], r["context"], r["compute"]) for r in tables["main"]] == [
        ("RPC0", 35, 26, 58), ("Host", 170, 0, 38)]
    assert not loading


def test_a_server_that_loads_without_measuring_is_told_apart_from_one_that_refuses() -> None:
    assert measured(iter(["x", "load_tensors: loading model tensors", "y"]), has_draft=False) == ({}, True)
    assert measured(iter(["error: invalid argument: --x"]), has_draft=False) == ({}, False)


def test_figures_are_compared_as_the_engine_rounds_them() -> None:
    exact = FitRow("RPC0", (35 * MIB, 26 * MIB, 58 * MIB), (35 * MIB + 9, 27 * MIB - 1, 58 * MIB))
    assert exact.differences == (0, 0, 0)
    assert FitRow("RPC0", (35 * MIB, 0, 0), (36 * MIB, 0, 0)).differences == (-MIB, 0, 0)
    joined = FitRow("Host", (34 * MIB, 0, 0), (35 * MIB + 5, 0, 0), parts=2)
    assert joined.differences == (0, 0, 0)
    assert FitRow("Host", (36 * MIB, 0, 0), (35 * MIB, 0, 0), parts=2).differences == (MIB, 0, 0)
    assert FitRow("X", (1, 1, 1), None).differences is None


@pytest.mark.parametrize(("flags", "printed", "changes"), [
    ("-c 4096", "-c 4096 -ngl -1", {}),
    ("", "-c 16384 -ngl -1", {"ctx-size": "16384"}),
    ("-c 4096", "-c 4096 -ngl 12 -ts 7,5", {"n-gpu-layers": "12", "tensor-split": "7,5"}),
    ("-c 4096", '-c 4096 -ngl 49 -ot "blk\\.3\\.ffn_(up|down)_exps=CPU,blk\\.4\\.ffn_up=CPU"',
     {"n-gpu-layers": "49", "override-tensor": "blk\\.3\\.ffn_(up|down)_exps=CPU,blk\\.4\\.ffn_up=CPU"}),
])
def test_what_fit_would_set_is_what_differs(flags: str, printed: str, changes: dict[str, str]) -> None:
    assert {c.option: c.after for c in differences_of(parse_argv(flags.split()), printed)} == changes


@pytest.mark.parametrize(("flags", "trained", "changes"), [
    ("", 32768, {}), ("-c 0", 32768, {}), ("-c 0", None, {"ctx-size": "32768"}),
    ("-c 65536", 32768, {"ctx-size": "32768"}), ("-c 0", 65536, {"ctx-size": "32768"}),
])
def test_the_trained_context_is_no_change_where_none_was_named(flags: str, trained: int | None,
                                                               changes: dict[str, str]) -> None:
    found = differences_of(parse_argv(flags.split()), "-c 32768 -ngl -1", trained)
    assert {c.option: c.after for c in found} == changes


@pytest.mark.parametrize(("plan", "slots"), [
    (Plan(), "1"), (Plan().with_("ctx-size", 8192), "4"), (Plan().with_("parallel", 2), "2"),
    (Plan().with_("parallel", 2).with_("kv-unified"), "1"),
])
def test_a_tool_that_cannot_share_slots_is_given_slots_that_mean_the_same(plan: Plan, slots: str) -> None:
    assert separate_slots(plan).get("parallel") == slots
    assert separate_slots(plan).find("kv-unified") is None


class Busy:
    """Stands for a running session."""

    def __init__(self, state: State, plan: Plan) -> None:
        self.state = state
        self.preview = SimpleNamespace(plan=plan)
        self.ended_at = None

    def close(self) -> None:
        pass


def test_a_remote_device_that_serves_a_session_is_left_in_peace(tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(0)
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        plan = Plan().with_("model", "m.gguf").with_("rpc", f"127.0.0.1:1,{address}")
        workspace = Workspace(tmp_path)
        workspace.runs.append(Busy(State.READY, Plan().with_("rpc", address)))  # type: ignore[arg-type]
        with pytest.raises(AppError, match="serves a session"):
            workspace.ask_engine(plan)
        engine = Engine("e", tmp_path / "llama", ("llama",), "test")
        assert workspace.machine(engine, rpc=[address]).devices == ()
        with pytest.raises(BlockingIOError):
            listening.accept()
        workspace.runs.append(Busy(State.STOPPED, Plan().with_("rpc", "127.0.0.1:7")))  # type: ignore[arg-type]
        assert workspace.busy_endpoints() == {address}
        workspace.close()


WITH_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("child", child.pid, flush=True)
time.sleep(60)
"""


def test_what_is_cancelled_is_gone_with_all_that_it_started() -> None:
    cancel = threading.Event()
    with dry_run([sys.executable, "-c", WITH_CHILD], os.environ) as run:
        lines = run.lines(30, cancel.is_set)
        pids = [run.process.pid, int(next(lines).split()[1])]
        cancel.set()
        with pytest.raises(AppError, match="Cancelled"):
            next(lines)
    _, alive = psutil.wait_procs([psutil.Process(p) for p in pids if psutil.pid_exists(p)], timeout=5)
    assert all(p.status() == psutil.STATUS_ZOMBIE for p in alive)


def test_a_program_that_says_nothing_is_given_up() -> None:
    with (pytest.raises(AppError, match="did not answer within 0 s"),
          dry_run([sys.executable, "-c", "import time; time.sleep(60)"], os.environ) as run):
        assert list(run.lines(0.2, lambda: False)) == []


def test_a_flood_of_output_does_not_keep_the_end_waiting() -> None:
    code = "import sys\nwhile True: sys.stdout.write('x' * 100 + chr(10))"
    with dry_run([sys.executable, "-c", code], os.environ) as run:
        assert next(iter(run.lines(10, lambda: False))) == "x" * 100
        process = run.process
    assert process.poll() is not None


def test_the_exit_code_and_the_last_lines_are_there_for_the_diagnosis() -> None:
    with dry_run([sys.executable, "-c", "print('why'); raise SystemExit(3)"], os.environ) as run:
        assert list(run.lines(20, lambda: False)) == ["why"]
        assert (run.seen, run.code()) == (["why"], 3)
