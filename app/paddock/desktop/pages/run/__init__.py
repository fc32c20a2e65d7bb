"""What happens now: figures, plots, requests, log and a prompt to try, for each live run."""

from paddock.desktop.pages.run.page import RunPage

__all__ = ["RunPage"]
