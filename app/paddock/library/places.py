"""Where other programs keep models."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from paddock.library.model import Place

PATIENCE_S = 3.0


def default_places(environ: Mapping[str, str], home: Path) -> tuple[Place, ...]:
    """The caches that exist here, each once: Hugging Face, llama.cpp, LM Studio, Ollama."""
    found: dict[Path, Place] = {}
    for label, path in _candidates(environ, home):
        real = _folder_behind(path)
        if real is not None and real not in found:
            found[real] = Place(path, label)
    return tuple(found.values())


def _folder_behind(path: Path) -> Path | None:
    """Where a folder really lies; None if there is none. One that does not answer is taken for a folder: the scan then
    lists it as silent, with the reason."""
    answers: list[Path | None] = []

    def look() -> None:
        try:
            real = path.resolve()
            answers.append(real if real.is_dir() else None)
        except OSError:
            answers.append(None)

    thread = threading.Thread(target=look, name="place-looker", daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return answers[0] if answers else path


def _candidates(environ: Mapping[str, str], home: Path) -> Iterator[tuple[str, Path]]:
    cache = _folder(environ, "XDG_CACHE_HOME") or home / ".cache"
    hugging_face = _folder(environ, "HF_HOME") or cache / "huggingface"
    yield "Hugging Face", (_folder(environ, "HF_HUB_CACHE") or _folder(environ, "HUGGINGFACE_HUB_CACHE")
                           or hugging_face / "hub")
    local = _folder(environ, "LOCALAPPDATA")
    if "LLAMA_CACHE" in environ:
        yield "llama.cpp", Path(environ["LLAMA_CACHE"]).expanduser()
    elif sys.platform == "darwin":
        yield "llama.cpp", home / "Library" / "Caches" / "llama.cpp"
    elif sys.platform == "win32" and local:
        yield "llama.cpp", local / "llama.cpp"
    else:
        yield "llama.cpp", cache / "llama.cpp"
    for path in _lm_studio(home):
        yield "LM Studio", path
    ollama = _folder(environ, "OLLAMA_MODELS")
    if ollama:
        yield "Ollama", ollama
    yield "Ollama", home / ".ollama" / "models"
    if sys.platform.startswith("linux"):
        # Where the service of the Linux installer keeps them.
        yield "Ollama", Path("/usr/share/ollama/.ollama/models")


def _folder(environ: Mapping[str, str], name: str) -> Path | None:
    value = environ.get(name, "").strip()
    return Path(value).expanduser() if value else None


def _lm_studio(home: Path) -> Iterator[Path]:
    """Its home may lie elsewhere (a pointer file says so), and the folder of models can be chosen in its settings."""
    homes = [home / ".lmstudio", home / ".cache" / "lm-studio"]
    try:
        homes.insert(0, Path((home / ".lmstudio-home-pointer").read_text("utf-8").strip()))
    except (OSError, UnicodeDecodeError, ValueError):
        pass
    for folder in homes:
        try:
            settings = json.loads((folder / "settings.json").read_text("utf-8"))
        except (OSError, UnicodeDecodeError, ValueError, RecursionError):
            settings = None
        chosen = settings.get("downloadsFolder") if isinstance(settings, dict) else None
        if isinstance(chosen, str) and chosen:
            yield Path(chosen)
        yield folder / "models"
