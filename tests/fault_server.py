"""An HTTP server on the loopback that has one file and misbehaves on request."""

from __future__ import annotations

import email.utils
import gzip
import hashlib
import http.server
import json
import random
import signal
import threading
import time
import urllib.parse
from collections.abc import Callable

CONTENT = random.Random(1).randbytes(1 << 20)
PAGE = b"<!DOCTYPE html><html><body>Back soon</body></html>"
OTHER = random.Random(2).randbytes(1 << 20)  # what the file is after a change


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves one file; before that, one fault of `server.faults` a request."""

    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def log_message(self, *args) -> None:
        pass

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        self.answer()

    def answer(self) -> None:
        server = self.server
        if self.path.startswith("/missing"):
            self.reply(404, b"no")
        elif self.path.startswith("/lost"):
            self.reply(302, b"", {"Location": "http://127.0.0.1:9/"})
        elif self.path.startswith("/moved"):
            self.reply(302, b"", {"Location": f"{server.url}{self.path.removeprefix('/moved')}"})
        elif server.faults:
            FAULTS[server.faults.pop(0)](self)
        else:
            self.whole_or_rest()

    def start(self) -> int:
        return int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])

    def whole_or_rest(self) -> None:
        validator = self.headers.get("If-Range")
        matches = not validator or validator in self.server.validators.values()
        self.rest() if self.headers.get("Range") and matches else self.whole()

    def whole(self) -> None:
        self.reply(200, self.server.content, self.server.validators)

    def rest(self, shift: int = 0, *, message: bool = True) -> None:
        content, start = self.server.content, self.start() + shift
        last = self.headers.get("Range", "").rpartition("-")[2]
        end = int(last) + 1 if last else len(content)
        if start >= len(content):
            self.reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        span = {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"} if message else {}
        self.reply(206, content[start:end], self.server.validators | span)

    def cut(self) -> None:
        """Announce everything, send a third of what is left, hang up."""
        start, content = self.start(), self.server.content
        span = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        headers = self.server.validators | (span if start else {})
        self.reply(206 if start else 200, content[start:], headers, share=1 / 3)

    def without_length(self, body: bytes) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        self.close_connection = True

    def odd_length(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "\xb2")
        self.end_headers()
        self.hang_up()

    def hang_up(self) -> None:
        self.close_connection = True

    def drip(self, sent: bytes, begin: bytes = b"") -> None:
        """Send a beginning, and the rest byte by byte until the client has enough.

        A client in this process has enough after some bytes: its alarm goes off now, not by the
        clock, which on a busy machine would go off for servers that are well, too.
        """
        self.wfile.write(begin)
        for number, byte in enumerate(sent):
            if number == 5 and callable(signal.getsignal(signal.SIGALRM)):
                signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(0.01)
        self.hang_up()

    def chunks(self, body: bytes) -> None:
        """Send a body in one chunk that announces twice as much, and hang up."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n" % (2 * len(body)) + body)
        self.hang_up()

    def storage(self, fault: str, status: int) -> None:
        """Send elsewhere, where the address is valid no more, or the file is not."""
        if self.path.startswith("/signed"):
            self.reply(status, b"<Error><Code>AccessDenied</Code></Error>")
        else:
            port = self.server.server_port
            where = {"Location": f"http://localhost:{port}/signed?X-Amz-Signature=abc"}
            self.server.faults.insert(0, fault)
            self.reply(302, b"", where)

    def star(self) -> None:
        """Send a rest without saying how long the whole is."""
        content, start = self.server.content, self.start()
        span = {"Content-Range": f"bytes {start}-{len(content) - 1}/*"}
        self.reply(206, content[start:], self.server.validators | span)

    def change(self) -> None:
        """The file changes, and the server does not look at If-Range."""
        self.server.content = self.server.changed
        self.server.validators = {"ETag": '"changed"'}
        self.rest() if self.headers.get("Range") else self.cut()

    def encoded(self) -> None:
        self.reply(200, gzip.compress(self.server.content, 1), {"Content-Encoding": "gzip"})

    def reply(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, share: float = 1
    ) -> None:
        """Announce all of the body and send a share of it; after a part, hang up."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: int(len(body) * share)])
        if share < 1:
            self.hang_up()


def page(status: int) -> Callable[[Handler], None]:
    return lambda handler: handler.reply(status, PAGE, {"Content-Type": "text/html"})


def later(status: int, wait: str) -> Callable[[Handler], None]:
    return lambda handler: handler.reply(status, b"later", {"Retry-After": wait})


FAULTS: dict[str, Callable[[Handler], None]] = {
    "none": Handler.whole_or_rest,
    "401": lambda handler: handler.reply(401, b"no", {"X-Error-Message": "Log in."}),
    "403": lambda handler: handler.reply(403, b"no"),
    "404": lambda handler: handler.reply(404, b"no"),
    "410": lambda handler: handler.reply(410, b"no"),
    "451": lambda handler: handler.reply(451, b"no"),
    "429": later(429, "7"),
    "503": later(503, email.utils.formatdate(time.time() + 1e6, usegmt=True)),
    "500, and a Retry-After that means nothing": later(500, "soon"),
    "hangs up without an answer": Handler.hang_up,
    "cut": Handler.cut,
    "no ranges": Handler.whole,
    "short, without a length": lambda handler: handler.without_length(handler.server.content[:-9]),
    "short, with a wrong length": lambda handler: handler.reply(200, handler.server.content[:999]),
    "whole, without a length": lambda handler: handler.without_length(handler.server.content),
    "empty": lambda handler: handler.reply(200, b""),
    "web page": page(200),
    "202": page(202),
    "204": lambda handler: handler.reply(204, b""),
    "400": page(400),
    "421": page(421),
    "500": page(500),
    "504": page(504),
    "SlowDown": lambda handler: handler.reply(503, b"<Error><Code>SlowDown</Code></Error>"),
    "redirects to itself": lambda handler: handler.reply(302, b"", {"Location": handler.path}),
    "redirects to no address": lambda handler: handler.reply(
        302, b"", {"Location": "https://[storage/a?X-Amz-Signature=abc"}
    ),
    "redirects to bytes": lambda handler: handler.reply(
        302, b"", {"Location": "http://127.0.0.1/\xff?X-Amz-Signature=abc"}
    ),
    "a length that is no number": Handler.odd_length,
    "503, and a Retry-After after all years": later(503, "Fri, 31 Dec 99999 23:59:59 GMT"),
    "expired signature": lambda handler: handler.storage("expired signature", 403),
    "storage wants a name": lambda handler: handler.storage("storage wants a name", 401),
    "storage lacks it": lambda handler: handler.storage("storage lacks it", 404),
    "drips the file": lambda handler: handler.drip(
        bytes(999), b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n"
    ),
    "drips its status": lambda handler: handler.drip(b"HTTP/1.1 200 O" + b"K" * 999),
    "drips a header": lambda handler: handler.drip(b"a" * 999, b"HTTP/1.1 200 OK\r\nX-Note: "),
    "drips the page of a redirect": lambda handler: handler.drip(
        b"a" * 999, b"HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 999\r\n\r\n"
    ),
    "chunks, cut": lambda handler: handler.chunks(handler.server.content[:999]),
    "damaged": lambda handler: handler.reply(200, bytes(len(handler.server.content))),
    "whole, as a part of a file of unknown size": Handler.star,
    "gzip, though nobody asked": Handler.encoded,
    "206 that says no bytes": lambda handler: handler.rest(message=False),
    "206 from another byte": lambda handler: handler.rest(shift=1),
    "416": lambda handler: handler.reply(416, b"", {"Content-Range": "bytes */5"}),
    "changed": Handler.change,
}


class HubHandler(Handler):
    """As much of the hub's protocol as one data set needs.

    It has `server.files` at `server.commit`; those in `server.damaged` come so once. Where
    `server.lists` is a commit, the list is said to be of that one.
    """

    def answer(self) -> None:
        server, path = self.server, urllib.parse.unquote(self.path.split("?")[0])
        resolve = f"/datasets/{server.repo}/resolve/{server.commit}/"
        name = path.removeprefix(resolve)
        fault = server.faults.pop(0) if server.faults else "none"
        if fault != "none":
            FAULTS[fault](self)
        elif path.startswith(f"/api/datasets/{server.repo}/revision/"):
            files = [self.listed(name) for name in server.files]
            about = {"id": server.repo, "sha": server.lists or server.commit, "siblings": files}
            self.reply(200, json.dumps(about).encode())
        elif path.startswith(resolve) and name in server.files:
            content = server.files[name]
            if name in server.damaged:
                server.damaged.remove(name)
                content = bytes(len(content))
            self.reply(200, content)
        else:
            self.reply(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def listed(self, name: str) -> dict:
        content = self.server.files[name]
        said = {"rfilename": name, "size": len(content)}
        if name.endswith(".md"):  # small ones are in git
            return said | {
                "blobId": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            }
        digest = self.server.sha256 or hashlib.sha256(content).hexdigest()
        return said | {"blobId": "0" * 40, "lfs": {"sha256": digest, "size": len(content)}}


class Server(http.server.ThreadingHTTPServer):
    """A server that keeps it to itself when a client hangs up."""

    def handle_error(self, *_request) -> None:
        pass


class Running:
    """A server on a free port."""

    def __init__(self, handler: type[Handler] = Handler) -> None:
        self.handler = handler

    def __enter__(self) -> http.server.ThreadingHTTPServer:
        server = self.server = Server(("127.0.0.1", 0), self.handler)
        server.requests, server.faults, server.damaged, server.connections = [], [], [], 0
        server.lists = None
        server.content, server.changed, server.validators = CONTENT, OTHER, {"ETag": '"v1"'}
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server

    def __exit__(self, *_error) -> None:
        self.server.shutdown()
        self.server.server_close()
