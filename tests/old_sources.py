"""Old data in every kind of source, enough of it to be killed in the middle."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from moving import many, write_old_file, write_old_redis

CORPUS = Path(__file__).parent / "corpus"
SESSIONS, EACH = 20, 30


def divide_what_is_small():
    """Read a little data in several partitions, as much of it is read.

    Called in every process that makes a plan: both have to mean the same partitions.
    """
    from holdover.migrate.sources import redis, redis_lists, sql, sqlite

    sqlite._PARTITION_BYTES = 16 << 10
    sql._PARTITION_ROWS = 100
    redis._WORTH_DIVIDING = redis_lists._WORTH_DIVIDING = 10


def message(session, place):
    kind = "ai" if place % 2 else "human"
    data = {"content": f"{session} {place} " + "x" * (place % 50), "type": kind}
    return {"type": kind, "data": {**data, "additional_kwargs": {}}}


def histories():
    """`{session: [message]}`."""
    return {
        f"user{number}": [message(f"user{number}", place) for place in range(EACH)]
        for number in range(SESSIONS)
    }


def rows():
    """Session and JSON text of each message, the sessions mixed."""
    return [
        (session, json.dumps(said[place]))
        for place in range(EACH)
        for session, said in histories().items()
    ]


def entity_file(folder, _):
    return write_old_file(folder / "entities.db", many(SESSIONS * EACH, SESSIONS))


def entities_in_redis(_, servers):
    return write_old_redis(servers("redis"), many(SESSIONS * EACH, SESSIONS))


def sql_file(folder, _):
    path = folder / "history.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE message_store (id INTEGER NOT NULL, session_id TEXT, "
            "message TEXT, PRIMARY KEY (id))"
        )
        db.executemany(
            "INSERT INTO message_store (session_id, message) VALUES (?, ?)", rows()
        )
    return str(path)


def sql_server(_, servers):
    import psycopg

    url = servers("postgres")
    with psycopg.connect(url) as db, db.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE message_store (id SERIAL PRIMARY KEY, "
            "session_id TEXT NOT NULL, message JSONB NOT NULL)"
        )
        cursor.executemany(
            "INSERT INTO message_store (session_id, message) VALUES (%s, %s)", rows()
        )
    return url


def redis_lists(_, servers):
    import redis

    url = servers("redis")
    with redis.Redis.from_url(url) as client, client.pipeline() as pipe:
        for session, said in histories().items():
            for one in said:
                pipe.lpush(f"message_store:{session}", json.dumps(one))
        pipe.execute()
    return url


def file_histories(folder, _):
    held = folder / "histories"
    held.mkdir()
    for session, said in histories().items():
        (held / f"{session}.json").write_text(json.dumps(said), "utf-8")
        # One that was written to just now is looked at again.
        os.utime(held / f"{session}.json", (1_700_000_000, 1_700_000_000))
    return str(held)


def json_lines(folder, _):
    path = folder / "export.jsonl"
    lines = [{"session": session, **json.loads(raw)} for session, raw in rows()]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    return str(path)


def vector_dump(folder, _):
    path = folder / "memories.json"
    held = {
        str(at): {"id": str(at), "vector": [at / 7, 1.5], "text": f"turn {at}"}
        | {"metadata": {"at": at}}
        for at in range(SESSIONS * EACH)
    }
    path.write_text(json.dumps(held), "utf-8")
    return str(path)


def chroma(_, __):
    place = "langchain-classic-1.0.8/vector_memory/chroma/chroma.sqlite3"
    return str(CORPUS / place)


def serialized(_, __):
    return str(CORPUS / "langchain-0.0.150/serialized/buffer_rich.dict.json")


def graph(_, __):
    return str(CORPUS / "langchain-classic-1.0.8/serialized/kg.gml")


SOURCES = {
    make.__name__: make
    for make in (
        entity_file,
        entities_in_redis,
        sql_file,
        sql_server,
        redis_lists,
        file_histories,
        json_lines,
        vector_dump,
        chroma,
        serialized,
        graph,
    )
}
