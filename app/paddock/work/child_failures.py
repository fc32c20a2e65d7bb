"""Why a router's model could not be loaded: its server's lines, which the router tells on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from paddock.server import Diagnosis, LogLine
from paddock.server.diagnosis import diagnose
from paddock.text import Text

_CHILD = re.compile(r"^\[(\d+)\] +(.*)", re.DOTALL)
_LOOK_BACK = 2000


def why_failed(model_id: str, lines: Sequence[LogLine], code: int | None) -> Diagnosis:
    """From the newest child's lines, the exit code where they tell nothing; never fatal for the router itself."""
    told = [match for line in lines[-_LOOK_BACK:] if (match := _CHILD.match(line.text)) is not None]
    port = told[-1][1] if told else None
    found = diagnose([match[2] for match in told if match[1] == port], code) if told else None
    if found is None:
        return Diagnosis("model-not-loaded", Text("The model “{model}” could not be loaded.", model=model_id),
                         Text("The lines of its server in the log tell more."), fatal=False)
    cause = Text("The model “{model}” could not be loaded: {cause}", model=model_id, cause=found.cause)
    line = f"[{port}] {found.line}" if found.line is not None else None
    return replace(found, cause=cause, line=line, edits=(), fatal=False)
