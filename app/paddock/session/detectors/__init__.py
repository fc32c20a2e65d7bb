"""Is this run slower or tighter than it should be, and what proves it?

Enters: a `View` (series, requests, events, the log's memory lines) and an `Expectation` (what the plan and this
profile's past say). Leaves: `Finding`s, each with its proof and a remedy. Every detector is a pure function from a
view to a finding or None; None also where something that it needs is not known. `DetectorWatch` runs them all beside a
recorder and keeps what they find as events of the session.
"""

from paddock.session.detectors.catalogue import DETECTORS, Detector, findings_of
from paddock.session.detectors.model import Expectation, Finding, View
from paddock.session.detectors.watch import DetectorWatch

__all__ = ["DETECTORS", "Detector", "DetectorWatch", "Expectation", "Finding", "View", "findings_of"]
