"""Files of other machines are told from those of this one."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from paddock.launch import Plan
from paddock.work import filesystems
from paddock.work.conditions import gather

Part = namedtuple("Part", "device mountpoint fstype opts")


def mounted(monkeypatch: pytest.MonkeyPatch, *parts: Part) -> None:
    monkeypatch.setattr(psutil, "disk_partitions", lambda all=False: list(parts))


@pytest.mark.parametrize(("kind", "remote"), [
    ("nfs4", True), ("cifs", True), ("fuse.sshfs", True), ("fuse.gvfsd-fuse", True), ("fuse.rclone", True),
    ("9p", True), ("smbfs", True), ("ext4", False), ("apfs", False), ("fuse.ntfs-3g", False), ("fuseblk", False),
    ("overlay", False), ("NTFS", False)])
def test_the_kind_tells_whether_the_bytes_come_over_the_network(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, remote: bool) -> None:
    mounted(monkeypatch, Part("d", "/", "ext4", "rw"), Part("n", str(tmp_path), kind, "rw"))
    assert filesystems.file_system(str(tmp_path / "m.gguf")) == (kind, remote)


def test_the_innermost_mount_counts_and_a_name_that_only_begins_alike_does_not(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, Part("n", str(tmp_path / "a"), "nfs", "rw"), Part("d", str(tmp_path), "ext4", "rw"),
            Part("x", str(tmp_path / "a" / "b"), "xfs", "rw"))
    assert filesystems.file_system(str(tmp_path / "a" / "m.gguf")) == ("nfs", True)
    assert filesystems.file_system(str(tmp_path / "a" / "b" / "m.gguf")) == ("xfs", False)
    assert filesystems.file_system(str(tmp_path / "abc" / "m.gguf")) == ("ext4", False)


def test_a_link_to_a_network_drive_lies_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "m.gguf").write_bytes(b"x")
    (tmp_path / "m.gguf").symlink_to(tmp_path / "net" / "m.gguf")
    mounted(monkeypatch, Part("d", "/", "ext4", "rw"), Part("n", str(tmp_path / "net"), "cifs", "rw"))
    found = gather(Plan().with_("model", str(tmp_path / "m.gguf")), None, None)
    assert (found.file_system, found.remote_file_system) == ("cifs", True)


def test_what_the_system_does_not_tell_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch)
    assert filesystems.file_system(str(tmp_path)) == (None, None)

    def refuse(all: bool = False) -> None:
        raise PermissionError
    monkeypatch.setattr(psutil, "disk_partitions", refuse)
    assert filesystems.file_system(str(tmp_path)) == (None, None)
