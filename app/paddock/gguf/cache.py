"""Models kept between runs, so that a file which has not changed is not opened again.

One small MessagePack file per model, named after the path, written whole or not at all. What cannot be read back is
simply read from the model again: nothing here is worth an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from dataclasses import astuple
from pathlib import Path
from typing import Any

import msgspec

from paddock.gguf.arrays import LazyArray
from paddock.gguf.model import Facts, Kind, ModelFile, Problem, Shard, Tensor
from paddock.text import Text

_kept_text = Text
"""Under another name, because the template is not born here: the translations know it from where it was written."""
FORMAT = 1
"""Raise it when a kept model would no longer be what `read` gives."""
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
    tensors: tuple[Tensor, ...]
    shards: list[tuple[str, int, int | None, int | None, int | None, int | None]]
    facts: Facts
    problems: list[_Said]
    complete: bool
    identity: str
    mtime_ns: int


def _lazy(code: int, data: memoryview) -> Any:
    return LazyArray(*msgspec.msgpack.decode(data)) if code == _LAZY else None


def _plain(value: Any) -> Any:
    return msgspec.msgpack.Ext(_LAZY, msgspec.msgpack.encode(astuple(value))) if isinstance(value, LazyArray) else value


_DECODER = msgspec.msgpack.Decoder(_Kept, ext_hook=_lazy)
_ENCODER = msgspec.msgpack.Encoder(enc_hook=str)


class HeaderCache:
    """Kept models under one folder, which is made when the first one is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, path: Path) -> ModelFile | None:
        """The model that was read from this file, if none of its files has changed, come or gone since."""
        try:
            kept = _DECODER.decode(self._file(path).read_bytes())
        except (OSError, msgspec.MsgspecError, TypeError):
            return None
        if kept.format != FORMAT or kept.picked != str(path) or any(_stamp(f[0]) != f for f in kept.files):
            return None
        return _model(kept)

    def put(self, path: Path, model: ModelFile) -> None:
        """Keep what was read; a full or read-only disk is no reason to fail."""
        files = [_stamp(str(shard.path)) for shard in model.shards]
        sizes = [-1 if shard.size_bytes is None else shard.size_bytes for shard in model.shards]
        if [f[1] for f in files] != sizes or max(f[2] for f in files) != model.mtime_ns:
            return  # A file changed while it was read.
        with contextlib.suppress(OSError, OverflowError, UnicodeEncodeError, msgspec.MsgspecError):
            self._write(self._file(path), _ENCODER.encode(_kept(path, files, model)))

    def _file(self, path: Path) -> Path:
        return self.folder / (hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".model")

    def _write(self, target: Path, data: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, target)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return path, -1, 0
    return path, status.st_size, status.st_mtime_ns


def _kept(picked: Path, files: list[tuple[str, int, int]], model: ModelFile) -> _Kept:
    return _Kept(
        FORMAT, str(picked), files, str(model.path), model.version, model.architecture, model.kind,
        {key: _plain(value) for key, value in model.metadata.items()}, model.tensors,
        [(str(s.path), s.number, s.size_bytes, s.data_start, s.tensor_count, s.expected_bytes) for s in model.shards],
        model.facts,
        [_Said(p.id, p.severity, p.text.template, p.text.plural, p.text.count, p.text.values) for p in model.problems],
        model.complete, model.identity, model.mtime_ns)


def _model(kept: _Kept) -> ModelFile:
    metadata = {key: tuple(value) if isinstance(value, list) else value for key, value in kept.metadata.items()}
    return ModelFile(
        path=Path(kept.path), version=kept.version, architecture=kept.architecture, kind=kept.kind, metadata=metadata,
        tensors=kept.tensors,
        shards=tuple([Shard(Path(row[0]), *row[1:]) for row in kept.shards]), facts=kept.facts,
        problems=tuple([_problem(said) for said in kept.problems]), complete=kept.complete, identity=kept.identity,
        mtime_ns=kept.mtime_ns)


def _problem(said: _Said) -> Problem:
    values = {key: value for key, value in said.values.items() if key != "count" or said.count is None}
    return Problem(said.id, said.severity, _kept_text(said.template, plural=said.plural, count=said.count, **values))
