"""Files brought here: with a check of the space, progress, pause, resume, and the hash of what came.

The bytes come over huggingface_hub's session (its proxies and certificates). The loop is ours, because its own
downloads start from nothing after a pause (since 1.0 each has a new temporary name) and heed a wish to stop every ten
megabytes only.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, BinaryIO

from paddock.errors import AppError
from paddock.library.hub.client import Hub, OfflineError, RemoteState
from paddock.library.hub.model import RemoteFile, Repository
from paddock.text import Text
from paddock.units import bytes_text

PART = ".incomplete"
"""Behind the name while it comes; the library lists such a file as an unfinished download."""
NOTE = ".incomplete.json"
"""Where it comes from, so that it can be resumed later, by another Paddock too."""
MOST_HTTP_BYTES = 50_000_000_000
"""Larger ones come over Xet only (huggingface_hub 2.4, constants.MAX_HTTP_DOWNLOAD_SIZE)."""
SPARE_BYTES = 256 << 20
"""Left free on the disk beyond what comes."""
WAITING, CHECKING = "waiting", "checking"
"""What a download does when it is not loading: it waits to try again; it reads what came before a pause."""
_PIECE = 64 << 10
_TRIES = 5
_LONGEST_WAIT_S = 16.0

Progress = Callable[[int, int, str], None]
"""(bytes that are here, all bytes, what is done now: "" for loading, WAITING, CHECKING)"""


class Paused(Exception):  # noqa: N818 - not an error: the person asked for it
    """It was stopped; what came so far is kept, and the next `run` goes on from there."""


@dataclass(frozen=True)
class _Job:
    file: RemoteFile
    target: Path

    @property
    def part(self) -> Path:
        return self.target.with_name(self.target.name + PART)

    @property
    def note(self) -> Path:
        return self.target.with_name(self.target.name + NOTE)

    def here(self) -> int:
        """Bytes that are here already, finished or not."""
        for path in (self.target, self.part):
            try:
                return path.stat().st_size
            except OSError:
                continue
        return 0


class Download:
    """Some files of one commit, into `folder` under their own names. `run` is called in a worker thread."""

    def __init__(self, hub: Hub, repository: Repository, files: Sequence[RemoteFile], folder: Path, *,
                 free_bytes: Callable[[Path], int | None], wait: Callable[[float], object] | None = None) -> None:
        self.hub, self.repository, self.folder = hub, repository, folder
        self._jobs = [_Job(file, folder / Path(file.path).name) for file in files]
        self._free_bytes = free_bytes
        self._wait = wait or Event().wait

    @property
    def targets(self) -> list[Path]:
        """Where the files will be."""
        return [job.target for job in self._jobs]

    @property
    def total_bytes(self) -> int:
        return sum(job.file.size_bytes or 0 for job in self._jobs)

    @property
    def here_bytes(self) -> int:
        return sum(job.here() for job in self._jobs)

    def run(self, progress: Progress | None = None, stop: Callable[[], bool] = lambda: False) -> list[Path]:
        """Bring what is not here yet; returns the paths. Raises Paused when `stop` says so, OfflineError when the
        connection is lost for good (run again to go on), AppError for everything else."""
        tell = progress or (lambda done, total, what: None)
        for job in self._jobs:
            self._look(job)
        self._check_space()
        done = 0
        for job in self._jobs:
            self._bring(job, partial(self._tell, tell, done), stop)
            done += job.file.size_bytes or job.here()
        return self.targets

    def _tell(self, tell: Progress, before: int, here: int, what: str) -> None:
        tell(before + here, self.total_bytes, what)

    def discard(self) -> None:
        """Remove what came of files that are not finished."""
        for job in self._jobs:
            for path in (job.part, job.note):
                path.unlink(missing_ok=True)

    # -- before the first byte ---------------------------------------------------------------------------------------

    def _look(self, job: _Job) -> None:
        if not job.target.exists():
            if (job.file.size_bytes or 0) > MOST_HTTP_BYTES:
                raise AppError(Text("“{name}” is larger than 50 GB.", name=job.target.name),
                               why=Text("Hugging Face gives out such files through its own program only."),
                               hint=Text("Run: hf download {repository} {file} --local-dir {folder}. Paddock finds it "
                                         "there. Or choose a quantisation that is split.",
                                         repository=self.repository.id, file=job.file.path, folder=str(self.folder)))
            return
        size = job.target.stat().st_size
        if job.file.size_bytes is not None and size != job.file.size_bytes:
            raise AppError(Text("There is another file called “{name}” in {folder}.", name=job.target.name,
                                folder=str(self.folder)),
                           why=Text("It has {here}, the one to download has {there}.", here=bytes_text(size),
                                    there=bytes_text(job.file.size_bytes)),
                           hint=Text("Choose another folder, or move that file away."))

    def _check_space(self) -> None:
        needed = sum(max(0, (job.file.size_bytes or 0) - job.here()) for job in self._jobs)
        free = self._free_bytes(self.folder)
        if free is not None and needed and needed + SPARE_BYTES > free:
            raise AppError(Text("There is not enough space in {folder}.", folder=str(self.folder)),
                           why=Text("{needed} are to come, {free} are free (and {spare} are left over).",
                                    needed=bytes_text(needed), free=bytes_text(free), spare=bytes_text(SPARE_BYTES)),
                           hint=Text("Free some space, choose another folder, or a smaller quantisation."))

    # -- one file ----------------------------------------------------------------------------------------------------

    def _bring(self, job: _Job, tell: Callable[[int, str], None], stop: Callable[[], bool]) -> None:
        if job.target.exists():
            tell(job.here(), "")
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _only_one(job):
                about = self.hub.metadata(self.repository, job.file)
                self._prepare(job, about)
                digest = self._load(job, about.size, tell, stop)
                _check_hash(job, digest, job.file.sha256 or about.etag)
                os.replace(job.part, job.target)
                job.note.unlink(missing_ok=True)
        except OSError as error:
            raise _disk_error(job, error) from error

    def _prepare(self, job: _Job, about: RemoteState) -> None:
        """Go on with what is here only if it is of the same content."""
        wanted = {"repository": self.repository.id, "commit": self.repository.commit, "file": job.file.path,
                  "etag": about.etag, "size": about.size}
        kept = pending(job.note)
        if job.part.exists() and (kept.get("etag") != about.etag or kept.get("size") != about.size):
            job.part.unlink()
        job.note.write_text(json.dumps(wanted, indent=1), "utf-8")

    def _load(self, job: _Job, size: int | None, tell: Callable[[int, str], None], stop: Callable[[], bool]) -> str:
        """All bytes that are missing; the SHA-256 (hex) over the whole."""
        with job.part.open("ab+") as file:
            sink = Sink(file)
            sink.read_over(tell, stop)
            tries = 0
            while size is None or sink.size < size:
                before, lost = sink.size, None
                try:
                    self._load_on(job, sink, size, tell, stop)
                except OfflineError as error:
                    lost = error
                if size is None and lost is None:
                    break
                # An answer that ends early without an error is asked for the rest too, but not for ever.
                tries = 1 if sink.size > before else tries + 1
                if tries > _TRIES:
                    raise lost or OfflineError(Text("The connection to {host} keeps ending.", host=self.hub.host),
                                               hint=Text("Resume later: what came so far is kept."))
                if sink.size == before:
                    tell(sink.size, WAITING)
                    self._pause(min(2.0 ** (tries - 1), _LONGEST_WAIT_S), stop)
            file.flush()
            os.fsync(file.fileno())
            if size is not None and sink.size > size:
                sink.restart()
                raise AppError(Text("More bytes came than “{name}” has.", name=job.target.name),
                               hint=Text("Download it again."))
        return sink.digest.hexdigest()

    def _load_on(self, job: _Job, sink: Sink, size: int | None, tell: Callable[[int, str], None],
                 stop: Callable[[], bool]) -> None:
        """What one request brings."""
        with self.hub.stream(self.hub.url(self.repository, job.file), sink.size, None, self.repository.id) as answer:
            if sink.size and answer.status_code != 206:
                sink.restart()  # the server gives the whole file only
            for piece in answer.iter_bytes(_PIECE):
                sink.write(piece)
                tell(sink.size, "")
                if stop():
                    raise Paused
                if size is not None and sink.size >= size:
                    break

    def _pause(self, seconds: float, stop: Callable[[], bool]) -> None:
        while seconds > 0:
            if stop():
                raise Paused
            self._wait(min(seconds, 0.25))
            seconds -= 0.25


class Sink:
    """A file that grows, and the digest of what is in it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def read_over(self, tell: Callable[[int, str], None], stop: Callable[[], bool]) -> None:
        """The digest of what came before a pause. Raises Paused."""
        self._file.seek(0)
        while piece := self._file.read(_PIECE * 16):
            self.digest.update(piece)
            self.size += len(piece)
            tell(self.size, CHECKING)
            if stop():
                raise Paused

    def write(self, piece: bytes) -> None:
        self._file.write(piece)
        self.digest.update(piece)
        self.size += len(piece)

    def restart(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self.digest, self.size = hashlib.sha256(), 0


def discard_part(part: Path) -> None:
    """Remove an unfinished file and the note beside it."""
    for path in (part, part.with_name(part.name.removesuffix(PART) + NOTE)):
        path.unlink(missing_ok=True)


def pending(note: Path) -> dict[str, Any]:
    """What a note beside an unfinished file says of its origin ("repository", "commit", "file", "size"); {} without."""
    try:
        found = json.loads(note.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def _only_one(job: _Job) -> Iterator[None]:
    """Two Paddocks never write one file."""
    import filelock

    lock = filelock.FileLock(job.target.with_name(f".{job.target.name}.lock"), timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise AppError(Text("“{name}” is being downloaded already, by another window or command.",
                            name=job.target.name)) from error
    try:
        yield
    finally:
        lock.release()
        with contextlib.suppress(OSError):
            Path(lock.lock_file).unlink()


def _check_hash(job: _Job, digest: str, wanted: str | None) -> None:
    """The hub's hash of a model file is its SHA-256; where it gives another kind of hash, the size had to do."""
    if wanted is None or len(wanted) != 64 or digest == wanted.lower():
        return
    for path in (job.part, job.note):
        path.unlink(missing_ok=True)
    raise AppError(Text("What came as “{name}” is not what the hub has: its hash differs.", name=job.target.name),
                   why=Text("Bytes were changed on the way, or on this disk."),
                   hint=Text("Download it again; if that happens twice, check the disk and any proxy."))


def _disk_error(job: _Job, error: OSError) -> AppError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return AppError(Text("The disk is full: “{name}” is not finished.", name=job.target.name),
                        hint=Text("Free some space and resume: what came so far is kept."))
    return AppError(Text("“{name}” could not be written.", name=job.target.name), why=error.strerror or str(error),
                    hint=Text("Check the folder's permissions, or choose another folder."))
