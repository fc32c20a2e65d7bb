"""The command that the desk speaks of: of the server that runs this plan, else the one that would be started now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.launch.model import Command


def command_in_sight(desk: Desk) -> Command | None:
    """None before an engine is known. A preview made while a server runs finds its port taken, so it is not asked."""
    run = desk.run
    if desk.live() and run is not None and run.preview.plan == desk.plan and run.preview.command is not None:
        return run.preview.command
    return desk.preview.command if desk.preview is not None else None


def chosen_port(desk: Desk) -> int | None:
    """The port that is named for a plan that names none; None where it names one, or before an engine is known."""
    command = command_in_sight(desk)
    added = next((a for a in command.additions if a.id == "port"), None) if command is not None else None
    word = added.argv[-1] if added is not None and added.argv else ""
    return int(word) if word.isdigit() else None
