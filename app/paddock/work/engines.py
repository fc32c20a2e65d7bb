"""Which engines are there, and which one is meant?"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from paddock.engine import Engine, default_engine, find, probe
from paddock.engine.model import Candidate
from paddock.errors import AppError
from paddock.store.settings import Settings
from paddock.text import Text


class Engines:
    """Found and probed once in a process, each in a subprocess (slow the first time). Any thread.

    `chosen`: what --engine named, a name or a path, if it was given.
    """

    def __init__(self, settings: Settings, cache: Path, chosen: str | None) -> None:
        self.chosen = chosen
        self._settings = settings
        self._cache = cache
        self._lock = threading.RLock()
        self._all: list[Engine] | None = None
        self._probed: dict[Path, Engine] = {}

    def all(self, refresh: bool = False) -> list[Engine]:
        """All found, the default first among equals."""
        with self._lock:
            if self._all is None or refresh:
                if refresh:
                    self._probed.clear()
                self._all = [self._probe(c) for c in self._candidates()]
            return list(self._all)

    def one(self, selector: str | None = None) -> Engine | None:
        """See Workspace.engine."""
        wanted = selector or self.chosen or self._settings.default_engine or None
        with self._lock:
            if wanted is None:
                return default_engine(self._candidates(), self._probe)
            return self._named(wanted)

    def _named(self, wanted: str) -> Engine:
        if os.sep in wanted or Path(wanted).exists():
            found = find(settings_paths=[wanted], environ={}, home=Path(os.devnull))
            engine = self._probe(found[0]) if found else None
            if engine is None or engine.error is not None:
                raise AppError(Text("{path} is not a usable llama.cpp engine.", path=wanted),
                               why=engine.error if engine else None,
                               hint=Text("paddock engines lists what was found."))
            return engine
        usable, name = [e for e in self.all() if e.error is None], wanted.lower()
        for engine in usable:
            if name in (engine.name.lower(), str(engine.path).lower(), engine.source.lower()):
                return engine
        for engine in usable:
            if name in engine.name.lower():
                return engine
        raise AppError(Text("No engine is called “{name}”.", name=wanted),
                       hint=Text("paddock engines lists what was found; a path is taken too."))

    def _candidates(self) -> list[Candidate]:
        given = [self.chosen] if self.chosen and os.sep in self.chosen else []
        return find(settings_paths=[*given, *self._settings.engine_paths])

    def _probe(self, candidate: Candidate) -> Engine:
        if candidate.path not in self._probed:
            self._probed[candidate.path] = probe(candidate.path, source=candidate.source, cache=self._cache)
        return self._probed[candidate.path]
