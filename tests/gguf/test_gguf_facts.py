"""What the numbers in a file mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ggufmake as make
import pytest

from paddock import gguf
from paddock.gguf import Kind


def model(folder: Path, metadata: dict[str, Any], tensors: list[make.Tensor], name: str = "m.gguf") -> gguf.ModelFile:
    return gguf.read(make.write(folder / name, metadata, tensors))


def without(metadata: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in metadata.items() if k not in keys}


def test_the_plain_facts_of_a_dense_model(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3, embedding=64, heads=4, kv_heads=2, vocabulary=32)
    facts = model(tmp_path, metadata, tensors).facts
    elements = sum(_elements(t.shape) for t in tensors)
    size = sum(t.nbytes for t in tensors)
    assert facts.name == "Tiny"
    assert facts.parameters == elements
    assert facts.bits_per_weight == pytest.approx(8 * size / elements)
    assert (facts.layers, facts.embedding, facts.trained_context, facts.vocabulary) == (3, 64, 4096, 32)
    assert (facts.heads, facts.kv_heads, facts.key_length, facts.value_length) == ((4,) * 3, (2,) * 3, 16, 16)
    assert (facts.experts, facts.experts_used, facts.sliding_window, facts.pooling) == (None, None, None, None)
    assert facts.quant == "Q8_0"
    assert facts.quant_mix[0][0] == "q8_0"
    assert sum(size for _, size in facts.quant_mix) == size


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def test_bytes_per_layer_and_class_add_up(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=2, expert_count=4, expert_used_count=2)
    tensors += [make.Tensor("blk.1.ffn_up_exps.weight", (64, 64, 4), "q8_0"),
                make.Tensor("blk.1.ffn_up_shexp.weight", (64, 64), "q8_0"),
                make.Tensor("blk.1.ssm_a", (64,)), make.Tensor("rope_freqs.weight", (8,))]
    facts = model(tmp_path, metadata, tensors).facts
    assert facts.layer_bytes[1]["experts"] == 64 * 64 * 4 // 32 * 34
    assert facts.layer_bytes[1]["ffn"] - facts.layer_bytes[0]["ffn"] == 64 * 64 // 32 * 34
    assert facts.layer_bytes[1]["other"] == 256
    assert facts.input_bytes == 64 * 32 // 32 * 34
    assert facts.output_bytes == 64 * 32 // 32 * 34 + 256
    inside = sum(sum(layer.values()) for layer in facts.layer_bytes)
    assert inside + facts.input_bytes + facts.output_bytes + 32 == sum(t.nbytes for t in tensors)
    assert (facts.experts, facts.experts_used) == (4, 2)


def test_a_mixture_without_dense_feed_forward_is_complete(tmp_path: Path) -> None:
    metadata, tensors = make.llama(architecture="qwen3moe", expert_count=4)
    tensors = [t for t in tensors if ".ffn_" not in t.name]
    tensors += [make.Tensor(f"blk.{i}.ffn_up_exps.weight", (64, 32, 4), "q8_0") for i in range(2)]
    read = model(tmp_path, metadata, tensors)
    assert (read.complete, read.problems) == (True, ())


def test_per_layer_values_with_zeros(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=4, attention__head_count=[4, 0, 4, 0], attention__head_count_kv=[2, 0, 2, 0])
    facts = model(tmp_path, metadata, tensors).facts
    assert facts.heads == (4, 0, 4, 0)
    assert facts.kv_heads == (2, 0, 2, 0)


@pytest.mark.parametrize("form", [2, [2], [2, 2, 2], make.typed("i32", [2, 2, 2]), make.typed("u64", 2)])
def test_scalar_short_and_full_lists_give_the_same_facts(tmp_path: Path, form: Any) -> None:
    metadata, tensors = make.llama(layers=3, attention__head_count_kv=form)
    plain = model(tmp_path, *make.llama(layers=3), "plain.gguf")
    assert model(tmp_path, metadata, tensors).facts == plain.facts


def test_numbers_of_the_whole_model_may_be_lists_of_one(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3, block_count=[3], embedding_length=[64])
    facts = model(tmp_path, metadata, tensors).facts
    assert (facts.layers, facts.embedding, facts.heads) == (3, 64, (4, 4, 4))


def test_more_than_a_thousand_layers_of_values_are_kept(tmp_path: Path) -> None:
    kv = [2 if i % 3 else 0 for i in range(1100)]
    metadata, tensors = make.llama(layers=2, block_count=1100, attention__head_count_kv=kv)
    assert model(tmp_path, metadata, tensors).facts.kv_heads == tuple(kv)


def test_a_list_of_another_length_is_a_warning_and_not_a_guess(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3, attention__head_count_kv=[2, 2])
    read = model(tmp_path, metadata, tensors)
    assert [(p.id, p.severity) for p in read.problems] == [("per-layer-length", "warning")]
    assert read.facts.kv_heads is None


def test_missing_heads_are_derived_from_shapes(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=2, embedding=64, heads=4, kv_heads=2, attention__key_length=16)
    keys = ("llama.attention.head_count", "llama.attention.head_count_kv")
    read = model(tmp_path, without(metadata, *keys), tensors)
    assert [(p.id, p.severity) for p in read.problems] == [("heads-derived", "hint")]
    assert (read.facts.heads, read.facts.kv_heads, read.facts.key_length) == ((4, 4), (2, 2), 16)


def test_a_norm_over_heads_tells_their_length(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=2, architecture="qwen3")
    tensors += [make.Tensor(f"blk.{i}.attn_q_norm.weight", (16,)) for i in range(2)]
    keys = ("qwen3.attention.head_count", "qwen3.attention.head_count_kv")
    facts = model(tmp_path, without(metadata, *keys), tensors).facts
    assert (facts.heads, facts.kv_heads) == ((4, 4), (2, 2))


def test_heads_that_cannot_be_derived_are_not_known(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=2, architecture="phi2")
    keys = ("phi2.attention.head_count", "phi2.attention.head_count_kv")
    read = model(tmp_path, without(metadata, *keys), tensors)
    assert [p.id for p in read.problems] == ["heads-unknown"]
    assert (read.facts.heads, read.facts.kv_heads, read.facts.key_length) == (None, None, None)


def test_kv_heads_default_to_the_heads(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=2, kv_heads=4)
    assert model(tmp_path, without(metadata, "llama.attention.head_count_kv"), tensors).facts.kv_heads == (4, 4)


def test_layers_are_counted_where_they_are_not_said(tmp_path: Path) -> None:
    metadata, tensors = make.llama(layers=3)
    assert model(tmp_path, without(metadata, "llama.block_count"), tensors).facts.layers == 3


@pytest.mark.parametrize(("stored", "kind", "label"), [
    (7, "q8_0", "Q8_0"), (15, "q8_0", "Q4_K_M"), (1024 + 7, "q8_0", "Q8_0"), (1, "q8_0", "Q8_0"), (1, "f16", "F16"),
    (999, "q8_0", "Q8_0"), (None, "q4_0", "Q4_0"),
])
def test_the_quant_label(tmp_path: Path, stored: int | None, kind: str, label: str) -> None:
    metadata, tensors = make.llama(kind=kind)
    metadata = without(metadata, "general.file_type")
    if stored is not None:
        metadata["general.file_type"] = stored
    assert model(tmp_path, metadata, tensors).facts.quant == label


@pytest.mark.parametrize(("template", "tools"), [
    ("{% if tools %}…{% endif %}", True), ("{{ message.tool_calls }}", True), ("{{ messages }}", False),
    ("{# toolset #}", False)])
def test_whether_the_template_handles_tools(tmp_path: Path, template: str, tools: bool) -> None:
    metadata, tensors = make.llama()
    facts = model(tmp_path, metadata | {"tokenizer.chat_template": template}, tensors).facts
    assert (facts.has_template, facts.template_has_tools) == (True, tools)


def test_a_file_without_a_name_is_called_by_its_file_name(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    assert model(tmp_path, without(metadata, "general.name"), tensors, "Some Model-Q8_0.gguf").facts.name == (
        "Some Model-Q8_0")


def test_vocabulary_without_tokens_comes_from_the_key_or_the_output(tmp_path: Path) -> None:
    metadata, tensors = make.llama(vocabulary=32)
    bare = without(metadata, "tokenizer.ggml.tokens")
    assert model(tmp_path, bare, tensors).facts.vocabulary == 32
    assert model(tmp_path, bare | {"llama.vocab_size": 30}, tensors).facts.vocabulary == 30


@pytest.mark.parametrize(("architecture", "name", "extra", "kind"), [
    ("llama", "m.gguf", {}, Kind.MODEL),
    ("clip", "vision.gguf", {"general.type": "clip-vision"}, Kind.PROJECTOR),
    ("clip", "plain.gguf", {}, Kind.PROJECTOR),
    ("llama", "mmproj-looking-name.gguf", {}, Kind.MODEL),
    ("llama", "lora.gguf", {"general.type": "adapter"}, Kind.ADAPTER),
    ("imatrix", "x.gguf", {"general.type": "imatrix"}, Kind.IMATRIX),
    ("bert", "bge-small.gguf", {"bert.pooling_type": 2}, Kind.EMBEDDING),
    ("bert", "bge-reranker.gguf", {}, Kind.RERANKER),
    ("qwen3", "x.gguf", {"qwen3.pooling_type": 4}, Kind.RERANKER),
    ("qwen3", "x.gguf", {"qwen3.pooling_type": 3}, Kind.EMBEDDING),
    ("qwen3", "Qwen3-Embedding-0.6B.gguf", {}, Kind.EMBEDDING),
    ("qwen3", "Qwen3-Reranker-0.6B.gguf", {}, Kind.RERANKER),
    ("qwen3", "embedded-systems-expert.gguf", {}, Kind.MODEL),
    ("eagle3", "x.gguf", {}, Kind.DRAFT),
    ("gemma4-assistant", "x.gguf", {}, Kind.DRAFT),
    ("qwen2", "Qwen2.5-0.5B-DRAFT-Q8_0.gguf", {}, Kind.DRAFT),
    ("qwen2", "draftsman.gguf", {}, Kind.MODEL),
])
def test_kinds(tmp_path: Path, architecture: str, name: str, extra: dict[str, Any], kind: Kind) -> None:
    metadata, tensors = make.llama(architecture=architecture)
    assert model(tmp_path, metadata | extra, tensors, name).kind is kind


def test_an_encoder_with_a_score_head_is_a_reranker(tmp_path: Path) -> None:
    metadata, tensors = make.llama(architecture="bert")
    assert model(tmp_path, metadata, [*tensors, make.Tensor("cls.weight", (64, 64))]).kind is Kind.RERANKER


def test_unknown_and_missing_architectures_are_problems(tmp_path: Path) -> None:
    metadata, tensors = make.llama(architecture="future9")
    read = model(tmp_path, metadata, tensors)
    assert [(p.id, p.severity) for p in read.problems] == [("unknown-architecture", "warning")]
    assert read.facts.layers == 2
    bare = model(tmp_path, {}, tensors, "bare.gguf")
    assert ("no-architecture", "error") in [(p.id, p.severity) for p in bare.problems]
