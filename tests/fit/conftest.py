"""Models as values, and the recorded dry runs."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fitmodels import LLAMA_KEYS, llama_tensors, make_model

from paddock import gguf
from paddock.gguf import ModelFile

DATA = Path(__file__).parents[1] / "data" / "fit-truth" / "truth.tar.xz"
MakeModel = Callable[..., ModelFile]


@pytest.fixture
def llama() -> MakeModel:
    """A small LLaMA; keyword arguments replace metadata keys ("_" for "."), `tied` leaves the head out."""

    def made(arch: str = "llama", tied: bool = False, more: Sequence[tuple[str, Sequence[int], str]] = (),
             keys: Mapping[str, Any] | None = None, complete: bool = True) -> ModelFile:
        every = {**LLAMA_KEYS, **(keys or {})}
        tensors = llama_tensors(every["block_count"], 1024, 2048, 8, 2, 128, 4096, tied)
        return make_model(arch, every, [*tensors, *more], complete)

    return made


class Truth:
    """Rows and models of the recorded dry runs, laid out as sparse files."""

    def __init__(self, folder: Path) -> None:
        with tarfile.open(DATA) as archive:
            archive.extractall(folder, filter="data")
        self.folder = folder
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
        for name, size in json.loads((folder / "sizes.json").read_text()).items():
            file = (folder / "headers" / f"{name}.head").rename(folder / name)
            with file.open("r+b") as handle:
                handle.truncate(size)
        self._models: dict[str, ModelFile] = {}

    def model(self, name: str) -> ModelFile:
        if name not in self._models:
            self._models[name] = gguf.read(self.folder / name)
        return self._models[name]


@pytest.fixture(scope="session")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    return Truth(tmp_path_factory.mktemp("truth"))
