"""Fixtures of the trials with the real engine."""

from real_engine import engine, launched, port
from rpc_servers import two_devices

__all__ = ["engine", "launched", "port", "two_devices"]
