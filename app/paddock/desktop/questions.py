"""What the window asks before it cuts somebody off."""

from __future__ import annotations

from PySide6.QtWidgets import QMessageBox, QWidget

from paddock.desktop.tr import tr


def stop_while_answering(parent: QWidget, active: int) -> bool:
    """Whether to cut off `active` requests that are being answered."""
    box = _question(parent, tr("A request is being answered.", plural="{count} requests are being answered.",
                               count=active), tr("Stopping the server cuts it off."))
    stop = box.addButton(tr("Stop"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.exec()
    return box.clickedButton() is stop


def quit_while_serving(parent: QWidget, count: int, lasting: bool) -> str:
    """stop, keep or cancel. Only a server that was launched to keep serving can outlive us (`lasting`)."""
    box = _question(
        parent, tr("A server is running.", plural="{count} servers are running.", count=count),
        tr("Stop it with Paddock, or let it serve on without being watched?") if lasting else
        tr("It stops with Paddock. To let a server outlive the window, tick “Servers keep serving” in "
           "Settings before launching it."))
    stop = box.addButton(tr("Stop and quit"), QMessageBox.ButtonRole.AcceptRole)
    keep = box.addButton(tr("Keep serving"), QMessageBox.ButtonRole.DestructiveRole) if lasting else None
    box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(stop)
    box.exec()
    clicked = box.clickedButton()
    return "stop" if clicked is stop else "keep" if keep is not None and clicked is keep else "cancel"


def _question(parent: QWidget, what: str, more: str) -> QMessageBox:
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle("Paddock")
    box.setText(what)
    box.setInformativeText(more)
    return box
