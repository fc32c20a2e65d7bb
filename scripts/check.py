#!/usr/bin/env python3
"""All checks of the house: texts, ruff, mypy, import contracts, tests. Names may be given to run only those.

    .venv/bin/python scripts/check.py [texts] [ruff] [mypy] [contracts] [licences] [tests]
    .venv/bin/python scripts/check.py --update      write the translation catalogues and THIRD_PARTY.md anew
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
ENV = {**os.environ, "MYPYPATH": str(ROOT / "app"), "PYTHONPATH": str(ROOT / "app"), "QT_QPA_PLATFORM": "offscreen"}
COMMANDS = {
    "texts": [sys.executable, "scripts/texts.py"],
    "ruff": [BIN / "ruff", "check", "app", "scripts", "tests"],
    "mypy": [BIN / "mypy"],
    "contracts": [BIN / "lint-imports"],
    "licences": [sys.executable, "scripts/third_party.py"],
    "tests": [sys.executable, "-m", "pytest", "-q", "-m", "not long"],
}


def main() -> int:
    if "--update" in sys.argv:
        return max(subprocess.call([sys.executable, f"scripts/{s}.py", "--update"], cwd=ROOT, env=ENV)
                   for s in ("texts", "third_party"))
    failed = []
    for name in sys.argv[1:] or COMMANDS:
        print(f"— {name}", flush=True)
        if subprocess.call([str(w) for w in COMMANDS[name]], cwd=ROOT, env=ENV):
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
