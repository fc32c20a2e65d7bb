"""What is it for? Settings for a use case, each with its reason.

Enters: a plan and what is known of model and engine. Leaves: a `Suggestion`, which the person accepts in whole or in
part. Only what this engine takes and what has an effect on this model is set; what is not set says why.
"""

from paddock.launch.use_cases.cases import USE_CASES, use_case
from paddock.launch.use_cases.model import Skipped, Suggestion, UseCase, Wish
from paddock.launch.use_cases.suggesting import suggest

__all__ = ["USE_CASES", "Skipped", "Suggestion", "UseCase", "Wish", "suggest", "use_case"]
