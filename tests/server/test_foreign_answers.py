"""A web server that is no llama.cpp: its page is no reason that anybody could read."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from paddock.server import Client


@pytest.mark.parametrize(("page", "message"), [
    (b"<!DOCTYPE HTML>\n<html><p>Not here</p></html>", "HTTP 404"),
    (b"no such\n   page", "no such page"),
    (b'{"error": {"message": "gone"}}', "gone")])
def test_a_page_is_told_by_its_code_and_words_on_one_line(page: bytes, message: str) -> None:
    class Web(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{server.server_port}", None, 5.0) as client:
            assert client.props().message == message
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
