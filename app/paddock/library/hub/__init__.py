"""What is there on Hugging Face? The only part of Paddock that talks to it, and only when a person asks.

Enters: words to search for, a repository's name, a choice of files. Leaves: repositories and their choices, models read
from remote headers, files on this disk. Every call is one that somebody asked for; nothing here runs by itself.
"""

from paddock.library.hub.client import Hub, OfflineError
from paddock.library.hub.download import Download, Paused
from paddock.library.hub.model import Choice, Found, RemoteFile, Repository

__all__ = ["Choice", "Download", "Found", "Hub", "OfflineError", "Paused", "RemoteFile", "Repository"]
