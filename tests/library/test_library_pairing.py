"""A projector is attached only where exactly one fits."""

from __future__ import annotations

from pathlib import Path

import ggufmake as make
import pytest

from paddock import gguf
from paddock.library import Entry, draft_pairing, drafts_for, projector_for, projector_pairing, scan
from paddock.library.pairing import draft_type


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


def entry_of(path: Path) -> Entry:
    return Entry(path, "", gguf.read(path))


def test_several_projectors_that_fit_are_a_choice(tmp_path: Path) -> None:
    target = entry_of(model(tmp_path / "gemma-3-4b-it-Q8_0.gguf"))
    others = [entry_of(projector(tmp_path / f"mmproj-{kind}.gguf")) for kind in ("F16", "BF16")]
    others.append(entry_of(projector(tmp_path / "mmproj-wide.gguf", width=99)))
    found = projector_pairing(target, [target, *others])
    assert (found.options, found.chosen, found.by_person) == (tuple(others[:2]), None, False)


def test_the_persons_word_is_final(tmp_path: Path) -> None:
    target = entry_of(model(tmp_path / "gemma-3-4b-it-Q8_0.gguf"))
    fitting = entry_of(projector(tmp_path / "mmproj-F16.gguf"))
    odd = entry_of(projector(tmp_path / "other" / "odd.gguf", width=5))
    every = [target, fitting, odd]
    assert projector_pairing(target, every).chosen == fitting
    assert projector_pairing(target, every, "").chosen is None
    assert projector_pairing(target, every, "").by_person
    word = projector_pairing(target, every, str(odd.path))
    assert (word.chosen, word.options) == (odd, (odd, fitting))
    gone = projector_pairing(target, every, "/nowhere/p.gguf")
    assert (gone.chosen, gone.lost, gone.by_person) == (None, Path("/nowhere/p.gguf"), True)


def sized(path: Path, layers: int, **more: object) -> Entry:
    keys, tensors = make.llama(layers, vocabulary=more.pop("vocabulary", 512))  # type: ignore[arg-type]
    return entry_of(make.write(path, keys | more, tensors))


def test_drafts_share_the_vocabulary_and_are_much_smaller(tmp_path: Path) -> None:
    target = sized(tmp_path / "big.gguf", 60)
    small = sized(tmp_path / "small.gguf", 2)
    smaller = sized(tmp_path / "smaller.gguf", 1)
    sized_alike = sized(tmp_path / "alike.gguf", 50)
    words = sized(tmp_path / "words.gguf", 1, vocabulary=900)
    kind = sized(tmp_path / "kind.gguf", 1, **{"tokenizer.ggml.model": "llama"})
    cut = sized(tmp_path / "cut.gguf", 1, **{"tokenizer.ggml.pre": "qwen2"})
    entries = [target, small, smaller, sized_alike, words, kind, cut]
    assert drafts_for(target.model, entries) == [smaller, cut, small]  # type: ignore[arg-type]
    mine = sized(tmp_path / "big2.gguf", 60, **{"tokenizer.ggml.pre": "llama-bpe"})
    assert cut not in drafts_for(mine.model, [*entries, mine])  # type: ignore[arg-type]


def test_a_draft_of_the_models_own_name_comes_first_whatever_its_size(tmp_path: Path) -> None:
    target = sized(tmp_path / "Qwen3-30B-Q4_K_M.gguf", 60, **{"general.name": "Qwen3 30B"})
    tiny = sized(tmp_path / "tiny.gguf", 1)
    own = sized(tmp_path / "Qwen3-30B-draft-Q8_0.gguf", 40)
    assert own.kind is gguf.Kind.DRAFT
    assert drafts_for(target.model, [target, tiny, own]) == [own, tiny]  # type: ignore[arg-type]
    assert draft_pairing(target, [target, tiny, own]).chosen is None
    assert draft_pairing(target, [target, tiny, own], str(tiny.path)).chosen == tiny


@pytest.mark.parametrize(("architecture", "kind"), [("eagle3", "draft-eagle3"), ("dflash", "draft-dflash"),
                                                    ("llama", "draft-simple")])
def test_each_kind_of_draft_has_its_type(tmp_path: Path, architecture: str, kind: str) -> None:
    keys, tensors = make.llama(architecture=architecture)
    assert draft_type(gguf.read(make.write(tmp_path / "d.gguf", keys, tensors))) == kind
