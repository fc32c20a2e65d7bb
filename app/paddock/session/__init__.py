"""What happened? The sampler, its series, and the requests read out of log and counters.

Enters: a server client, hardware readings, log lines. Leaves: `Sample`s on an absolute schedule, `Request` rows,
`Event`s, bounded `Series` for the plots; rows go to a `sink` callable.

Beside these: `paddock.session.proxy` (what clients asked, seen from in front of the server), `detectors` (whether the
run is slower or tighter than it should be, with proof), `children` (the servers behind a router).
"""

from paddock.session.log import LogParser
from paddock.session.memory import ActualMemory
from paddock.session.model import Event, Request, Sample, SlotSample
from paddock.session.recorder import Recorder
from paddock.session.sampler import Sampler, SamplerSpec
from paddock.session.series import Series

__all__ = [
    "ActualMemory",
    "Event",
    "LogParser",
    "Recorder",
    "Request",
    "Sample",
    "Sampler",
    "SamplerSpec",
    "Series",
    "SlotSample",
]
