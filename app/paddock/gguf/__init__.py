"""What is in this file?

Enters: a path. Leaves: a `ModelFile` (one model, however many shards), or `AppError` in words.
Reads the header and the tensor table only, bounded by the bytes that are there; never the weights.
"""

from paddock.gguf.model import Facts, Kind, ModelFile, Problem, Shard, Tensor

__all__ = ["Facts", "Kind", "ModelFile", "Problem", "Shard", "Tensor"]
