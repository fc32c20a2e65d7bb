"""Settings: what is chosen once for all. A file a section; every change holds at once and is written at once."""

from paddock.desktop.pages.settings.page import SettingsPage

__all__ = ["SettingsPage"]
