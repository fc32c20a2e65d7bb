"""A two-layer model with random weights and a vocabulary of bytes: loads in milliseconds, serves real requests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gguf import GGUFWriter, TokenType

WIDTH, HEADS, LAYERS, INNER = 64, 4, 2, 128


def write(path: Path, *, context: int = 8192, seed: int = 0, spare: int = 0) -> Path:
    """Write it; about 0.6 MB. `spare`: tokens more that nothing uses, so that the vocabulary differs from others'."""
    rng = np.random.default_rng(seed)
    writer = GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    words = [b"<unk>", b"<s>", b"</s>"] + [f"<0x{i:02X}>".encode() for i in range(256)] + ["▁".encode()]
    words += [bytes((c,)) for c in range(ord("a"), ord("z") + 1)]
    words += [f"spare{i}".encode() for i in range(spare)]
    kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL] + [TokenType.BYTE] * 256
    kinds += [TokenType.NORMAL] * (len(words) - len(kinds))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_vocab_size(len(words))

    def tensor(name: str, *shape: int) -> None:
        writer.add_tensor(name, (rng.standard_normal(shape) * 0.1).astype(np.float32))

    def ones(name: str) -> None:
        writer.add_tensor(name, np.ones(WIDTH, np.float32))

    tensor("token_embd.weight", len(words), WIDTH)
    for i in range(LAYERS):
        ones(f"blk.{i}.attn_norm.weight")
        for part in ("q", "k", "v", "output"):
            tensor(f"blk.{i}.attn_{part}.weight", WIDTH, WIDTH)
        ones(f"blk.{i}.ffn_norm.weight")
        tensor(f"blk.{i}.ffn_gate.weight", INNER, WIDTH)
        tensor(f"blk.{i}.ffn_up.weight", INNER, WIDTH)
        tensor(f"blk.{i}.ffn_down.weight", WIDTH, INNER)
    ones("output_norm.weight")
    tensor("output.weight", len(words), WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
