"""Fixtures of the trials with the real engine."""

from real_engine import engine, launched, port

__all__ = ["engine", "launched", "port"]
