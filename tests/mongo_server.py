"""A server that speaks MongoDB's wire protocol over TCP, so that the real driver reads.

No wheel brings a MongoDB: documents are kept and queried by mongomock, and what is on
the wire is real. It takes reads only: a command that writes is refused and remembered.
"""

from __future__ import annotations

import socketserver
import struct
import threading
from contextlib import contextmanager

import bson
import mongomock

_HEADER = struct.Struct("<iiii")
_OP_REPLY, _OP_QUERY, _OP_MSG = 1, 2004, 2013
_HELLO = {
    "ismaster": True,
    "isWritablePrimary": True,
    "helloOk": True,
    "maxBsonObjectSize": 16 << 20,
    "maxMessageSizeBytes": 48_000_000,
    "maxWriteBatchSize": 100_000,
    "logicalSessionTimeoutMinutes": 30,
    "minWireVersion": 0,
    "maxWireVersion": 21,
    "readOnly": False,
    "ok": 1.0,
}
READS = frozenset({
    "hello", "ismaster", "ping", "find", "getMore", "killCursors", "endSessions",
    "aggregate", "count", "collStats", "listCollections", "buildInfo",
})  # fmt: skip


class MongoServer:
    """What is stored, what was asked, and what is left open.

    Attributes:
        address: `mongodb://…` without a database.
        commands: Every command in order, hello left out.
        failing: Answers of this code to every command but hello, while it is set.
    """

    def __init__(self, server):
        host, port = server.server_address
        self.address = f"mongodb://{host}:{port}"
        self.data = mongomock.MongoClient()
        self.commands = []
        self.cursors = {}
        self.sessions = set()
        self.failing = None
        self.lost = 0

    def __getitem__(self, database):
        return self.data[database]

    def names(self):
        return {next(iter(command)) for command in self.commands}

    def answer(self, command):
        name = next(iter(command))
        if name.lower() in ("hello", "ismaster"):
            return _HELLO
        self.commands.append(command)
        if "lsid" in command:
            self.sessions.add(bytes(command["lsid"]["id"]))
        if name not in READS:
            return {"ok": 0.0, "code": 13, "errmsg": f"not authorized: {name}"}
        if self.failing and name != "endSessions":
            return {"ok": 0.0, "code": self.failing, "errmsg": "secret says the server"}
        answer = getattr(self, f"_{name.lower()}", lambda _: {})(command)
        return {"ok": 1.0, **answer}

    def _collection(self, command):
        return self.data[command["$db"]][next(iter(command.values()))]

    def _find(self, command):
        found = self._collection(command).find(
            command.get("filter"), command.get("projection")
        )
        documents = list(found)
        for name, way in reversed(list((command.get("sort") or {}).items())):
            documents.sort(key=lambda one: _rank(one[name]), reverse=way < 0)
        if command.get("limit"):
            documents = documents[: command["limit"]]
        return self._cursor(command, documents)

    def _aggregate(self, command):
        documents = list(self._collection(command).aggregate(command["pipeline"]))
        return self._cursor(command, documents)

    def _count(self, command):
        return {"n": self._collection(command).count_documents({})}

    def _collstats(self, command):
        documents = self._collection(command).find()
        return {"size": sum(len(bson.encode(one)) for one in documents)}

    def _listcollections(self, command):
        names = self.data[command["$db"]].list_collection_names()
        documents = [{"name": name, "type": "collection"} for name in names]
        return self._cursor(command, documents)

    def _cursor(self, command, documents):
        number = 0
        size = command.get("batchSize") or command.get("cursor", {}).get("batchSize")
        size = size or 101
        if len(documents) > size and not command.get("singleBatch"):
            number = len(self.cursors) + 1
            self.cursors[number] = documents[size:]
        place = f"{command['$db']}.{next(iter(command.values()))}"
        cursor = {"id": bson.Int64(number), "ns": place, "firstBatch": documents[:size]}
        return {"cursor": cursor}

    def _getmore(self, command):
        number = command["getMore"]
        size = command.get("batchSize") or 1000
        rest = self.cursors.pop(number)
        if rest[size:]:
            self.cursors[number] = rest[size:]
        open_still = number if rest[size:] else 0
        return {
            "cursor": {
                "id": bson.Int64(open_still),
                "ns": f"{command['$db']}.{command['collection']}",
                "nextBatch": rest[:size],
            }
        }

    def _killcursors(self, command):
        for number in command["cursors"]:
            self.cursors.pop(number, None)
        return {}

    def _endsessions(self, command):
        self.sessions -= {bytes(one["id"]) for one in command["endSessions"]}
        return {}


def _rank(value):
    """The order of BSON's types, of those that are used here."""
    kinds = (int, str, bytes, bson.ObjectId, object)
    at = next(at for at, kind in enumerate(kinds) if isinstance(value, kind))
    return at, value if at < 4 else str(value)


class _Handler(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            while header := self._exactly(16):
                length, request, _, code = _HEADER.unpack(header)
                self._answer(code, request, self._exactly(length - 16))
        except ConnectionError:
            pass

    def _exactly(self, number):
        raw = b""
        while len(raw) < number:
            some = self.request.recv(number - len(raw))
            if not some:
                return b""
            raw += some
        return raw

    def _answer(self, code, request, body):
        mongo = self.server.mongo
        if mongo.lost > 0 and code == _OP_MSG and b"find" in body:
            mongo.lost -= 1
            raise ConnectionError("as when a server is gone")
        if code == _OP_QUERY:
            end = body.index(b"\0", 4)
            command = bson.decode(body[end + 9 :])
            reply = struct.pack("<iqii", 8, 0, 0, 1) + _encoded(mongo.answer(command))
            kind = _OP_REPLY
        else:
            command = _command(body)
            reply = struct.pack("<IB", 0, 0) + _encoded(mongo.answer(command))
            kind = _OP_MSG
            if struct.unpack_from("<I", body)[0] & 2:  # no answer is awaited
                return
        self.request.sendall(_HEADER.pack(16 + len(reply), 1, request, kind) + reply)


def _encoded(answer):
    return bson.encode(answer)


def _command(body):
    """The command of an OP_MSG: its document, with the sequences beside it."""
    at, command, sequences = 4, {}, {}
    while at < len(body):
        kind, at = body[at], at + 1
        (size,) = struct.unpack_from("<i", body, at)
        if kind == 0:
            command = bson.decode(body[at : at + size])
        else:
            end = body.index(b"\0", at + 4)
            name = body[at + 4 : end].decode()
            sequences[name] = bson.decode_all(body[end + 1 : at + size])
        at += size
    return {**command, **sequences}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextmanager
def mongo_server():
    """A server on a free port; at the end, its socket is closed."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.mongo = MongoServer(server)
        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        )
        thread.start()
        try:
            yield server.mongo
        finally:
            server.shutdown()
            thread.join()
