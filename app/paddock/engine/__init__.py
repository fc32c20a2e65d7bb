"""Which llama.cpp is there, and what can it do?

Enters: places to look, a path. Leaves: `Engine` values, learnt from that very binary's own output (never from its
build number); each program is run in a subprocess with a time limit, results are cached by path, size and time.
"""

from paddock.engine.devices import list_devices
from paddock.engine.helptext import parse_help
from paddock.engine.listing import parse_devices
from paddock.engine.model import Candidate, Engine, EngineDevice, EngineOption
from paddock.engine.probing import probe
from paddock.engine.search import default_engine, find

__all__ = [
    "Candidate",
    "Engine",
    "EngineDevice",
    "EngineOption",
    "default_engine",
    "find",
    "list_devices",
    "parse_devices",
    "parse_help",
    "probe",
]
