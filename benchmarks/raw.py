"""The raw limit and the naive way, for each path that is measured."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import orjson
import psycopg

from holdover.compat.stores import sqlite as sqlite_store

BATCH = 10_000


def sqlite_to_sqlite(source: Path, target: Path) -> None:
    """`SELECT key, value` and `executemany` into the same table, nothing else."""
    read = sqlite3.connect(source.as_uri() + "?mode=ro", uri=True)
    write = sqlite_store.connect(str(target))
    sqlite_store.ensure_schema(write, vectors=False)
    tables = [
        name
        for (name,) in read.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    rows: list[tuple[str, str, bytes]] = []

    def flush() -> None:
        write.execute("BEGIN IMMEDIATE")
        write.executemany(
            "INSERT INTO store (prefix, key, value) VALUES (?, ?, ?)", rows
        )
        write.execute("COMMIT")
        rows.clear()

    for table in tables:
        prefix = f"memory_store.{table[len('memory_store_') :]}.entities"
        for key, value in read.execute(f'SELECT key, value FROM "{table}"'):
            rows.append((prefix, key, value.encode()))
            if len(rows) == BATCH:
                flush()
    flush()
    write.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    write.close()
    read.close()


def redis_to_postgres(client, dsn: str) -> None:
    """SCAN, MGET and PTTL in pipelines; COPY to a staging table and upsert."""
    with psycopg.connect(dsn) as conn:
        conn.execute(
            "CREATE TEMP TABLE stage (prefix text, key text, value jsonb) "
            "ON COMMIT DELETE ROWS"
        )
        lines: list[bytes] = []

        def flush() -> None:
            with conn.cursor() as cur:
                with cur.copy("COPY stage FROM STDIN") as copy:
                    copy.write(b"".join(lines))
                cur.execute(
                    "INSERT INTO store (prefix, key, value) "
                    "SELECT prefix, key, value FROM stage ON CONFLICT (prefix, key) "
                    "DO UPDATE SET value = EXCLUDED.value"
                )
            conn.commit()
            lines.clear()

        cursor = 0
        while True:
            cursor, keys = client.scan(cursor, match="memory_store:*", count=1_000)
            if keys:
                pipe = client.pipeline(transaction=False)
                pipe.mget(keys)
                for key in keys:
                    pipe.pttl(key)
                values = pipe.execute()[0]
                for key, value in zip(keys, values, strict=True):
                    _, session, name = key.decode().split(":")
                    text = orjson.dumps({"summary": value.decode()})
                    text = text.replace(b"\\", b"\\\\")
                    lines.append(
                        f"memory_store.{session}.entities\t{name}\t".encode()
                        + text
                        + b"\n"
                    )
            if len(lines) >= BATCH:
                flush()
            if not cursor:
                break
        flush()


def _history(dsn: str):
    """Every message of a table: its prefix, its key and its JSON text, in batches."""
    with psycopg.connect(dsn) as conn, conn.cursor(name="raw") as cur:
        cur.itersize = BATCH
        cur.execute("SELECT id, session_id, message::text FROM message_store")
        while rows := cur.fetchmany(BATCH):
            yield [
                (f"message_store.{session}.messages", f"{number:032x}", text)
                for number, session, text in rows
            ]


def history_to_sqlite(dsn: str, target: Path) -> None:
    """A server-side cursor and `executemany`, nothing else."""
    write = sqlite_store.connect(str(target))
    sqlite_store.ensure_schema(write, vectors=False)
    for rows in _history(dsn):
        write.execute("BEGIN IMMEDIATE")
        write.executemany(
            "INSERT INTO store (prefix, key, value) VALUES (?, ?, CAST(? AS BLOB))",
            rows,
        )
        write.execute("COMMIT")
    write.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    write.close()


def history_to_postgres(source: str, target: str) -> None:
    """A server-side cursor; COPY to a staging table and upsert."""
    with psycopg.connect(target) as conn:
        conn.execute(
            "CREATE TEMP TABLE stage (prefix text, key text, value jsonb) "
            "ON COMMIT DELETE ROWS"
        )
        for rows in _history(source):
            lines = "".join(
                f"{prefix}\t{key}\t" + text.replace("\\", "\\\\") + "\n"
                for prefix, key, text in rows
            )
            with conn.cursor() as cur:
                with cur.copy("COPY stage FROM STDIN") as copy:
                    copy.write(lines)
                cur.execute(
                    "INSERT INTO store (prefix, key, value) "
                    "SELECT prefix, key, value FROM stage ON CONFLICT (prefix, key) "
                    "DO UPDATE SET value = EXCLUDED.value"
                )
            conn.commit()


def naive_history(dsn: str, store, sessions: int) -> int:
    """What most scripts do: the classic class reads, a loop of `store.put` writes."""
    from langchain_community.chat_message_histories import PostgresChatMessageHistory

    moved = 0
    for number in range(sessions):
        session = f"user{number:06d}"
        history = PostgresChatMessageHistory(session, connection_string=dsn)
        for place, message in enumerate(history.messages):
            value = {"type": message.type, "data": message.model_dump(mode="json")}
            store.put(("message_store", session, "messages"), f"{place:032x}", value)
            moved += 1
    return moved


def naive_redis_to_postgres(client, dsn: str) -> int:
    """What most scripts do: a loop of `get` and `store.put`."""
    from langgraph.store.postgres import PostgresStore

    moved = 0
    with PostgresStore.from_conn_string(dsn) as store:
        for key in client.scan_iter("memory_store:*"):
            _, session, name = key.decode().split(":")
            value = client.get(key).decode()
            store.put(("memory_store", session, "entities"), name, {"summary": value})
            moved += 1
    return moved
