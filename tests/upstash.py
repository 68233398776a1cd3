"""Upstash's REST interface in front of a Redis, as far as its protocol is public.

`POST /` takes a command, `POST /pipeline` and `POST /multi-exec` take several. It can
be told to fail as the network does.
"""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

TOKEN = "a-token/of=Upstash"
#: What the service does not have, or not over HTTP.
FORBIDDEN = {"CLIENT", "MONITOR", "SUBSCRIBE", "CONFIG", "BLPOP", "WAIT"}


class Refused(Exception):
    """An error of the server, with its first word."""


class Status(bytes):
    """A short answer such as OK, which is no value."""

    __slots__ = ()


class Wire:
    """One connection to the Redis behind it."""

    def __init__(self, redis_url: str) -> None:
        parts = urlsplit(redis_url)
        self._socket = socket.create_connection((parts.hostname, parts.port))
        self._file = self._socket.makefile("rb")
        if parts.username:
            self.ask("AUTH", parts.username, parts.password)
        self.ask("SELECT", parts.path.strip("/") or "0")

    def ask(self, *command: str):
        parts = [part.encode() for part in command]
        head = [b"*%d\r\n" % len(parts)]
        self._socket.sendall(
            b"".join(head + [b"$%d\r\n%b\r\n" % (len(p), p) for p in parts])
        )
        return self._answer()

    def _answer(self):
        line = self._file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return Status(rest)
        if kind == b"-":
            raise Refused(rest.decode())
        if kind == b":":
            return int(rest)
        if rest == b"-1":
            return None
        if kind == b"$":
            return self._file.read(int(rest) + 2)[:-2]
        return [self._element() for _ in range(int(rest))]

    def _element(self):
        try:
            return self._answer()
        except Refused as error:
            return error

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class Upstash:
    """What a test may know of the service, and tell it."""

    def __init__(self, redis_url: str) -> None:
        self.redis_url = redis_url
        self.token = TOKEN
        self.port = 0
        #: Paths and numbers of bytes of all requests, also of those that failed.
        self.requests: list[tuple[str, int]] = []
        self.connections = 0
        self.max_request_bytes = 1_000_000
        self._faults: list = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """With the token in it, which therefore is written as in any URL."""
        token = self.token.replace("/", "%2F")
        return f"upstash+http://:{token}@127.0.0.1:{self.port}"

    def __iter__(self):
        return iter((self.url, self.token))

    def fail(self, *faults) -> None:
        """Answer the next requests with an HTTP status, `"drop"` or seconds to wait.

        `"drop late"` carries out what was asked and then gives no answer; `None` is
        a request without a fault.
        """
        self._faults += faults

    def next_fault(self):
        return self._faults.pop(0) if self._faults else None


@contextmanager
def upstash(redis_url: str):
    """Serve a database of a Redis; the object gives `url`, `token` and `address`."""
    service = Upstash(redis_url)

    class Handler(_Handler):
        upstash = service

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    upstash: Upstash

    def setup(self):
        super().setup()
        self.upstash.connections += 1
        self.wire = Wire(self.upstash.redis_url)

    def finish(self):
        self.wire.close()
        super().finish()

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.upstash.requests.append((self.path, len(body)))
        fault = self.upstash.next_fault()
        if fault == "drop":
            self.close_connection = True
            return
        if isinstance(fault, float):
            time.sleep(fault)
        elif isinstance(fault, int):
            self._reply(fault, {"error": "ERR as the test asked"})
            return
        status, document = self._handle(body)
        if fault == "drop late":
            self.close_connection = True
            return
        self._reply(status, document)

    def _handle(self, body):
        if self.headers.get("Authorization") != f"Bearer {self.upstash.token}":
            return 401, {"error": "WRONGPASS invalid or missing auth token"}
        if len(body) > self.upstash.max_request_bytes:
            return 400, {"error": "ERR max request size exceeded"}
        asked = json.loads(body)
        if self.path == "/pipeline":
            return 200, [self._one(command) for command in asked]
        if self.path == "/multi-exec":
            return self._transaction(asked)
        if self.path == "/":
            document = self._one(asked)
            return (400 if "error" in document else 200), document
        return 404, {"error": "ERR no such path"}

    def _one(self, command):
        words = [
            part if isinstance(part, str) else json.dumps(part) for part in command
        ]
        if words[0].upper() in FORBIDDEN:
            return {"error": f"ERR Command is not available: '{words[0]}'"}
        try:
            return {"result": self._encoded(self.wire.ask(*words))}
        except Refused as error:
            return {"error": str(error)}

    def _transaction(self, commands):
        self.wire.ask("MULTI")
        for command in commands:
            self._one(command)
        try:
            answers = self.wire.ask("EXEC")
        except Refused as error:
            return 400, {"error": str(error)}
        return 200, [
            {"error": str(one)}
            if isinstance(one, Refused)
            else {"result": self._encoded(one)}
            for one in answers
        ]

    def _encoded(self, answer):
        if isinstance(answer, list):
            return [self._encoded(one) for one in answer]
        if not isinstance(answer, bytes):
            return answer
        if isinstance(answer, Status) and answer == b"OK":
            return "OK"
        if self.headers.get("Upstash-Encoding") == "base64":
            return base64.b64encode(answer).decode()
        return answer.decode(errors="replace")

    def _reply(self, status, document):
        raw = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("upstash-sync-token", str(len(self.upstash.requests)))
        self.end_headers()
        self.wfile.write(raw)
