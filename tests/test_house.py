"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = sorted(p.name for p in (ROOT / "app" / "paddock").iterdir() if (p / "__init__.py").exists())


@pytest.mark.parametrize("check", ["contracts", "ruff", "mypy", "texts", "licences"])
def test_the_checks_of_the_house_pass(check: str) -> None:
    done = subprocess.run([sys.executable, "scripts/check.py", check], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize("room", [r for r in ROOMS if r != "_resources"])
def test_each_room_says_its_question_and_shows_at_most_ten_names(room: str) -> None:
    if room == "desktop":
        pytest.importorskip("PySide6.QtWidgets")
    module = importlib.import_module(f"paddock.{room}")
    assert module.__doc__
    assert len(getattr(module, "__all__", [])) <= 10


def test_the_command_line_does_not_load_qt() -> None:
    code = "import sys, paddock.cli; sys.exit(any(m.startswith(('PySide6', 'pyqtgraph')) for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_heavy_libraries_are_imported_only_where_used() -> None:
    heavy = ("scipy", "matplotlib", "huggingface_hub")
    code = f"import sys, paddock.cli.main; sys.exit(any(m.split('.')[0] in {heavy!r} for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_top_level_holds_exactly_what_the_design_names() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    top = {line.split("/")[0] for line in done.stdout.splitlines()}
    visible = {t for t in top if not t.startswith(".")}
    assert visible == {"pyproject.toml", "README.md", "app", "resources", "tests", "packaging", "scripts"}


@pytest.mark.parametrize("script", ["setup_steps", "start", "test"])
def test_the_set_up_scripts_are_written_for_python_3_8(script: str) -> None:
    text = (ROOT / "scripts" / f"{script}.py").read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 8))
    assert " | None" not in text
    assert "removeprefix" not in text
