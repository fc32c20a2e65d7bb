"""Recorded help texts, and pretend programs: small shell scripts that print what a program would."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from pretend_engine import make_program, make_server

from paddock import engine

DATA = Path(__file__).parent.parent / "data" / "engine"

Program = Callable[..., Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Make a program that answers by its arguments: program("llama-server", {"--version": "echo …"}, otherwise=…)."""

    def make(name: str, answers: dict[str, str], otherwise: str = "exit 1", folder: Path = tmp_path / "bin") -> Path:
        return make_program(folder, name, answers, otherwise)

    return make


@pytest.fixture
def server(tmp_path: Path) -> Callable[..., Path]:
    """A pretend llama-server of a recent build; keyword arguments replace answers."""

    def make(name: str = "llama-server", **changed: str) -> Path:
        return make_server(tmp_path / "bin", name, **changed)

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
