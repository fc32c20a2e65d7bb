"""The sibling programs of a server: as commands of the one `llama` program, or as programs beside it."""

from __future__ import annotations

from pathlib import Path

from paddock.engine import places

_BESIDE = {
    "bench": ("llama-bench",),
    "batched-bench": ("llama-batched-bench",),
    "fit-params": ("llama-fit-params",),
    "quantize": ("llama-quantize",),
    "perplexity": ("llama-perplexity",),
    "completion": ("llama-completion",),
    "cli": ("llama-cli",),
    "gguf-split": ("llama-gguf-split",),
    "imatrix": ("llama-imatrix",),
    "tokenize": ("llama-tokenize",),
    "rpc-server": ("ggml-rpc-server", "rpc-server", "llama-rpc-server"),
}


def locate(program: Path, subcommands: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The argv prefix of every tool that is there; each is looked for by itself and may be absent.

    Only the program's own folder is searched (and the one that a link leads to): a tool of the same name elsewhere
    on PATH would be another build.
    """
    found: dict[str, tuple[str, ...]] = {}
    folders = dict.fromkeys((program.parent, program.resolve().parent))
    for tool, names in _BESIDE.items():
        if tool in subcommands:
            found[tool] = (str(program), tool)
            continue
        paths = (folder / f"{name}{places.EXE}" for folder in folders for name in names)
        if path := next((path for path in paths if places.is_file(path)), None):
            found[tool] = (str(path),)
    return found
