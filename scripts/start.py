#!/usr/bin/env python3
"""Set everything up and start Paddock: the window, or with no screen the demo, headless, with pictures and a report.

    python3 scripts/start.py [--no-run] [arguments for paddock …]
"""

import os
import subprocess
import sys

from setup_steps import PYTHON, ROOT, SetupError, say, set_up


def has_screen():
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def main():
    args = [a for a in sys.argv[1:] if a != "--no-run"]
    try:
        set_up(["sample"])
    except SetupError as error:
        print("\n%s" % error, file=sys.stderr)
        return 1
    if "--no-run" in sys.argv:
        return 0
    if args or has_screen():
        say("starting Paddock")
        return subprocess.call([str(PYTHON), "-m", "paddock", *args])
    out = ROOT / "demo-out"
    say("no screen: running the demo headless; pictures and a report go to %s" % out)
    return subprocess.call([str(PYTHON), "-m", "paddock", "demo", "--out", str(out)])


if __name__ == "__main__":
    sys.exit(main())
