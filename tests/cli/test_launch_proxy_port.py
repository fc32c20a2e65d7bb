"""A port that the recording proxy cannot have is said before the launch, not after the load."""

from __future__ import annotations

import socket
from pathlib import Path

import tinymodel
from click.testing import CliRunner, Result

from paddock.cli.arguments import Globals
from paddock.cli.launching import launch
from paddock.errors import AppError
from paddock.server.port import free_port


def launched(tmp_path: Path, *words: str) -> Result:
    model = tinymodel.write(tmp_path / "tiny.gguf")
    return CliRunner().invoke(launch, [str(model), *words], obj=Globals(data_dir=str(tmp_path / "data"), json=True))


def test_a_taken_port_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen(1)
        port = other.getsockname()[1]
        result = launched(tmp_path, "--proxy", str(port))
    assert isinstance(result.exception, AppError)
    assert f"cannot listen on port {port}" in str(result.exception.what)
    assert "already taken" in str(result.exception.why)
    assert '"event"' not in result.stdout


def test_the_servers_own_port_is_none_for_the_proxy(tmp_path: Path) -> None:
    port = str(free_port())
    result = launched(tmp_path, "--proxy", port, "--", "--port", port)
    assert isinstance(result.exception, AppError)
    assert "own port" in str(result.exception.why)
