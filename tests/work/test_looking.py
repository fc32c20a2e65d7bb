"""A look at the devices on request: listed anew, but not while a server of ours runs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pretend_engine import listing, make_server

from paddock.work import Workspace
from paddock.work.looking import look_anew


def listed(folder: Path, free: int) -> Path:
    return make_server(folder / "bin", __list_devices=listing(f"Vulkan0: Some card (8192 MiB, {free} MiB free)"))


def test_what_no_driver_counts_is_listed_anew(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data", str(listed(tmp_path, 8000)))
    engine = workspace.engine()
    assert look_anew(workspace, engine).machine.devices[0].free_bytes == 8000 << 20
    listed(tmp_path, 1000)
    assert look_anew(workspace, engine).machine.devices[0].free_bytes == 1000 << 20
    workspace.close()


def test_the_list_stays_while_a_server_of_ours_runs_and_where_listing_fails(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "data", str(listed(tmp_path, 8000)))
    engine = workspace.engine()
    run: Any = SimpleNamespace(state="ready", ended_at=None)
    workspace.runs.append(run)
    listed(tmp_path, 1000)
    assert look_anew(workspace, engine).machine.devices[0].free_bytes == 8000 << 20
    workspace.runs.clear()
    make_server(tmp_path / "bin", __list_devices="kill -SEGV $$")
    assert look_anew(workspace, engine).machine.devices[0].free_bytes == 8000 << 20
    workspace.close()
