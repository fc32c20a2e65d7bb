"""The two README commands on a system that holds nothing but python3: as root, and as a user without sudo.

Needs root, debootstrap and the package mirrors; the first run compiles the engine (about ten minutes on two cores).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]
ROOT = Path(__file__).resolve().parents[2]
COPIED = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
"""What this machine trusts; kept where the package ca-certificates does not write it anew."""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A minimal Debian with python3 and a clean clone in /work/paddock."""
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("needs root and debootstrap")
    mirror = own_mirror()
    if mirror is None:
        pytest.skip("this is no Debian: its package mirror is not known")
    root = Path(os.environ.get("PADDOCK_TEST_CHROOT") or tmp_path_factory.mktemp("bare") / "root")
    if not (root / "usr/bin/python3").exists():
        words = ["debootstrap", "--variant=minbase", "--include=python3", mirror[1], str(root), mirror[0]]
        made = subprocess.run(words, capture_output=True, text=True)
        if made.returncode:
            pytest.skip(f"debootstrap could not make a system here: {made.stdout[-400:]}")
    for name in COPIED:
        if Path(name).exists():
            (root / name[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, root / name[1:])
    if AUTHORITIES.exists():
        shutil.copy(AUTHORITIES, root / "etc/trusted.crt")
    mounted = []
    for name in ("proc", "dev"):
        subprocess.run(["mount", "--bind", f"/{name}", str(root / name)], check=True)
        mounted.append(root / name)
    try:
        yield root
    finally:
        for point in reversed(mounted):
            subprocess.run(["umount", "-l", str(point)], check=True)


def own_mirror() -> tuple[str, str] | None:
    """(address, release) that this system's own package lists come from."""
    form = ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT)", "Created-By: Packages"]
    done = subprocess.run(form, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        site, _, rest = line.partition(" ")
        if rest.endswith(" main") and "security" not in site:
            return site, rest.split()[0].removesuffix("-updates")
    return None


def clone(root: Path, place: str) -> None:
    target = root / place
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(target)], check=True)


def inside(root: Path, command: str, user: str = "root", home: str = "/root") -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
    env |= {name: "/etc/trusted.crt" for name in ("PIP_CERT", "SSL_CERT_FILE") if (root / "etc/trusted.crt").exists()}
    env |= {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "LANG": "C.UTF-8"}
    env.pop("PIP_FIND_LINKS", None)
    words = ["nice", "chroot", f"--userspec={user}", str(root), "/bin/sh", "-c", command]
    return subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_user_without_sudo_is_told_the_one_command(bare: Path) -> None:
    clone(bare, "srv/user")
    inside(bare, "id ada 2>/dev/null || useradd -m ada; chown -R ada /srv/user")
    done = inside(bare, "cd /srv/user && python3 scripts/start.py", user="ada", home="/home/ada")
    assert done.returncode == 1, done.stdout[-3000:]
    assert "apt-get install -y" in done.stdout
    assert "Traceback" not in done.stdout


def test_root_gets_everything_and_the_demo_runs(bare: Path) -> None:
    clone(bare, "srv/root")
    done = inside(bare, "cd /srv/root && python3 scripts/start.py")
    assert done.returncode == 0, done.stdout[-4000:]
    pictures = list((bare / "srv/root/demo-out").glob("*.png"))
    assert pictures
    assert (bare / "srv/root/demo-out/report.txt").read_text()


def test_a_second_start_takes_seconds_and_runs_again(bare: Path) -> None:
    done = inside(bare, "cd /srv/root && python3 scripts/start.py --no-run")
    assert done.returncode == 0, done.stdout[-4000:]
    assert "compil" not in done.stdout
