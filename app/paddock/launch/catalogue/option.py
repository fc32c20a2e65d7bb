"""What the catalogue says about one option of llama.cpp's server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from paddock.text import Text

KV_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
"""Number formats that a KV cache can have."""


class Kind(StrEnum):
    """What follows the option on the command line."""

    FLAG = "flag"
    """Nothing, and it can only be turned on."""
    PAIR = "pair"
    """Nothing; a second spelling turns it off."""
    INT = "int"
    FLOAT = "float"
    ENUM = "enum"
    TEXT = "text"
    JSON = "json"
    PATH = "path"
    """A file."""
    FOLDER = "folder"
    LIST = "list"
    """One text with comma-separated items."""
    RANGE = "range"
    """Two whole numbers, as two words."""


class Group(StrEnum):
    """The headings of the page "All options", in its order."""

    MODEL = "model"
    CONTEXT = "context"
    MEMORY = "memory"
    KV = "kv"
    PROMPT_CACHE = "prompt-cache"
    MULTI_GPU = "multi-gpu"
    CPU = "cpu"
    SPECULATIVE = "speculative"
    SAMPLING = "sampling"
    TEMPLATE = "template"
    SERVER = "server"
    MULTIMODAL = "multimodal"
    LORA = "lora"
    LOGGING = "logging"
    PROGRAM = "program"
    """Prints something and ends: never part of a launch."""


GROUP_NAMES: dict[Group, Text] = {
    Group.MODEL: Text("Model"),
    Group.CONTEXT: Text("Context, batch"),
    Group.MEMORY: Text("Memory, offload"),
    Group.KV: Text("KV cache"),
    Group.PROMPT_CACHE: Text("Prompt cache"),
    Group.MULTI_GPU: Text("Multi-GPU"),
    Group.CPU: Text("CPU, threads"),
    Group.SPECULATIVE: Text("Speculative"),
    Group.SAMPLING: Text("Sampling"),
    Group.TEMPLATE: Text("Template, reasoning"),
    Group.SERVER: Text("Server, network"),
    Group.MULTIMODAL: Text("Multimodal"),
    Group.LORA: Text("LoRA, control"),
    Group.LOGGING: Text("Logging"),
    Group.PROGRAM: Text("Program"),
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option. Facts about spellings, values and defaults are those of build 11434 unless `until` says otherwise.

    Which of its spellings an engine takes is learnt from that engine's own help, never from here (design rule 8).
    """

    id: str
    """The first long name without dashes; any other name of it is accepted wherever an id is."""
    names: tuple[str, ...]
    """Positive spellings with dashes, short ones first: the first that an engine knows is the one that is shown."""
    kind: Kind
    group: Group
    label: Text
    help: Text
    negations: tuple[str, ...] = ()
    low: float | None = None
    """Least value, inclusive unless `open_low`."""
    high: float | None = None
    open_low: bool = False
    strict: bool = False
    """A number out of range is refused, aborts the program or comes to mean another one; elsewhere it is only odd."""
    choices: tuple[str, ...] = ()
    """For ENUM all values; for LIST the items that exist; for INT words that stand in for a number."""
    default: str | None = None
    """What build 11434 uses when it is not set; "on" and "off" for switches; None where it depends."""
    unit: Text | None = None
    env: str | None = None
    appends: bool = False
    """Repeating it adds; elsewhere the last one wins."""
    optional_value: bool = False
    """Older builds took it without a value."""
    secret: bool = False
    since: int | None = None
    """First build that is known to have it (`catalogue.builds`); None: all that were looked at."""
    until: int | None = None
    """Last build that is known to have it, 0 for one before those that were looked at; None: still there."""
    moved: tuple[tuple[str, str | None], ...] = ()
    """What to set instead: (option id, fixed value, or None to carry the value over)."""
    moved_off: tuple[tuple[str, str | None], ...] = ()
    """The same for its negation."""

    @property
    def is_switch(self) -> bool:
        return self.kind in (Kind.FLAG, Kind.PAIR)

    @property
    def value_count(self) -> int:
        """Words that follow it: 0, 1 or 2."""
        return 0 if self.is_switch else 2 if self.kind is Kind.RANGE else 1

    @property
    def long_name(self) -> str:
        """The first spelling with two dashes, else the first one."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])

    @property
    def retired(self) -> bool:
        """Gone from current builds, kept so that old profiles can be understood."""
        return self.until is not None
