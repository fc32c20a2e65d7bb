"""Which columns a row has, and how a value stands in them. Names are those of the values that are stored."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

REQUEST = ("number", "task", "slot", "t_start", "t_end", "t_first_token", "prompt_tokens", "cached_tokens",
            "evaluated_tokens", "generated_tokens", "prompt_per_s", "generation_per_s", "ttft_s", "draft_tokens",
            "accepted_tokens", "context_used", "truncated", "is_child", "status", "source", "error", "exchange",
            "image_ms")
SAMPLE = ("generation_per_s", "prompt_per_s", "context_used", "requests_processing", "requests_waiting", "acceptance")
READING = ("cpu_pct", "ram_used_bytes", "ram_available_bytes", "swap_used_bytes", "process_cpu_pct",
            "process_rss_bytes")
DEVICE = ("used_bytes", "free_bytes", "process_bytes", "utilisation_pct", "memory_utilisation_pct", "sm_clock_mhz",
           "memory_clock_mhz", "power_w", "temperature_c", "pcie_rx_bytes_per_s", "pcie_tx_bytes_per_s",
           "shared_used_bytes", "pcie_generation", "pcie_width")
PRESSURE = ("steal_pct", "run_queue", "disk_read_bytes_per_s", "process_read_bytes_per_s", "process_faults_per_s",
             "process_swap_bytes", "model_cached")
EXCHANGE = ("id", "start_utc", "t_start", "method", "path", "generates", "client", "user_agent", "model", "images",
             "request_bytes", "response_bytes", "status", "first_byte_s", "first_token_s", "total_s", "client_wait_s",
             "gap_median_s", "gap_p95_s", "gap_longest_s", "prompt_tokens", "cached_tokens", "evaluated_tokens",
             "generated_tokens", "reasoning_chunks", "reused", "prompt_per_s", "generation_per_s", "draft_tokens",
             "accepted_tokens", "slot", "finish", "outcome", "error")
SLOT = ("phase", "task", "context_used", "context_limit", "prompt_done", "generated", "generation_per_s",
         "prompt_per_s")


def insert(table: str, columns: Sequence[str], verb: str = "INSERT OR REPLACE") -> str:
    """The statement; one ? for each column."""
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


INSERT_REQUEST = insert("request", ("session_id", *REQUEST))
INSERT_SAMPLE = insert("system_sample", ("session_id", "t", *SAMPLE, "answered", "sleeping", *READING, *PRESSURE))
INSERT_DEVICE = insert("device_sample", ("session_id", "t", "device", *DEVICE, "throttle"))
INSERT_EXCHANGE = insert("exchange", ("session_id", *EXCHANGE, "settings"))
INSERT_SLOT = insert("slot_sample", ("session_id", "t", "slot", *SLOT))


def as_stored(value: Any) -> Any:
    """NaN is NULL; bytes of a foreign encoding in a text become question marks."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return None if isinstance(value, float) and math.isnan(value) else value


def to_json(value: Any) -> str | None:
    """Plain values as JSON; what JSON has no form for becomes its text, NaN becomes null."""
    def plain(one: Any) -> Any:
        if isinstance(one, dict):
            return {str(k): plain(v) for k, v in one.items()}
        if isinstance(one, list | tuple | set | frozenset):
            return [plain(v) for v in one]
        if isinstance(one, float) and not math.isfinite(one):
            return None
        return one if isinstance(one, str | int | float | bool) or one is None else str(one)

    if value is None:
        return None
    text = json.dumps(plain(value), ensure_ascii=False)
    # Paths may hold bytes of a foreign encoding: escaped, they come back as they were.
    return text if text.isascii() or _encodes(text) else json.dumps(plain(value))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
