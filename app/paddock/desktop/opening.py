"""Files that are opened or dropped on the window: models, folders of models, sessions of another Paddock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paddock.desktop import bridge

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

MODEL, SESSION = ".gguf", ".paddock"


def opens(path: Path) -> bool:
    """Whether the window can do something with it."""
    return path.suffix.lower() in (MODEL, SESSION) or path.is_dir()


def open_path(desk: Desk, path: Path) -> None:
    """A model goes to Launch, a folder to Models, a session file to Sessions."""
    if path.suffix.lower() == SESSION:
        bridge.run(lambda: desk.workspace.import_sessions(path),
                   lambda made: desk.pageWanted.emit("sessions", made[-1]), desk.failed.emit, desk, name="session file")
    elif path.is_dir():
        desk.add_folder(str(path))
        desk.pageWanted.emit("models", None)
    else:
        desk.open_model(path)
