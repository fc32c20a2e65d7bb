"""Which models are there? Folders and caches scanned, each model once.

Enters: folders. Leaves: `Entry` values, with what gguf.read says of each file.
"""
