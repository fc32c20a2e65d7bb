"""Pretend programs: small shell scripts that print what a program of llama.cpp would."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

NEW_HELP = Path(__file__).parent.parent / "data" / "engine" / "llama-11434-serve-help.txt"
VERSION = "version: 0.6.0-dev (build 11434, commit 0123abc)"


def make_program(folder: Path, name: str, answers: dict[str, str], otherwise: str = "exit 1") -> Path:
    """A program that answers by its arguments: {"--version": "echo …"}."""
    if sys.platform == "win32":
        pytest.skip("shell scripts are no programs here")
    folder.mkdir(parents=True, exist_ok=True)
    cases = "\n".join(f'  "{arguments}") {code} ;;' for arguments, code in answers.items())
    path = folder / name
    path.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}\n  *) {otherwise} ;;\nesac\n', "utf-8")
    path.chmod(0o755)
    return path


def make_server(folder: Path, name: str = "llama-server", **changed: str) -> Path:
    """A pretend llama-server of a recent build; keyword arguments replace answers (_ stands for -)."""
    answers = {
        "--version": f"echo '{VERSION}' >&2; echo 'built with GNU 12 for Linux x86_64' >&2",
        "--help": f"cat '{NEW_HELP}'",
        "--list-devices": "echo 'Available devices:'; echo '  CUDA0: Card (100 MiB, 90 MiB free)'",
    }
    return make_program(folder, name, {**answers, **{key.replace("_", "-"): value for key, value in changed.items()}})


def listing(*lines: str) -> str:
    """The shell words that print these devices as --list-devices does."""
    return "; ".join(["echo 'Available devices:'", *(f"echo '  {line}'" for line in lines)])
