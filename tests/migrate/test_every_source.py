"""Every kind of place that is read, into every kind of target, by one measure.

What a source's `read` gives is what stands in the target afterwards, and every number
that is told on the way adds up to it. What a source gives is compared with the
manifests of the corpus in the tests of that source.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from contextlib import closing
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from every_source import KINDS
from moving import asked_for, has_store, plain_store, rows_of, unescape
from old_messages import content_of_value
from sampling import EVERYTHING

from holdover.compat.records import KINDS as RECORD_KINDS
from holdover.migrate.options import Options
from holdover.migrate.rollback import rollback
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions

TARGETS = ("sqlite", "postgres", "redis")


def cases():
    """Every kind into one of the targets; with everything, every release and pair."""
    for at, kind in enumerate(KINDS):
        folders = kind.folders if EVERYTHING else kind.folders[:1]
        some = TARGETS if EVERYTHING else (TARGETS[at % len(TARGETS)],)
        for folder in folders:
            for target in some:
                name = f"{kind.name}-{folder.parent.name}-{target}"
                yield pytest.param(kind, folder, target, id=name)


@pytest.fixture
def source_url(postgres_server):
    """Another empty database than the target's."""
    import psycopg
    import servers

    name = f"source_{uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    yield servers.with_database(postgres_server, name)
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def upstash_of():
    from contextlib import ExitStack

    from upstash import upstash

    with ExitStack() as stack:
        yield lambda url: stack.enter_context(upstash(url)).address


@pytest.fixture
def mongo_of():
    from mongo_server import READS, mongo_server

    with mongo_server() as server:
        yield server
        assert server.names() <= READS, "something was written"


@pytest.fixture(scope="module")
def dynamo_server():
    import logging

    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def dynamo_of(dynamo_server, monkeypatch):
    """`dynamo_of(name, items)` makes a table; a client and the table's address."""
    import boto3

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    client = boto3.client("dynamodb", endpoint_url=dynamo_server)
    made = []

    def make(name, items):
        client.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        made.append(name)
        for item in items:
            client.put_item(TableName=name, Item=item)
        address = f"dynamodb://{name}?region=us-east-1&endpoint_url={dynamo_server}"
        return client, address

    yield make
    for name in made:
        client.delete_table(TableName=name)
    client.close()


class Held:
    """What a source's `read` gives: by scope and label, in the order it says."""

    def __init__(self, address, options):
        self.items = defaultdict(list)
        self.rejects, self.skipped = Counter(), Counter()
        self.number = self.expired = 0
        with closing(open_source(address, options.read)) as source:
            source.begin()
            for partition in source.partitions():
                for batch in source.read(partition, size=7):
                    self._add(batch)
        for found in self.items.values():
            found.sort(key=_order)

    def _add(self, batch):
        for item in batch.items:
            label = RECORD_KINDS[item.kind].label
            self.items[item.root, item.session, label].append(item)
        self.number += len(batch.items)
        self.rejects.update(reject.reason for reject in batch.rejects)
        self.skipped.update(batch.skipped)
        self.expired += batch.expired


def _order(item):
    """Of messages their order; of the rest any that is the same on both sides."""
    return item.position if item.kind == "message" else _text(item.content)


def _text(content):
    return json.dumps(content, sort_keys=True)


def current(target):
    """What an agent finds: `{(root, session, label): [value, …]}` as `Held` orders."""
    if not has_store(target):
        return {}
    found = {}
    with plain_store(target) as store:

        def whole(label):
            if "~~" not in label:
                return unescape(label)
            kept = store.get(("~holdover", "labels"), label).value
            return kept["content"]["label"]

        namespaces = [n for n in store.list_namespaces(limit=10_000) if n]
        for namespace in map(tuple, namespaces):
            if namespace[0] == "~holdover":
                continue
            items = [
                item
                for item in store.search(namespace, limit=100_000)
                if tuple(item.namespace) == namespace
            ]
            if namespace[-1] == "messages":
                items.sort(key=lambda item: item.key)
            else:
                items.sort(key=lambda item: _text(content_of_value(item.value)))
            place = (*map(whole, namespace[:-1]), namespace[-1])
            found[place] = [item.value for item in items]
    return found


def check_equal(found, held, moment):
    """Each item: its content, its place in the order, its time and what is left."""
    assert found.keys() == held.items.keys()
    for place, values in found.items():
        items = held.items[place]
        assert len(values) == len(items), place
        for value, item in zip(values, items, strict=True):
            assert value["kind"] == item.kind
            assert _text(content_of_value(value)) == _text(item.content)
            meta = value["meta"]
            since = meta.get("valid_from")
            assert (since and datetime.fromisoformat(since)) == item.created_at
            if item.ttl_ms is None:
                assert "expires_at" not in meta
            else:
                ends = datetime.fromisoformat(meta["expires_at"])
                left = timedelta(milliseconds=item.ttl_ms)
                assert abs(ends - moment - left) < timedelta(minutes=5)


@pytest.mark.parametrize(("kind", "folder", "target"), [*cases()], indirect=["target"])
def test_what_a_source_holds_stands_in_the_target(
    kind, folder, target, tmp_path, request
):
    place = kind.fill(folder, tmp_path, request.getfixturevalue)
    before = place.state()
    options = asked_for(
        lambda options: migrate(place.address, target, options, dry_run=True).plan,
        Options(read=ReadOptions(**place.read), batch=7),
    )
    assert not has_store(target)
    held = Held(place.address, options)
    moment = datetime.now().astimezone()
    assert held.number or held.rejects

    done = migrate(place.address, target, options)

    # Every number of the run.
    copy, plan, verify = done.copy, done.plan, done.verify
    assert copy.decisions == ({"copied": held.number} if held.number else {})
    assert copy.written == held.number
    assert copy.rejects == dict(held.rejects)
    assert copy.skipped == dict(held.skipped)
    assert copy.expired == held.expired
    assert verify.clean
    assert verify.equal == held.number
    assert (verify.compared, verify.expired) == (
        held.number + held.expired,
        held.expired,
    )
    assert verify.rejected == copy.rejects
    assert verify.skipped == copy.skipped
    assert verify.extra == 0
    assert done.exit_code == int(bool(held.rejects))
    # What the plan says: what it knows to be rejected it does not count as readable.
    known = plan.inventory.rejects
    assert all(number <= held.rejects[why] for why, number in known.items())
    unforeseen = held.rejects.total() - sum(known.values())
    assert plan.items == held.number + unforeseen
    assert sum(group.items for group in plan.inventory.groups) == plan.items
    by_label = Counter()
    for group in plan.inventory.groups:
        by_label[group.root, RECORD_KINDS[group.kind].label] += group.items
    for (root, _, label), items in held.items.items():
        by_label[root, label] -= len(items)
    assert by_label.total() == unforeseen
    assert min(by_label.values(), default=0) >= 0

    # What stands there.
    check_equal(current(target), held, moment)

    # Again: nothing is written.
    rows = rows_of(target)
    again = migrate(place.address, target, options)
    assert rows_of(target) == rows
    assert again.copy.written == 0
    assert again.verify.clean
    assert again.exit_code == done.exit_code
    planned = again.plan.decisions
    assert planned.get("copied", 0) <= unforeseen
    assert planned.get("already there", 0) == held.number

    # And back.
    taken = rollback(target)
    assert (taken.removed, taken.left) == (held.number, 0)
    assert current(target) == {}
    assert place.state() == before
