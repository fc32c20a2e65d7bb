"""Placement: which device holds which layer, and the patterns that say otherwise."""

from paddock.desktop.pages.launch.placement.view import PlacementView

__all__ = ["PlacementView"]
