"""Entities that old releases left in Redis: loading them, and the truth about them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import redis

CORPUS = Path(__file__).parent / "corpus"
_FOLDERS = [
    CORPUS,
    *map(Path, filter(None, os.environ.get("HOLDOVER_CORPUS", "").split(os.pathsep))),
]


def folders(kind):
    """Every folder of a kind in the corpus, and in what `HOLDOVER_CORPUS` adds."""
    return [found for folder in _FOLDERS for found in sorted(folder.glob(f"*/{kind}"))]


def numbered(url, db):
    """The URL of another database of the server."""
    return f"{url.rpartition('/')[0]}/{db}"


def entries(listing):
    """What `load` restores, a key at a time."""
    return [json.loads(line) for line in listing.read_text().splitlines()]


def load(listing, client_of):
    """Restore a listing; `client_of(db)` gives a client, `None` leaves that one out."""
    clients = {}
    for entry in entries(listing):
        if entry["db"] not in clients:
            clients[entry["db"]] = client_of(entry["db"])
        if (client := clients[entry["db"]]) is not None:
            restore(client, entry)
    for client in filter(None, clients.values()):
        client.close()


def restore(client, entry):
    key = bytes.fromhex(entry["key_hex"])
    if "value_hex" in entry:
        client.set(key, bytes.fromhex(entry["value_hex"]))
    elif "value_repeat_hex" in entry:
        unit, times = entry["value_repeat_hex"]
        client.set(key, bytes.fromhex(unit) * times)
    elif "values_hex" in entry:
        client.rpush(key, *map(bytes.fromhex, entry["values_hex"]))
    elif "json" in entry:
        document = json.dumps(entry["json"], ensure_ascii=False)
        client.execute_command("JSON.SET", key, "$", document)
    elif "fields_hex" in entry:
        pairs = [map(bytes.fromhex, pair) for pair in entry["fields_hex"]]
        client.hset(key, mapping=dict(pairs))
    else:
        members = [(bytes.fromhex(m), s) for m, s in entry["members_hex"]]
        client.zadd(key, dict(members))
    if entry["pttl"] > 0:
        client.pexpire(key, entry["pttl"])


def server(url):
    """`client_of` for a server that has databases."""
    return lambda db: redis.Redis.from_url(numbered(url, db), protocol=2)


def state(client):
    """Everything that reading must leave alone."""
    return {
        key: (client.dump(key), client.pexpiretime(key)) for key in client.scan_iter()
    }


def stores(folder):
    """The entity stores of a manifest: `db`, `key_prefix`, `session_id`, `entities`."""
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    if "stores" in manifest:
        return manifest["stores"]
    # A patched UpstashRedisEntityStore, beside the chat histories of the release.
    return [{"key_prefix": "memory_store", **manifest["entity_store_patched"]}]


def text(written):
    if isinstance(written, dict):
        unit, times = written["$repeat"]
        return unit * times
    return written


def expected(folder, db):
    """`{locator: entity of the manifest}`."""
    return {
        f"redis:{db}:{entity['physical_key']}": entity
        for store in stores(folder)
        if store["db"] == db
        for entity in store["entities"]
    }


def options(folder, db):
    """The options with which every entity of a database is read."""
    found = [store for store in stores(folder) if store["db"] == db]
    return {
        "roots": tuple({store["key_prefix"] for store in found}),
        "sessions": frozenset(store["session_id"] for store in found),
        "ambiguous": "reject",
    }


def check(items, folder, db):
    """Every entity is there once, with its value and the lifetime it had."""
    found = {item.locator: item for item in items}
    assert len(found) == len(items)
    truth = expected(folder, db)
    assert found.keys() == truth.keys()
    for locator, entity in truth.items():
        item = found[locator]
        assert f"{item.root}:{item.session}:{item.key}" == entity["physical_key"]
        assert item.content == {"name": item.key, "summary": text(entity["summary"])}
        ttl = entity["ttl_seconds_at_write"]
        if ttl is None:
            assert item.ttl_ms is None
        else:
            assert ttl * 1000 - 120_000 < item.ttl_ms <= ttl * 1000
