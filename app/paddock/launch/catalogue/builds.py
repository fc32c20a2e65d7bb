"""Since which build of llama.cpp an option is there, and which was the last to have it.

Read from the sources of some hundred builds between 9093 and 11434 (those that the engine's Python package carries, one
in twenty or so): an option is known to be in the build named here, and known to be missing in the one looked at before
it. What is not named was there in 9093 already, or, where retired, gone by then (`until` 0 in its definition).
"""

from __future__ import annotations

SINCE = {
    "spec-draft-backend-sampling": 9265,
    "checkpoint-min-step": 9310,
    "sse-ping-interval": 9479,
    "log-prompts-dir": 9581,
    "mtmd-batch-max-tokens": 9621,
    "agent": 9733,
    "reasoning-preserve": 9837,
    "cors-origins": 10012,
    "cors-methods": 10012,
    "cors-headers": 10012,
    "cors-credentials": 10012,
    "load-mode": 10108,
    "mcp-servers-config": 10133,
    "mcp-servers-json": 10133,
    "tools-runtime": 10331,
    "reasoning-effort": 10434,
    "mmproj-device": 10549,
    "kv-unified-per-slot": 10662,
    "n-cpu-ffn": 10662,
    "spec-synth-len": 10662,
    "spec-synth-rates": 10662,
    "video-fps": 10662,
    "video-timestamp-interval": 10662,
    "video-ffmpeg-dir": 10662,
    "lazy-mode": 10729,
    "log-jsonl": 10825,
    "spec-draft-sampling": 11368,
}
UNTIL = {
    "ctx-size-draft": 9101,
    "checkpoint-every-n-tokens": 9305,
    "mmap": 10867,
    "mlock": 10867,
    "direct-io": 10867,
}
