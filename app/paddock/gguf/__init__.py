"""What is in this file?

Enters: a path. Leaves: a `ModelFile` (one model, however many shards), or `AppError` in words.
Reads the header and the tensor table only, bounded by the bytes that are there; never the weights.
"""

from paddock.gguf.arrays import LazyArray
from paddock.gguf.cache import HeaderCache
from paddock.gguf.hashing import full_hash
from paddock.gguf.model import Facts, Kind, ModelFile, Problem, Shard, Tensor
from paddock.gguf.reading import read

__all__ = ["Facts", "HeaderCache", "Kind", "LazyArray", "ModelFile", "Problem", "Shard", "Tensor", "full_hash", "read"]
