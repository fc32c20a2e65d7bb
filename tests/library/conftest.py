"""Makes the builders of GGUF bytes importable: `import ggufmake`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import pytest
from fakehub import forget_this_machine


@pytest.fixture(autouse=True)
def _hub_of_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forget_this_machine(monkeypatch, tmp_path)
