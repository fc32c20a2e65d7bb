"""Which model files are there: a list with verdicts, and what is in the chosen one."""

from paddock.desktop.pages.models.page import ModelsPage

__all__ = ["ModelsPage"]
