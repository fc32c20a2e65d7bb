"""Sessions as a file: where to, and in which form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFileDialog, QWidget

from paddock.desktop.opening import SESSION
from paddock.desktop.tr import tr
from paddock.errors import AppError
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.work import Workspace


def ask_where(parent: QWidget, ids: list[int]) -> Path | None:
    """The kind follows from the name's end; a name without one gets that of the kind that was chosen."""
    kinds = tr("Web page (*.html);;Requests as a table (*.csv);;Requests as JSON lines (*.jsonl);;"
               "Everything (*.json)")
    if len(ids) == 1:
        kinds += ";;" + tr("Session for another Paddock (*.paddock)")
    name = "paddock-" + "-".join(str(i) for i in ids) + ".html"
    path, kind = QFileDialog.getSaveFileName(parent, tr("Save the report"), name, kinds)
    if path and not Path(path).suffix:
        path += next((end for end in (".csv", ".jsonl", ".json", SESSION) if f"*{end})" in kind), ".html")
    return Path(path) if path else None


def write(workspace: Workspace, ids: list[int], path: Path) -> Path:
    """Blocks: drawing the plots of a page takes a moment. AppError where it cannot be written; returns the path."""
    if path.suffix.lower() == SESSION:
        workspace.export_session(ids[0], path)
        return path
    end = path.suffix.lower().lstrip(".")
    text = workspace.report(ids, end if end in ("csv", "jsonl", "json") else "html")
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise AppError(Text("The report could not be written to {path}.", path=str(path)), why=error.strerror,
                       hint=Text("Choose another folder.")) from error
    return path
