"""Models kept between runs, so that a file which has not changed is not opened again.

One MessagePack value per model, under its path. What cannot be read back is simply read from the model again: nothing
here is worth an error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from paddock.gguf.arrays import LazyArray
from paddock.gguf.model import Facts, Kind, ModelFile, Problem, Shard, Tensor, kept_model
from paddock.gguf.shelf import Shelf
from paddock.text import Text

_kept_text = Text
"""Under another name, because the template is not born here: the translations know it from where it was written."""
FORMAT = 6
"""Raise it when a kept model would no longer be what `read` gives."""
MOST_KEPT = 20_000
"""About half a gigabyte; more models than anyone has, but tests and scripts may pass many names by."""
_ABSENT_DRIVE_S = 90 * 86_400.0
_LAZY = 1


class _Said(msgspec.Struct, array_like=True, frozen=True):
    """A Problem."""

    id: str
    severity: str
    template: str
    plural: str | None
    count: int | None
    values: dict[str, Any]


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    """A ModelFile and what must be unchanged for it to hold: `files` are (path, size, mtime_ns), size -1 if absent."""

    format: int
    picked: str
    files: list[tuple[str, int, int]]
    path: str
    version: int
    architecture: str | None
    kind: Kind
    metadata: dict[str, Any]
    tensors: bytes
    """A MessagePack value of its own, unpacked when it is first asked for; the shelf has seen to it that it is as it
    was kept. (Inside this one it would be walked through each time, to find its end.)"""
    shards: list[tuple[str, int, int | None, int | None, int | None, int | None]]
    facts: Facts
    problems: list[_Said]
    complete: bool
    identity: str
    mtime_ns: int


def _lazy(code: int, data: memoryview) -> Any:
    return LazyArray(*msgspec.msgpack.decode(data)) if code == _LAZY else None


def _plain(value: Any) -> Any:
    if not isinstance(value, LazyArray):
        return value
    row = value.element, value.length, value.path, value.offset, value.nbytes, value.big_endian
    return msgspec.msgpack.Ext(_LAZY, msgspec.msgpack.encode(row))


_DECODER = msgspec.msgpack.Decoder(_Kept, ext_hook=_lazy)
_TENSORS = msgspec.msgpack.Decoder(tuple[Tensor, ...])
_ENCODER = msgspec.msgpack.Encoder(enc_hook=str)


class HeaderCache:
    """Kept models in one file of a folder, which is made when the first one is kept. For any thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._shelf = Shelf(folder / "headers.sqlite")

    def get(self, path: Path) -> ModelFile | None:
        """The model that was read from this file, if none of its files has changed, come or gone since."""
        kept = self._kept(str(path))
        if kept is None or any(_stamp(f[0]) != f for f in kept.files):
            return None
        return _model(kept, path)

    def put(self, path: Path, model: ModelFile) -> ModelFile:
        """Keep what was read; a full or read-only disk is no reason to fail.

        Returns the model to go on with: its tensors are unpacked when they are first asked for, as those of `get` are.
        A list of a thousand models asks for none, and would hold a quarter of a million objects.
        """
        files = [_stamp(str(shard.path)) for shard in model.shards]
        sizes = [-1 if shard.size_bytes is None else shard.size_bytes for shard in model.shards]
        if [f[1] for f in files] != sizes or max(f[2] for f in files) != model.mtime_ns:
            return model  # A file changed while it was read.
        with contextlib.suppress(OverflowError, UnicodeEncodeError, msgspec.MsgspecError):
            kept = _kept(path, files, model)
            self._shelf.put(str(path), _ENCODER.encode(kept))
            return _packed(model, kept.tensors)
        return model

    def prune(self, there: Iterable[Path], now_s: float | None = None) -> int:
        """Forget models that nobody will ask for again; returns how many.

        `there`: files that a scan has just seen; those stay without a look. Of the others go: what this version cannot
        read, models whose file was deleted, and those of a folder that is gone itself (a drive that is not plugged in)
        when they have not been read for three months; beyond `MOST_KEPT` the oldest. The files of older versions, one
        a model, go too.
        """
        now = time.time() if now_s is None else now_s
        wanted = {str(path) for path in there}
        kept: list[str] = []
        gone: list[str] = []
        for key, written in self._shelf.written():
            (kept if key in wanted or self._worth_keeping(key, now - written) else gone).append(key)
        gone += kept[MOST_KEPT:]
        return (self._shelf.remove(gone) if gone else 0) + self._remove_old()

    def close(self) -> None:
        """Let go of the file until it is asked for again."""
        self._shelf.close()

    def _kept(self, key: str) -> _Kept | None:
        try:
            data = self._shelf.get(key)
            kept = _DECODER.decode(data) if data is not None else None
        except (msgspec.MsgspecError, TypeError, UnicodeEncodeError):  # the last: a name that is no text is never kept
            return None
        return kept if kept is not None and kept.format == FORMAT and kept.picked == key else None

    def _worth_keeping(self, key: str, age_s: float) -> bool:
        if self._kept(key) is None:
            return False
        picked = Path(key)
        return os.path.lexists(picked) or (not picked.parent.exists() and age_s < _ABSENT_DRIVE_S)

    def _remove_old(self) -> int:
        try:
            return sum(_remove(path) for path in self.folder.iterdir() if path.suffix in (".model", ".new"))
        except OSError:
            return 0


class NearCache:
    """The last models in memory too, above the kept ones; looked up as strictly, so that a part or a download that
    arrives is seen. May be used from any thread."""

    def __init__(self, far: HeaderCache, most: int = 32) -> None:
        self._far, self._most = far, most
        self._lock = threading.Lock()
        self._near: dict[Path, tuple[list[tuple[str, int, int]], ModelFile]] = {}

    def get(self, path: Path) -> ModelFile | None:
        """As `HeaderCache.get`."""
        with self._lock:
            near = self._near.get(path)
        if near is not None and all(_stamp(name) == (name, size, time_ns) for name, size, time_ns in near[0]):
            return near[1]
        found = self._far.get(path)
        if found is not None:
            self._remember(path, found)
        return found

    def put(self, path: Path, model: ModelFile) -> ModelFile:
        """As `HeaderCache.put`; the last models stay unpacked."""
        self._far.put(path, model)
        self._remember(path, model)
        return model

    def _remember(self, path: Path, model: ModelFile) -> None:
        files = [_stamp(str(shard.path)) for shard in model.shards]
        if [size for _, size, _ in files] != [-1 if s.size_bytes is None else s.size_bytes for s in model.shards]:
            return  # A file changed while it was read.
        with self._lock:
            self._near.pop(path, None)
            while len(self._near) >= self._most:
                self._near.pop(next(iter(self._near)))
            self._near[path] = files, model


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return path, -1, 0
    return path, status.st_size, status.st_mtime_ns


def _kept(picked: Path, files: list[tuple[str, int, int]], model: ModelFile) -> _Kept:
    return _Kept(
        FORMAT, str(picked), files, str(model.path), model.version, model.architecture, model.kind,
        {key: _plain(value) for key, value in model.metadata.items()}, _ENCODER.encode(model.tensors),
        [(str(s.path), s.number, s.size_bytes, s.data_start, s.tensor_count, s.expected_bytes) for s in model.shards],
        model.facts,
        [_Said(p.id, p.severity, p.text.template, p.text.plural, p.text.count, p.text.values) for p in model.problems],
        model.complete, model.identity, model.mtime_ns)


def _model(kept: _Kept, picked: Path) -> ModelFile:
    paths = {kept.picked: picked}  # most models are one file: its path is made once
    for name in (kept.path, *(row[0] for row in kept.shards)):
        if name not in paths:
            paths[name] = Path(name)
    metadata = {key: tuple(value) if isinstance(value, list) else value for key, value in kept.metadata.items()}
    tensors = kept.tensors
    return kept_model(
        lambda: _TENSORS.decode(tensors),
        path=paths[kept.path], version=kept.version, architecture=kept.architecture, kind=kept.kind, metadata=metadata,
        shards=tuple([Shard(paths[row[0]], *row[1:]) for row in kept.shards]), facts=kept.facts,
        problems=tuple([_problem(said) for said in kept.problems]), complete=kept.complete, identity=kept.identity,
        mtime_ns=kept.mtime_ns)


def _packed(model: ModelFile, tensors: bytes) -> ModelFile:
    """The same model with its tensors as they are kept."""
    fields = {field.name: getattr(model, field.name) for field in dataclasses.fields(model) if field.name != "tensors"}
    return kept_model(lambda: _TENSORS.decode(tensors), **fields)


def _problem(said: _Said) -> Problem:
    values = {key: value for key, value in said.values.items() if key != "count" or said.count is None}
    return Problem(said.id, said.severity, _kept_text(said.template, plural=said.plural, count=said.count, **values))
