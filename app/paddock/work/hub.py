"""Hugging Face at work: the token, the fit of what is there, and downloads into a folder of models.

No method here is called unless a person searched, opened a repository or asked for a download.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.errors import AppError
from paddock.fit import Estimate, estimate
from paddock.gguf import Kind, ModelFile
from paddock.launch import Plan
from paddock.library.hub import Choice, Download, Found, Hub, OfflineError, RemoteFile, Repository
from paddock.library.hub.download import NOTE, PART, pending
from paddock.store.secret import Secrets
from paddock.text import Text
from paddock.work import previewing
from paddock.work.conditions import disk_free

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace

TOKEN_NAME = "hugging-face"
CONTEXT = 8192
"""The context that a verdict is for, as in the list of local models."""
_MOST_HEADERS = 64


@dataclass(frozen=True)
class RemoteFit:
    """What a remote header says, and whether it fits this machine now. `estimate` None: not a model by itself."""

    model: ModelFile
    estimate: Estimate | None
    context: int
    projector: str | None = None
    """The projector that is counted too: the one that would be downloaded with the model."""


class HubDesk:
    """One hub for one process: the token, and the headers that were read. Methods may be called from any thread."""

    def __init__(self, workspace: Workspace, environ: Mapping[str, str] | None = None) -> None:
        self._workspace = workspace
        self._environ = os.environ if environ is None else environ
        self._secrets = Secrets()
        self._lock = threading.Lock()
        self._headers: dict[tuple[str, str, str], ModelFile] = {}

    # -- who asks, and where things go

    @property
    def hub(self) -> Hub:
        """The hub; the token is looked up when a request is made."""
        return Hub(self._environ.get("HF_ENDPOINT") or None, self._token)

    def _token(self) -> str | None:
        reference = self._workspace.settings.hugging_face_token
        return self._secrets.resolve(reference, self._environ) if reference else None

    @property
    def has_token(self) -> bool:
        """Whether the person gave one that can be read now."""
        return self._token() is not None

    def set_token(self, token: str) -> Text | None:
        """Keep it in the system's keyring; returns a notice where there is none and it lives in memory only."""
        cleaned = token.strip().strip("\"'")
        if not cleaned or any(c.isspace() or not c.isprintable() for c in cleaned):
            raise AppError(Text("That is not a token."), hint=Text("A token of Hugging Face begins with hf_."))
        self._workspace.settings.hugging_face_token = self._secrets.save(TOKEN_NAME, cleaned)
        self._workspace.save_settings()
        return self._secrets.notice

    def forget_token(self) -> None:
        """From the keyring and the settings."""
        self._secrets.forget(TOKEN_NAME)
        self._workspace.settings.hugging_face_token = ""
        self._workspace.save_settings()

    @property
    def folder(self) -> Path:
        """Where downloads go: the person's folder, else Paddock's own; both are scanned for models."""
        chosen = self._workspace.settings.download_folder
        return Path(chosen).expanduser() if chosen else self._workspace.paths.root / "models"

    # -- looking

    def search(self, words: str, limit: int = 30) -> list[Found]:
        """See `Hub.search`; a link or "owner/name" finds by its name."""
        text = words.strip().strip("\"'")
        if "://" in text:
            text = "/".join(text.partition("://")[2].split("/")[1:3])
        return self.hub.search(text, limit)

    def repository(self, repo_id: str) -> Repository:
        """See `Hub.repository`."""
        return self.hub.repository(repo_id)

    def model(self, repository: Repository, choice: Choice, cancelled: Callable[[], bool] = lambda: False) -> ModelFile:
        """What a remote header says; kept for the life of this object, since a commit never changes."""
        key = (repository.id, repository.commit, choice.files[0].path)
        with self._lock:
            found = self._headers.get(key)
        if found is None:
            found = self.hub.model(repository, choice, cancelled)
            with self._lock:
                if len(self._headers) >= _MOST_HEADERS:
                    self._headers.pop(next(iter(self._headers)))
                self._headers[key] = found
        return found

    def fit(self, repository: Repository, choice: Choice, context: int | None = None,
            cancelled: Callable[[], bool] = lambda: False) -> RemoteFit:
        """Whether it will fit this machine with its projector, from their headers alone. Raises AppError, OfflineError.
        """
        model = self.model(repository, choice, cancelled)
        trained = model.facts.trained_context
        wanted = context or (min(trained, CONTEXT) if trained else CONTEXT)
        if model.kind not in (Kind.MODEL, Kind.EMBEDDING, Kind.RERANKER, Kind.DRAFT):
            return RemoteFit(model, None, wanted)
        plan = Plan().with_("model", str(model.path)).with_("ctx-size", wanted)
        engine = self._workspace.engine()
        machine = self._workspace.machine(engine, again=True)
        beside = repository.projector if choice in repository.choices and model.kind is Kind.MODEL else None
        projector = self._projector(repository, beside, cancelled)
        given = previewing.given_for(self._workspace, model, engine, machine, None, projector)
        return RemoteFit(model, estimate(model, plan, previewing.budgets_of(machine), **given), wanted,
                         beside.label if beside is not None and projector is not None else None)

    def _projector(self, repository: Repository, choice: Choice | None, cancelled: Callable[[], bool],
                   ) -> ModelFile | None:
        """One that cannot be read is not counted; the model's own figures are worth showing all the same."""
        if choice is None:
            return None
        try:
            return self.model(repository, choice, cancelled)
        except OfflineError:
            raise
        except AppError:
            return None

    # -- bringing it here

    def download(self, repository: Repository, choices: Sequence[Choice], folder: Path | None = None) -> Download:
        """A download of these choices (a model and its projector) into FOLDER/OWNER/NAME. Nothing is sent yet."""
        missing = sum(choice.missing for choice in choices)
        if missing:
            raise AppError(Text("{count} part of this model is not in the repository.",
                                plural="{count} parts of this model are not in the repository.", count=missing),
                           hint=Text("Choose another quantisation."))
        files = [file for choice in choices for file in choice.files]
        return self._download(repository, files, (folder or self.folder) / repository.id)

    def resume(self, part: Path) -> Download:
        """The download that an unfinished file belongs to. Asks the hub for the repository."""
        note = pending(part.with_name(part.name.removesuffix(PART) + NOTE))
        try:
            repo_id, commit, path = str(note["repository"]), str(note["commit"]), str(note["file"])
        except KeyError as error:
            raise AppError(Text("“{name}” was not begun by Paddock, or its note is gone.", name=part.name),
                           hint=Text("Download it again from the start.")) from error
        repository = self.hub.repository(repo_id, commit)
        every = [f for c in (*repository.choices, *repository.others) for f in c.files]
        files = [f for f in every if f.path == path]
        if not files:
            raise AppError(Text("That file is not in {repository} any more.", repository=repo_id))
        return self._download(repository, files, part.parent)

    def _download(self, repository: Repository, files: Sequence[RemoteFile], folder: Path) -> Download:
        return Download(self.hub, repository, files, folder, free_bytes=disk_free)
