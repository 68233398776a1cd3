"""Old data of a real shape, of any size: made, not measured."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path

_SENTENCE = "Works on the {n}th report, lives in Lyon and likes long walks; "


def summary(n: int) -> str:
    """About 200 characters, different for every entity."""
    return (_SENTENCE.format(n=n) * 4)[:200]


def entities(items: int, sessions: int) -> Iterator[tuple[str, str, str]]:
    """Session, name and summary of each entity, session by session."""
    each = items // sessions
    for n in range(items):
        yield f"user{n // each:06d}", f"Entity {n:07d}", summary(n)


def make_sqlite(path: Path, items: int, sessions: int) -> None:
    """A file as the classic `SQLiteEntityStore` writes it."""
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA journal_mode=OFF")
    conn.execute("PRAGMA synchronous=OFF")
    conn.execute("BEGIN")
    each = items // sessions
    for number in range(sessions):
        table = f"memory_store_user{number:06d}"
        conn.execute(
            f'CREATE TABLE "{table}" (\n                key TEXT PRIMARY KEY,\n'
            "                value TEXT\n            )"
        )
        numbers = range(number * each, (number + 1) * each)
        conn.executemany(
            f'INSERT INTO "{table}" VALUES (?, ?)',
            ((f"Entity {n:07d}", summary(n)) for n in numbers),
        )
    conn.execute("COMMIT")
    conn.execute("PRAGMA journal_mode=DELETE")
    conn.close()


def fill_redis(client, items: int, sessions: int) -> None:
    """Keys as the classic `RedisEntityStore` writes them, with its TTL of a day."""
    pipe = client.pipeline(transaction=False)
    for n, (session, name, text) in enumerate(entities(items, sessions)):
        pipe.set(f"memory_store:{session}:{name}", text, ex=86_400)
        if n % 5_000 == 0:
            pipe.execute()
    pipe.execute()


def message(n: int, place: int) -> dict:
    """A message as community's `message_to_dict` writes it; human and AI in turn.

    Some 200 characters; one answer in ten calls a tool, and every answer counts tokens.
    """
    text = f"{n}: {summary(n)}"[:200]
    data = {"content": text, "additional_kwargs": {}, "response_metadata": {}}
    if place % 2 == 0:
        own = {"type": "human", "name": None, "id": None, "example": False}
        return {"type": "human", "data": data | own}
    calls = []
    if place % 20 == 1:
        arguments = {"city": "Lyon", "days": 3}
        calls = [{"name": "weather", "args": arguments, "id": f"call_{n}"}]
        calls[0]["type"] = "tool_call"
    tokens = {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150}
    run = uuid.UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128)
    own = {"type": "ai", "name": None, "id": f"run-{run}", "example": False}
    own |= {"tool_calls": calls, "invalid_tool_calls": [], "usage_metadata": tokens}
    return {"type": "ai", "data": data | own}


def fill_history(dsn: str, items: int, sessions: int) -> None:
    """A table as community's `PostgresChatMessageHistory` makes and fills it.

    The sessions' messages come interleaved, as they do in a table in use.
    """
    import psycopg

    with psycopg.connect(dsn) as conn:
        conn.execute(
            "CREATE TABLE IF NOT EXISTS message_store "
            "(id SERIAL PRIMARY KEY, session_id TEXT NOT NULL, message JSONB NOT NULL)"
        )
        conn.execute("TRUNCATE message_store RESTART IDENTITY")
        with (
            conn.cursor() as cur,
            cur.copy("COPY message_store (session_id, message) FROM STDIN") as copy,
        ):
            for n in range(items):
                text = json.dumps(message(n, n // sessions))
                copy.write_row((f"user{n % sessions:06d}", text))
        conn.commit()
        conn.execute("ANALYZE message_store")
