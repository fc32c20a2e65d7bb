"""What happened? The sampler, its series, and the requests read out of log and counters.

Enters: a server client, hardware readings, log lines. Leaves: `Sample`s on an absolute schedule, `Request` rows,
`Event`s, bounded `Series` for the plots; rows go to a `sink` callable.
"""

from paddock.session.model import Event, Request, Sample, SlotSample

__all__ = ["Event", "Request", "Sample", "SlotSample"]
