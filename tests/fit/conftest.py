"""Models as values, and the recorded dry runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from fitmodels import LLAMA_KEYS, llama_tensors, make_model
from fittruth import Truth

from paddock.gguf import ModelFile

MakeModel = Callable[..., ModelFile]


@pytest.fixture
def llama() -> MakeModel:
    """A small LLaMA; keyword arguments replace metadata keys ("_" for "."), `tied` leaves the head out."""

    def made(
        arch: str = "llama",
        tied: bool = False,
        more: Sequence[tuple[str, Sequence[int], str]] = (),
        keys: Mapping[str, Any] | None = None,
        complete: bool = True,
    ) -> ModelFile:
        every = {**LLAMA_KEYS, **(keys or {})}
        tensors = llama_tensors(every["block_count"], 1024, 2048, 8, 2, 128, 4096, tied)
        return make_model(arch, every, [*tensors, *more], complete)

    return made


@pytest.fixture(scope="session")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    return Truth(tmp_path_factory.mktemp("truth"))
