"""One data folder at work: engines, machine, models, profiles, sessions, and the launches made from it."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from paddock import gguf, library
from paddock.engine import Engine
from paddock.errors import AppError
from paddock.fit import Budget, Estimate
from paddock.fit.corrections import Correction
from paddock.gguf.cache import NearCache
from paddock.gguf.model import ModelFile
from paddock.hardware import Machine
from paddock.launch import Plan
from paddock.library.apart import apart_for
from paddock.library.watching import stamp
from paddock.paths import DataPaths, as_typed
from paddock.server import leftovers
from paddock.server.record import Leftover
from paddock.store import Database, Profile, Profiles, SessionDetail, carrying, load_settings, save_settings
from paddock.store import ledger as stored_ledger
from paddock.store.defaults import Defaults
from paddock.store.rows import SessionRow
from paddock.text import Text
from paddock.work import asking, engine_fit, ledger, opening, previewing, reporting, resolving, saving
from paddock.work.beside import Neighbours
from paddock.work.engine_fit import EngineFit
from paddock.work.engines import Engines
from paddock.work.ledger import Record
from paddock.work.machines import Machines
from paddock.work.model import Preview
from paddock.work.opening import Opened
from paddock.work.rpc_hosts import RpcHosts
from paddock.work.run import ENDED, Run, RunListener
from paddock.work.starting import adopt_run, start_run
from paddock.work.watching import Watched

Progress = Callable[[int, int | None, str], None]


class Workspace:
    """Owns the paths, settings, profiles, database and caches of one process. Methods may be called from any thread.

    What is slow at first (engines, machine, scan) says so; nothing is read or made before it is needed.
    """

    def __init__(self, data_dir: str | Path | None = None, engine: str | None = None,
                 tell: Callable[[Text], None] | None = None) -> None:
        """`tell`: called with each notice (something damaged was set aside) as it comes up, from any thread."""
        self.paths = DataPaths.at(data_dir)
        self.settings, self.notices = load_settings(self.paths.settings)
        self._tell = tell or (lambda _: None)
        for text in self.notices:
            self._tell(text)
        self._settings_read = copy.deepcopy(self.settings)
        self.profiles = Profiles(self.paths.profiles)
        self.defaults = Defaults(self.paths.profiles / ".defaults")
        self.runs: list[Run | Watched] = []
        self.rpc = RpcHosts(self)
        self.neighbours = Neighbours(self.paths.runtime)
        self._engines = Engines(self.settings, self.paths.cache / "engines", as_typed(engine) if engine else None)
        self._machines = Machines(self.neighbours, self.rpc, self._last_end)
        self._lock = threading.RLock()
        self._database: Database | None = None
        self._headers = gguf.HeaderCache(self.paths.cache / "headers")
        self._near = NearCache(self._headers)
        self._ledger = ledger.Ledger(self.paths.database)

    # -- settings and storage

    def save_settings(self) -> None:
        """Write settings.toml: what was changed here. Raises AppError when the folder cannot be written."""
        save_settings(self.paths.settings, self.settings, self._settings_read)
        self._settings_read = copy.deepcopy(self.settings)  # what is taken out next was put there by this save

    @property
    def database(self) -> Database:
        """Opened, and migrated, at the first use; sessions of a Paddock that died are marked interrupted then, and
        those older than the person wants to keep are deleted."""
        with self._lock:
            if self._database is None:
                self._database = Database(self.paths.database)
                self._database.on_problem = self._unwritten
                self._noticed(self._database.notices)
                self._database.mark_interrupted()
                if self.settings.keep_sessions_days > 0:
                    self._database.purge(self.settings.keep_sessions_days)
                if self.settings.keep_sessions_mib > 0:
                    self._database.purge_to(self.settings.keep_sessions_mib)
            return self._database

    def _unwritten(self, problem: AppError | None) -> None:
        """Each session that is open says that it is not being recorded, or that it is again."""
        kind, text = ("issue", problem) if problem is not None else (
            "recovered", Text("The database can be written again."))
        for run in list(self.runs):
            run.recorder.event(kind, str(text), id="database.unwritten")

    def _noticed(self, notices: Sequence[Text]) -> None:
        self.notices += notices
        for text in notices:
            self._tell(text)

    # -- engines and machine

    def engines(self, refresh: bool = False) -> list[Engine]:
        """All found, the default first among equals; each probed in a subprocess (slow the first time)."""
        return self._engines.all(refresh)

    def engine(self, selector: str | None = None) -> Engine | None:
        """By name or path (here, --engine, the setting), else the first that answers; None when there is none.

        Raises AppError for a name or path that leads to no usable engine.
        """
        return self._engines.one(selector)

    @property
    def chosen_engine(self) -> str | None:
        """What --engine named, if it was given."""
        return self._engines.chosen

    def machine(self, engine: Engine | None, again: bool = False, rpc: Sequence[str] = ()) -> Machine:
        """Facts of this machine with the engine's devices; later calls read the free memory anew when `again`.

        `rpc`: endpoints that a plan names. Their devices are asked of the engine once, when all of them can be reached
        (an unreachable one would abort it, and to connect is a session there); else they are left out.
        """
        return self._machines.of(engine, again, tuple(rpc))

    def busy_endpoints(self) -> set[str]:
        """The RPC servers that running sessions of ours use."""
        return {e for run in self.runs if run.state not in ENDED for e in previewing.endpoints(run.preview.plan)}

    def _last_end(self) -> float:
        return max((run.ended_at for run in self.runs if run.ended_at is not None), default=0.0)

    # -- models

    def read_model(self, path: str | Path) -> ModelFile:
        """One model, from the cache when the file has not changed. Raises AppError in words."""
        return gguf.read(Path(as_typed(str(path))).expanduser(), cache=self._near)

    def places(self) -> list[library.Place]:
        """Where models are looked for: the person's folders, our own, the caches of other programs."""
        places = [library.Place(Path(f).expanduser(), f) for f in self.settings.model_folders]
        places.append(library.Place(self.paths.root / "models", "Paddock"))
        if self.settings.download_folder:
            places.append(library.Place(Path(self.settings.download_folder).expanduser(), "Paddock"))
        places += library.default_places(os.environ, Path.home())
        return places

    def library_stamp(self, cancelled: Callable[[], bool]) -> str | None:
        """Changes when a scan would find something else; see `library.watching.stamp`. Blocks, opens no file."""
        return stamp(self.places(), cancelled)

    def scan(self, progress: Progress, cancelled: Callable[[], bool]) -> list[library.Entry]:
        """Every model file of the folders and caches; files that cannot be read are listed with the reason."""
        found = library.scan(self.places(), read=lambda p: gguf.read(p, cache=self._headers), progress=progress,
                             cancelled=cancelled, apart=apart_for(self._headers.folder))
        if not cancelled():
            self._headers.prune(entry.path for entry in found)
        return found

    # -- plans

    def plan_for(self, model_path: str | Path) -> Plan:
        """The last working plan of this model, else a plain one: the model, and at most 8,192 tokens."""
        return saving.plan_for(self, Path(model_path))

    def resolve(self, target: str | None, flags: Sequence[str] = ()) -> tuple[Plan, Profile | None]:
        """PROFILE|FILE and flags → a plan (design: an existing path or *.gguf is a file, else a profile)."""
        return resolving.resolve(self, target, flags)

    def preview(self, plan: Plan, *, engine: Engine | None = None, machine: Machine | None = None,
                fresh: bool = False, additions_off: Collection[str] | None = None) -> Preview:
        """All that is known before the launch. `fresh`: free memory, files and port are looked at now."""
        return previewing.preview(self, plan, engine=engine, machine=machine, fresh=fresh, additions_off=additions_off)

    def estimate(self, plan: Plan, budgets: Sequence[Budget] | None = None,
                 corrections: bool | None = None) -> Estimate:
        """The estimate alone; `budgets` stand for the machine's devices.

        `corrections`: whether what earlier launches showed is taken over (None: as the setting says).
        """
        return previewing.estimate_plan(self, plan, budgets, corrections)

    def ask_engine(self, plan: Plan, *, cancelled: Callable[[], bool] = lambda: False) -> EngineFit:
        """What llama.cpp itself reckons for this plan, beside our estimate. Blocks (seconds). See engine_fit.ask."""
        return engine_fit.ask(self, plan, cancelled)

    def answer(self, request: Mapping[str, Any], corrections: bool = False) -> dict[str, Any]:
        """One line of `fit --batch`. `corrections`: with what launches here showed of such devices."""
        return asking.answer(self, request, corrections)

    def answer_of(self, found: Estimate) -> dict[str, Any]:
        """An estimate in the form of a batch answer."""
        return asking.as_answer(found)

    def export(self, plan: Plan, form: str, additions: bool = False) -> str:
        """The plan's command in a shell's or program's format."""
        return resolving.export(self, plan, form, additions)

    def open_profile(self, name: str, known: Sequence[Path] | None = None) -> Opened:
        """A profile with its defaults, its files found again and old flags carried over; says what was done. Blocks."""
        return opening.open_profile(self, name, known)

    def save_profile(self, name: str, plan: Plan, expected: int | None = None, **details: Any) -> Profile:
        """Save a plan under a name; what an existing profile of that name holds besides is kept, and what the plan
        takes from the defaults is left to them. `expected`: the revision that was opened."""
        return saving.save_profile(self, name, plan, expected, **details)

    def import_profiles(self, text: str, name: str | None = None, hint: str = "") -> list[Profile]:
        """Save what a text holds: our TOML, a command line or script, KoboldCpp settings, a llama.cpp preset, a
        llama-swap file, a systemd unit. Needs neither model nor engine. `hint`: the file's name. A name in use gets a
        number; a literal key goes to the keyring, or becomes the name of a variable to set."""
        return saving.import_profiles(self, text, name, hint)

    # -- running

    def launch(self, plan: Plan, *, profile: str | None = None, anyway: bool = False,
               listener: RunListener | None = None, keep_serving: bool = False, restart_limit: int = 0,
               additions_off: Collection[str] | None = None) -> Run:
        """Start and record. Returns at once. Raises AppError when a check holds an error and not `anyway`."""
        run = start_run(self, plan, profile=profile, anyway=anyway, listener=listener, keep_serving=keep_serving,
                        restart_limit=restart_limit, additions_off=additions_off)
        self.runs.append(run)
        return run

    def leftovers(self) -> list[Leftover]:
        """Servers whose Paddock is gone and which live on."""
        return leftovers(self.paths.runtime)

    def adopt(self, leftover: Leftover, listener: RunListener | None = None) -> Run:
        """Take a leftover server over as a run of ours."""
        run = adopt_run(self, leftover, listener)
        self.runs.append(run)
        return run

    def watch(self, url: str, key: str | None = None, record: bool = False, *, insecure: bool = False,
              listener: RunListener | None = None) -> Watched:
        """Attach to a server that somebody else started, read-only; it stands among the runs. AppError where none
        answers. `insecure`: take any certificate. Blocks for some seconds at most."""
        watched = Watched(self, url, key, record, insecure=insecure, listener=listener)
        self.runs.append(watched)
        return watched

    # -- how good the estimates were

    def record(self, model_identity: str, engine: Engine, backends: str | None = None) -> Record:
        """The last five launches of a model on an engine; `backends` as in `ledger.backends_of`. Cheap, any thread."""
        return ledger.record(self._ledger.launches(ledger.key_for(model_identity, engine), backends))

    def record_of(self, plan: Plan, estimate: Estimate) -> Record:
        """The same for a plan and its estimate. Raises AppError when the model cannot be read."""
        engine = previewing.engine_of(self, plan)
        path = plan.get("model")
        if engine is None or not path:
            return ledger.record(())
        return self.record(self.read_model(path).identity, engine, ledger.backends_of(estimate))

    def record_for(self, preview: Preview) -> Record:
        """The same for what this preview would launch. Cheap, any thread, never raises for a missing database."""
        key = ledger.key_of(preview.model, preview.engine)
        if key is None or preview.estimate is None:
            return ledger.record(())
        return ledger.record(self._ledger.launches(key, ledger.backends_of(preview.estimate)))

    def corrections(self, model: ModelFile | None, engine: Engine | None,
                    wanted: bool | None = None) -> tuple[Correction, ...]:
        """What earlier launches taught of this model on this engine; none where that is off (None: as the setting
        says). For `fit.estimate` and all that judges by it. Cheap, any thread."""
        key = ledger.key_of(model, engine)
        if key is None or not (self.settings.correct_estimates if wanted is None else wanted):
            return ()
        return ledger.taught(self._ledger.launches(key))

    def forget_corrections(self, model: ModelFile | None = None, engine: Engine | None = None,
                           backend: str | None = None) -> int:
        """Estimates are as if nothing had been launched yet; the record stays. Returns how many figures it touched.

        Without model and engine: for all of them; `backend`: only devices of that kind ("cuda", "host").
        """
        return stored_ledger.forget(self.database, ledger.key_of(model, engine), backend)

    # -- the past

    def interrupted(self) -> list[SessionRow]:
        """Sessions that a crash of ours left behind."""
        return [row for row in self.sessions() if row.state == "interrupted"]

    def sessions(self, search: str = "") -> list[SessionRow]:
        """The newest first."""
        return self.database.sessions(search=search)

    def session(self, session_id: int) -> SessionDetail:
        """Everything of one. Raises AppError when there is no such session."""
        return self.database.session(session_id)

    def series_dict(self, session_id: int) -> dict[str, Any]:
        """The samples as lists, NaN as None."""
        series = self.database.series(session_id)
        out: dict[str, Any] = {}
        for name in series.names:
            t, values = series.view(name)
            out.setdefault("t", t.tolist())
            out[name] = [None if v != v else v for v in values.tolist()]
        return out

    def report(self, session_ids: Sequence[int], form: str = "html") -> str:
        """These sessions as html (one self-contained page), csv or jsonl (their requests), series (the first one's
        samples as csv) or json (everything). AppError for an unknown session."""
        return reporting.written(self, session_ids, form)

    def export_session(self, session_id: int, to: Path) -> None:
        """One session in a file of its own, for `import_sessions` of another Paddock; no prompt or answer is in it."""
        self.database.flush()
        carrying.export_session(self.paths.database, session_id, to)

    def import_sessions(self, file: Path) -> list[int]:
        """Take over what `export_session` wrote; returns the new ids. AppError where the file is none."""
        return carrying.import_sessions(self.database, file)

    def delete_session(self, session_id: int) -> None:
        """For good."""
        self.database.delete(session_id)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Read-only; an empty database is made first."""
        return self.database.query(sql)

    def close(self) -> None:
        """Stop the runs (but those that keep serving), flush and end all threads. Idempotent."""
        self.rpc.close()
        for run in self.runs:
            run.close()
        self.runs.clear()
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None
        self._headers.close()


