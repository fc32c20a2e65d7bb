"""Which models are there? Folders and caches scanned, each model once.

Enters: folders. Leaves: `Entry` values, with what gguf.read says of each file.
"""

from paddock.library.model import Entry, Place
from paddock.library.pairing import projector_for, width_fits
from paddock.library.places import default_places
from paddock.library.scanning import scan

__all__ = ["Entry", "Place", "default_places", "projector_for", "scan", "width_fits"]
