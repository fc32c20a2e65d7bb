"""Plots over one time axis, for a live run and for a stored session. Enters: frames (columns). Leaves: pictures."""

from paddock.desktop.plots.frame import Frame, Setup
from paddock.desktop.plots.stack import PlotStack

__all__ = ["Frame", "PlotStack", "Setup"]
