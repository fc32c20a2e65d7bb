"""Will it fit, where, and how fast at best?

Enters: ModelFile, Plan, the devices' budgets. Leaves: an `Estimate`, per device and term, each term with how it is
known; "can't tell" where it cannot be told. Pure and quick: it runs on every edit.

Beside these: `paddock.fit.answers` (one line of `fit --batch` as data), `prediction` (what --fit will do),
`autoplacement` (our own placement), `ceiling` (the speed that memory allows).
"""

from paddock.fit.answers import answer
from paddock.fit.contexts import max_context
from paddock.fit.fixing import fixes
from paddock.fit.model import Budget, DeviceEstimate, Estimate, Fix, Known, Verdict
from paddock.fit.verdicts import estimate

__all__ = ["Budget", "DeviceEstimate", "Estimate", "Fix", "Known", "Verdict", "answer", "estimate", "fixes",
           "max_context"]
