# ruff: noqa: N815  (signals are named as Qt names them)
"""The desk: what the window works on. One plan, its preview, the engines, the machine, the runs.

Edits go view → `edit(plan)` → `planChanged` → (30 ms later, in a worker) preview → `previewChanged` → views. Nothing
here waits: whatever may take longer than a frame goes through `bridge.run`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from paddock.desktop import bridge
from paddock.desktop.drafts import DraftDesk
from paddock.desktop.history import Record
from paddock.desktop.judging import Judge
from paddock.desktop.machine_watch import MachineWatch
from paddock.desktop.profiles import ProfileDesk
from paddock.desktop.whatif import WhatIf, changes, what_if
from paddock.engine.model import Engine
from paddock.errors import AppError
from paddock.hardware.model import Machine
from paddock.launch.importing import Imported, read_choices
from paddock.launch.model import Plan
from paddock.launch.parsing import parse_argv
from paddock.server.model import State

if TYPE_CHECKING:
    from paddock.desktop.whatif import Change
    from paddock.store import Profile
    from paddock.work import Preview, Run, Workspace
    from paddock.work.watching import Watched

LIVE = (State.STARTING, State.LOADING, State.READY, State.STOPPING)
_UNDO_DEPTH = 100


class Desk(QObject):
    """Holds the workspace and the plan under edit; every view reads from here and hears from here."""

    planChanged = Signal(object)
    """Plan, at once on each edit"""
    previewChanged = Signal(object)
    """work.Preview of the current plan"""
    whatIfChanged = Signal(object)
    """whatif.WhatIf: limits and fixes for the current preview, a little later than it"""
    recordChanged = Signal()
    """how right the estimates of this model were"""
    enginesChanged = Signal()
    machineChanged = Signal()
    modelsChanged = Signal()
    """`entries` were found anew"""
    scanStarted = Signal(object)
    """bridge.Job with progress and cancel"""
    runsChanged = Signal()
    """a run was added, chosen or ended"""
    runStateChanged = Signal(object, object, object)
    """Run, State, Exit | None"""
    runDiagnosed = Signal(object, object)
    """Run, Diagnosis"""
    profileChanged = Signal()
    """another profile is open, or it was saved, or the list changed"""
    settingsChanged = Signal()
    leftoversFound = Signal(object)
    """list of server.Leftover: servers of a Paddock that is gone"""
    lookChanged = Signal()
    """language or text size: the window builds itself anew"""
    pageWanted = Signal(str, object)
    """"models", "launch", "run", "sessions", "settings", and what to show there or None"""
    failed = Signal(object)
    """AppError for the window's banner"""

    def __init__(self, workspace: Workspace, parent: QObject | None = None,
                 ask: Callable[[Workspace, Preview, Callable[[], bool]], WhatIf] = what_if) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.plan = Plan()
        self.preview: Preview | None = None
        self.what_if = WhatIf()
        self.record: Record | None = None
        self.engines: list[Engine] | None = None
        self.machine: Machine | None = None
        self.entries: list[Any] | None = None
        self.run: Run | Watched | None = None
        self.profile: Profile | None = None
        self.saved: Plan | None = None
        """What `plan` is compared with: the profile as saved, or the plan that was opened."""
        self.launching = False
        self._then_launch: Run | Watched | None = None
        self.keep_serving = bool(workspace.settings.keep_serving)
        """whether the next server may outlive the window"""
        self._past: list[Plan] = []
        self.scan_job: bridge.Job | None = None
        self.profiles = ProfileDesk(self)
        self.judge = Judge(self, ask)
        self.relay = bridge.Relay(self)
        self.relay.stateChanged.connect(self._run_state)
        self.relay.diagnosed.connect(self.runDiagnosed)
        self.machines = MachineWatch(self)
        self.drafts = DraftDesk(self)

    # -- the beginning and the end -------------------------------------------------------------------------------

    def start(self, file: Path | None = None) -> None:
        """Look for engines and the machine in the background; open the file, or what was last worked on."""
        self.find_engines()
        if file is not None:
            self.open_model(file)
            self.profiles.refresh()
        else:
            self.drafts.bring_back()
        self.machines.start()
        bridge.run(self.workspace.leftovers, self._leftovers, None, self, name="leftovers")

    def _leftovers(self, found: list[Any]) -> None:
        if found:
            self.leftoversFound.emit(found)

    def close(self) -> None:
        """Write what is pending; worker threads are joined by the caller (`bridge.shutdown`)."""
        self.judge.close()
        self.machines.stop()
        if self.scan_job is not None:
            self.scan_job.cancel()
        self.drafts.keep()

    def set_visible(self, visible: bool) -> None:
        """A hidden window does not ask the driver for free memory."""
        self.machines.visible = visible

    # -- engines and machine -------------------------------------------------------------------------------------

    def find_engines(self, refresh: bool = False) -> bridge.Job:
        """Find and probe engines, then read the machine; `enginesChanged` and `machineChanged` follow."""
        return bridge.run(lambda: self.workspace.engines(refresh=refresh), self._engines_found, self._engines_failed,
                          self, name="engines")

    def _engines_found(self, engines: list[Engine]) -> None:
        self.engines = list(engines)
        self.enginesChanged.emit()
        self.judge.request()
        self.machines.read(again=False)

    def _engines_failed(self, error: AppError) -> None:
        self.engines = []
        self.enginesChanged.emit()
        self.failed.emit(error)

    def engine(self) -> Engine | None:
        """The engine of the current plan, as far as it is known without asking anything."""
        preview = self.preview
        known = preview.engine if preview is not None and preview.plan.engine == self.plan.engine else None
        if known is not None and (self.engines is None or known in self.engines):
            return known
        wanted = self.plan.engine
        usable = [e for e in self.engines or [] if e.error is None]
        return next((e for e in usable if wanted in (e.name, str(e.path))), usable[0] if usable else None)

    # -- the plan ------------------------------------------------------------------------------------------------

    def edit(self, plan: Plan) -> None:
        """The one way in which a view changes the plan."""
        if plan == self.plan:
            return
        self._past = [*self._past[-_UNDO_DEPTH:], self.plan]
        self._set_plan(plan)

    def set(self, option: str, *values: str | int | float, on: bool = True) -> None:
        self.edit(self.plan.with_(option, *values, on=on))

    def unset(self, *options: str) -> None:
        self.edit(self.plan.without(*options))

    def put_back(self, plan: Plan, saved: Plan | None, profile: Profile | None) -> None:
        """What was worked on the last time, as it was; there is nothing before it to undo to."""
        self.profile, self.saved = profile, saved
        self._set_plan(plan)

    def undo(self) -> None:
        """Back to the plan before the last edit."""
        if self._past:
            self._set_plan(self._past.pop())

    def can_undo(self) -> bool:
        return bool(self._past)

    def _set_plan(self, plan: Plan) -> None:
        self.plan = plan
        self.planChanged.emit(plan)
        self.drafts.keep_soon()
        self.judge.request()

    def model_path(self) -> str | None:
        """What the plan names after -m."""
        return self.plan.get("model")

    def changes(self) -> list[Change]:
        """What differs from the saved profile (or from what was opened)."""
        return changes(self.saved, self.plan) if self.saved is not None else []

    def open_model(self, path: str | Path) -> None:
        """Start a plan for this file: its last working settings, else sensible ones; shows Launch."""
        def done(plan: Plan) -> None:
            self.profile, self.saved = None, plan
            self.edit(plan)
            self.profileChanged.emit()
            self.profiles.look_for_unfinished(plan)
            self.pageWanted.emit("launch", None)
        bridge.run(lambda: self.workspace.plan_for(Path(path)), done, self.failed.emit, self, name="plan")

    def read_line(self, line: str, choose: Callable[[list[Imported]], Imported | None] | None = None) -> bool:
        """A command line becomes the plan; what was not understood stays in `plan.extra`. False: it cannot be read.

        `choose`: asked which, where the text is a file with several plans; None is none of them. Without, the first.
        """
        try:
            found = read_choices(line)
        except AppError as error:
            self.failed.emit(error)
            return False
        chosen = choose(found) if choose is not None and len(found) > 1 else found[0]
        if chosen is not None:
            self.use_line(chosen.plan)
        return chosen is not None

    def use_line(self, plan: Plan) -> None:
        """A plan that came from a command line, less what Paddock itself added to the line that was shown."""
        added = self.preview.command.additions if self.preview is not None and self.preview.command else ()
        own = {s for a in added for s in parse_argv(a.argv).settings if self.plan.find(s.option) is None}
        plan = replace(plan, settings=tuple(s for s in plan.settings if s not in own))
        if self.saved is None:
            self.saved = plan
        self.edit(plan)

    def refresh_preview(self, fresh: bool = False) -> None:
        """Judge again, though the plan did not change (additions, settings). `fresh`: RPC hosts are asked too."""
        self.judge.request(fresh)

    def take_preview(self, preview: Preview) -> None:
        """From the judge: what is known of the plan as it is now."""
        self.preview = preview
        if self.machine is None or self.machine.devices != preview.machine.devices:
            self.machine = preview.machine
            self.machineChanged.emit()
        self.previewChanged.emit(preview)

    # -- runs ----------------------------------------------------------------------------------------------------

    def runs(self) -> list[Run | Watched]:
        """Runs of this process, those that have ended included, and servers that it watches."""
        return list(self.workspace.runs)

    def live(self) -> bool:
        """Whether the chosen run is under way."""
        return self.run is not None and self.run.state in LIVE

    def machine_before(self) -> Machine | None:
        """The plan on the desk is what the chosen server runs: the machine as it was before that was launched.

        Else None: what runs now holds its memory, and a further server has what is left.
        """
        run = self.run
        return run.preview.machine if run is not None and self.live() and run.preview.plan == self.plan else None

    def choose_run(self, run: Run | Watched | None) -> None:
        self.run = run
        self.runsChanged.emit()

    def launch(self, anyway: bool = False) -> None:
        """Start the server of the current plan; errors of the plan stop it unless `anyway`."""
        if self.launching:
            return
        self.launching = True
        self.drafts.keep()
        self.runsChanged.emit()
        plan = self.plan
        profile = self.profile.name if self.profile is not None else None
        keep = self.keep_serving
        restarts = self.profile.restart_limit if self.profile is not None else self.workspace.settings.restart_limit
        bridge.run(lambda: self.workspace.launch(plan, profile=profile, anyway=anyway, listener=self.relay,
                                                 keep_serving=keep, restart_limit=restarts),
                   self.take_run, self._launch_failed, self, name="launch")

    def take_run(self, run: Run | Watched) -> None:
        """It is the chosen one from now on, and is shown."""
        self.launching = False
        self.choose_run(run)
        self.pageWanted.emit("run", run)

    def _launch_failed(self, error: AppError) -> None:
        self.launching = False
        self.judge.request()  # what the launch found out (an RPC host that is silent) stands among the checks now
        self.runsChanged.emit()
        self.failed.emit(error)

    def relaunch(self) -> None:
        """Stop the chosen server and start one of the plan on the desk as soon as it is gone."""
        if self.run is None or not self.live():
            self.launch()
            return
        self._then_launch = self.run
        self.run.stop()

    def stop(self, run: Run | Watched | None = None) -> None:
        """Ask the server to end, or end the watching of one that is not ours; returns at once."""
        self._then_launch = None
        target = run or self.run
        if target is not None:
            target.stop()

    def adopt(self, leftover: Any) -> None:
        """Take over a server that an earlier Paddock left."""
        bridge.run(lambda: self.workspace.adopt(leftover, listener=self.relay), self.take_run, self.failed.emit, self,
                   name="adopt")

    @Slot(object, object, object)
    def _run_state(self, run: Run, state: State, exit_: Any) -> None:
        self.runStateChanged.emit(run, state, exit_)
        if state not in LIVE:
            self.runsChanged.emit()
            self.judge.ask_record()
            if self.machine_before() is None:
                self.machines.read(again=True)
            if run is self._then_launch:
                self._then_launch = None
                self.launch()

    # -- models --------------------------------------------------------------------------------------------------

    def scan(self) -> bridge.Job:
        """Look for model files; `scanStarted` brings the job, `modelsChanged` the end."""
        if self.scan_job is not None and self.scan_job.running:
            return self.scan_job
        job = bridge.Job("scan")
        self.scan_job = bridge.run(lambda: self.workspace.scan(job.report, job.cancelled), self._scanned,
                                   self.failed.emit, self, name="scan", job=job)
        self.scanStarted.emit(job)
        return job

    def _scanned(self, entries: list[Any]) -> None:
        self.entries = list(entries)
        self.modelsChanged.emit()

    def revert(self) -> None:
        """Back to the profile as saved."""
        if self.saved is not None:
            self.edit(self.saved)

    # -- additions -----------------------------------------------------------------------------------------------

    def switch_addition(self, addition_id: str, on: bool) -> None:
        """What Paddock adds to the command can be switched off, for all launches, by the addition's id."""
        off = set(self.workspace.settings.additions_off)
        off = off - {addition_id} if on else off | {addition_id}
        self.workspace.settings.additions_off = sorted(off)
        self.save_settings()
        self.refresh_preview()

    # -- settings ------------------------------------------------------------------------------------------------

    def add_folder(self, folder: str) -> None:
        """Look for models there too, from now on."""
        folders = self.workspace.settings.model_folders
        if folder not in folders:
            self.workspace.settings.model_folders = [*folders, folder]
            self.save_settings()
        self.scan()

    def add_engine(self, path: str) -> None:
        """Ask this program too, from now on."""
        paths = self.workspace.settings.engine_paths
        if path not in paths:
            self.workspace.settings.engine_paths = [*paths, path]
            self.save_settings()
        self.find_engines(refresh=True)

    def save_settings(self) -> None:
        """Write them, and tell those that show them."""
        bridge.run(self.workspace.save_settings, None, self.failed.emit, self, name="settings", in_order=True)
        self.settingsChanged.emit()
