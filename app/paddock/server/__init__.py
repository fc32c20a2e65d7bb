"""Keep it running: one server process, supervised.

Enters: a `ServerSpec` (from a launch.Command). Leaves: `State` changes, stamped `LogLine`s, a `Diagnosis` when it
fails. The supervisor's own thread is the only writer of process state.

Beside these: `paddock.server.router` (the models of a router), `record` (servers that a Paddock left behind).
"""

from paddock.server.client import Client
from paddock.server.model import Diagnosis, Exit, Listener, LogLine, Progress, ServerSpec, State
from paddock.server.record import leftovers
from paddock.server.supervisor import Supervisor

__all__ = [
    "Client", "Diagnosis", "Exit", "Listener", "LogLine", "Progress", "ServerSpec", "State", "Supervisor", "leftovers",
]
