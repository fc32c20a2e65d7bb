"""Will it fit, where, and how fast at best?

Enters: ModelFile, Plan, the devices' budgets. Leaves: an `Estimate`, per device and term, each term with how it is
known; "can't tell" where it cannot be told. Pure and quick: it runs on every edit.
"""

from paddock.fit.model import Band, Budget, DeviceEstimate, Estimate, Fix, Verdict

__all__ = ["Band", "Budget", "DeviceEstimate", "Estimate", "Fix", "Verdict"]
