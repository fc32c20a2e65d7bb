"""The values of the hub: what a search finds, what a repository holds, what can be chosen there."""

from __future__ import annotations

from dataclasses import dataclass

from paddock.gguf import Kind


@dataclass(frozen=True)
class Found:
    """One repository of a search."""

    id: str
    """ "owner/name"."""
    downloads: int | None = None
    """In the last thirty days, as the hub counts."""
    likes: int | None = None
    updated: str | None = None
    """UTC, ISO 8601."""
    gated: bool = False
    """Its licence must be accepted on the web page before files are given out."""


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository; `sha256` (hex) where the hub knows it, as it does for every model file."""

    path: str
    size_bytes: int | None = None
    sha256: str | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Choice:
    """What is downloaded together: one quantisation with all its parts, or one projector, draft, adapter."""

    label: str
    """ "Q4_K_M"; where the name says none, what tells it from its neighbours."""
    files: tuple[RemoteFile, ...]
    kind: Kind = Kind.MODEL
    """By its name alone; the header says it for certain."""
    quant: str = ""
    """As the name says it; the label is longer where two choices share it."""
    missing: int = 0
    """Parts that the names promise and the repository lacks."""

    @property
    def size_bytes(self) -> int | None:
        """Of all parts; None where one is not known."""
        sizes = [f.size_bytes for f in self.files]
        return None if None in sizes else sum(s for s in sizes if s is not None)


@dataclass(frozen=True)
class Repository:
    """A repository at one commit. `choices` are models in order of size; `others` what goes with them."""

    id: str
    commit: str
    gated: bool
    choices: tuple[Choice, ...]
    others: tuple[Choice, ...] = ()

    @property
    def projectors(self) -> tuple[Choice, ...]:
        return tuple(c for c in self.others if c.kind is Kind.PROJECTOR)

    @property
    def projector(self) -> Choice | None:
        """The one to take with a model: the only one, else the only one of 16 bits; None where a person must choose."""
        found = self.projectors
        for quant in ("F16", "BF16"):
            alike = [c for c in found if c.quant == quant]
            if alike and len(found) > 1:
                return alike[0] if len(alike) == 1 else None
        return found[0] if len(found) == 1 else None

    def choice(self, wanted: str) -> Choice | None:
        """By label or by a file's name, in any case; models first. None if there is none, or several."""
        word = wanted.strip().lower()
        for kept in (self.choices, self.others):
            exact = [c for c in kept if word in (c.label.lower(), *(f.name.lower() for f in c.files),
                                                 *(f.path.lower() for f in c.files))]
            if len(exact) == 1:
                return exact[0]
        return None
