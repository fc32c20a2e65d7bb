"""Every option of llama.cpp's server, as data: what the forms, the checks and the command line know of it.

Seeded from the help of build 11434, worded by us. `CATALOGUE.of(spelling)` takes any spelling that a command line may
hold ("-c", "--ctx_size", "--no-kv-offload"), `CATALOGUE[name]` any name of it with or without dashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from paddock.launch.catalogue import (
    builds,
    context,
    cpu,
    kv,
    logging,
    lora,
    memory,
    model,
    multi_gpu,
    multimodal,
    program,
    prompt_cache,
    retired,
    sampling,
    server,
    speculative,
    template,
)
from paddock.launch.catalogue.option import GROUP_NAMES, KV_TYPES, Group, Kind, Option

__all__ = ["CATALOGUE", "GROUP_NAMES", "KV_TYPES", "NEVER", "Catalogue", "Found", "Group", "Kind", "Option", "normal"]

NEVER = retired.NEVER

_TABLES = (model, context, memory, kv, prompt_cache, multi_gpu, cpu, speculative, sampling, template, server,
           multimodal, lora, logging, program, retired)


def normal(spelling: str) -> str:
    """llama.cpp takes `_` for `-` in arguments that start with two dashes, and only there."""
    return spelling.replace("_", "-") if spelling.startswith("--") else spelling


@dataclass(frozen=True, slots=True)
class Found:
    """What a spelling means: the option, and False for one of its negations."""

    option: Option
    on: bool


class Catalogue:
    """All options, by id and by spelling. Iterates over the live ones; retired ones answer look-ups too."""

    def __init__(self, options: tuple[Option, ...]) -> None:
        self.options = options
        self._by_spelling: dict[str, Found] = {}
        self._by_name: dict[str, Option] = {}
        for option in options:
            for name in option.names:
                self._by_spelling[name] = Found(option, True)
                self._by_name.setdefault(name.lstrip("-"), option)
            for name in option.negations:
                self._by_spelling[name] = Found(option, False)
        self._by_name.update({option.id: option for option in options})
        self._by_env = {option.env: option for option in options if option.env}

    def __iter__(self) -> Iterator[Option]:
        return (option for option in self.options if not option.retired)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> Option:
        """By id or any other positive name, with or without dashes; KeyError where there is none."""
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def get(self, name: str) -> Option | None:
        if name.startswith("-"):
            found = self.of(name)
            return found.option if found is not None and found.on else None
        return self._by_name.get(name)

    def of(self, spelling: str) -> Found | None:
        """By a spelling as it stands on a command line, negations included."""
        return self._by_spelling.get(normal(spelling))

    def of_env(self, variable: str) -> Found | None:
        """By environment variable; LLAMA_ARG_NO_X is the negation of a pair's LLAMA_ARG_X, whatever its value."""
        option = self._by_env.get(variable)
        if option is not None:
            return Found(option, True)
        option = self._by_env.get(variable.replace("LLAMA_ARG_NO_", "LLAMA_ARG_", 1))
        return Found(option, False) if option is not None and option.kind is Kind.PAIR else None

    def canonical(self, name: str) -> str:
        """The id behind any of its positive names; an unknown name as it is."""
        option = self.get(name)
        return option.id if option is not None else name

    def spellings(self) -> tuple[str, ...]:
        return tuple(self._by_spelling)


def _dated(option: Option) -> Option:
    return replace(option, since=builds.SINCE.get(option.id), until=builds.UNTIL.get(option.id, option.until))


CATALOGUE = Catalogue(tuple(_dated(option) for table in _TABLES for option in table.OPTIONS))
