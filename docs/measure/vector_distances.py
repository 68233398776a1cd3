"""What one comparison of two vectors costs in SQLite, by each way there is.

    python docs/measure/vector_distances.py [dimensions]

sqlite-vec needs a SQLite that loads extensions: Python's own, or else `pysqlite3`.
"""

from __future__ import annotations

import importlib
import random
import sqlite3
import statistics
import sys
import time

import sqlite_vec

from holdover.compat.stores import distances

ROWS = 2_000


def main(dimensions: int) -> None:
    vectors = [
        sqlite_vec.serialize_float32([random.random() for _ in range(dimensions)])
        for _ in range(ROWS)
    ]
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        show("sqlite-vec", sqlite3, sqlite_vec.load, vectors)
    else:
        try:
            module = importlib.import_module("pysqlite3")
        except ImportError:
            print("sqlite-vec      cannot be loaded here")
        else:
            show("sqlite-vec", module, sqlite_vec.load, vectors)
    try:
        importlib.import_module("numpy")
    except ImportError:
        print("numpy           is not installed")
    else:
        show("numpy", sqlite3, distances.register, vectors)
    sys.modules["numpy"] = None  # as where it is not installed
    show("plain Python", sqlite3, distances.register, vectors)


def show(name, module, prepare, vectors) -> None:
    conn = module.connect(":memory:")
    if prepare is sqlite_vec.load:
        conn.enable_load_extension(True)  # noqa: FBT003
    prepare(conn)
    conn.execute("CREATE TABLE vectors (v BLOB)")
    conn.executemany("INSERT INTO vectors VALUES (?)", [(v,) for v in vectors])
    query = "SELECT sum(vec_distance_cosine(v, ?)) FROM vectors"
    times = []
    for _ in range(5):
        began = time.process_time()
        conn.execute(query, (vectors[0],)).fetchone()
        times.append(time.process_time() - began)
    each = statistics.median(times) / len(vectors) * 1e6
    print(f"{name:15} {each:7.1f} µs a vector")
    conn.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1536)
