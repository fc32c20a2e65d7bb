"""Which llama.cpp is there, and what can it do?

Enters: places to look, a path. Leaves: `Engine` values, learnt from that very binary's own output (never from its
build number); each program is run in a subprocess with a time limit, results are cached by path, size and time.
"""

from paddock.engine.model import Engine, EngineDevice, EngineOption

__all__ = ["Engine", "EngineDevice", "EngineOption"]
