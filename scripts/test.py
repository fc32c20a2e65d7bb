#!/usr/bin/env python3
"""The same set-up as start.py, then the test suite.

    python3 scripts/test.py [--long] [arguments for pytest …]      --long: the long trials instead
"""

import os
import subprocess
import sys

from setup_steps import PYTHON, ROOT, SetupError, say, set_up


def main():
    args = [a for a in sys.argv[1:] if a != "--long"]
    try:
        sample = set_up(["sample", "test", "dev"])
    except SetupError as error:
        print("\n%s" % error, file=sys.stderr)
        return 1
    say("running the tests")
    env = dict(os.environ, QT_QPA_PLATFORM="offscreen", PADDOCK_SAMPLE=str(sample))
    env.pop("DISPLAY", None)
    mark = "long" if "--long" in sys.argv else "not long"
    return subprocess.call([str(PYTHON), "-m", "pytest", "-m", mark, *args], cwd=str(ROOT), env=env)


if __name__ == "__main__":
    sys.exit(main())
