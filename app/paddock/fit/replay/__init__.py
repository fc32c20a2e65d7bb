"""Replays how llama.cpp plans a graph's memory: its nodes in order, the backends they run on, and the allocator.

The compute buffer is the highest address that ggml-alloc hands out for the worst-case prompt graph. It is
deterministic, so it is played through here on sizes alone (ggml-backend.cpp, ggml-alloc.c, src/llama-graph.cpp and
src/models of b11434).
"""
