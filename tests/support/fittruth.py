"""The recorded dry runs of llama.cpp (tests/data/fit-truth): rows, and their models laid out as sparse files."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from paddock import gguf
from paddock.gguf import ModelFile

DATA = Path(__file__).parents[1] / "data" / "fit-truth"


class Truth:
    """Rows and models of the recorded dry runs, laid out as sparse files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: list[dict[str, Any]] = []
        for name in ("truth", "more", "wide"):
            with tarfile.open(DATA / f"{name}.tar.xz") as archive:
                archive.extractall(folder, filter="data")
            self.rows += [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
            for model, size in json.loads((folder / "sizes.json").read_text()).items():
                file = (folder / "headers" / f"{model}.head").rename(folder / model)
                with file.open("r+b") as handle:
                    handle.truncate(size)
        self._models: dict[str, ModelFile] = {}

    def model(self, name: str) -> ModelFile:
        if name not in self._models:
            self._models[name] = gguf.read(self.folder / name)
        return self._models[name]
