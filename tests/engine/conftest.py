"""Recorded help texts, and pretend programs: small shell scripts that print what a program would."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock import engine

DATA = Path(__file__).parent.parent / "data" / "engine"
NEW_HELP = DATA / "llama-11434-serve-help.txt"
VERSION = "version: 0.6.0-dev (build 11434, commit 0123abc)"

Program = Callable[..., Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Make a program that answers by its arguments: program("llama-server", {"--version": "echo …"}, otherwise=…)."""
    if sys.platform == "win32":
        pytest.skip("shell scripts are no programs here")

    def make(name: str, answers: dict[str, str], otherwise: str = "exit 1", folder: Path = tmp_path / "bin") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        cases = "\n".join(f'  "{arguments}") {code} ;;' for arguments, code in answers.items())
        path = folder / name
        path.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}\n  *) {otherwise} ;;\nesac\n', "utf-8")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def server(program: Program) -> Callable[..., Path]:
    """A pretend llama-server of a recent build; keyword arguments replace answers."""

    def make(name: str = "llama-server", **changed: str) -> Path:
        answers = {
            "--version": f"echo '{VERSION}' >&2; echo 'built with GNU 12 for Linux x86_64' >&2",
            "--help": f"cat '{NEW_HELP}'",
            "--list-devices": "echo 'Available devices:'; echo '  CUDA0: Card (100 MiB, 90 MiB free)'",
        }
        return program(name, {**answers, **{key.replace("_", "-"): value for key, value in changed.items()}})

    return make


@pytest.fixture
def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="session")
def real_engines() -> list[engine.Engine]:
    """Every llama.cpp of this environment and machine that answers its probe."""
    found = [engine.probe(one.path, source=one.source) for one in engine.find()]
    if usable := [one for one in found if one.error is None]:
        return usable
    pytest.skip("no llama.cpp here: install the engine extra")


@pytest.fixture(scope="session")
def real_engine(real_engines: list[engine.Engine]) -> engine.Engine:
    """The default one."""
    return real_engines[0]
