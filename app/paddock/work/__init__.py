"""Do it: the use cases that both faces call.

Enters: a data folder and what a person asked. Leaves: previews, running sessions, stored rows.

`Workspace` is the one door; each use case stands in a file of its own, named by what it does (`starting`, `watching`,
`asking`, `diagnosing`, `engine_fit`, `placing`, …), and takes the workspace as its first argument.
"""

from paddock.work.model import Preview
from paddock.work.run import Run, RunListener
from paddock.work.trying import Answer
from paddock.work.workspace import Workspace

__all__ = ["Answer", "Preview", "Run", "RunListener", "Workspace"]
