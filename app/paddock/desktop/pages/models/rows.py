"""The model files as a table: what is known of each, and its verdict when it has been worked out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from PySide6.QtCore import QObject, QSortFilterProxyModel, Qt

from paddock.desktop.parts.flat import FlatTable, Index
from paddock.desktop.parts.signs import verdict_word
from paddock.desktop.tr import tr
from paddock.fit.model import Verdict
from paddock.gguf.model import Kind, ModelFile
from paddock.library.model import Entry
from paddock.units import bytes_text, count_text

FIT, NAME, QUANT, SIZE, ARCHITECTURE, CONTEXT, PLACE, CHECK = range(8)
ROW_ROLE = int(Qt.ItemDataRole.UserRole)
SORT_ROLE = ROW_ROLE + 1
_ORDER = {Verdict.FITS: 0, Verdict.TIGHT: 1, Verdict.WONT_FIT: 2, Verdict.CANT_TELL: 3}
_SEVERITIES = ("error", "warning", "hint")


@dataclass(frozen=True)
class ModelRow:
    """One model file. `verdict` None: not worked out yet, or not a model that is launched by itself."""

    path: Path
    name: str
    kind: Kind
    quant: str | None
    size_bytes: int | None
    architecture: str | None
    context: int | None
    place: str
    note: str = ""
    """After the name: "vision", "draft", "2 shards", "5 of 6"."""
    problems: tuple[tuple[str, str], ...] = ()
    """(severity, sentence)."""
    model: ModelFile | None = None
    verdict: Verdict | None = None
    reason: str = ""
    kv_bytes_per_token: float | None = None
    duplicates: tuple[Path, ...] = field(default=())

    @property
    def launchable(self) -> bool:
        """Whether a verdict makes sense for it."""
        return self.model is not None and self.kind in (Kind.MODEL, Kind.EMBEDDING, Kind.RERANKER, Kind.DRAFT)

    @property
    def worst(self) -> str | None:
        """The severity of its worst problem."""
        found = {severity for severity, _ in self.problems}
        return next((s for s in _SEVERITIES if s in found), None)

    @property
    def counted(self) -> int:
        """Problems that the table counts: hints are told in the inspector only."""
        return sum(1 for severity, _ in self.problems if severity != "hint")


def kind_word(kind: Kind) -> str:
    """What the file is for, in a word; nothing for an ordinary model."""
    return {Kind.MODEL: "", Kind.EMBEDDING: tr("embedding"), Kind.RERANKER: tr("reranker"),
            Kind.PROJECTOR: tr("projector"), Kind.ADAPTER: tr("adapter"), Kind.DRAFT: tr("draft"),
            Kind.IMATRIX: tr("imatrix"), Kind.VOCAB: tr("vocabulary")}[kind]


def shards_word(model: ModelFile) -> str:
    """ "2 shards", or "5 of 6" where some are missing."""
    count = len(model.shards)
    if count < 2:
        return ""
    there = sum(1 for s in model.shards if s.size_bytes is not None)
    return tr("{there} of {count}", there=there, count=count) if there < count else tr(
        "{count} shard", plural="{count} shards", count=count)


def row_of(entry: Entry) -> ModelRow:
    """What the library found, as a row."""
    model = entry.model
    if model is None:
        why = str(entry.error) if entry.error is not None else tr("This file could not be read.")
        return ModelRow(entry.path, entry.name, Kind.MODEL, None, entry.size_bytes, None, None, entry.place,
                        problems=(("error", why),), verdict=Verdict.CANT_TELL, reason=why,
                        duplicates=entry.duplicates)
    size = entry.size_bytes if entry.size_bytes is not None else model.size_bytes
    problems = [(p.severity, str(p.text)) for p in model.problems]
    if entry.duplicates:
        folders = ", ".join(dict.fromkeys(str(p.parent) for p in entry.duplicates))
        problems.append(("hint", tr("The same file is in {folders} too. Keeping one frees {size}.", folders=folders,
                                    size=bytes_text(size * len(entry.duplicates)))))
    notes = [w for w in (kind_word(model.kind), shards_word(model)) if w]
    return ModelRow(entry.path, entry.name, model.kind, model.facts.quant, size, model.architecture,
                    model.facts.trained_context, entry.place, ", ".join(notes), tuple(problems), model,
                    duplicates=entry.duplicates)


def told_apart(rows: Sequence[ModelRow]) -> list[ModelRow]:
    """Files that would read the same get their file's name instead (two of one folder), or its folder besides."""
    def look(row: ModelRow) -> tuple[object, ...]:
        return row.name, row.note, row.quant, row.size_bytes, row.architecture

    seen = Counter(look(row) for row in rows)
    stems = Counter(row.path.stem for row in rows if seen[look(row)] > 1)
    return [row if seen[look(row)] < 2 else replace(
        row, name=row.path.stem if stems[row.path.stem] < 2 else f"{row.path.parent.name}/{row.path.stem}")
        for row in rows]


def headers() -> list[str]:
    return [tr("Fit"), tr("Model"), tr("Quant"), tr("Size"), tr("Architecture"), tr("Context"), tr("Place"),
            tr("Check")]


class ModelsModel(FlatTable):
    """Rows in the order of the scan; sorting and searching is the proxy's work."""

    _rows: list[ModelRow]

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(headers(), frozenset({SIZE, CONTEXT}), parent)

    @property
    def rows(self) -> Sequence[ModelRow]:
        return self._rows

    def set_rows(self, rows: Sequence[ModelRow]) -> None:
        """All anew; verdicts that are known for the same file stay."""
        known = {r.path: r for r in self._rows if r.verdict is not None}
        self.beginResetModel()
        self._rows = [replace(r, verdict=k.verdict, reason=k.reason, kv_bytes_per_token=k.kv_bytes_per_token)
                      if (k := known.get(r.path)) is not None else r for r in rows]
        self.endResetModel()

    def set_verdict(self, path: Path, verdict: Verdict, reason: str, kv_bytes_per_token: float | None = None) -> None:
        """The estimate's answer for one file."""
        for i, row in enumerate(self._rows):
            if row.path == path:
                self._rows[i] = replace(row, verdict=verdict, reason=reason, kv_bytes_per_token=kv_bytes_per_token)
                self.dataChanged.emit(self.index(i, FIT), self.index(i, FIT))
                return

    def row(self, index: Index) -> ModelRow:
        return self._rows[index.row()]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        if role == ROW_ROLE:
            return row
        if role == SORT_ROLE:
            return self._sort_value(row, column)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole and column == FIT:
            return self._text(row, FIT) or tr("not worked out yet")
        return None

    @staticmethod
    def _text(row: ModelRow, column: int) -> str:
        return {
            FIT: verdict_word(row.verdict) if row.verdict is not None else "",
            NAME: f"{row.name} · {row.note}" if row.note else row.name,
            QUANT: row.quant or "–",
            SIZE: bytes_text(row.size_bytes),
            ARCHITECTURE: row.architecture or "–",
            CONTEXT: count_text(row.context) if row.context else "–",
            PLACE: row.place,
            CHECK: str(row.counted) if row.counted else "",
        }[column]

    @staticmethod
    def _sort_value(row: ModelRow, column: int) -> object:
        """What a header's click sorts by; numbers as numbers, names without regard to case."""
        numbers = {FIT: _ORDER[row.verdict] if row.verdict is not None else 4, SIZE: row.size_bytes or 0,
                   CONTEXT: row.context or 0, CHECK: row.counted + 100 * (row.worst == "error")}
        if column in numbers:
            return float(numbers[column])
        return {NAME: row.name, QUANT: row.quant or "", ARCHITECTURE: row.architecture or "",
                PLACE: row.place}[column].casefold()

    @staticmethod
    def _tip(row: ModelRow, column: int) -> str | None:
        if column == FIT:
            return row.reason or None
        if column in (NAME, PLACE):
            return f"{row.name}\n{row.path}"
        if column == CHECK:
            return "\n".join(text for _, text in row.problems) or None
        return None


class ModelsFilter(QSortFilterProxyModel):
    """By words (each must be somewhere in name, quant, architecture, path or kind), by place, by problems."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self._place: str | None = None
        self._problems = False
        self.setSortRole(SORT_ROLE)

    def search(self, text: str) -> None:
        self.beginFilterChange()
        self._words = text.casefold().split()
        self.endFilterChange()

    def show_place(self, place: str | None) -> None:
        """None: all places."""
        self.beginFilterChange()
        self._place = place
        self.endFilterChange()

    def show_problems(self, only: bool) -> None:
        """Only files with something wrong."""
        self.beginFilterChange()
        self._problems = only
        self.endFilterChange()

    def filterAcceptsRow(self, source_row: int, source_parent: Index) -> bool:
        model = self.sourceModel()
        assert isinstance(model, ModelsModel)
        row = model.rows[source_row]
        if self._place is not None and row.place != self._place:
            return False
        if self._problems and not row.counted:
            return False
        if not self._words:
            return True
        text = " ".join((row.name, row.note, row.quant or "", row.architecture or "", str(row.path))).casefold()
        return all(word in text for word in self._words)

    def lessThan(self, left: Index, right: Index) -> bool:
        a, b = left.data(SORT_ROLE), right.data(SORT_ROLE)
        return bool(a < b)
