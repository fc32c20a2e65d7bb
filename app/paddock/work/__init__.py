"""Do it: the use cases that both faces call.

Enters: a data folder and what a person asked. Leaves: previews, running sessions, stored rows.
"""

from paddock.work.model import Preview
from paddock.work.run import Run, RunListener
from paddock.work.trying import Answer
from paddock.work.workspace import Workspace

__all__ = ["Answer", "Preview", "Run", "RunListener", "Workspace"]
