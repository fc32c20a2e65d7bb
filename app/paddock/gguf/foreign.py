"""Files that are not a GGUF that llama.cpp loads, said in words; and the marks of an unfinished download."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

from paddock.errors import AppError
from paddock.text import Text

UNFINISHED = (".part", ".partial", ".aria2", ".incomplete", ".crdownload", ".download", ".opdownload",
              ".downloadInProgress", ".aria2__temp")
"""Endings that browsers and download programs give to a file, or to a note beside it, until it is whole."""

_AGAIN = Text("Download the file again.")
_CONVERT = Text("Download a current GGUF of this model, or convert the original again.")
_OLD = {b"lmgg": "GGML", b"fmgg": "GGMF", b"tjgg": "GGJT", b"algg": "GGLA",
        b"ggml": "GGML", b"ggmf": "GGMF", b"ggjt": "GGJT", b"ggla": "GGLA"}
_OTHERS = (
    (b"PK\x03\x04", "ZIP (often a PyTorch checkpoint)"), (b"\x80\x02", "Python pickle (a PyTorch checkpoint)"),
    (b"\x1f\x8b", "gzip"), (b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"\x28\xb5\x2f\xfd", "Zstandard"),
    (b"\x89HDF", "HDF5"), (b"\x93NUMPY", "NumPy"), (b"\x7fELF", "program (ELF)"), (b"%PDF", "PDF"),
    (b"\x89PNG", "PNG picture"), (b"Rar!", "RAR"),
)


def unfinished_name(path: Path) -> bool:
    """Whether the name itself says that a download is not finished (Ollama puts numbers behind "-partial")."""
    name = path.name
    return name.endswith(UNFINISHED) or "-partial" in name


def side_files(path: Path) -> tuple[Path, ...]:
    """Files beside this one by which a download program says that it is not finished."""
    name = str(path)  # a scan of a thousand models asks for each of them
    return tuple(Path(name + ending) for ending in UNFINISHED if os.access(name + ending, os.F_OK))


def check_start(start: bytes, size: int, path: Path) -> tuple[int, bool]:
    """(version, big-endian) from the first bytes of a GGUF that can be read; AppError for everything else."""
    if start[:4] != b"GGUF":
        raise _foreign(start, size, path)
    if len(start) < 8:
        raise AppError(Text("“{name}” ends after {size} bytes, within its header.", name=path.name, size=size),
                       hint=_AGAIN)
    (version,) = struct.unpack_from("<I", start, 4)
    # The version is a small number, so low 16 bits of zero mean that its bytes are the other way round.
    big_endian = version & 0xFFFF == 0 and version != 0
    if big_endian:
        (version,) = struct.unpack_from(">I", start, 4)
    if version in (0, 1):
        raise AppError(Text("“{name}” is a GGUF of version {version}.", name=path.name, version=version),
                       why=Text("This first format was replaced in 2023; llama.cpp no longer loads it."), hint=_CONVERT)
    if version > 3:
        raise AppError(Text("“{name}” is a GGUF of version {version}.", name=path.name, version=version),
                       why=Text("This program and llama.cpp know the versions 2 and 3."),
                       hint=Text("The file is damaged, or newer than both: update them."))
    return version, big_endian


def _foreign(start: bytes, size: int, path: Path) -> AppError:
    what = Text("“{name}” is not a GGUF file.", name=path.name)
    if size == 0:
        return AppError(Text("“{name}” is empty.", name=path.name), hint=_AGAIN)
    if unfinished_name(path) or side_files(path):
        return AppError(Text("“{name}” is an unfinished download.", name=path.name),
                        why=Text("It does not yet begin like a GGUF, and its name or a file beside it says that a "
                                 "download goes on."),
                        hint=Text("Let the download finish, or start it again."))
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    lower = text[:64].lower()
    if start.startswith(b"version https://git-lfs"):
        return AppError(what, why=Text("It is a Git LFS pointer: a small text in place of the model."),
                        hint=Text("Run “git lfs pull” in its repository, or download the file itself."))
    if lower.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return AppError(what, why=Text("It is a web page: the download was answered with a page, not with the model."),
                        hint=Text("Download it again; the model may need a login or an accepted licence."))
    if text[:1] in (b"{", b"["):
        return AppError(what, why=_json_reason(text, size),
                        hint=Text("Download it again; the model may need a login or an accepted licence."))
    return _other_format(what, start, size)


def _other_format(what: Text, start: bytes, size: int) -> AppError:
    if start[:4] in _OLD:
        return AppError(what, why=Text("It is in the old {format} format, which llama.cpp no longer loads.",
                                       format=_OLD[start[:4]]), hint=_CONVERT)
    if start[8:9] == b"{" and 0 < int.from_bytes(start[:8], "little") < size:
        return AppError(what, why=Text("It is a safetensors file."),
                        hint=Text("llama.cpp needs GGUF: convert the model with convert_hf_to_gguf.py, or download a "
                                  "GGUF of it."))
    for magic, name in _OTHERS:
        if start.startswith(magic):
            return AppError(what, why=Text("It looks like {format}.", format=name), hint=_CONVERT)
    if not any(start):
        return AppError(what, why=Text("It begins with zeros: space was reserved, but the content never came."),
                        hint=_AGAIN)
    return AppError(what, why=Text("It begins with {bytes} instead of GGUF.", bytes=repr(start[:4])[1:]),
                    hint=Text("Choose a GGUF file, or download it again."))


def _json_reason(text: bytes, size: int) -> Text:
    if size <= len(text) + 64:
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            said = next((message[k] for k in ("error", "message", "detail") if isinstance(message.get(k), str)), None)
            if said:
                return Text("It is an answer of a server in place of the model: “{message}”.", message=said[:200])
    return Text("It is JSON, not a model: perhaps a server's answer that was saved in place of the model, or a part of "
                "the original repository.")
