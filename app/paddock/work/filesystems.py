"""Which file system a file lies on, and whether that is another machine's."""

from __future__ import annotations

import os
import re

import psutil

_REMOTE = frozenset({
    "nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "sshfs", "9p", "afs", "afpfs", "coda", "ncpfs",
    "ceph", "glusterfs", "lustre", "beegfs", "gpfs", "orangefs", "pvfs2", "davfs", "davfs2", "webdav", "rclone", "s3fs",
    "gcsfuse", "goofys", "mount-s3", "juicefs", "ceph-fuse", "gvfsd-fuse", "kio-fuse", "cephfs", "curlftpfs"})
"""As the kernels name them; FUSE programs without their "fuse." in front."""
_SHARE = re.compile(r"[\\/]{2}[^\\/?.][^\\/]*[\\/]+[^\\/]")
"""\\\\server\\share: Windows opens it without a drive."""


def file_system(path: str) -> tuple[str | None, bool | None]:
    """(its name, whether another machine holds the bytes); None where the system does not tell. Links are followed."""
    real = os.path.realpath(path)
    if os.name == "nt" and _SHARE.match(real):
        return "SMB", True
    best, kind, options = "", "", ""
    try:
        for part in psutil.disk_partitions(all=True):
            inside = real == part.mountpoint or real.startswith(part.mountpoint.rstrip("/\\") + os.sep)
            if inside and len(part.mountpoint) >= len(best):
                best, kind, options = part.mountpoint, part.fstype, part.opts
    except OSError:
        return None, None
    if os.name == "nt" and "remote" in options.split(","):
        return kind or "SMB", True
    return (kind, is_remote(kind)) if kind else (None, None)


def is_remote(kind: str) -> bool:
    """Whether a file system of this name lies on another machine."""
    name = kind.lower()
    return name in _REMOTE or name.removeprefix("fuse.") in _REMOTE
