"""A projector is attached only where exactly one fits."""

from __future__ import annotations

from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.library import Entry, projector_for, scan


def model(path: Path, embedding: int = 64, **metadata: object) -> Path:
    keys, tensors = make.llama(embedding=embedding)
    keys["general.name"] = path.stem
    return make.write(path, keys | metadata, tensors)


def projector(path: Path, width: int = 64, **metadata: object) -> Path:
    return make.write(path, {"general.architecture": "clip", "clip.vision.projection_dim": width, **metadata},
                      [make.Tensor("v.patch_embd.weight", (8,))])


def pair(folder: Path, name: str) -> str | None:
    entries = scan([folder], read=gguf.read)
    entry = next(e for e in entries if e.path.name == name)
    found = projector_for(entry, entries)
    return found.path.name if found else None


def test_the_only_projector_of_the_folder_is_taken(tmp_path: Path) -> None:
    model(tmp_path / "gemma-3-4b-it-Q4_K_M.gguf")
    model(tmp_path / "gemma-3-4b-it-Q8_0.gguf")
    projector(tmp_path / "mmproj-F16.gguf")
    assert pair(tmp_path, "gemma-3-4b-it-Q4_K_M.gguf") == "mmproj-F16.gguf"


def test_another_width_or_folder_does_not_fit(tmp_path: Path) -> None:
    model(tmp_path / "a" / "gemma-Q8_0.gguf")
    projector(tmp_path / "a" / "mmproj-f16.gguf", width=128)
    projector(tmp_path / "b" / "mmproj-f16.gguf")
    assert pair(tmp_path, "gemma-Q8_0.gguf") is None


def test_names_choose_in_a_flat_folder(tmp_path: Path) -> None:
    model(tmp_path / "Qwen2.5-VL-7B-Instruct-Q4_K_M.gguf")
    model(tmp_path / "Llama-3.2-3B-Instruct-Q4_K_M.gguf")
    projector(tmp_path / "mmproj-Qwen2.5-VL-7B-f16.gguf")
    projector(tmp_path / "mmproj-other-bf16.gguf")
    assert pair(tmp_path, "Qwen2.5-VL-7B-Instruct-Q4_K_M.gguf") == "mmproj-Qwen2.5-VL-7B-f16.gguf"
    assert pair(tmp_path, "Llama-3.2-3B-Instruct-Q4_K_M.gguf") is None


def test_a_nameless_projector_between_different_models_is_nobodys(tmp_path: Path) -> None:
    model(tmp_path / "gemma-Q8_0.gguf")
    model(tmp_path / "llama-Q8_0.gguf")
    projector(tmp_path / "mmproj.gguf")
    assert pair(tmp_path, "gemma-Q8_0.gguf") is None


def test_two_that_fit_are_left_to_the_person(tmp_path: Path) -> None:
    model(tmp_path / "gemma-Q8_0.gguf")
    projector(tmp_path / "mmproj-gemma-f16.gguf")
    projector(tmp_path / "mmproj-gemma-bf16.gguf")
    assert pair(tmp_path, "gemma-Q8_0.gguf") is None


def test_the_basename_in_the_metadata_counts_before_the_file_name(tmp_path: Path) -> None:
    model(tmp_path / "renamed.gguf", **{"general.basename": "Gemma-3"})
    projector(tmp_path / "mmproj-f16.gguf", **{"general.basename": "Gemma-3"})
    projector(tmp_path / "mmproj-bf16.gguf", **{"general.basename": "Qwen3-VL"})
    assert pair(tmp_path, "renamed.gguf") == "mmproj-f16.gguf"


@pytest.mark.parametrize("kind", ["projector", "error"])
def test_only_models_get_projectors(tmp_path: Path, kind: str) -> None:
    path = projector(tmp_path / "mmproj.gguf") if kind == "projector" else tmp_path / "none.gguf"
    entry = Entry(path, "x", gguf.read(path) if kind == "projector" else None)
    assert projector_for(entry, [entry]) is None
