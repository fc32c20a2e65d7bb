"""A llama of two layers with random weights, about 1 MiB: loads in milliseconds and serves real requests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import gguf

EMBEDDING, LAYERS, FEED_FORWARD, HEADS = 64, 2, 128, 4


def write_tiny_model(path: Path, context: int = 4096) -> Path:
    words = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "▁", *"abcdefghijklmnopqrstuvwxyz"]
    kinds = [2, 3, 3, *[6] * 256, *[1] * 27]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([-float(i) for i in range(len(words))])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    random = np.random.default_rng(1)

    def tensor(name: str, *shape: int) -> None:
        data = random.normal(0, 0.05, shape) if len(shape) > 1 else np.ones(shape)
        writer.add_tensor(name, data.astype(np.float32))

    tensor("token_embd.weight", len(words), EMBEDDING)
    tensor("output_norm.weight", EMBEDDING)
    tensor("output.weight", len(words), EMBEDDING)
    for i in range(LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(f"blk.{i}.{part}.weight", EMBEDDING, EMBEDDING)
        tensor(f"blk.{i}.attn_norm.weight", EMBEDDING)
        tensor(f"blk.{i}.ffn_norm.weight", EMBEDDING)
        tensor(f"blk.{i}.ffn_gate.weight", FEED_FORWARD, EMBEDDING)
        tensor(f"blk.{i}.ffn_up.weight", FEED_FORWARD, EMBEDDING)
        tensor(f"blk.{i}.ffn_down.weight", EMBEDDING, FEED_FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
