"""What is kept of earlier prompts."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "cache-ram", ("-cram", "--cache-ram"), Kind.INT, Group.PROMPT_CACHE,
        Text("Prompt cache in RAM"), Text("RAM for the state of earlier prompts. -1 is no limit, 0 is off."),
        low=-1, default="8192", unit=Text("MiB"), env="LLAMA_ARG_CACHE_RAM",
    ),
    Option(
        "cache-idle-slots", ("--cache-idle-slots",), Kind.PAIR, Group.PROMPT_CACHE,
        Text("Save idle slots"), Text("Moves the state of idle slots into the prompt cache when new work comes."),
        negations=("--no-cache-idle-slots",), default="on", env="LLAMA_ARG_CACHE_IDLE_SLOTS",
    ),
    Option(
        "cache-prompt", ("--cache-prompt",), Kind.PAIR, Group.PROMPT_CACHE,
        Text("Reuse prompts"), Text("Reuses the common beginning of a slot's last prompt."),
        negations=("--no-cache-prompt",), default="on", env="LLAMA_ARG_CACHE_PROMPT",
    ),
    Option(
        "cache-reuse", ("--cache-reuse",), Kind.INT, Group.PROMPT_CACHE,
        Text("Reuse cached chunks of at least"),
        Text("Shortest chunk that is reused from the cache by shifting it. 0 is off."),
        low=0, default="0", unit=Text("tokens"), env="LLAMA_ARG_CACHE_REUSE",
    ),
    Option(
        "ctx-checkpoints", ("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints"), Kind.INT, Group.PROMPT_CACHE,
        Text("Checkpoints per slot"),
        Text("Saved states that let sliding-window and recurrent models step back. They live in RAM."),
        low=0, default="32", unit=Text("states"), env="LLAMA_ARG_CTX_CHECKPOINTS",
    ),
    Option(
        "checkpoint-min-step", ("-cms", "--checkpoint-min-step"), Kind.INT, Group.PROMPT_CACHE,
        Text("Space between checkpoints"), Text("Fewest tokens between two checkpoints. 0 is no minimum."),
        low=0, default="8192", unit=Text("tokens"), env="LLAMA_ARG_CHECKPOINT_MIN_SPACING_NT", strict=True,
    ),
    Option(
        "slot-prompt-similarity", ("-sps", "--slot-prompt-similarity"), Kind.FLOAT, Group.PROMPT_CACHE,
        Text("Slot similarity"), Text("How alike a prompt must be to a slot's last one to get that slot. 0 is off."),
        low=0, high=1, default="0.1",
    ),
    Option(
        "slot-save-path", ("--slot-save-path",), Kind.FOLDER, Group.PROMPT_CACHE,
        Text("Folder for slot states"), Text("Folder into which requests may save the state of a slot."),
    ),
)
