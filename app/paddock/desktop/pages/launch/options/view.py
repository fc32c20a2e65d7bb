"""The view: groups | search, filter and the list | help. It reads the desk and edits through it."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QComboBox, QWidget

from paddock.desktop.pages.launch import costs
from paddock.desktop.pages.launch.options.cores import HEIGHT, CoresPicture
from paddock.desktop.pages.launch.options.editing import put
from paddock.desktop.pages.launch.options.entries import (
    ENVIRONMENT,
    PREFIX,
    STRAY,
    UNKNOWN,
    Entry,
    entries,
    group_names,
)
from paddock.desktop.pages.launch.options.extras import (
    ADD_HEIGHT,
    DRAFTS_HEIGHT,
    STARTS_HEIGHT,
    WAITING_HEIGHT,
    AddVariable,
    PairingDrafts,
    UsualPrefixes,
    WaitingOptions,
)
from paddock.desktop.pages.launch.options.groups import WIDTH as GROUPS_WIDTH
from paddock.desktop.pages.launch.options.groups import GroupList, GroupRow
from paddock.desktop.pages.launch.options.helppane import WIDTH as HELP_WIDTH
from paddock.desktop.pages.launch.options.helppane import HelpPane
from paddock.desktop.pages.launch.options.listing import Block, OptionList
from paddock.desktop.pages.launch.options.splitbar import HEIGHT as SPLIT_HEIGHT
from paddock.desktop.pages.launch.options.splitbar import SplitBar
from paddock.desktop.pages.launch.options.states import FILTERS, RowState, World, found_in_help, matches, passes, states
from paddock.desktop.pages.searching import SearchEdit
from paddock.desktop.parts.basic import Label, column, panel, row, rule, tool_button
from paddock.desktop.parts.blocks import EmptyState, Segments
from paddock.desktop.theme import theme
from paddock.desktop.tr import tr
from paddock.engine.model import Engine
from paddock.launch.catalogue import Group
from paddock.launch.locking import locked_choices
from paddock.launch.model import Conditions
from paddock.launch.variables import inherited
from paddock.units import bytes_text

if TYPE_CHECKING:
    from paddock.desktop.state import Desk

NARROW = 900
_EXTRAS = {str(Group.CPU): (("cores", HEIGHT),), str(Group.SPECULATIVE): (("drafts", DRAFTS_HEIGHT),),
           str(Group.MULTI_GPU): (("split", SPLIT_HEIGHT),),
           PREFIX: (("starts+", STARTS_HEIGHT),),
           ENVIRONMENT: (("add+", ADD_HEIGHT),)}
_BY_TYPE = str(Group.SPECULATIVE)
"""Of this group, what is locked waits until its type is chosen."""


class OptionsView(QWidget):
    """Every option of the engine in use. Nothing here is stored: what is shown is worked out of the desk's plan."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._entries: list[Entry] = []
        self._made_for: object = None
        self._stale = True
        self._revealed = False
        self._waiting = 0
        self.states: dict[str, RowState] = {}
        self.groups = GroupList()
        self.search = SearchEdit(tr("Search names, flags and help"), tr("Search options"))
        self.count = Label("", "note", "text2")
        self.filter = Segments(tuple(zip(FILTERS, _filter_words({}), strict=True)), tr("Which options"))
        self.group_box = QComboBox()
        self.group_box.setAccessibleName(tr("Group"))
        self.help_button = tool_button("info", tr("Show help"), None, quiet=False, small=False)
        self.help_button.setCheckable(True)
        self.list = OptionList(desk, self._extra)
        self.help = HelpPane(desk, lambda: self._go_to(UNKNOWN))
        self.empty = EmptyState("search", tr("No option matches"), tr("Take a word out, or show all options."),
                                ((tr("Show all options"), None, self.show_all),))
        self._build()
        self._connect()
        self.refresh()

    def _build(self) -> None:
        self.bar = row(self.group_box, self.search, self.count, self.filter, self.help_button, gap=8,
                       margins=(16, 10, 16, 9))
        self.bar.setStretch(1, 1)
        self.search.setMinimumWidth(theme().px(120))
        self.body = column(self.list, self.empty, gap=0)
        self.middle = panel("base", column(self.bar, rule(), self.body, gap=0))
        self.left = panel("base", column(self.groups, gap=0, margins=(0, 6, 0, 0)))
        self.left.setFixedWidth(theme().px(GROUPS_WIDTH))
        self.help.setFixedWidth(theme().px(HELP_WIDTH))
        self._rules = (rule(vertical=True), rule(vertical=True))
        line = row(self.left, self._rules[0], self.middle, self._rules[1], self.help, gap=0)
        line.setStretch(2, 1)
        self.line = line
        self.setLayout(line)
        # Said outright: the panes beside the list must not keep the window from becoming narrow.
        self.setMinimumWidth(theme().px(480))

    def _connect(self) -> None:
        desk = self._desk
        desk.planChanged.connect(self.refresh)
        desk.profileChanged.connect(self.refresh)
        desk.previewChanged.connect(self.refresh)
        desk.whatIfChanged.connect(self.refresh)
        desk.enginesChanged.connect(self.refresh)
        desk.machineChanged.connect(self.refresh)
        desk.settingsChanged.connect(self.refresh)
        self.search.textChanged.connect(self._filter)
        self.filter.chosen.connect(self._filter)
        self.groups.wanted.connect(self._go_to)
        self.group_box.activated.connect(self._box_chosen)
        self.list.picked.connect(self._show_help)
        self.list.group_seen.connect(self._seen)
        self.list.taken_back.connect(self._take_back)
        self.list.cleared.connect(self._clear)
        self.list.touched.connect(self._show)
        self.help_button.toggled.connect(self._arrange)
        find = QShortcut(QKeySequence.StandardKey.Find, self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.start_search)
        down = QShortcut(QKeySequence(Qt.Key.Key_Down), self.search)
        down.setContext(Qt.ShortcutContext.WidgetShortcut)
        down.activated.connect(partial(self.list.go, 0))
        for keys, steps in (("Ctrl+Down", 1), ("Ctrl+Up", -1)):
            step = QShortcut(QKeySequence(keys), self.list)
            step.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            step.activated.connect(partial(self.list.go, steps))

    # -- from the desk -------------------------------------------------------------------------------------------

    @Slot()
    def refresh(self) -> None:
        """Show the plan as it is; put off while another view is shown."""
        if not self.isVisible():
            self._stale = True
            return
        self._stale = False
        desk = self._desk
        engine = desk.engine()
        environ = inherited(os.environ)
        conditions = Conditions(environment=environ, keeps_environment="clean-environment" in
                                desk.workspace.settings.additions_off)
        self._make_entries(engine, environ)
        preview = desk.preview
        fresh = preview is not None and preview.plan == desk.plan
        self.states = states(self._entries, World(
            desk.plan, desk.saved, preview.model if preview is not None else None, engine, desk.machine,
            preview.issues if preview is not None and fresh else (), conditions))
        self._reasons = {option: {value: str(text) for value, text in values.items()} for option, values in
                         locked_choices(desk.plan, conditions).items()}
        self._effects = self._work_out_effects()
        self.help.show_foreign([e.names[0] for e in self._entries if e.group == UNKNOWN and e.key != STRAY])
        self._show()

    def _make_entries(self, engine: Engine | None, environ: dict[str, str]) -> None:
        plan = self._desk.plan
        # Only names decide which rows there are, so that typing a value does not build them anew.
        key = (engine, tuple(dict.fromkeys(s.option for s in plan.settings)), tuple(k for k, _ in plan.environment),
               bool(plan.extra))
        if key != self._made_for:
            self._made_for = key
            self._entries = entries(plan, engine, environ)

    def _work_out_effects(self) -> dict[str, str]:
        desk, found = self._desk, self._desk.what_if
        told = {key: tr("from the {layer}", layer=layer.title) for key, layer in desk.profiles.origins().items()}
        if found.plan != desk.plan or not found.kv_saving:
            return told
        saving = tr("q8_0 for K and V saves {size}", size=bytes_text(found.kv_saving))
        return told | {name: saving for name in ("cache-type-k", "cache-type-v") if desk.plan.find(name) is None}

    def _effect(self, key: str) -> str:
        """What an option costs or brings in this plan, in words; "" where that is not worked out."""
        desk = self._desk
        preview = desk.preview
        if preview is None or preview.plan != desk.plan:
            return ""
        estimate, model = preview.estimate, preview.model
        text = {
            "ctx-size": lambda: costs.context_words(estimate, model, desk.what_if),
            "gpu-layers": lambda: costs.placement_words(estimate, model),
            "n-cpu-moe": lambda: costs.placement_words(estimate, model),
            "override-tensor": lambda: costs.placement_words(estimate, model),
            "cache-type-k": lambda: costs.kv_words(desk.plan, desk.what_if),
            "cache-type-v": lambda: costs.kv_words(desk.plan, desk.what_if),
            "parallel": lambda: costs.slots_words(estimate),
            "host": lambda: costs.address_words(desk.plan),
        }.get(key)
        return text().replace("*", "") if text is not None else ""

    # -- what is listed ------------------------------------------------------------------------------------------

    def _terms(self) -> list[str]:
        return self.search.text().lower().split()

    @Slot()
    def _filter(self) -> None:
        self.list.verticalScrollBar().setValue(0)
        self._show()

    @Slot()
    def _show(self) -> None:
        terms, choice = self._terms(), self.filter.key()
        searching = bool(terms) or choice != "all"
        shown = [e for e in self._entries if passes(self.states[e.key], choice) and matches(e, terms)]
        blocks, rows = [], []
        for key, name in group_names().items():
            mine = [e for e in self._entries if e.group == key]
            if not mine:
                continue
            hits = tuple(e for e in shown if e.group == key)
            extras = () if searching else _EXTRAS.get(key, ())
            if key == _BY_TYPE and not searching and not self._revealed:
                free = tuple(e for e in hits if not self.states[e.key].lock)
                self._waiting = len(hits) - len(free)
                hits = free
                extras = (*extras, ("waiting+", WAITING_HEIGHT)) if self._waiting else extras
            changes = sum(self.states[e.key].changed for e in mine)
            rows.append(GroupRow(key, name, changes, len(hits) if searching else None))
            if hits:
                blocks.append(Block(key, name, hits, len(mine), changes,
                                    sum(self.states[e.key].is_set for e in mine), extras))
        rows.insert(0, GroupRow("", tr("All groups"), 0, len(shown) if searching else None))
        self.groups.show_rows(rows)
        self._fill_box(rows)
        self.count.setText(tr("{shown} of {total}", shown=len(shown), total=len(self._entries)))
        self._count_filters()
        self.empty.setVisible(not shown)
        self._arrange()
        self._count_waiting()
        found = {e.key: text for e in shown if terms and (text := found_in_help(e, terms))}
        self.list.show_blocks(blocks, self.states, self._effects | found, self._reasons, terms, searching)
        if shown and self.list.current not in self.list.listed():
            self.list.choose(shown[0].key)
        self._show_help(self.list.current)

    def _count_waiting(self) -> None:
        waiting = self.list.extra("waiting+")
        if isinstance(waiting, WaitingOptions):
            waiting.show_count(self._waiting)

    def _reveal(self) -> None:
        self._revealed = True
        self._show()

    def _count_filters(self) -> None:
        every = self.states.values()
        counts = {name: sum(passes(state, name) for state in every) for name in FILTERS[1:]}
        for name, words in zip(FILTERS, _filter_words(counts), strict=True):
            option = self.filter.option(name)
            if option.text() != words:
                option.setText(words)
                option.setAccessibleName(words)

    def _fill_box(self, rows: list[GroupRow]) -> None:
        texts = [f"{r.name} ({r.hits})" if r.hits is not None else r.name for r in rows]
        if [self.group_box.itemText(i) for i in range(self.group_box.count())] == texts:
            return
        with QSignalBlocker(self.group_box):
            self.group_box.clear()
            for group, text in zip(rows, texts, strict=True):
                self.group_box.addItem(text, group.key)
            self.group_box.setCurrentIndex(max(0, self.group_box.findData(self.list.seen())))

    @Slot()
    def show_all(self) -> None:
        """Neither search nor filter."""
        self.filter.select("all")
        self.search.clear()
        self._filter()

    def _extra(self, key: str, parent: QWidget) -> QWidget:
        if key == "cores":
            return CoresPicture(self._desk, parent)
        if key == "split":
            return SplitBar(self._desk, parent)
        if key == "drafts":
            return PairingDrafts(self._desk, parent)
        if key == "waiting+":
            made = WaitingOptions(parent, self._reveal)
            made.show_count(self._waiting)
            return made
        return AddVariable(self._desk, parent) if key == "add+" else UsualPrefixes(self._desk, parent)

    # -- moving and resetting ------------------------------------------------------------------------------------

    @Slot()
    def start_search(self) -> None:
        """Ctrl+F."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    @Slot(str)
    def _go_to(self, group: str) -> None:
        if group and not any(r.key == group and r.hits != 0 for r in self.groups.rows()):
            # An empty group is worth seeing: what hides it goes away.
            self.show_all()
        if group:
            self.list.scroll_to(group)
            mine = {e.key for e in self._entries if e.group == group}
            first = next((key for key in self.list.listed() if key in mine), "")
            self.list.choose(first or self.list.current)
        else:
            self.list.verticalScrollBar().setValue(0)
        self.groups.select(group)

    @Slot(int)
    def _box_chosen(self, index: int) -> None:
        self._go_to(str(self.group_box.itemData(index)))

    @Slot(str)
    def _seen(self, group: str) -> None:
        if not self.groups.hasFocus():
            self.groups.select(group)
        with QSignalBlocker(self.group_box):
            self.group_box.setCurrentIndex(max(0, self.group_box.findData(group)))

    @Slot(str)
    def _show_help(self, key: str) -> None:
        entry = next((e for e in self._entries if e.key == key), None)
        if entry is not None and key in self.states:
            self.help.show_entry(entry, self.states[key], self._desk.engine(), self._effect(key))
        else:
            self.help.show_entry(None, RowState(), None)

    @Slot(str)
    def _take_back(self, group: str) -> None:
        plan = self._desk.plan
        for entry in self._entries:
            state = self.states[entry.key]
            if entry.group == group and state.changed:
                plan = put(entry, plan, state.saved)
        self._desk.edit(plan)

    @Slot(str)
    def _clear(self, group: str) -> None:
        plan = self._desk.plan
        for entry in self._entries:
            if entry.group == group and self.states[entry.key].is_set:
                plan = put(entry, plan, ())
        self._desk.edit(plan)

    # -- room ----------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        narrow = self.width() < theme().px(NARROW)
        helping = narrow and self.help_button.isChecked()
        self.help_button.setVisible(narrow)
        self.help_button.setToolTip(tr("Back to the options") if helping else tr("Show help"))
        self.group_box.setVisible(narrow)
        self.left.setVisible(not narrow)
        self.count.setVisible(not narrow)
        self._rules[0].setVisible(not narrow)
        self._rules[1].setVisible(not narrow)
        self._place_help(narrow)
        self.help.setVisible(not narrow or helping)
        if narrow:
            self.list.setVisible(not helping and not self.empty.isVisibleTo(self.middle))
        else:
            self.list.setVisible(not self.empty.isVisibleTo(self.middle))

    def _place_help(self, narrow: bool) -> None:
        """Beside the list; in narrow windows in its place, when it is asked for."""
        if narrow == (self.body.indexOf(self.help) >= 0):
            return
        (self.body if narrow else self.line).addWidget(self.help)
        self.help.setMinimumWidth(0 if narrow else theme().px(HELP_WIDTH))
        self.help.setMaximumWidth(16777215 if narrow else theme().px(HELP_WIDTH))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self.refresh()


def _filter_words(counts: dict[str, int]) -> tuple[str, str, str, str]:
    return (tr("All"), tr("Set {count}", count=counts.get("set", 0)),
            tr("Changed {count}", count=counts.get("changed", 0)),
            tr("Locked {count}", count=counts.get("locked", 0)))
