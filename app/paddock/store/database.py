"""The database: one writer thread per process, as many readers as wanted, two Paddocks at once."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

from paddock.errors import AppError
from paddock.hardware.model import DeviceReading, Reading
from paddock.session.model import Event, MarkChange, Request, Sample, SlotSample
from paddock.session.proxy import Exchange
from paddock.session.series import Series
from paddock.store import keeping, marks, reading
from paddock.store.columns import (
    DEVICE,
    EXCHANGE,
    INSERT_DEVICE,
    INSERT_EXCHANGE,
    INSERT_REQUEST,
    INSERT_SAMPLE,
    INSERT_SLOT,
    PRESSURE,
    READING,
    REQUEST,
    SAMPLE,
    SLOT,
    as_stored,
    insert,
    to_json,
)
from paddock.store.planform import plan_table
from paddock.store.rows import SessionDetail, SessionRow, SessionStart, now_utc
from paddock.store.schema import connect_read_only, open_database
from paddock.store.secret import drop_literals, masked_argv, masked_environment
from paddock.text import Text

_COMMIT_S = 1.0
_KEEP_UNWRITTEN = 50_000
_BATCH = 500
Work = Callable[[sqlite3.Connection], Any]
_Item = tuple[Work, Future[Any] | None]


class Database:
    """Opens (or makes) `path`, starts the writer thread. Rows are queued and committed together about every second,
    on `flush` and on `close`: a crash loses no more than that.

    AppError from the constructor as from `schema.open_database`. A write that fails later (disk full) is kept and
    tried again; `problem` then says why, and is None while all is well.
    """

    def __init__(self, path: Path, *, commit_s: float = _COMMIT_S) -> None:
        self.path = path
        self.notices: list[Text] = []
        self.problem: AppError | None = None
        self.on_problem: Callable[[AppError | None], object] = lambda problem: None
        """Told once where writing begins to fail, and with None once it works again; from the writer's thread."""
        self.dropped = 0
        """Rows that could not be stored, with the last reason."""
        self.last_dropped: str | None = None
        self._commit_s = commit_s
        self._connection = open_database(path, self.notices)
        self._ready = threading.Condition()
        self._waiting: list[_Item] = []
        self._urgent = self._ending = False
        self._last_reading: dict[int, float] = {}
        self._last_slot: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._closed = False
        self._thread = threading.Thread(target=self._write, name="database writer", daemon=True)
        self._thread.start()

    # The writer thread

    def _write(self) -> None:
        pending: list[_Item] = []
        ended = False
        while not ended:
            fresh, ended = self._next_batch(time.monotonic() + self._commit_s if pending else None)
            pending = self._commit(pending + fresh)
        self._connection.close()

    def _next_batch(self, due: float | None) -> tuple[list[_Item], bool]:
        """What is to be written now, and whether it is the last; waits for it. `due`: something waits since before.

        Rows that nobody waits for gather for `commit_s` from the oldest of them on: new ones that keep coming do not
        put it off, and wake nobody.
        """
        with self._ready:
            while not (self._urgent or self._ending or len(self._waiting) >= _BATCH):
                now = time.monotonic()
                if due is None and self._waiting:
                    due = now + self._commit_s
                if due is not None and now >= due:
                    break
                self._ready.wait(None if due is None else due - now)
            fresh, self._waiting, self._urgent = self._waiting, [], False
            return fresh, self._ending

    def _commit(self, pending: list[_Item]) -> list[_Item]:
        """One transaction. Returns what is left to try again: everything that nobody waits for."""
        if not pending:
            return []
        answers: list[tuple[Future[Any], Any]] = []
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for work, future in pending:
                if future is None:
                    self._write_row(work)
                else:
                    self._answer(work, future, answers)
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            fresh, self.problem = self.problem is None, AppError(
                Text("The database could not be written."), why=str(error),
                hint=Text("Check free space and permissions of its folder."))
            if fresh:
                self.on_problem(self.problem)
            for _, future in pending:
                if future is not None and not future.done():
                    future.set_exception(self.problem)
            return [item for item in pending if item[1] is None][-_KEEP_UNWRITTEN:]
        if self.problem is not None:
            self.problem = None
            self.on_problem(None)
        for future, result in answers:
            future.set_result(result)
        return []

    def _write_row(self, work: Work) -> None:
        """A row that SQLite will never take (its session was deleted, a figure out of range) must not stop the rest."""
        try:
            work(self._connection)
        except (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError,
                OverflowError, UnicodeEncodeError) as error:
            self.dropped += 1
            self.last_dropped = str(error)

    def _answer(self, work: Work, future: Future[Any], answers: list[tuple[Future[Any], Any]]) -> None:
        self._connection.execute("SAVEPOINT one")
        try:
            answers.append((future, work(self._connection)))
        except sqlite3.OperationalError:
            raise
        except Exception as error:  # noqa: BLE001 - it is the waiting caller's, who gets it
            self._connection.execute("ROLLBACK TO one")
            future.set_exception(error)
        self._connection.execute("RELEASE one")

    def _do(self, work: Work) -> None:
        if not self._closed:
            with self._ready:
                self._waiting.append((work, None))
                if len(self._waiting) in (1, _BATCH):
                    self._ready.notify()

    def _wait_for(self, work: Work) -> Any:
        if self._closed:
            raise AppError(Text("The database is closed."))
        future: Future[Any] = Future()
        with self._ready:
            self._waiting.append((work, future))
            self._urgent = True
            self._ready.notify()
        return future.result()

    # Writing

    def start_session(self, start: SessionStart) -> int:
        """Begin a session's record; returns its id. Committed when this returns. Literal keys are masked."""
        columns = {
            "start_utc": start.start_utc, "state": start.state, "model": start.model,
            "model_identity": start.model_identity, "model_facts": to_json(start.model_facts), "engine": start.engine,
            "engine_facts": to_json(start.engine_facts), "profile": start.profile,
            "plan": to_json(plan_table(drop_literals(start.plan))) if start.plan is not None else None,
            "command": to_json(masked_argv(start.command)),
            "environment": to_json(masked_environment(start.environment)),
            "machine": to_json(start.machine), "estimate": to_json(start.estimate), "owner_pid": start.owner_pid,
            "owner_started": start.owner_started, "label": start.label}
        sql = insert("session", tuple(columns), "INSERT")
        return int(self._wait_for(lambda c: c.execute(sql, tuple(map(as_stored, columns.values()))).lastrowid))

    def state(self, session_id: int, state: str) -> None:
        """The server's state changed while the session goes on."""
        self._update(session_id, state=state)

    def row(self, session_id: int, row: Sample | Request | Event | Exchange | MarkChange) -> None:
        """Whatever a `Recorder`'s sink is given."""
        if isinstance(row, Sample):
            self.sample(session_id, row)
        elif isinstance(row, Request):
            self.request(session_id, row)
        elif isinstance(row, Exchange):
            self.exchange(session_id, row)
        elif isinstance(row, MarkChange):
            self.change_mark(session_id, row)
        else:
            self.event(session_id, row)

    def sample(self, session_id: int, sample: Sample) -> None:
        """One moment. Readings are stored once each, slots only when something of them changed."""
        t = round(sample.t, 3)
        fresh: Reading | None = sample.reading
        if fresh is not None and self._last_reading.get(session_id) == fresh.t:
            fresh = None
        elif fresh is not None:
            self._last_reading[session_id] = fresh.t
        machine = [as_stored(getattr(fresh, name)) if fresh else None for name in READING]
        pressure = fresh.pressure if fresh is not None else None
        machine += [as_stored(getattr(pressure, name)) if pressure is not None else None for name in PRESSURE]
        row = (session_id, t, *(as_stored(getattr(sample, name)) for name in SAMPLE), sample.answered, sample.sleeping,
               *machine)
        devices = [self._device_row(session_id, t, d) for d in fresh.devices] if fresh else []
        slots = [r for s in sample.slots if (r := self._slot_row(session_id, t, s)) is not None]

        def work(c: sqlite3.Connection) -> None:
            c.execute(INSERT_SAMPLE, row)
            c.executemany(INSERT_DEVICE, devices)
            c.executemany(INSERT_SLOT, slots)

        self._do(work)

    def device_readings(self, session_id: int, t0: float, readings: Iterable[Reading]) -> None:
        """What was read of the cards besides the samples: a close look that is kept. `t0`: monotonic, the session's 0.
        Committed when this returns."""
        rows = [self._device_row(session_id, round(r.t - t0, 3), d) for r in readings for d in r.devices]
        self._wait_for(lambda c: c.executemany(INSERT_DEVICE, rows))

    @staticmethod
    def _device_row(session_id: int, t: float, device: DeviceReading) -> tuple[Any, ...]:
        throttle = None if device.throttle is None else ",".join(device.throttle)
        return (session_id, t, device.device, *(as_stored(getattr(device, name)) for name in DEVICE), throttle)

    def _slot_row(self, session_id: int, t: float, slot: SlotSample) -> tuple[Any, ...] | None:
        values = tuple(as_stored(getattr(slot, name)) for name in SLOT)
        if self._last_slot.get((session_id, slot.id)) == values:
            return None
        self._last_slot[session_id, slot.id] = values
        return (session_id, t, slot.id, *values)

    def request(self, session_id: int, request: Request) -> None:
        """Insert or replace by number."""
        row = (session_id, *(as_stored(getattr(request, name)) for name in REQUEST))
        self._do(lambda c: c.execute(INSERT_REQUEST, row))

    def exchange(self, session_id: int, exchange: Exchange) -> None:
        """Insert or replace by id; its texts too, where it has them."""
        row = (session_id, *(as_stored(getattr(exchange, name)) for name in EXCHANGE), to_json(exchange.settings))
        texts = (session_id, exchange.id, as_stored(exchange.request_text), as_stored(exchange.response_text))

        def work(c: sqlite3.Connection) -> None:
            c.execute(INSERT_EXCHANGE, row)
            if texts[2] is not None or texts[3] is not None:
                c.execute("INSERT OR REPLACE INTO exchange_text VALUES (?, ?, ?, ?)", texts)

        self._do(work)

    def event(self, session_id: int, event: Event) -> None:
        row = (session_id, event.t, event.kind, as_stored(event.text), to_json(event.data) if event.data else None)
        self._do(lambda c: c.execute("INSERT INTO event (session_id, t, kind, text, data) VALUES (?, ?, ?, ?, ?)", row))

    def change_mark(self, session_id: int, change: MarkChange) -> None:
        """Edit or delete a mark of the person's; nothing happens where it is gone."""
        self._do(lambda c: marks.change(c, session_id, change))

    def actual(self, session_id: int, actual: dict[str, Any]) -> None:
        """What it took (`Recorder.actual`), to stand beside the estimate."""
        self._update(session_id, actual=to_json(actual))

    def note(self, session_id: int, note: str) -> None:
        """The person's words about it, in place of the last ones; committed when this returns. AppError: no such id."""
        self._change(session_id, "note", as_stored(note.strip()) or None)

    def tag(self, session_id: int, tags: Iterable[str]) -> None:
        """Its tags, in place of the last ones; as `note`."""
        self._change(session_id, "tags", keeping.tags_json(map(as_stored, tags)))

    def _change(self, session_id: int, column: str, value: str | None) -> None:
        sql = f"UPDATE session SET {column} = ? WHERE id = ?"
        if self._wait_for(lambda c: c.execute(sql, (value, session_id)).rowcount) == 0:
            raise AppError(Text("There is no session {id}.", id=session_id))

    def _update(self, session_id: int, **columns: Any) -> None:
        sql = f"UPDATE session SET {', '.join(f'{name} = ?' for name in columns)} WHERE id = ?"
        values = (*(as_stored(v) for v in columns.values()), session_id)
        self._do(lambda c: c.execute(sql, values))

    def finish_session(self, session_id: int, state: str, exit_code: int | None = None, reason: str | None = None,
                       log_excerpt: str | None = None) -> None:
        """The server ended: stopped, failed or crashed. Committed when this returns."""
        self._update(session_id, state=state, end_utc=now_utc(), exit_code=exit_code, reason=reason)
        if log_excerpt is not None:
            text = as_stored(log_excerpt)
            self._do(lambda c: c.execute("INSERT OR REPLACE INTO log_excerpt VALUES (?, ?)", (session_id, text)))
        self._last_reading.pop(session_id, None)
        self._last_slot = {key: v for key, v in self._last_slot.items() if key[0] != session_id}
        self.flush()

    def delete(self, session_id: int) -> None:
        """A session and all its rows. AppError when there is none of that id."""
        if self._wait_for(lambda c: c.execute("DELETE FROM session WHERE id = ?", (session_id,)).rowcount) == 0:
            raise AppError(Text("There is no session {id}.", id=session_id))

    def mark_interrupted(self) -> list[int]:
        """Close the records of sessions whose Paddock is gone; returns their ids. Another living one's stay."""
        return list(self._wait_for(reading.mark_interrupted))

    def purge(self, days: int) -> int:
        """Delete sessions that ended more than `days` ago, but those with a note or a tag; returns how many."""
        return int(self._wait_for(lambda c: keeping.purge(c, days)))

    def purge_to(self, mib: int) -> int:
        """Delete the oldest sessions, but those with a note or a tag, until the rest takes `mib` MiB or less."""
        return int(self._wait_for(lambda c: keeping.purge_to(c, mib)))

    def used_bytes(self) -> int:
        """What the recorded sessions take."""
        with closing(connect_read_only(self.path)) as c:
            return keeping.used_bytes(c)

    def write(self, work: Work) -> Any:
        """Run `work(connection)` in the writer thread inside a transaction and wait: for rows of other rooms."""
        return self._wait_for(work)

    def later(self, work: Work) -> None:
        """Queue `work(connection)` for the writer thread and return at once."""
        self._do(work)

    def flush(self) -> None:
        """Everything queued so far is committed when this returns. AppError when it could not be."""
        self._wait_for(lambda c: None)

    def close(self) -> None:
        """Commit what is queued and end the thread. Safe to call twice."""
        if not self._closed:
            self._closed = True
            with self._ready:
                self._ending = True
                self._ready.notify()
            self._thread.join()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    # Reading: each call on a connection of its own, from any thread, beside the writer

    def sessions(self, limit: int | None = None, search: str = "") -> list[SessionRow]:
        """Newest first. `search`: every word occurs in model, engine, profile, label, note, tags, state or id."""
        with closing(connect_read_only(self.path)) as c:
            return reading.sessions(c, limit, search)

    def session(self, session_id: int) -> SessionDetail:
        """AppError when there is none of that id."""
        with closing(connect_read_only(self.path)) as c:
            return reading.session(c, session_id)

    def series(self, session_id: int) -> Series:
        """The samples as `Series`, columns named as live (`session.recorder.sample_columns`)."""
        with closing(connect_read_only(self.path)) as c:
            return reading.series(c, session_id)

    def query(self, sql: str, params: Sequence[Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        """One reading statement: (column names, rows). AppError when SQLite refuses it."""
        with closing(connect_read_only(self.path)) as c:
            return reading.query(c, sql, params)
