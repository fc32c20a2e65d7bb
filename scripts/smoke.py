"""One real request to the first engine found, with the model given: exit 0 when it was answered, else the reason."""

import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from paddock.work import Workspace


def main(model: str) -> int:
    with tempfile.TemporaryDirectory() as data:
        engine = Workspace(data).engine()
        if engine is None:
            print("no engine was found")
            return 1
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        args = [*engine.serve, "-m", model, "-t", "1", "-c", "512", "--host", "127.0.0.1", "--port", str(port)]
        with tempfile.TemporaryFile() as log:
            child = subprocess.Popen(args, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            try:
                answer = ask(child, port)
            finally:
                child.kill()
                child.wait()
            if answer:
                return 0
            log.seek(0)
            print(f"{' '.join(args)}\nexit code {child.returncode}\n" + log.read().decode("utf-8", "replace")[-1200:])
            return 1


def ask(child: subprocess.Popen[bytes], port: int) -> bytes:
    """The answer to a prompt of one word, or nothing when the server ends or two minutes pass."""
    until = time.monotonic() + 120
    body, kind = b'{"prompt": "Hello", "n_predict": 4}', {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/completion", body, kind)
    while time.monotonic() < until and child.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.read()
        except OSError:
            time.sleep(0.2)
    return b""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
