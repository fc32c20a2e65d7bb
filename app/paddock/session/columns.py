"""A sample as columns of a `Series`: one place for their names."""

from __future__ import annotations

import math

from paddock.hardware.model import Reading
from paddock.session.model import Sample


def sample_columns(sample: Sample) -> dict[str, float]:
    """A sample as columns of a `Series`. Names: see the keys; per slot `slot.<id>.…`, per card `<device>.…`."""
    row = {
        "generation_per_s": sample.generation_per_s,
        "prompt_per_s": sample.prompt_per_s,
        "context_used": sample.context_used,
        "requests_processing": sample.requests_processing,
        "requests_waiting": sample.requests_waiting,
        "acceptance": sample.acceptance,
    }
    for slot in sample.slots:
        head = f"slot.{slot.id}."
        row[head + "context_used"] = slot.context_used
        row[head + "context_limit"] = slot.context_limit
        row[head + "phase"] = {"idle": 0.0, "prompt": 1.0}.get(slot.phase, 2.0)
        row[head + "generation_per_s"] = slot.generation_per_s
        row[head + "prompt_per_s"] = slot.prompt_per_s
        row[head + "task"] = math.nan if slot.task is None else float(slot.task)
    if sample.reading is not None:
        row |= reading_columns(sample.reading)
    return row


def reading_columns(reading: Reading) -> dict[str, float]:
    """The machine's columns, named as in `Reading`; cards as `<device>.<field>`."""
    row = {
        "cpu_pct": reading.cpu_pct,
        "ram_used_bytes": reading.ram_used_bytes,
        "ram_available_bytes": reading.ram_available_bytes,
        "swap_used_bytes": reading.swap_used_bytes,
        "process_cpu_pct": reading.process_cpu_pct,
        "process_rss_bytes": reading.process_rss_bytes,
        "process_device_bytes": reading.process_device_bytes,
    }
    if reading.pressure is not None:
        row |= {name: value for name, value in vars(reading.pressure).items() if isinstance(value, float)}
    for device in reading.devices:
        for name, value in vars(device).items():
            if isinstance(value, float | int) and not isinstance(value, bool):
                row[f"{device.device}.{name}"] = float(value)
    return row
