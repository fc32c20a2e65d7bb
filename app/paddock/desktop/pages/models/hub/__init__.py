"""Find on Hugging Face: search, what a repository offers and whether it fits, downloads."""

from paddock.desktop.pages.models.hub.pane import HubPane

__all__ = ["HubPane"]
