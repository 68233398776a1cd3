"""Everything old releases wrote arrives, item for item, on both targets."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from moving import (
    asked_for,
    database,
    files_of,
    read_plainly,
    read_summaries,
    redis_state,
    rows_of,
    summaries_of,
)

from holdover.compat.stores.redis_connecting import connect, parse_address
from holdover.migrate.errors import MigrateError
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources.base import ReadOptions

CORPUS = Path(__file__).parents[1] / "corpus"
NOT_PORTABLE = "binary-value"
MANIFESTS = {
    path.parts[-3]: json.loads(path.read_text("utf-8"))
    for path in sorted(CORPUS.glob("*/sqlite_entity/MANIFEST.json"))
}
WHOLE = [
    (release, name)
    for release, manifest in MANIFESTS.items()
    for name, entry in manifest["files"].items()
    if "stores" in entry or "same_truth_as" in entry
]
BROKEN = [
    (release, name)
    for release, manifest in MANIFESTS.items()
    for name, entry in manifest["files"].items()
    if "broken" in entry
]
REDIS = {
    path.parts[-3]: json.loads(path.read_text("utf-8"))
    for path in sorted(CORPUS.glob("*/redis_entity/MANIFEST.json"))
}


def physical(value):
    """What the file holds for a value of the manifest; bytes where it is a BLOB."""
    if isinstance(value, dict):
        if "$repeat" in value:
            return value["$repeat"][0] * value["$repeat"][1]
        if "$physical_text" in value:
            return value["$physical_text"]
        return bytes.fromhex(value["$physical_blob_hex"])
    return value


def scope_of(store):
    """Root and session as the physical table says them."""
    table = store["physical_table"]
    root, session = store["table_name"], store["session_id"]
    if f"{root}_{session}" == table:
        return root, session
    # The quirks of unquoted names: a schema before the name, quotes around it.
    root = root.removeprefix("main.").strip('"')
    assert f"{root}_{session.strip(chr(34))}" == table
    return root, session.strip('"')


def truth_of(release, name):
    """`{(root, session): {name: summary}}` and how many values cannot be text."""
    files = MANIFESTS[release]["files"]
    entry = files[files[name].get("same_truth_as", name)]
    tables: dict[str, tuple] = {}
    truth, refused = {}, 0
    for store in entry["stores"]:
        folded = store["physical_table"]
        folded = folded.lower() if folded.isascii() else folded
        # The first to name a table decides how its session is spelt.
        scope = tables.setdefault(folded, scope_of(store))
        rows = [*store["entities"], *store.get("foreign_rows_in_same_table", [])]
        refused += len(store.get("null_key_rows") or [])
        for key, value in rows:
            text = physical(value)
            if isinstance(text, str) and isinstance(key, str):
                truth.setdefault(scope, {})[key] = text
            else:
                refused += 1
    return truth, refused


@pytest.mark.parametrize(("release", "name"), WHOLE)
def test_a_file_arrives_as_its_manifest_says(release, name, target, tmp_path):
    source = shutil.copytree(CORPUS / release / "sqlite_entity", tmp_path / "source")
    before = files_of(source)
    path = str(source / name)
    sessions = {"archive_x2024"}
    if name == "mixed_app.db":
        sessions.add("kv3")  # an extra column: read only if it is named

    options = asked_for(
        lambda options: migrate(path, target, options, dry_run=True).plan,
        Options(read=ReadOptions(
            roots=("memory_store", "memory_store_archive"),
            sessions=frozenset(sessions),
        )),
    )  # fmt: skip
    done = migrate(path, target, options)

    truth, refused = truth_of(release, name)
    assert read_summaries(target) == truth
    assert sum(done.copy.rejects.values()) == refused
    assert done.verify.equal == sum(map(len, truth.values()))
    assert done.verify.clean
    assert done.exit_code == int(bool(refused))
    assert files_of(source) == before


def test_the_plan_alone_names_every_root_of_a_file(tmp_path, sqlite_target):
    """Without `--session`, an archive's table is read as a session of the root."""
    path = shutil.copy(
        CORPUS / "langchain-0.0.187/sqlite_entity/entities.db", tmp_path / "entities.db"
    )
    options = asked_for(
        lambda options: migrate(str(path), sqlite_target, options, dry_run=True).plan,
        Options(),
    )
    migrate(str(path), sqlite_target, options)

    truth, _ = truth_of("langchain-0.0.187", "entities.db")
    truth["memory_store", "archive_x2025"] = truth.pop(
        ("memory_store_archive", "x2025")
    )
    assert read_summaries(sqlite_target) == truth


@pytest.mark.parametrize(("release", "name"), BROKEN)
def test_a_broken_file_moves_nothing(release, name, target, tmp_path):
    source = shutil.copytree(CORPUS / release / "sqlite_entity", tmp_path / "source")
    before = files_of(source)

    if name == "zero_byte.db":
        done = migrate(str(source / name), target)
        assert any("nothing found" in note for note in done.plan.inventory.notes)
        assert done.copy.written == 0
    else:
        with pytest.raises(MigrateError) as caught:
            migrate(str(source / name), target)
        assert caught.value.exit_code in (2, 3)
        assert name in str(caught.value)
        assert rows_of(target) == {}
    assert files_of(source) == before


HANDMADE = {
    "null_and_empty_values.db": (
        {("memory_store", "s"): {"ok": "fine", "int": "5"}},
        {"null-key": 1, "null-value": 1, "empty-value": 1},
    ),
    "utf16.db": ({("memory_store", "s"): {"北京": "首都", "Zoë": "x"}}, {}),
    "renamed_columns.db": ({}, {}),
    "custom_case.db": ({}, {}),
}


@pytest.mark.parametrize("name", HANDMADE)
def test_a_handmade_file(name, target, tmp_path):
    path = shutil.copy(CORPUS / "handmade" / name, tmp_path / name)
    before = Path(path).read_bytes()

    done = migrate(str(path), target)

    truth, rejects = HANDMADE[name]
    found = {scope[-1]: values for scope, values in read_summaries(target).items()}
    assert found == {scope[-1]: values for scope, values in truth.items()}
    assert done.copy.rejects == rejects
    assert done.verify.rejected == rejects
    if not truth:
        assert [skipped.name for skipped in done.plan.inventory.skipped]
    assert Path(path).read_bytes() == before


def test_values_that_are_not_utf8_are_rejects(target, tmp_path, folder):
    path = shutil.copy(
        CORPUS / "handmade/invalid_utf8.db", tmp_path / "invalid_utf8.db"
    )
    done = migrate(str(path), target)
    assert sum(done.copy.rejects.values()) + done.copy.written >= 1
    assert read_summaries(target).keys() <= {("memory_store", "s")}
    if done.copy.rejects:
        assert Path(done.copy.rejects_file).exists()
        assert done.exit_code == 1


# Redis.


def load(url, release, *, cluster=False):
    """Put a listing into the server; give how many milliseconds each key has left."""
    lifetimes = {}
    listing = CORPUS / release / "redis_entity" / "listing.jsonl"
    rows = [json.loads(line) for line in listing.read_text("utf-8").splitlines()]
    for db in dict.fromkeys(row["db"] for row in rows):
        if cluster and db:
            continue  # there is one database
        # One client for all keys: that of a cluster asks every node who it is.
        with connect(parse_address(database(url, db))) as client:
            for row in rows:
                if row["db"] == db:
                    lifetimes[db, restore(client, row)] = row["pttl"]
    return lifetimes


def restore(client, row):
    """Write a key as its row says; give its name."""
    key = bytes.fromhex(row["key_hex"])
    if row["type"] == "string":
        if "value_repeat_hex" in row:
            part, times = row["value_repeat_hex"]
            value = bytes.fromhex(part) * times
        else:
            value = bytes.fromhex(row["value_hex"])
        client.set(key, value)
    elif row["type"] == "list":
        client.rpush(key, *map(bytes.fromhex, row["values_hex"]))
    elif row["type"] == "hash":
        fields = row["fields_hex"]
        pairs = fields.items() if isinstance(fields, dict) else fields
        for field, value in pairs:
            client.hset(key, bytes.fromhex(field), bytes.fromhex(value))
    else:
        members = row["members_hex"]
        pairs = members.items() if isinstance(members, dict) else members
        client.zadd(key, {bytes.fromhex(m): float(s) for m, s in pairs})
    if row["pttl"] > 0:
        client.pexpire(key, row["pttl"])
    return key


def redis_truth(release, db):
    """`{(root, session, name): summary}` and the physical key of each."""
    truth, keys = {}, {}
    for store in REDIS[release]["stores"]:
        if store["db"] != db:
            continue
        for entity in store["entities"]:
            place = (store["key_prefix"], store["session_id"], entity["entity"])
            truth[place] = physical(entity["summary"])
            keys[place] = entity["physical_key"]
            assert ":".join(place) == entity["physical_key"]
    return truth, keys


def readings_of(key, sessions):
    """Every named session that may have written a key."""
    return [
        (root, session, key.removeprefix(f"{root}:{session}:"))
        for root, session in sessions
        if key.startswith(f"{root}:{session}:")
    ]


@pytest.mark.parametrize(
    ("end", "db"), [("redis_url", 0), ("redis_url", 3), ("cluster_url", 0)]
)
@pytest.mark.parametrize("release", REDIS)
def test_a_redis_arrives_as_its_manifest_says(release, end, db, target, request):
    url = request.getfixturevalue(end)
    lifetimes = load(url, release, cluster=end == "cluster_url")
    before = redis_state(url)
    source = database(url, db)
    truth, keys = redis_truth(release, db)
    options = asked_for(
        lambda options: migrate(source, target, options, dry_run=True).plan,
        Options(read=ReadOptions(
            roots=tuple(dict.fromkeys(root for root, _, _ in truth)),
            sessions=frozenset(session for _, session, _ in truth),
        )),
    )  # fmt: skip
    asked = datetime.now().astimezone()
    done = migrate(source, target, options)

    items = read_plainly(target)
    found = {
        (*scope, name): summary
        for scope, entities in summaries_of(items).items()
        for name, summary in entities.items()
    }
    # A key is all that Redis kept: where two named sessions may have written it,
    # one of the two has it, and every other is where its writer put it.
    sessions = {place[:2] for place in truth}
    shared = {
        place: readings
        for place, key in keys.items()
        if len(readings := readings_of(key, sessions)) > 1
    }
    clear = truth.keys() - shared.keys()
    assert {place: found.get(place) for place in clear} == {
        place: truth[place] for place in clear
    }
    assert len(found) == len(truth)
    for place, readings in shared.items():
        assert truth[place] in [found.get(reading) for reading in readings]
    assert len(clear) > 10 * len(shared) or db == 3
    assert done.verify.clean
    assert done.verify.equal == len(truth)
    assert redis_state(url) == before
    for values in items.values():
        for value in values.values():
            check_lifetime(value["meta"], lifetimes, db, asked)
    if db == 0:
        refused = Counter(done.copy.rejects)
        assert refused["not-utf8"] == 2
        assert refused["empty-value"] == 1
        named = {entry.name for entry in done.plan.inventory.skipped}
        rejected = Path(done.copy.rejects_file).read_text("utf-8")
        for key in ("profile", "queue", "board"):
            assert any(f"alice:{key}" in name for name in named) or key in rejected
        assert done.exit_code == 1
    else:
        assert done.exit_code == 0


def check_lifetime(meta, lifetimes, db, asked):
    physical_key = meta["source"]["locator"].partition(f"redis:{db}:")[2]
    if "escaped" in meta:
        return
    left = lifetimes[db, physical_key.encode()]
    if left < 0:
        assert "expires_at" not in meta
        return
    ends = datetime.fromisoformat(meta["expires_at"])
    # It was loaded a moment before it was asked for.
    assert math.isclose((ends - asked).total_seconds(), left / 1000, abs_tol=30)


def test_a_redis_with_default_options_is_blocked_until_its_keys_are_clear(
    redis_url, sqlite_target
):
    load(redis_url, "langchain-0.2.17")
    done = migrate(redis_url, sqlite_target, dry_run=True)
    assert done.exit_code == 3
    assert [blocker.code for blocker in done.plan.blockers] == ["ambiguous-keys"]
    assert done.plan.inventory.ambiguous_count > 0
    rejecting = migrate(
        redis_url, sqlite_target, Options(read=ReadOptions(ambiguous="reject"))
    )
    assert rejecting.copy.rejects["ambiguous"] == done.plan.inventory.ambiguous_count
    assert rejecting.verify.clean
    truth, _ = redis_truth("langchain-0.2.17", 0)
    clear = {}
    for (root, session, name), summary in truth.items():
        if root == "memory_store" and ":" not in session + name:
            clear.setdefault((root, session), {})[name] = summary
    assert read_summaries(sqlite_target) == clear
