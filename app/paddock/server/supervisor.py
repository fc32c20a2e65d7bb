"""The supervisor: one server, kept by one thread of its own that alone writes its state."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from paddock.server.client import Client
from paddock.server.life import Board, Life, Timing, Wanted
from paddock.server.logbook import LogBook, LogFile
from paddock.server.model import Diagnosis, Exit, Listener, LogLine, Progress, ServerSpec, State
from paddock.server.record import Record
from paddock.text import Text

_OVER = (State.STOPPED, State.FAILED, State.CRASHED)


class Supervisor:
    """Runs one server. States: stopped → starting → loading → ready → stopping → stopped; failed: it ended before it
    was ready; crashed: after. Public methods may be called from any thread, return at once, and ask the supervisor's
    thread, which does everything; only `join` waits. The thread lives from `start` to the end of the server, and the
    log reader within that; neither outlives `join`.

    The server dies with this process, however that ends, unless the spec says `keep_serving`. What holds: Linux, the
    kernel kills the server and a warden its process group; other POSIX, the warden; Windows, a job object. A descendant
    that left the process group is not reached (a router's children end by themselves when the router is gone).

    Listener: `on_state` from the supervisor's thread, `on_line` from the reader's; the last line comes before the last
    state. Notices (what it serves on in spite of) are pulled.

    With `restart_limit`, a crash (an end after ready, with a code other than 0) is followed by a restart after 1, 2, 4,
    … seconds; in between the state is crashed. So many crashes without ten calm minutes between them end that. An end
    before ready is never followed by a restart.
    """

    def __init__(self, spec: ServerSpec, *, listener: Listener, clock: Callable[[], float] = time.monotonic,
                 timing: Timing | None = None) -> None:
        if spec.keep_serving and spec.log_path is None:
            raise ValueError("keep_serving needs a log_path: the output must go somewhere without us")
        self.spec = spec
        self._listener, self._clock, self._timing = listener, clock, timing or Timing()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._wanted = Wanted.RUN
        self._thread: threading.Thread | None = None
        self._busy = False
        self._restartable = True
        self._board = Board()
        self._life: Life | None = None
        self._adopted: Record | None = None
        self._book = LogBook(listener, self._announced)
        self._first = True

    @classmethod
    def attach(cls, record: Record, *, listener: Listener, key: str | None = None, spec: ServerSpec | None = None,
               clock: Callable[[], float] = time.monotonic, timing: Timing | None = None) -> Supervisor:
        """For a server that runs already (`leftovers`, or one that was let go). `start` then takes it over.

        It is followed through its log file (from at most 256 KiB before its end), can be stopped, and goes on serving
        when this Paddock ends. Its exit code will not be known. key: not in the record. spec: how to start it again,
        for `restart`; without it `restart` only stops.
        """
        supervisor = cls(spec or record.spec(key), listener=listener, clock=clock, timing=timing)
        supervisor._adopted = record
        supervisor._restartable = spec is not None
        return supervisor

    # asking

    def start(self) -> None:
        """stopped, failed, crashed → starting, at once. starting, loading, ready: nothing. stopping: starts again when
        that is over. Within the pause before a restart: at once.
        """
        with self._lock:
            if self._busy:
                if self._wanted is Wanted.STOP or self._board.state in _OVER:
                    self._ask(Wanted.RESTART)
                return
            self._busy = True
            self._wanted = Wanted.RUN
            self._wake.clear()
            self._board.state, self._board.exit = State.STARTING, None  # nobody else writes: there is no thread yet
            self._thread = threading.Thread(target=self._main, name="paddock-supervisor", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """starting, loading, ready → stopping → stopped, within 5 s whatever the server does. stopping, stopped,
        failed, crashed: nothing, but a restart that is planned (after a crash, or asked for) is called off.
        """
        with self._lock:
            if self._busy:
                self._ask(Wanted.STOP)

    def restart(self) -> None:
        """starting, loading, ready → stopping → stopped → starting. stopping: starts again after. Else like `start`."""
        with self._lock:
            running = self._busy
            if running:
                self._ask(Wanted.RESTART if self._restartable else Wanted.STOP)
        if not running:
            self.start()

    def detach(self) -> None:
        """Leave a `keep_serving` server to itself and end our threads; its record stays. Any other is stopped."""
        with self._lock:
            if self._busy:
                self._ask(Wanted.DETACH if self.spec.keep_serving else Wanted.STOP)

    def _ask(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._wake.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs any more; True when so. False at once when called from our own threads."""
        with self._lock:
            thread = self._thread
        if thread is None:
            return True
        if thread is threading.current_thread():
            return False
        thread.join(timeout)
        return not thread.is_alive()

    # reading

    @property
    def state(self) -> State:
        return self._board.state

    @property
    def exit(self) -> Exit | None:
        """How it last ended; None while it runs or was never started."""
        return self._board.exit

    @property
    def pid(self) -> int | None:
        """The server's process, while it runs."""
        return self._board.pid

    @property
    def port(self) -> int | None:
        """Where it really listens, once known: the spec's port, or what port 0 became."""
        return self._board.port or self.spec.port or None

    @property
    def url(self) -> str:
        """Its base URL."""
        return self.spec.url(self._board.port)

    @property
    def notices(self) -> tuple[Diagnosis, ...]:
        """What the log tells that it serves on in spite of: drafting dropped, --fit given up, requests too long."""
        return self._board.notices

    def progress(self) -> Progress:
        """The load, as last measured (about ten times a second); 1.0 when ready."""
        return self._board.progress

    def log_tail(self, count: int) -> list[LogLine]:
        """The last lines (of at most 5000), oldest first."""
        return self._book.tail(count)

    def client(self, timeout_s: float = 1.0) -> Client:
        """A new client for the calling thread, with our key and our child's certificate accepted."""
        return Client.of(self.spec, timeout_s, port=self._board.port)

    # the supervisor's thread

    def _main(self) -> None:
        crashes = 0
        try:
            while True:
                self._open_log()
                self._live()
                self._book.close()
                crashes = self._crashes_after(crashes)
                if not self._goes_on(crashes):
                    return
        finally:
            if self._board.state not in _OVER:  # an error of ours: the thread's end takes the server along
                if self._life is not None:
                    self._life.abandon()
                self._busy = False
                self._change(State.CRASHED, Exit(None, Text("The supervision itself failed.")))

    def _live(self) -> None:
        self._book.begin()
        board = self._board
        board.port, board.pid, board.ready_at, board.notices = None, None, None, ()
        board.progress = Progress(None, 0.0)
        self._life = Life(
            self.spec, self._book, board, wanted=lambda: self._wanted, wake=self._wake, change=self._change,
            clock=self._clock, timing=self._timing, adopted=self._adopted, first=self._first)
        self._life.run()
        self._adopted, self._first = None, False

    def _crashes_after(self, crashes: int) -> int:
        if self._board.state is not State.CRASHED:
            return 0
        ready_at = self._board.ready_at
        calm = ready_at is not None and self._clock() - ready_at >= self._timing.calm
        return 1 if calm else crashes + 1

    def _goes_on(self, crashes: int) -> bool:
        """Whether another life follows; waits for the pause before a restart."""
        if self._wanted is Wanted.RUN and 0 < crashes <= self.spec.restart_limit:
            end = self._clock() + self._timing.back_off * 2 ** (crashes - 1)
            while self._wanted is Wanted.RUN and self._clock() < end:
                self._wake.wait(end - self._clock())
                self._wake.clear()
            if self._wanted is Wanted.RUN:
                return True
            if self._wanted is not Wanted.RESTART:
                self._change(State.STOPPED, self._board.exit)
        with self._lock:
            if self._wanted is Wanted.RESTART:
                self._wanted = Wanted.RUN
                return True
            self._busy = False  # from here on `start` makes a new thread
            return False

    def _open_log(self) -> None:
        if self.spec.keep_serving or self._adopted is not None or self.spec.log_path is None:
            return
        self._book.file = LogFile(self.spec.log_path, self.spec.log_cap_bytes, append=not self._first)

    def _announced(self, line: str) -> None:
        if self._life is not None:
            self._life.announced(line)

    def _change(self, state: State, exit_: Exit | None) -> None:
        self._board.exit = exit_
        self._board.state = state
        self._listener.on_state(state, self._clock(), exit_)


