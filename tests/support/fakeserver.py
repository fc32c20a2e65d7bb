#!/usr/bin/env python3
"""A fake llama-server for tests: the standard library only, starts in about a tenth of a second.

    python fakeserver.py [serve] [LLAMA-SERVER FLAGS] [FLAGS BELOW]

Of llama-server's own flags it understands --host (an address, or a path that ends in .sock), --port (0: any free one),
--api-key, --api-prefix, -m, -np, -c, --no-slots, --log-jsonl, --ssl-key-file with --ssl-cert-file, and --help,
--version, --list-devices (they print recorded output and exit, so that it can stand as an engine). It ignores all
other flags. Metrics are on, whether or not --metrics is given.

Course of a run
  --load-seconds S     answer 503 for so long; the file of -m, if it exists, is read meanwhile
  --print TEXT         print this line first (repeatable); @FILE prints a file as it is
  --exit-code N        exit with this code: at once, or when --crash-after says
  --crash-after S      die S seconds after /health first said that it is ready, by --crash-signal (default 6) or with
                       --exit-code
  --crash-in-load S    the same, S seconds after the start
  --crash-signal N     the signal to die of
  --hang               listen and accept, but never answer
  --ignore-term        SIGTERM and SIGINT do nothing
  --no-log             print nothing by itself
  --children N         start N child processes that hold our output open
  --detached           … which leave our session, so that no signal to the group reaches them
  --child-pids FILE    write the children's pids there, one a line

Output, right after "listening on"
  --flood N            N lines "flood 0000001 …" as fast as can be
  --garbage            broken UTF-8, a character split between two writes, NUL, colours, CR, a line of 300 KB
  --say TEXT           one more line, with llama.cpp's prefix (repeatable)

Serving
  --slots N            number of slots (as -np; default 1)
  --no-metrics         /metrics answers 501
  --models-early       /v1/models answers while the model is still loading
  --sleeping           /props says is_sleeping
  --token-seconds S    time for one generated token (default 0.005)
  --prompt-seconds S   time for the prompt (default 0)
  --error-in-200       answer requests with an error body and status 200
  --break-stream N     drop the connection after N streamed chunks

Requests to /v1/chat/completions, /completion and /tokenize work like llama-server's: n_predict or max_tokens (default
16), stream, timings_per_token, return_progress, stream_options; the prompt has one token a word. As with the real one,
SIGTERM waits for open requests, a second SIGTERM does not.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

START = time.monotonic()
RECORDED = Path(__file__).resolve().parents[1] / "data" / "engine"
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
OUT_LOCK = threading.Lock()


def arguments(argv):
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    add = parser.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=8080)
    add("--api-key")
    add("--api-prefix", default="")
    add("-m", "--model", default="model.gguf")
    add("-np", "--parallel", type=int, default=0)
    add("-c", "--ctx-size", type=int, default=4096)
    add("--slots", nargs="?", type=int, default=0)
    add("--ssl-key-file")
    add("--ssl-cert-file")
    for name in ("--no-slots", "--no-metrics", "--log-jsonl", "--hang", "--ignore-term", "--no-log", "--detached",
                 "--garbage", "--sleeping", "--models-early", "--error-in-200", "--help", "--version",
                 "--list-devices"):
        add(name, action="store_true")
    for name in ("--load-seconds", "--prompt-seconds"):
        add(name, type=float, default=0.0)
    add("--token-seconds", type=float, default=0.005)
    add("--crash-after", type=float)
    add("--crash-in-load", type=float)
    add("--crash-signal", type=int, default=6)
    add("--exit-code", type=int)
    add("--children", type=int, default=0)
    add("--child-pids")
    add("--flood", type=int, default=0)
    add("--break-stream", type=int, default=0)
    add("--print", action="append", default=[])
    add("--say", action="append", default=[])
    options, _ = parser.parse_known_args(argv)
    options.count = options.slots or (options.parallel if options.parallel > 0 else 1)
    return options


def write(data):
    with OUT_LOCK:
        while data:
            data = data[os.write(2, data):]


def log(text, level="I"):
    if OPTIONS.no_log:
        return
    micros = int((time.monotonic() - START) * 1e6)
    if OPTIONS.log_jsonl:
        name = {"I": "info", "W": "warn", "E": "error", "D": "debug"}[level]
        line = json.dumps({"type": "log", "time": micros, "level": name, "msg": text + "\n"})
    else:
        seconds, micros = divmod(micros, 1_000_000)
        line = f"{seconds // 60}.{seconds % 60:02}.{micros // 1000:03}.{micros % 1000:03} {level} {text}"
    write(line.encode() + b"\n")


class Slot:
    def __init__(self, number):
        self.number, self.task, self.busy = number, -1, False
        self.tokens = self.processed = self.cached = self.decoded = 0
        self.params = {}

    def as_dict(self):
        shown = {"id": self.number, "n_ctx": OPTIONS.ctx_size // OPTIONS.count, "speculative": False,
                 "is_processing": self.busy}
        if self.task >= 0:
            shown |= {
                "id_task": self.task, "n_prompt_tokens": self.tokens, "n_prompt_tokens_processed": self.processed,
                "n_prompt_tokens_cache": self.cached, "params": self.params,
                "next_token": [{"has_next_token": self.busy, "has_new_line": False, "n_remain": -1,
                                "n_decoded": self.decoded}]}
        return shown


class State:
    def __init__(self):
        self.ready_at = None
        self.slots = [Slot(i) for i in range(OPTIONS.count)]
        self.free = threading.Semaphore(OPTIONS.count)
        self.lock = threading.Lock()
        self.waiting = self.open_requests = self.tasks = 0
        self.stopping = threading.Event()
        self.dying = threading.Event()
        self.counters = dict.fromkeys((
            "prompt_tokens_total", "prompt_seconds_total", "prompt_tokens_cached_total", "tokens_predicted_total",
            "tokens_predicted_seconds_total", "n_decode_total", "n_tokens_max", "spec_decode_num_draft_tokens_total",
            "spec_decode_num_accepted_tokens_total", "spec_decode_num_drafts_total"), 0)

    def metrics(self):
        busy = sum(slot.busy for slot in self.slots)
        gauges = {"prompt_tokens_seconds": 0, "predicted_tokens_seconds": 0, "requests_processing": busy,
                  "requests_deferred": self.waiting, "n_busy_slots_per_decode": 1.0}
        lines = []
        for kind, values in (("counter", self.counters), ("gauge", gauges)):
            for name, value in values.items():
                lines += [f"# HELP llamacpp:{name} about", f"# TYPE llamacpp:{name} {kind}",
                          f"llamacpp:{name} {value:g}"]
        return "\n".join(lines) + "\n"


class GoneError(Exception):
    pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def address_string(self):
        return "client"

    def reply(self, code, data, kind="application/json"):
        body = data.encode() if isinstance(data, str) else json.dumps(data).encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, code, message, kind):
        self.reply(code, {"error": {"code": code, "message": message, "type": kind}})

    def admitted(self):
        """The path within the prefix, or None when an answer has been given already."""
        if STATE.ready_at is None and OPTIONS.models_early and self.path == "/v1/models":
            return self.path
        if STATE.ready_at is None:
            self.fail(503, "Loading model", "unavailable_error")
            return None
        path = self.path.partition("?")[0]
        given = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or self.headers.get("X-Api-Key")
        if OPTIONS.api_key and path not in ("/health", "/v1/health") and given != OPTIONS.api_key:
            log("srv  operator(): unauthorized: Invalid API Key", "W")
            self.fail(401, "Invalid API Key", "authentication_error")
            return None
        if not path.startswith(OPTIONS.api_prefix):
            self.fail(404, "File Not Found", "not_found_error")
            return None
        return path.removeprefix(OPTIONS.api_prefix)

    def do_GET(self):
        path = self.admitted()
        if path is None:
            return
        if path in ("/health", "/v1/health"):
            self.reply(200, {"status": "ok"})
            if OPTIONS.crash_after is not None and not STATE.dying.is_set():
                STATE.dying.set()
                after(OPTIONS.crash_after, die)
        elif path == "/props":
            self.reply(200, props())
        elif path == "/slots" and not OPTIONS.no_slots:
            self.reply(200, [slot.as_dict() for slot in STATE.slots])
        elif path == "/metrics" and not OPTIONS.no_metrics:
            self.reply(200, STATE.metrics(), "text/plain; version=0.0.4")
        elif path in ("/slots", "/metrics"):
            self.fail(501, f"This server does not support {path[1:]} endpoint.", "not_supported_error")
        elif path in ("/models", "/v1/models"):
            self.reply(200, {"object": "list", "data": [{
                "id": OPTIONS.model, "object": "model", "meta": {"n_ctx": OPTIONS.ctx_size, "n_ctx_train": 32768}}]})
        else:
            self.fail(404, "File Not Found", "not_found_error")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.admitted()
        if path is None:
            return
        request = json.loads(body or b"{}")
        if path == "/tokenize":
            self.reply(200, {"tokens": list(range(len(str(request.get("content", "")).split())))})
        elif path in ("/completion", "/v1/completions", "/v1/chat/completions", "/chat/completions"):
            with STATE.lock:
                STATE.open_requests += 1
            try:
                self.generate(request, chat="chat" in path)
            except (GoneError, BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                with STATE.lock:
                    STATE.open_requests -= 1
        else:
            self.fail(404, "File Not Found", "not_found_error")

    def generate(self, request, chat):
        if OPTIONS.error_in_200:
            self.reply(200, {"error": {"code": 400, "message": "request (9999 tokens) exceeds the available context "
                                       "size (4096 tokens), try increasing it", "type": "exceed_context_size_error"}})
            return
        text = " ".join(str(m.get("content", "")) for m in request["messages"]) if chat else str(request["prompt"])
        prompt, wanted = len(text.split()) or 1, int(request.get("n_predict") or request.get("max_tokens") or 16)
        with STATE.lock:
            STATE.waiting += 1
        STATE.free.acquire()
        with STATE.lock:
            STATE.waiting -= 1
            slot = next(s for s in STATE.slots if not s.busy)
            STATE.tasks += 2
            slot.busy, slot.task, slot.tokens = True, STATE.tasks, prompt
            slot.processed = slot.cached = slot.decoded = 0
            slot.params = {"n_predict": wanted, "stream": bool(request.get("stream"))}
        tag = f"id {slot.number:2d} | task {slot.task} | "
        log(f"slot launch_slot_: {tag}processing task, is_child = 0")
        timings = None
        try:
            timings = self.answer(request, chat, slot, prompt, wanted)
        finally:
            self.release(slot, tag, timings)

    def answer(self, request, chat, slot, prompt, wanted):
        stream = bool(request.get("stream"))
        if stream:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
        begin = time.monotonic()
        self.progress(request, stream, prompt, 0, begin)
        self.pause(OPTIONS.prompt_seconds)
        slot.processed = prompt
        self.progress(request, stream, prompt, prompt, begin)
        first = time.monotonic()
        words = []
        for number in range(wanted):
            self.pause(OPTIONS.token_seconds)
            words.append(WORDS[number % len(WORDS)] + " ")
            slot.decoded += 1
            slot.tokens += 1
            STATE.counters["n_decode_total"] += 1
            if stream:
                if OPTIONS.break_stream and number >= OPTIONS.break_stream:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    raise GoneError
                extra = {}
                if request.get("timings_per_token"):
                    extra = {"timings": timings_of(prompt, first - begin, number + 1, time.monotonic() - first)}
                self.chunk(delta(words[-1], chat) | extra)
        timings = timings_of(prompt, first - begin, wanted, time.monotonic() - first)
        usage = {"prompt_tokens": prompt, "completion_tokens": wanted, "total_tokens": prompt + wanted,
                 "prompt_tokens_details": {"cached_tokens": 0}}
        if not stream:
            self.reply(200, whole("".join(words), chat) | {"timings": timings} | ({"usage": usage} if chat else {}))
            return timings
        if not chat:
            self.chunk({"content": "", "stop": True, "timings": timings})
        elif (request.get("stream_options") or {}).get("include_usage"):
            self.chunk(delta(None, True))
            self.chunk({"choices": [], "usage": usage, "timings": timings})
        else:
            self.chunk(delta(None, True) | {"timings": timings})
        if chat:
            self.raw_chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        return timings

    def progress(self, request, stream, total, done, begin):
        if stream and request.get("return_progress"):
            self.chunk(delta("", "messages" in request) | {"prompt_progress": {
                "total": total, "cache": 0, "processed": done, "time_ms": int((time.monotonic() - begin) * 1000)}})

    def pause(self, seconds):
        if seconds:
            time.sleep(seconds)

    def chunk(self, data):
        self.raw_chunk(b"data: " + json.dumps(data).encode() + b"\n\n")

    def raw_chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def release(self, slot, tag, timings):
        counters = STATE.counters
        if timings is not None:
            for name, ms, count in (("prompt eval time", "prompt_ms", "prompt_n"),
                                    ("       eval time", "predicted_ms", "predicted_n")):
                log(f"slot print_timing: {tag}{name} = {timings[ms]:10.2f} ms / {timings[count]:5d} tokens "
                    f"({timings[ms] / max(timings[count], 1):8.2f} ms per token, "
                    f"{1000 * timings[count] / max(timings[ms], 0.001):8.2f} tokens per second)")
            total = timings["prompt_ms"] + timings["predicted_ms"]
            log(f"slot print_timing: {tag}      total time = {total:10.2f} ms / "
                f"{timings['prompt_n'] + timings['predicted_n']:5d} tokens")
            counters["prompt_tokens_total"] += timings["prompt_n"]
            counters["prompt_seconds_total"] += timings["prompt_ms"] / 1000
            counters["tokens_predicted_seconds_total"] += timings["predicted_ms"] / 1000
        else:
            log(f"srv          stop: cancel task, id_task = {slot.task}", "W")
        counters["tokens_predicted_total"] += slot.decoded
        counters["n_tokens_max"] = max(counters["n_tokens_max"], slot.tokens)
        log(f"slot      release: {tag}stop processing: n_tokens = {slot.tokens}, truncated = 0")
        with STATE.lock:
            slot.busy = False
            slot.processed = slot.cached = slot.decoded = 0
        STATE.free.release()


def timings_of(prompt, prompt_s, count, predicted_s):
    prompt_ms, predicted_ms = max(prompt_s * 1000, 0.01), max(predicted_s * 1000, 0.01)
    return {"cache_n": 0, "prompt_n": prompt, "prompt_ms": prompt_ms, "prompt_per_token_ms": prompt_ms / prompt,
            "prompt_per_second": 1000 * prompt / prompt_ms, "predicted_n": count, "predicted_ms": predicted_ms,
            "predicted_per_token_ms": predicted_ms / max(count, 1),
            "predicted_per_second": 1000 * max(count - 1, 0) / predicted_ms}


def delta(content, chat):
    if not chat:
        return {"content": content, "stop": False}
    return {"object": "chat.completion.chunk", "choices": [{
        "index": 0, "delta": {} if content is None else {"content": content},
        "finish_reason": "stop" if content is None else None}]}


def whole(content, chat):
    if not chat:
        return {"content": content, "stop": True}
    return {"object": "chat.completion", "choices": [{
        "index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}


def props():
    return {"default_generation_settings": {"params": {}, "n_ctx": OPTIONS.ctx_size // OPTIONS.count},
            "total_slots": OPTIONS.count, "model_alias": "fake", "model_ftype": "Q4_K", "model_path": OPTIONS.model,
            "modalities": {"vision": False, "video": False, "audio": False}, "endpoint_slots": not OPTIONS.no_slots,
            "endpoint_props": False, "endpoint_metrics": not OPTIONS.no_metrics, "chat_template": "",
            "build_info": "b11434-fake", "is_sleeping": OPTIONS.sleeping}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # clients that go away


class UnixServer(Server):
    address_family = getattr(socket, "AF_UNIX", None)

    def server_bind(self):
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", 0

    def get_request(self):
        connection, _ = super().get_request()
        return connection, ("", 0)


class Ipv6Server(Server):
    address_family = socket.AF_INET6


def make_server():
    unix = OPTIONS.host.endswith(".sock")
    kind = UnixServer if unix else Ipv6Server if ":" in OPTIONS.host else Server
    kind.allow_reuse_address = Handler.disable_nagle_algorithm = not unix
    try:
        server = kind(OPTIONS.host if unix else (OPTIONS.host, OPTIONS.port), Handler)
    except OSError:
        log(f"srv         start: couldn't bind HTTP server socket, hostname: {OPTIONS.host}, port: {OPTIONS.port}", "E")
        log("srv  llama_server: exiting due to HTTP server error", "E")
        sys.exit(1)
    if OPTIONS.ssl_key_file and OPTIONS.ssl_cert_file:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(OPTIONS.ssl_cert_file, OPTIONS.ssl_key_file)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def die():
    if OPTIONS.exit_code is not None:
        os._exit(OPTIONS.exit_code)
    os.kill(os.getpid(), OPTIONS.crash_signal)


def after(seconds, act):
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


def load():
    end = START + OPTIONS.load_seconds
    if OPTIONS.load_seconds and os.path.isfile(OPTIONS.model):
        size = os.path.getsize(OPTIONS.model)
        step = max(size // 50, 1)
        with open(OPTIONS.model, "rb", buffering=0) as file:
            while file.read(step):
                time.sleep(OPTIONS.load_seconds / 60)
    time.sleep(max(0.0, end - time.monotonic()))


def flood(count, chunk=20000):
    for start in range(1, count + 1, chunk):
        write("".join([f"flood {i:07d} some words to make it a line\n"
                       for i in range(start, min(start + chunk, count + 1))]).encode())


def garbage():
    write(b"broken \x9d\xff utf-8\nsplit caf\xc3")
    time.sleep(0.05)
    write(b"\xa9 here\nnul\x00byte\n\x1b[34m0.00.000.001\x1b[0m \x1b[32mI \x1b[0mcoloured\nfirst\rsecond\r\nthird\n")
    write(b"x" * 300_000 + b"\nafter the garbage\n")


def spawn_children():
    pids = []
    for _ in range(OPTIONS.children):
        code = "import signal,time;signal.signal(signal.SIGTERM,signal.SIG_IGN);time.sleep(60)"
        pids.append(subprocess.Popen([sys.executable, "-I", "-S", "-c", code],
                                     start_new_session=OPTIONS.detached).pid)
    if OPTIONS.child_pids:
        Path(OPTIONS.child_pids).write_text("".join(f"{pid}\n" for pid in pids))


def on_signal(_number, _frame):
    if OPTIONS.ignore_term:
        return
    if STATE.stopping.is_set():
        write(b"Received second interrupt, terminating immediately.\n")
        os._exit(1)
    STATE.stopping.set()


def answer_as_program():
    if OPTIONS.help:
        print((RECORDED / "llama-11434-serve-help.txt").read_text(encoding="utf-8"), end="")
    elif OPTIONS.version:
        print("version: 0.6.0-dev (build 11434, commit 0123abc)\nbuilt with a fake for tests", file=sys.stderr)
    elif OPTIONS.list_devices:
        print("Available devices:\n  (none)")
    else:
        return False
    return True


def say_first():
    for text in OPTIONS.print:
        write(Path(text[1:]).read_bytes() if text.startswith("@") else text.encode() + b"\n")


def main():
    say_first()
    if OPTIONS.exit_code is not None and OPTIONS.crash_after is None and OPTIONS.crash_in_load is None:
        return OPTIONS.exit_code
    if OPTIONS.crash_in_load is not None:
        after(OPTIONS.crash_in_load, die)
    if OPTIONS.ignore_term:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    log("srv  llama_server: initializing ...")
    if not OPTIONS.api_key:
        log("srv  llama_server: security: no API key is set and CORS allows all origins", "W")
    spawn_children()
    server = make_server()
    if OPTIONS.hang:
        log("srv  llama_server: hanging")
        threading.Event().wait()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    log(f"srv    load_model: loading model '{OPTIONS.model}'")
    load()
    log(f"srv    load_model: initializing, n_slots = {OPTIONS.count}, "
        f"n_ctx_slot = {OPTIONS.ctx_size // OPTIONS.count}, kv_unified = 'false'")
    log("srv  llama_server: model loaded")
    STATE.ready_at = time.monotonic()
    if not OPTIONS.ignore_term:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, on_signal)
    scheme = "https" if OPTIONS.ssl_key_file else "http"
    where = f"unix://{OPTIONS.host}" if OPTIONS.host.endswith(".sock") else (
        f"{scheme}://{OPTIONS.host}:{server.server_address[1]}")
    log(f"srv  llama_server: listening on {where}")
    for text in OPTIONS.say:
        log(text, "W")
    if OPTIONS.garbage:
        garbage()
    if OPTIONS.flood:
        flood(OPTIONS.flood)
    STATE.stopping.wait()
    log("srv    operator(): operator(): cleaning up before exit...")
    while STATE.open_requests:
        time.sleep(0.02)
    return 0


if __name__ == "__main__":
    OPTIONS = arguments(sys.argv[1:])
    if answer_as_program():
        sys.exit(0)
    STATE = State()
    code = main()
    sys.stdout.flush()
    os._exit(code)
