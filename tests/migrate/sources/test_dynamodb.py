"""DynamoDB: tables in a server of moto's, which boto3 asks over HTTP."""

from __future__ import annotations

import gzip
import json
import logging
import random
import time
from datetime import datetime

import boto3
import pytest
from moto.server import ThreadedMotoServer
from moving import read_plainly
from old_messages import check_messages, messages_in
from redis_corpus import folders
from sampling import sampled

from holdover.migrate.errors import SourceNotFound, SourceUnavailable, UsageError
from holdover.migrate.options import Options
from holdover.migrate.run import migrate
from holdover.migrate.sources import open_source
from holdover.migrate.sources.base import ReadOptions
from holdover.migrate.sources.dynamodb import _restored, _storable
from holdover.migrate.sources.dynamodb_items import plain

FOLDERS = [
    one for one in folders("nosql_histories") if (one / "dynamodb.json").exists()
]
KEYS = {"SessionTable": ["SessionId"], "Composite": ["PK", "SK"]}
BOTH = (("message", "History"), ("message", "Msgs"))
READS = {"Scan", "DescribeTable", "DescribeTimeToLive"}


def _name(folder):
    return folder.parent.name


@pytest.fixture(scope="module")
def server():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def tables(server, monkeypatch):
    """`tables(name, keys, items)` makes a table and gives its address."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    client = boto3.client("dynamodb", endpoint_url=server)
    made = []

    def make(name, keys, items, kind="S"):
        client.create_table(
            TableName=name,
            KeySchema=[
                {"AttributeName": key, "KeyType": how}
                for key, how in zip(keys, ("HASH", "RANGE"), strict=False)
            ],
            AttributeDefinitions=[
                {"AttributeName": key, "AttributeType": kind} for key in keys
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        made.append(name)
        for item in items:
            client.put_item(TableName=name, Item=item)
        return f"dynamodb://{name}?region=us-east-1&endpoint_url={server}"

    yield make
    for name in made:
        client.delete_table(TableName=name)
    client.close()


@pytest.fixture
def asked(monkeypatch):
    """The names of what is asked of the service."""
    import botocore.client

    names = []
    real = botocore.client.BaseClient._make_api_call

    def noting(client, name, arguments):
        names.append(name)
        return real(client, name, arguments)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", noting)
    return names


def item(session, number=3, **more):
    return {
        "SessionId": {"S": session},
        "History": {"L": [message(f"{session} {at}") for at in range(number)]},
        **more,
    }


def message(text, **data):
    return {
        "M": {"type": {"S": "human"}, "data": {"M": {"content": {"S": text}, **data}}}
    }


def dump_of(folder):
    """The items of each table, with the ends of some moved to an hour from now."""
    dump = json.loads((folder / "dynamodb.json").read_text())
    for one in dump["SessionTable"]:
        if "expireAt" in one:
            one["expireAt"] = {"N": str(int(time.time()) + 3600)}
    return dump


def truth_of(folder):
    """`{table: {session: messages}}`."""
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    found = {}
    for one in manifest["files"]["dynamodb.json"]["sessions"]:
        session = "/".join(one["key"].values())
        found.setdefault(one["table"], {})[session] = one["messages"]
    return found


def read(address, cursor=None, size=10_000, **named):
    source = open_source(str(address), ReadOptions(**named))
    batches = [
        batch
        for partition in source.partitions()
        for batch in source.read(partition, cursor, size=size)
    ]
    source.close()
    return (
        [one for batch in batches for one in batch.items],
        [one for batch in batches for one in batch.rejects],
        sum(batch.expired for batch in batches),
        sum(sum(batch.skipped.values()) for batch in batches),
    )


@pytest.mark.parametrize("folder", sampled(FOLDERS[-1:], FOLDERS[:-1]), ids=_name)
def test_a_dump_arrives_as_its_manifest_says(folder, tables, sqlite_target, asked):
    dump, truth = dump_of(folder), truth_of(folder)
    for name, items in dump.items():
        address = tables(name, KEYS[name], items)
        asked.clear()
        fields = (*BOTH, ("session", "{PK}/{SK}")) if name == "Composite" else BOTH
        done = migrate(address, sqlite_target, Options(read=ReadOptions(fields=fields)))
        assert done.exit_code == 0
        assert set(asked) <= READS
        found = {
            session: contents
            for (root, session), contents in messages_in(sqlite_target).items()
            if root == name
        }
        assert found.keys() == truth.get(name, {}).keys()
        for session, contents in found.items():
            check_messages(contents, truth[name][session])
        assert done.verify.equal == sum(map(len, truth.get(name, {}).values()))
    moved = read_plainly(sqlite_target)
    for value in moved.get(("SessionTable", "opt-ttl", "messages"), {}).values():
        ends = datetime.fromisoformat(value["meta"]["expires_at"]).timestamp()
        assert 3500 < ends - time.time() < 3700


@pytest.mark.parametrize("target", sampled(["postgres"], ["redis"]), indirect=True)
def test_it_arrives_in_every_target_and_a_second_run_writes_nothing(tables, target):
    folder = FOLDERS[-1]
    address = tables("SessionTable", ["SessionId"], dump_of(folder)["SessionTable"])
    options = Options(read=ReadOptions(fields=BOTH))
    migrate(address, target, options)
    truth = truth_of(folder)["SessionTable"]
    for (_, session), contents in messages_in(target).items():
        check_messages(contents, truth[session])
    again = migrate(address, target, options)
    assert again.copy.written == 0
    assert again.verify.clean


@pytest.mark.parametrize("form", ["lines", "lines.gz", "scan"])
@pytest.mark.parametrize("folder", sampled(FOLDERS[-1:], FOLDERS[:-1]), ids=_name)
def test_an_export_arrives_as_the_table_itself(folder, form, tmp_path, sqlite_target):
    items = dump_of(folder)["SessionTable"]
    lines = "\n".join(json.dumps({"Item": one}) for one in items)
    path = tmp_path / "export.json"
    if form == "lines.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif form == "lines":
        path.write_text(lines)
    else:
        path.write_text(json.dumps({"Items": items, "Count": len(items)}, indent=4))
    done = migrate(str(path), sqlite_target, Options(read=ReadOptions(fields=BOTH)))
    assert done.exit_code == 0
    truth = truth_of(folder)["SessionTable"]
    found = messages_in(sqlite_target)
    assert {session for _, session in found} == truth.keys()
    for (_, session), contents in found.items():
        check_messages(contents, truth[session])


def test_a_composite_key_is_a_blocker_that_names_the_option(tables, sqlite_target):
    pair = {"PK": {"S": "u1"}, "SK": {"S": "s9"}, "History": {"L": [message("hi")]}}
    address = tables("Composite", ["PK", "SK"], [pair])
    done = migrate(address, sqlite_target)
    assert [one.code for one in done.plan.blockers] == ["composite-key"]
    assert "--field session=SK" in done.plan.blockers[0].fix
    (one,), _, _, _ = read(address, fields=(("session", "SK"),))
    assert (one.session, one.root) == ("s9", "Composite")
    (one,), _, _, _ = read(address, fields=(("session", "{PK}:{SK}"),), roots=("r",))
    assert (one.session, one.root) == ("u1:s9", "r")
    assert one.locator == "dynamodb:Composite:u1:s9#0"


def test_two_items_of_one_session_are_never_mixed(tables):
    pairs = [
        {"PK": {"S": user}, "SK": {"S": "s"}, "History": {"L": [message(user)] * 2}}
        for user in ("u1", "u2")
    ]
    address = tables("Composite", ["PK", "SK"], pairs)
    items, rejects, _, _ = read(address, fields=(("session", "SK"),))
    assert [one.position for one in items] == [0, 1]
    assert [one.reason for one in rejects] == ["same-session"]


def test_expired_encrypted_foreign_and_broken_items(tables, sqlite_target):
    past, soon = str(int(time.time()) - 5), str(time.time() + 60)
    address = tables("Old", ["SessionId"], [
        item("gone", expireAt={"N": past}), item("soon", expireAt={"N": soon}),
        item("odd", expireAt={"S": "never"}),
        {"SessionId": {"S": "secret"}, "History": {"B": b"\0\1"}},
        {"SessionId": {"S": "text"}, "History": {"S": "[]"}},
        {"SessionId": {"S": "other"}, "Orders": {"N": "7"}},
        {"SessionId": {"S": "named"}, "Talk": {"L": [message("hi")]}},
        {"SessionId": {"S": "junk"}, "History": {"L": [
            {"S": "x"}, {"M": {"type": {"S": "ai"}}}, message("good"),
        ]}},
    ])  # fmt: skip
    done = migrate(address, sqlite_target)
    assert done.copy.expired == 3
    assert done.copy.rejects == {
        "encrypted": 1, "not-a-list": 1, "not-a-message": 1, "not-json": 1,
    }  # fmt: skip
    assert done.copy.skipped == {"not-a-history": 2}
    found = messages_in(sqlite_target)
    assert {session for _, session in found} == {"soon", "odd", "junk"}
    assert [m["data"]["content"] for m in found["Old", "junk"]] == ["good"]
    notes = "\n".join(done.plan.inventory.notes)
    assert "--field message=Talk" in notes
    assert "read capacity units" in notes
    assert done.verify.clean


def test_the_table_itself_may_say_what_ends_an_item(tables, server):
    address = tables("Ends", ["SessionId"], [item("a", 1, over={"N": str(2**33)})])
    client = boto3.client("dynamodb", endpoint_url=server)
    (one,), _, _, _ = read(address)
    assert one.ttl_ms is None
    client.update_time_to_live(
        TableName="Ends",
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "over"},
    )
    client.close()
    (one,), _, _, _ = read(address)
    assert abs(one.ttl_ms / 1000 - (2**33 - time.time())) < 60


LONG = 12345678901234567890
NUMBERS = {
    "7": 7, "-3": -3, "2.5": 2.5, "1E+2": 100.0, "0.1": 0.1, "1E-130": 1e-130,
    str(LONG): LONG, "NaN": "NaN", "nonsense": "nonsense",
}  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_are_integers_and_floats_again(text):
    found = plain({"M": {"n": {"N": text}, "set": {"NS": [text]}}})
    assert found == {"n": NUMBERS[text], "set": [NUMBERS[text]]}
    assert type(found["n"]) is type(NUMBERS[text])


def test_every_type_is_read():
    typed = {
        "S": "x", "BOOL": True, "NULL": True, "B": b"\0", "SS": ["a"],
        "L": [{"NULL": True}, {"L": []}], "M": {"a": {"M": {}}},
    }  # fmt: skip
    assert [plain({kind: value}) for kind, value in typed.items()] == [
        "x", True, None, b"\0", ["a"], [None, []], {"a": {}},
    ]  # fmt: skip
    assert plain("x") is plain({}) is plain({"S": "a", "N": "1"}) is None


@pytest.mark.parametrize("kind", ["S", "N"])
def test_pages_and_a_run_that_goes_on_behind_any_item(kind, tables, monkeypatch):
    items = [
        {**item(f"s{n}"), "SessionId": {kind: f"s{n}" if kind == "S" else str(n)}}
        for n in range(16)
    ]
    address = tables("Paged", ["SessionId"], items, kind)
    import botocore.client

    real = botocore.client.BaseClient._make_api_call

    def paged(client, name, arguments):
        limit = {"Limit": 3} if name == "Scan" else {}
        return real(client, name, {**arguments, **limit})

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", paged)
    source = open_source(address, ReadOptions())
    total, cursors = 0, set()
    for partition in source.partitions():
        everything = [i for b in source.read(partition) for i in b.items]
        total += len(everything)
        for batch in source.read(partition, size=4):
            cursor = json.loads(json.dumps(batch.cursor))
            cursors.add(json.dumps(cursor))
            rest = [i for b in source.read(partition, cursor) for i in b.items]
            # Sessions are read whole, and none twice.
            assert everything[len(everything) - len(rest) :] == rest
            assert not rest or rest[0].position == 0
    assert total == 48
    assert len(cursors - {"null"}) > 5
    source.close()


def test_a_key_of_any_type_is_a_cursor():
    """Also bytes, which are no JSON."""
    key = {"a": {"B": bytes(range(256))}, "b": {"N": "1"}, "c": {"S": "é"}}
    stored = json.loads(json.dumps(_storable(key)))
    assert _restored(stored) == key


def test_a_rate_of_capacity_is_kept(tables, monkeypatch):
    from holdover.migrate.sources import dynamodb

    address = tables("Slow", ["SessionId"], [item(f"s{n}") for n in range(9)])
    waits = []
    monkeypatch.setattr(dynamodb.time, "sleep", waits.append)
    import botocore.client

    real = botocore.client.BaseClient._make_api_call

    def paged(client, name, arguments):
        if name != "Scan":
            return real(client, name, arguments)
        answer = real(client, name, {**arguments, "Limit": 2})
        answer["ConsumedCapacity"] = {"CapacityUnits": 4.0}
        return answer

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", paged)
    assert len(read(f"{address}&rcu=2")[0]) == 27
    assert waits
    assert set(waits) == {2.0}


@pytest.mark.parametrize(
    "address",
    [
        "dynamodb://key:secret@Table",
        "dynamodb://Table/more",
        "dynamodb://",
        "dynamodb://Table?regoin=x",
        "dynamodb://Table?rcu=0",
        "dynamodb://Table?rcu=many",
        "dynamodb://Table?rcu=nan",
    ],
)
def test_what_is_no_address_of_a_table(address):
    with pytest.raises(UsageError) as caught:
        open_source(address, ReadOptions())
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError):
        open_source("dynamodb://T", ReadOptions(roots=("a", "b")))


def test_what_the_service_refuses_is_one_sentence(tables, server, monkeypatch):
    from holdover.migrate.sources import dynamodb

    address = tables("There", ["SessionId"], [item("a")])
    with pytest.raises(SourceNotFound, match="no table Elsewhere"):
        read(address.replace("There", "Elsewhere"))
    for unreachable in ("http://127.0.0.1:9", "nonsense"):
        monkeypatch.setattr(dynamodb, "_ATTEMPTS", 1)
        with pytest.raises(SourceUnavailable) as caught:
            read(address.replace(server, unreachable), size=1)
        assert "\n" not in str(caught.value)
    with pytest.raises(SourceUnavailable, match="ProfileNotFound"):
        read(f"{address}&profile=nobody")
    with pytest.raises(UsageError, match="braces"):
        read(address, fields=(("session", "{SessionId"),))


def test_without_the_package_the_sentence_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(UsageError, match=r"holdover\[dynamodb\]"):
        open_source("dynamodb://T", ReadOptions())


def test_mutated_exports_never_crash(tmp_path):
    chance = random.Random(5)
    raw = "\n".join(json.dumps({"Item": item(f"s{n}")}) for n in range(6)).encode()
    scan = json.dumps({"Items": [item(f"s{n}") for n in range(6)]}).encode()
    path = tmp_path / "export.json"
    for original in (raw, scan):
        for _ in range(80):
            changed = bytearray(original)
            for _ in range(chance.randint(1, 4)):
                at = chance.randrange(1, len(changed))
                if chance.random() < 0.2:
                    del changed[at:]
                else:
                    changed[at % len(changed)] ^= 1 << chance.randrange(8)
            path.write_bytes(
                b'{"Item": {}}\n' + changed if original is raw else changed
            )
            try:
                _, rejects, _, _ = read(path)
            except SourceNotFound:
                continue
            assert all(one.reason and one.detail for one in rejects)
