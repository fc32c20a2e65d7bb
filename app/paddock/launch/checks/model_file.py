"""The model, and the other files that a plan names."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.gguf.layers import projection_widths
from paddock.gguf.model import Kind as FileKind
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import Question, error, hint, warning
from paddock.launch.model import Issue, Severity
from paddock.launch.spelling import takes_paths
from paddock.paths import file_name
from paddock.text import Text
from paddock.units import MIB, bytes_text

_SEVERITIES = {"error": Severity.ERROR, "warning": Severity.WARNING, "hint": Severity.HINT}


def no_model(q: Question) -> Iterator[Issue]:
    """Without a model llama.cpp becomes a router over whatever lies in its cache."""
    if not q.effective.router or q.text("models-dir") or q.text("models-preset"):
        return
    if q.text("model-url"):
        yield error("url-without-path", "model-url",
                    Text("-mu alone does not load that model: the server would wait for another one to be named."),
                    Text("Add -m with the path to download to."))
    else:
        yield error("no-model", "model", Text("No model is chosen."),
                    Text("Choose a file (-m), a repository (-hf) or a folder of models (--models-dir)."))


def missing_files(q: Question) -> Iterator[Issue]:
    """Paths that do not exist: llama.cpp ends on the first one that it opens."""
    path = q.plan.get("model")
    told = q.model is not None and not q.model.complete  # a first part that is missing: its own problem says so
    if path is not None and q.conditions.model_exists is False and path not in q.conditions.missing_paths and not told:
        yield _folder(path) if q.conditions.model_is_folder else _missing("model", path)
    for missing in q.conditions.missing_paths:
        if told and missing == path:
            continue
        option = next((s.option for s in q.plan if missing in s.values), None)
        known = CATALOGUE.get(option) if option is not None else None
        if known is not None and known.id in ("log-file", "log-prompts-dir", "lookup-cache-dynamic"):
            continue
        yield _missing(option, missing)


def _folder(path: str) -> Issue:
    return error("missing-file", "model", Text("{path} is a folder, not a model file (-m).", path=path),
                 Text("Choose a GGUF file in it. To serve all models of a folder, use --models-dir without -m."))


def _missing(option: str | None, path: str) -> Issue:
    flag = CATALOGUE[option].names[0] if option is not None and option in CATALOGUE else option or ""
    return error("missing-file", option, Text("{path} does not exist ({flag}).", path=path, flag=flag),
                 Text("Choose a file that exists. A path in quotes with “~” or “$” is taken word for word."))


def unusable_engine(q: Question) -> Iterator[Issue]:
    """An engine whose probe failed."""
    if q.engine is not None and q.engine.error is not None:
        yield error("engine-unusable", None, Text("The engine {name} cannot be used. {why}", name=q.engine.name,
                                                  why=q.engine.error), Text("Choose another engine."))


def other_engine(q: Question) -> Iterator[Issue]:
    """The plan names an engine, and another one answers for it."""
    wanted = q.plan.engine
    if not wanted or q.engine is None:
        return
    parts = {part.lower() for part in q.engine.path.parts}
    last = file_name(wanted).lower()
    if wanted.lower() not in (q.engine.name.lower(), q.engine.source.lower()) and last not in parts \
            and wanted.lower() not in q.engine.name.lower():
        yield warning("other-engine", None,
                      Text("The plan names the engine {wanted}, which was not found; {name} is used instead.",
                           wanted=wanted, name=q.engine.name), Text("Choose an engine that is here."))


def wrong_kind(q: Question) -> Iterator[Issue]:
    """A projector, an adapter or the like as the main model, an embedding model served as a chat."""
    path = q.plan.get("model")
    if q.model is None or path is None:
        return
    kind = q.model.kind
    if kind is FileKind.PROJECTOR:
        yield error("projector-as-model", "model", Text("This file is a projector: it cannot be loaded as the model."),
                    Text("Pass it with -mm, and choose the model that it belongs to."),
                    (("model", None), ("mmproj", (path,))))
    elif kind is FileKind.ADAPTER:
        yield error("adapter-as-model", "model", Text("This file is a LoRA adapter: it cannot be loaded as the model."),
                    Text("Pass it with --lora, and choose the model that it belongs to."),
                    (("model", None), ("lora", (path,))))
    elif kind in (FileKind.IMATRIX, FileKind.VOCAB):
        yield error("not-a-model", "model", Text("This file holds no weights: it cannot be loaded as the model."),
                    Text("Choose another file."))
    elif kind is FileKind.DRAFT:
        yield warning("draft-as-model", "model", Text("This file is a draft for another model."),
                      Text("Pass it with -md beside its model."))
    elif kind is FileKind.EMBEDDING and not q.effective.embedding:
        yield warning("embedding-as-chat", "embedding",
                      Text("This is an embedding model, and the server is not set to serve embeddings."),
                      Text("Turn on --embedding."), (("embedding", ("on",)),))
    elif kind is FileKind.RERANKER and not q.on("rerank"):
        yield warning("reranker-as-chat", "rerank", Text("This model ranks documents, and reranking is not turned on."),
                      Text("Turn on --rerank."), (("rerank", ("on",)),))


def chat_template(q: Question) -> Iterator[Issue]:
    """Without a template in the file llama.cpp writes chats in ChatML, and says nothing (common/chat.cpp)."""
    if q.model is None or q.model.kind is not FileKind.MODEL or not q.model.complete or q.effective.embedding:
        return
    if not q.model.facts.has_template and not q.text("chat-template") and not q.text("chat-template-file"):
        yield hint("no-chat-template", "chat-template",
                   Text("The file has no chat template: chats are written in ChatML, and a model that was trained "
                        "otherwise answers them with odd signs, or without an end."),
                   Text("Name its template with --chat-template; for completions alone it does not matter."))


def file_problems(q: Question) -> Iterator[Issue]:
    """What the reader found wrong with the file itself."""
    if q.model is None:
        return
    for problem in q.model.problems:
        yield Issue(f"file-{problem.id}", _SEVERITIES.get(problem.severity, Severity.WARNING), "model", problem.text)
    if not q.model.complete and not any(p.severity == "error" for p in q.model.problems):
        yield error("incomplete-model", "model", Text("The model is incomplete: bytes or parts are missing."),
                    Text("Download the missing part again."))


def later_part(q: Question) -> Iterator[Issue]:
    """A split model must be loaded by its first part."""
    path = q.plan.get("model")
    if q.model is None or path is None or len(q.model.shards) < 2:
        return
    named = file_name(path)
    if named != q.model.path.name and any(named == shard.path.name for shard in q.model.shards):
        yield error("later-part", "model", Text("{name} is a later part of a split model.", name=named),
                    Text("Load its first part, {name}.", name=q.model.path.name),
                    (("model", (str(q.model.path),)),))


def projector(q: Question) -> Iterator[Issue]:
    """What a projector turns off, and the same file given twice."""
    path = q.plan.get("mmproj")
    if path is None:
        return
    if path == q.plan.get("model"):
        yield error("model-as-projector", "mmproj", Text("The same file is given as model and as projector."),
                    Text("Choose the projector that belongs to the model."))
    for option in ("context-shift", "cache-reuse"):
        if q.on(option) or (option == "cache-reuse" and (q.number(option) or 0) > 0):
            yield warning("ignored-with-projector", option,
                          Text("{flag} does nothing while a projector is loaded.",
                               flag=CATALOGUE[option].names[0]), Text("Take it out."), ((option, None),))


def projector_fits(q: Question) -> Iterator[Issue]:
    """Whether the file is a projector, and as wide as the model. A warning: merged patches make a width a multiple of
    the model's, and a reader of headers can be wrong."""
    made = q.conditions.projector
    if made is None:
        return
    if made.kind is not FileKind.PROJECTOR:
        yield warning("not-a-projector", "mmproj",
                      Text("{name} does not look like a projector: the server may refuse it.", name=made.path.name),
                      Text("Choose the mmproj file of this model."), (("mmproj", None),))
        return
    width = q.model.facts.embedding if q.model is not None else None
    widths = projection_widths(made.metadata)
    if width is None or not widths or any(w % width == 0 or width % w == 0 for w in widths):
        return
    yield warning("projector-width", "mmproj",
                  Text("The projector puts out {there} numbers for a piece of a picture, the model takes {here}: they "
                       "may not belong together.", there=", ".join(str(w) for w in sorted(widths)), here=width),
                  Text("Choose the projector of this model, or launch anyway if you know that they fit."),
                  (("mmproj", None),))


def remote_file(q: Question) -> Iterator[Issue]:
    """Memory mapping over a network reads page by page."""
    if not q.conditions.remote_file_system:
        return
    mode = q.text("load-mode") or "auto"
    mapped = mode in ("auto", "mmap", "mmap+mlock") and q.text("mmap") not in ("off", "0", "false")
    if mapped:
        yield warning("mapped-over-network", "load-mode",
                      Text("The model lies on a network file system ({name}) and would be mapped: loading can take "
                           "many times longer.", name=q.conditions.file_system or "?"),
                      Text("Use -lm none, or copy the model to a disk of this machine."),
                      (("load-mode", ("none",)),))


def locked_memory(q: Question) -> Iterator[Issue]:
    """mlock beyond the limit is a warning in the log and no lock."""
    limit = q.conditions.memlock_bytes
    wants = "mlock" in (q.text("load-mode") or "") or q.on("mlock")
    if wants and limit is not None and q.model is not None and q.model.size_bytes > limit >= 0:
        yield warning("memlock-limit", "load-mode",
                      Text("The system lets a program lock less memory than the model needs: it will not be locked."),
                      Text("Raise the limit (ulimit -l), or leave locking out."))


def prompt_cache(q: Question) -> Iterator[Issue]:
    """--cache-ram is RAM that nobody counts."""
    if q.machine is None:
        return
    limit = q.number("cache-ram")
    limit = 8192 if limit is None else limit
    if limit == 0:
        return
    if limit < 0 or limit * 1024 * 1024 > q.machine.ram_available_bytes / 4:
        text = (Text("--cache-ram has no limit: the prompt cache may fill the RAM. --fit does not count it.")
                if limit < 0 else
                Text("--cache-ram may grow to {size} of RAM. --fit does not count it.",
                     size=bytes_text(limit * MIB, 1)))
        yield hint("prompt-cache-size", "cache-ram", text, Text("Use 2 GiB."),
                   (("cache-ram", ("2048",)),))


_WIDE_PATHS = 11434
"""First recorded build whose arg.cpp reads the Windows command line as Unicode; 7539 does not."""


def windows_paths(q: Question) -> Iterator[Issue]:
    """Builds on Windows that take words in the system's code page cannot open other letters."""
    if q.machine is None or q.machine.system != "Windows" or q.engine is None:
        return
    build = q.engine.build or q.engine.package_build
    if build is not None and build >= _WIDE_PATHS:
        return
    for setting in q.plan:
        if takes_paths(setting) and setting.value is not None and not setting.value.isascii():
            yield warning("windows-path", setting.option,
                          Text("Older builds on Windows cannot open a path with letters beyond English ones: {path}",
                               path=setting.value),
                          Text("Take a newer engine, or a folder with plain letters; a junction to this one "
                               "(mklink /J) will do."))
