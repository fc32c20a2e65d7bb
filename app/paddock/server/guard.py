"""The last step before the server's own program; run as a script by `posix.spawn`, never imported by it.

    python -I -S guard.py OWNER_PID KEEP_LC_CTYPE PROGRAM [ARGUMENTS…]

Standard input is the *life line*: a pipe whose other end only Paddock holds. This process leads a new session. It

1. asks the kernel (Linux) to be killed when the thread that forked it ends: Paddock's supervisor thread,
2. leaves a warden in its process group: a tiny shell that waits on the life line and kills the whole group when the
   line ends without a word, which is what any death of Paddock does, however sudden,
3. becomes the server by exec: same pid, nothing in between.

Two guards, because each has a hole: the kernel's signal reaches the server alone, not what it started; the warden can
itself be killed. What neither reaches is a grandchild that left the process group on its own account.
"""

import os
import signal
import sys

WARDEN = 'trap "" HUP INT QUIT TERM; read -r _ || kill -KILL 0 # Paddock is gone: its server ends with it'
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Linux: SIGKILL to us when the thread that forked us ends; the setting outlives exec."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def leave_warden() -> None:
    """A double fork: the warden shall be nobody's child, so that it is not taken for a part of the server."""
    middle = os.fork()
    if middle:
        os.waitpid(middle, 0)
        return
    try:
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.execv("/bin/sh", ["sh", "-c", WARDEN])
    finally:
        os._exit(0)


def main(owner: int, keep_lc_ctype: bool, program: list[str]) -> int:
    """Does not return when all goes well; 127 with a sentence on stderr when the program cannot be started."""
    if sys.platform == "linux":
        die_with_parent()
    if os.getppid() != owner:
        return 1
    leave_warden()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    if not keep_lc_ctype:
        os.environ.pop("LC_CTYPE", None)  # the interpreter sets it where no locale is set; the server shall not see it
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # ignored by the interpreter, and that would be inherited
    try:
        os.execvp(program[0], program)
    except OSError as error:
        os.write(2, os.fsencode(f"paddock: cannot start {program[0]}: {error.strerror}\n"))
    return 127


if __name__ == "__main__":
    code = main(int(sys.argv[1]), sys.argv[2] == "1", sys.argv[3:])
    os._exit(code)
