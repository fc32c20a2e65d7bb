"""The dock: what the plan costs, whether it fits, what is asked, and the server's state. Always in sight."""

from paddock.desktop.dock.dock import Dock

__all__ = ["Dock"]
