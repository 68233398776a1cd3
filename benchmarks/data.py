"""Old data of a real shape, of any size: made, not measured."""

from __future__ import annotations

import sqlite3
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
