"""Many models in place of one: a router over a folder (--models-dir), chosen and shown where a model is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog, QWidget

from paddock.desktop.tr import tr
from paddock.launch.layers import NO_DEFAULTS
from paddock.paths import file_name

if TYPE_CHECKING:
    from paddock.desktop.state import Desk
    from paddock.launch.model import Plan

MANY = ("models-dir", "models-preset")
_OF_ONE = ("mmproj", "mmproj-url", "spec-draft-model", "spec-draft-hf", "spec-type", "lora", "lora-scaled",
           "control-vector", "control-vector-scaled")
"""Files that belong to one model, and what needs them."""


def serving_folder(plan: Plan, folder: str) -> Plan:
    """The plan as a router over this folder. What was set for all models stays; files of the one model go."""
    return plan.without(*NO_DEFAULTS, *_OF_ONE).with_("models-dir", folder)


def serving_file(plan: Plan, path: str) -> Plan:
    """The plan with this one model, no longer a router."""
    return plan.without(*MANY).with_("model", path)


def many_words(plan: Plan) -> tuple[str, str] | None:
    """(what stands for the model's name, the whole path) of a router's plan; None for any other."""
    if plan.get("model"):
        return None
    folder, presets = plan.get("models-dir"), plan.get("models-preset")
    if folder:
        return tr("All models of “{folder}”", folder=file_name(folder) or folder), folder
    if presets:
        return tr("The models of {file}", file=file_name(presets) or presets), presets
    return None


def choose_folder(owner: QWidget, desk: Desk) -> bool:
    """Ask for a folder and put it on the desk; False where none was chosen."""
    folder = QFileDialog.getExistingDirectory(owner, tr("Serve a folder of models"), desk.plan.get("models-dir") or "")
    if folder:
        desk.edit(serving_folder(desk.plan, folder))
    return bool(folder)
