"""The tensors that a pattern takes, one a line."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedWidget, QWidget

from paddock.desktop.pages.launch.placement import words
from paddock.desktop.pages.launch.placement.tables import CellText, DenseTable
from paddock.desktop.parts.basic import Label, column, panel, row
from paddock.desktop.tr import tr
from paddock.fit.placement_map import MovedTensor, Pattern
from paddock.units import bytes_text


class TensorsPane(QWidget):
    """Name, type, size, from where to where."""

    def __init__(self) -> None:
        super().__init__()
        self.title = Label("", weight=600)
        self.note = Label("", "note", "text2", elide="end")
        self.table = DenseTable(tr("Tensors of the chosen pattern"),
                                [tr("Tensor"), tr("Type"), "MiB", tr("Moves")],
                                [None, "IQ4_NL8", "8,888", "CUDA0 → CUDA1"],
                                right=frozenset((2,)), mono=frozenset((0,)))
        self._empty = Label(tr("Choose a pattern to see which tensors it takes."), "note", "text2", wrap=True)
        empty = QWidget()
        empty.setLayout(column(self._empty, None, margins=(16, 10, 16, 8)))
        self._stack = QStackedWidget()
        self._stack.addWidget(self.table)
        self._stack.addWidget(empty)
        head = row(self.title, self.note, gap=12, margins=(16, 8, 16, 8))
        head.setStretch(1, 1)
        box = column(panel("base", head), self._stack, gap=0)
        box.setStretch(1, 1)
        self.setLayout(box)
        self.show_pattern(None)

    def show_pattern(self, pattern: Pattern | None, ram_read: int | None = None) -> None:
        """List what it takes; None: say what would stand here. `ram_read`: bytes of RAM that each token reads."""
        if pattern is None:
            self.title.setText(tr("Tensors"))
            self.note.setText("")
            self.table.rows.set_rows([])
            self._stack.setCurrentIndex(1)
            return
        taken = pattern.taken
        self.title.setText(tr("Pattern {number} takes {count} tensor", plural="Pattern {number} takes {count} tensors",
                              count=len(taken), number=pattern.number))
        reads = tr("each token reads {size} of RAM", size=bytes_text(ram_read)) if ram_read else ""
        moved = tr("{size} moved", size=bytes_text(pattern.moved_bytes)) if pattern.moved else ""
        self.note.setText("; ".join(part for part in (moved, reads) if part))
        self.table.rows.set_rows([self._row(t) for t in taken])
        self._stack.setCurrentIndex(0)

    def _row(self, tensor: MovedTensor) -> tuple[CellText, ...]:
        source, target = words.row_word(tensor.source), words.row_word(tensor.target)
        moves = f"{source} → {target}" if tensor.moves else tr("stays on {device}", device=target)
        return (CellText(tensor.name), CellText(tensor.type_name.upper(), role="text2"),
                CellText(words.mib_text(tensor.bytes)), CellText(moves))
