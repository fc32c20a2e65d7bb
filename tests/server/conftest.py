"""Supervisors of fake servers that are all ended with their test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from serverkit import Kit


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    """Supervisors made with it are stopped and joined at the end, and no thread of theirs may remain."""
    kit = Kit(tmp_path)
    yield kit
    for supervisor in kit.made:
        supervisor.stop()
    for supervisor in kit.made:
        assert supervisor.join(10), f"{supervisor.state} did not end"
    left = [t.name for t in threading.enumerate() if t.name.startswith("paddock-")]
    assert not left, left
