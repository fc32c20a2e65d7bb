"""A file that is no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.launch import Plan, Severity
from paddock.work import Workspace


@pytest.mark.parametrize("content", [b"<html>404</html>", b"", b"GGUF\x09\x00\x00\x00"])
def test_a_file_that_is_no_model_is_an_error_before_the_launch(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    workspace = Workspace(tmp_path / "data")
    try:
        errors = workspace.preview(Plan().with_("model", str(path))).errors
        gone = workspace.preview(Plan().with_("model", str(tmp_path / "gone.gguf"))).errors
    finally:
        workspace.close()
    assert [(e.id, e.severity) for e in errors if e.option == "model"] == [("unreadable-model", Severity.ERROR)]
    assert [e.id for e in gone if e.option == "model"] == ["missing-file"]
