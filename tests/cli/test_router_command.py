"""paddock router, against a real router, and against what is none."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tinymodel
from click.testing import CliRunner, Result

from paddock.cli import router as commands
from paddock.cli.arguments import Globals
from paddock.errors import AppError
from paddock.server.port import free_port
from paddock.work import Workspace


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a router with a model that loads and one that does not."""
    home = tmp_path_factory.mktemp("router")
    workspace = Workspace(home / "data")
    engine = workspace.engine()
    workspace.close()
    if engine is None:
        pytest.skip("no llama.cpp is here: run scripts/test.py")
    (home / "models").mkdir()
    tinymodel.write(home / "models" / "tiny.gguf")
    (home / "models" / "broken.gguf").write_bytes(b"GGUF, but not really")
    number = free_port()
    command = [*engine.serve, "--models-dir", str(home / "models"), "-c", "512", "-t", "1", "--port", str(number)]
    env = {**os.environ, **engine.environment}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env) as child:
        try:
            assert child.stderr is not None
            assert any("listening" in line for line in child.stderr)
            yield str(number)
        finally:
            child.terminate()
            child.communicate(timeout=30)


def asked(tmp_path: Path, *words: str, as_json: bool = True) -> Result:
    return CliRunner().invoke(commands.router, list(words), obj=Globals(data_dir=str(tmp_path), json=as_json))


def test_a_model_is_loaded_listed_and_unloaded(tmp_path: Path, port: str) -> None:
    first = {m["id"]: m["state"] for m in json.loads(asked(tmp_path, "list", port).stdout)}
    assert first["tiny"] == "unloaded"
    (loaded,) = json.loads(asked(tmp_path, "load", port, "tiny", "--for", "60").stdout)
    assert (loaded["id"], loaded["state"]) == ("tiny", "loaded")
    assert loaded["port"]
    assert json.loads(asked(tmp_path, "load", port, "tiny").stdout)[0]["state"] == "loaded"  # already
    assert "tiny  loaded" in asked(tmp_path, "list", port, as_json=False).stdout
    (gone,) = json.loads(asked(tmp_path, "unload", port, "tiny").stdout)
    assert gone["state"] == "unloaded"
    assert json.loads(asked(tmp_path, "unload", port, "tiny").stdout)[0]["state"] == "unloaded"


def test_a_model_that_cannot_be_loaded_is_an_error_with_its_exit_code(tmp_path: Path, port: str) -> None:
    result = asked(tmp_path, "load", port, "broken", "--for", "60")
    assert isinstance(result.exception, AppError)
    assert "could not load “broken”" in str(result.exception.what)
    assert "code" in str(result.exception.why)


def test_an_unknown_model_names_those_that_there_are(tmp_path: Path, port: str) -> None:
    result = asked(tmp_path, "load", port, "tinny")
    assert isinstance(result.exception, AppError)
    assert "tiny" in str(result.exception.why)


def test_nobody_at_the_address_is_said(tmp_path: Path) -> None:
    result = asked(tmp_path, "list", str(free_port()))
    assert isinstance(result.exception, AppError)
    assert "does not tell its models" in str(result.exception.what)
