"""Which is faster, and is it as fast as it should be? So far: the quick diagnosis.

Enters: a client of a server that is ready, a source of readings, what is expected. Leaves: measured requests, and
conclusions in words. Starts no server and keeps no row: that is the caller's business.
"""

from paddock.bench.conclusions import Conclusion, conclusions_of, headline_of
from paddock.bench.measuring import measure, prompt_of
from paddock.bench.model import Before, Figures, Measured, figures_of

__all__ = ["Before", "Conclusion", "Figures", "Measured", "conclusions_of", "figures_of", "headline_of", "measure",
           "prompt_of"]
