"""Options that current builds refuse, kept so that old profiles and old guides are understood."""

from __future__ import annotations

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

_GONE = Text("Gone from current builds of llama.cpp.")
_RENAMED = Text("Current builds of llama.cpp have another name for it.")

OPTIONS = (
    Option(
        "mmap", ("--mmap",), Kind.PAIR, Group.MEMORY, Text("Map the file"), _RENAMED,
        negations=("--no-mmap",), default="on", env="LLAMA_ARG_MMAP", until=0,
        moved=(("load-mode", "mmap"),), moved_off=(("load-mode", "none"),),
    ),
    Option(
        "mlock", ("--mlock",), Kind.FLAG, Group.MEMORY, Text("Lock in memory"), _RENAMED,
        default="off", env="LLAMA_ARG_MLOCK", until=0, moved=(("load-mode", "mlock"),),
    ),
    Option(
        "direct-io", ("-dio", "--direct-io"), Kind.PAIR, Group.MEMORY, Text("Direct reading"), _RENAMED,
        negations=("-ndio", "--no-direct-io"), default="off", env="LLAMA_ARG_DIO", until=0,
        moved=(("load-mode", "dio"),),
    ),
    Option(
        "draft", ("--draft", "--draft-n", "--draft-max"), Kind.INT, Group.SPECULATIVE, Text("Most draft tokens"),
        _RENAMED, low=0, unit=Text("tokens"), env="LLAMA_ARG_DRAFT_MAX", until=0,
        moved=(("spec-draft-n-max", None),),
    ),
    Option(
        "draft-min", ("--draft-min", "--draft-n-min"), Kind.INT, Group.SPECULATIVE, Text("Fewest draft tokens"),
        _RENAMED, low=0, unit=Text("tokens"), env="LLAMA_ARG_DRAFT_MIN", until=0,
        moved=(("spec-draft-n-min", None),),
    ),
    Option(
        "spec-ngram-size-n", ("--spec-ngram-size-n",), Kind.INT, Group.SPECULATIVE, Text("n-gram lookup"), _RENAMED,
        low=1, unit=Text("tokens"), until=0, moved=(("spec-ngram-simple-size-n", None),),
    ),
    Option(
        "spec-ngram-size-m", ("--spec-ngram-size-m",), Kind.INT, Group.SPECULATIVE, Text("n-gram draft"), _RENAMED,
        low=1, unit=Text("tokens"), until=0, moved=(("spec-ngram-simple-size-m", None),),
    ),
    Option(
        "spec-ngram-min-hits", ("--spec-ngram-min-hits",), Kind.INT, Group.SPECULATIVE, Text("n-gram hits"), _RENAMED,
        low=1, until=0, moved=(("spec-ngram-simple-min-hits", None),),
    ),
    Option(
        "checkpoint-every-n-tokens", ("-cpent", "--checkpoint-every-n-tokens"), Kind.INT, Group.PROMPT_CACHE,
        Text("Space between checkpoints"), _RENAMED, unit=Text("tokens"), until=0,
        moved=(("checkpoint-min-step", None),),
    ),
    Option(
        "ctx-size-draft", ("-cd", "--ctx-size-draft"), Kind.INT, Group.SPECULATIVE, Text("Draft context"),
        Text("The draft now always has the main model's context."), low=0, unit=Text("tokens"), until=0,
        env="LLAMA_ARG_CTX_SIZE_DRAFT",
    ),
    Option(
        "slots-endpoint-disable", ("--slots-endpoint-disable",), Kind.FLAG, Group.SERVER, Text("No slot states"),
        _RENAMED, until=0, moved=(("slots", "off"),),
    ),
    Option(
        "grp-attn-n", ("-gan", "--grp-attn-n"), Kind.INT, Group.CONTEXT, Text("Group attention factor"), _GONE, until=0,
    ),
    Option("tfs", ("--tfs",), Kind.FLOAT, Group.SAMPLING, Text("Tail-free sampling"), _GONE, until=0),
    Option(
        "penalize-nl", ("--penalize-nl",), Kind.PAIR, Group.SAMPLING, Text("Penalise line ends"), _GONE,
        negations=("--no-penalize-nl",), until=0,
    ),
    Option("gqa", ("-gqa", "--gqa"), Kind.INT, Group.MODEL, Text("Grouped attention factor"), _GONE, until=0),
    Option("rms-norm-eps", ("-eps", "--rms-norm-eps"), Kind.FLOAT, Group.MODEL, Text("Norm epsilon"), _GONE, until=0),
    Option("lora-base", ("--lora-base",), Kind.PATH, Group.LORA, Text("Base of an adapter"), _GONE, until=0),
    Option(
        "memory-f32", ("--memory-f32",), Kind.FLAG, Group.KV, Text("KV cache in 32 bits"), _RENAMED, until=0,
        moved=(("cache-type-k", "f32"), ("cache-type-v", "f32")),
    ),
    Option("logdir", ("-ld", "--logdir"), Kind.FOLDER, Group.LOGGING, Text("Log folder"), _GONE, until=0),
    Option(
        "grp-attn-w", ("-gaw", "--grp-attn-w"), Kind.INT, Group.CONTEXT, Text("Group attention width"), _GONE, until=0,
    ),
)
"""`until=0`: gone before build 10434; which build dropped it is not known."""

NEVER: dict[str, tuple[tuple[str, str | None], ...]] = {
    "--draft-model": (("spec-draft-model", None),),
    "--draft-n-max": (("spec-draft-n-max", None),),
    "--spec-draft-conf-min": (("spec-draft-p-min", None),),
    "--spec-draft-min": (("spec-draft-n-min", None),),
    "--spec-draft-max": (("spec-draft-n-max", None),),
    "--speculative-model": (("spec-draft-model", None),),
    "--num-speculative-tokens": (("spec-draft-n-max", None),),
    "--context": (("ctx-size", None),),
    "--context-size": (("ctx-size", None),),
    "--context-length": (("ctx-size", None),),
    "--ctx": (("ctx-size", None),),
    "--n-ctx": (("ctx-size", None),),
    "--num-ctx": (("ctx-size", None),),
    "--max-model-len": (("ctx-size", None),),
    "--gpulayers": (("gpu-layers", None),),
    "--num-gpu": (("gpu-layers", None),),
    "--flash-attention": (("flash-attn", None),),
    "--flashattention": (("flash-attn", None),),
    "--cache-type": (("cache-type-k", None), ("cache-type-v", None)),
    "--kv-cache-type": (("cache-type-k", None), ("cache-type-v", None)),
    "--kv-cache-dtype": (("cache-type-k", None), ("cache-type-v", None)),
    "--num-threads": (("threads", None),),
    "--n-threads": (("threads", None),),
    "--n-batch": (("batch-size", None),),
    "--n-ubatch": (("ubatch-size", None),),
    "--n-parallel": (("parallel", None),),
    "--max-num-seqs": (("parallel", None),),
    "--num-slots": (("parallel", None),),
    "--served-model-name": (("alias", None),),
    "--model-alias": (("alias", None),),
    "--usemlock": (("load-mode", "mlock"),),
    "--use-mlock": (("load-mode", "mlock"),),
    "--nommap": (("load-mode", "none"),),
    "--moe-cpu": (("cpu-moe", "on"),),
    "--cpu-moe-layers": (("n-cpu-moe", None),),
    "--moecpu": (("n-cpu-moe", None),),
    "--gpu-split": (("tensor-split", None),),
    "--tensor-parallel-size": (),
    "--gpu-memory-utilization": (),
    "--lowvram": (("kv-offload", "off"),),
    "--low-vram": (("kv-offload", "off"),),
    "--reasoning-effort-level": (("reasoning-effort", None),),
    "--temperature-default": (("temp", None),),
    "--system-prompt": (),
    "--system-prompt-file": (),
    "--chatml": (("chat-template", "chatml"),),
    "--api-keys": (("api-key", None),),
    "--listen": (("host", "0.0.0.0"),),
    "--mtp": (("spec-type", "draft-mtp"),),
    "--mtp-n": (("spec-type", "draft-mtp"), ("spec-draft-n-max", None)),
    "--mtp-max": (("spec-type", "draft-mtp"), ("spec-draft-n-max", None)),
    "--chunk-size": (("ubatch-size", None),),
    "--cache-clear": (("cache-prompt", "off"),),
    "--no-cache": (("cache-prompt", "off"),),
    "--stream": (),
    "--no-stream": (),
    "--temp-limit": (),
    "--power-limit": (),
    "--draft-device": (("spec-draft-device", None),),
    "--ctx-shift": (("context-shift", "on"),),
    "--max-tokens": (("predict", None),),
    "--max-new-tokens": (("predict", None),),
    "--model-path": (("model", None),),
    "--no-log": (("log-disable", "on"),),
    "--clear-idle": (("cache-idle-slots", "on"),),
    "--public": (("host", "0.0.0.0"),),
    "--prompt-cache": (),
    "--moe-experts": (),
    "--expert-count": (),
    "--gpu": (),
    "--gpus": (),
    "--dtype": (),
    "--quantization": (),
    "--tokenizer": (),
    "--trust-remote-code": (),
}
"""Flags that guides, other programs and launchers name but llama.cpp's server has not: what to set instead."""

_DRIVER = Text("Set a limit in the driver (nvidia-smi -pl for its power); llama.cpp has none.")
_FILE = Text("Take it out: the file brings it along. Choose another quantisation of the model for another size.")
_CARDS = Text("Use -dev with names of --list-devices, and -ngl for the number of layers.")
_EXPERTS = Text("Use --override-kv FAMILY.expert_used_count=int:N, with the model's family.")
ELSEWHERE: dict[str, Text] = {
    "--prompt-cache": Text("Take it out: the server keeps prompts by itself (--cache-ram, --slot-save-path)."),
    "--moe-experts": _EXPERTS,
    "--expert-count": _EXPERTS,
    "--gpu": _CARDS,
    "--gpus": _CARDS,
    "--dtype": _FILE,
    "--quantization": _FILE,
    "--tokenizer": _FILE,
    "--trust-remote-code": _FILE,
    "--stream": Text("Take it out: each request says whether its answer is streamed (\"stream\": true)."),
    "--no-stream": Text("Take it out: each request says whether its answer is streamed (\"stream\": true)."),
    "--temp-limit": _DRIVER,
    "--power-limit": _DRIVER,
    "--system-prompt": Text("Take it out: the system prompt is the first message of each request."),
    "--system-prompt-file": Text("Take it out: the system prompt is the first message of each request."),
    "--tensor-parallel-size": Text("Use -sm tensor, with -dev for the cards."),
    "--gpu-memory-utilization": Text("Use --fit-target: the memory that is to stay free on each card, in MiB."),
}
"""What does the job of a flag that no option replaces."""

OF_LLAMA_CLI = frozenset((
    "-p", "--prompt", "-f", "--file", "-i", "--interactive", "--interactive-first", "-cnv", "--conversation", "-no-cnv",
    "--no-conversation", "--color", "-co", "--in-prefix", "--in-suffix", "--simple-io", "--multiline-input", "-mli",
    "-st", "--single-turn", "-sys", "--no-display-prompt", "--verbose-prompt", "--image", "--audio", "-bf",
    "--binary-file", "--n-probs",
))
"""Flags of llama.cpp's program for the terminal: a server gets all this with each request."""
