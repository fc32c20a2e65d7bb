"""The values that a probe leaves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from paddock.text import Text

_LETTERS = re.compile(r"[A-Za-z_]+")
_KINDS = {"mtl": "metal", "hip": "rocm", "gpuopencl": "opencl"}

HOST_KINDS = frozenset({"cpu", "blas", "accelerate", "accel", "zdnn", "zendnn", "amx", "hbm"})
"""Rows of --list-devices that compute on the host's own memory."""


@dataclass(frozen=True)
class Candidate:
    """A program that may be a llama.cpp server, and where it was found: settings, PATH, brew, environment, …"""

    path: Path
    source: str


@dataclass(frozen=True)
class EngineOption:
    """One entry of this binary's --help, exactly as it prints it."""

    names: tuple[str, ...]
    """All positive spellings with dashes, in help order: ("-c", "--ctx-size")."""
    negations: tuple[str, ...]
    hint: str | None
    """The value placeholder ("N", "FNAME", "{none,layer,row,tensor}"); None for a flag or an on/off pair."""
    value_count: int
    choices: tuple[str, ...]
    default: str | None
    env: str | None
    section: str
    help: str
    removed: bool
    """A stub that only says "the argument has been removed": not support."""
    replacement: str | None = None


@dataclass(frozen=True)
class EngineDevice:
    """One line of --list-devices. Bytes (the program prints MiB); None where it prints 0 of 0, which means untold."""

    name: str
    description: str
    total_bytes: int | None
    free_bytes: int | None
    unified: bool | None = None
    """Shares the host's memory; None where the listing did not say."""

    @property
    def kind(self) -> str:
        """The backend from the name's letters: cuda, rocm, vulkan, metal, sycl, rpc, blas, …"""
        match = _LETTERS.match(self.name)
        letters = (match[0] if match else self.name).lower()
        return _KINDS.get(letters, letters)

    @property
    def is_gpu(self) -> bool:
        """Whether it holds memory of its own to offload to: not so for the host's own CPU and BLAS rows."""
        return self.kind not in HOST_KINDS


@dataclass(frozen=True)
class Engine:
    """A llama.cpp server program that answered, or the reason why it did not.

    `serve` starts the server: ("/x/llama", "serve") or ("/x/llama-server",). `tool(name)` likewise for the siblings.
    """

    name: str
    """Short, for people and --engine: "llama.cpp 11434 (environment)"."""
    path: Path
    serve: tuple[str, ...]
    source: str
    """Where it was found: settings, PATH, environment, brew, …"""
    version: str | None = None
    """As printed: "0.6.0-dev (build 0, commit unknown)"."""
    build: int | None = None
    """None where the printed number is 0 or 1 (unknown)."""
    commit: str | None = None
    package_build: int | None = None
    """Build number known from the package's own version, where the binary does not say."""
    compiler: str | None = None
    subcommands: tuple[str, ...] = ()
    options: tuple[EngineOption, ...] = ()
    devices: tuple[EngineDevice, ...] = ()
    devices_error: Text | None = None
    flags_verified: bool = False
    """False: the help had an unknown form; every flag is passed on unchecked."""
    help_text: str = field(default="", repr=False)
    tools: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """argv prefix by tool name: bench, batched-bench, fit-params, rpc-server."""
    error: Text | None = None
    """Why it cannot be used; None when it can."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What must be added to the child's environment so that it starts (library paths)."""

    def tool(self, name: str) -> tuple[str, ...] | None:
        """The argv prefix of a sibling program ("bench", "fit-params", "rpc-server", …); None where it is absent."""
        return self.tools.get(name)

    @cached_property
    def by_flag(self) -> Mapping[str, EngineOption]:
        """Every live spelling, negations included, to its option; removed stubs left out."""
        return {n: o for o in self.options if not o.removed for n in (*o.names, *o.negations)}

    @cached_property
    def removed(self) -> Mapping[str, EngineOption]:
        """Spellings that this binary knows only to refuse."""
        live = self.by_flag
        return {n: o for o in self.options if o.removed for n in (*o.names, *o.negations) if n not in live}

    def knows(self, flag: str) -> bool | None:
        """Whether it takes this spelling; None when its flags could not be verified."""
        return flag in self.by_flag if self.flags_verified else None
