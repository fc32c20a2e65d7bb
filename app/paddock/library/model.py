"""The values of the library: places to look in, and what was found there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from paddock.errors import AppError
from paddock.gguf import Kind, ModelFile


@dataclass(frozen=True)
class Place:
    """A folder to look in, and the name that people know it by."""

    path: Path
    label: str

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Entry:
    """One model that was found: either `model`, or the `error` that says why it cannot be read.

    `path` is what belongs in argv: the first shard, the name in a Hugging Face snapshot, an Ollama blob.
    """

    path: Path
    place: str
    model: ModelFile | None = None
    error: AppError | None = None
    alias: str | None = None
    """The name that its program gives it ("llama3.2:3b", "owner/repository"), where the file name says nothing."""
    size_bytes: int | None = None
    """Bytes on disk, over all shards that are there."""
    duplicates: tuple[Path, ...] = ()
    """Other files, not links to this one, with the same header and the same size."""

    @property
    def name(self) -> str:
        """What to call it."""
        if self.alias:
            return self.alias
        return (self.model.facts.name if self.model is not None else None) or self.path.name

    @property
    def kind(self) -> Kind | None:
        return self.model.kind if self.model is not None else None
