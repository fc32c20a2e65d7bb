"""All options: every flag of the engine in groups, searchable, editable, each with its default and its reason."""

from paddock.desktop.pages.launch.options.view import OptionsView

__all__ = ["OptionsView"]
