"""Paddock: a desktop launcher and profiler for llama.cpp."""

__version__ = "0.1.0"
