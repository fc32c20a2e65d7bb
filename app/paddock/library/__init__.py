"""Which models are there? Folders and caches scanned, each model once.

Enters: folders. Leaves: `Entry` values, with what gguf.read says of each file, and the pairs that belong together (a
model with its projector or draft).

Beside these: `paddock.library.hub` (what is on Hugging Face, fetched when a person asks), `watching` (whether a scan
would find something else), `apart` (a second process that reads along where a scan lasts).
"""

from paddock.library.model import Entry, Place
from paddock.library.pairing import Pairing, draft_pairing, drafts_for, projector_for, projector_pairing, width_fits
from paddock.library.places import default_places
from paddock.library.scanning import scan

__all__ = ["Entry", "Pairing", "Place", "default_places", "draft_pairing", "drafts_for", "projector_for",
           "projector_pairing", "scan", "width_fits"]
